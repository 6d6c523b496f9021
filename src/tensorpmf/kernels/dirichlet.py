"""Formulas of the Dirichlet distribution: log-normaliser, expected logarithm, Kullback–Leibler divergence."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from tensorpmf.typing import Floats, Ints


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


def expected_log_stacked(alpha: Floats, offsets: Ints, prior: Floats) -> tuple[Floats, float]:
    """E[log a] of all factors at once, and the sum of their divergences from symmetric priors.

    Parameters
    ----------
    alpha
        (n_stacked_levels, R) concentrations, columns stacked.
    offsets
        (n_columns + 1,) where each column's levels begin.
    prior
        (n_columns,) the prior concentration of every level of a column.
    """
    n_levels = np.diff(offsets)
    total = np.add.reduceat(alpha, offsets[:-1], axis=0)
    log_factors = digamma(alpha) - np.repeat(digamma(total), n_levels, axis=0)
    log_beta_prior = alpha.shape[1] * float((n_levels * gammaln(prior) - gammaln(n_levels * prior)).sum())
    log_beta_posterior = float(gammaln(alpha).sum() - gammaln(total).sum())
    drift = float(((alpha - np.repeat(prior, n_levels)[:, None]) * log_factors).sum())
    return log_factors, log_beta_prior - log_beta_posterior + drift
