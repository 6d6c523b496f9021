"""Formulas of the Dirichlet distribution: log-normaliser, expected logarithm, Kullback–Leibler divergence."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from tensorpmf.typing import Floats


def log_beta(alpha: Floats, axis: int = -1) -> Floats:
    """Log of the multivariate beta function, minus the log-normaliser (eq:dir_norm).

    Parameters
    ----------
    alpha
        Concentrations, all above zero.
    axis
        The axis one distribution runs along.
    """
    return np.asarray(gammaln(alpha).sum(axis=axis) - gammaln(alpha.sum(axis=axis)))


def expected_log(alpha: Floats, axis: int = -1) -> Floats:
    """E[log x] under Dir(alpha), in the shape of ``alpha`` (eq:exp_log_dir).

    Parameters
    ----------
    alpha
        Concentrations, all above zero.
    axis
        The axis one distribution runs along.
    """
    return np.asarray(digamma(alpha) - digamma(alpha.sum(axis=axis, keepdims=True)))


def kl(q: Floats, p: Floats, axis: int = -1) -> Floats:
    """Kullback–Leibler divergence KL(Dir(q) || Dir(p)); never negative, zero when equal.

    Parameters
    ----------
    q
        Concentrations of the distribution averaged over.
    p
        Concentrations of the other, broadcast against ``q``.
    axis
        The axis one distribution runs along.
    """
    p = np.broadcast_to(p, np.shape(q))
    return np.asarray(log_beta(p, axis) - log_beta(q, axis) + ((q - p) * expected_log(q, axis)).sum(axis=axis))
