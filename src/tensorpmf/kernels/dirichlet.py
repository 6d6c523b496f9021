"""Formulas of the Dirichlet distribution: log-normaliser, expected logarithm, Kullback–Leibler divergence."""

from __future__ import annotations

import numpy as np

from tensorpmf.kernels import _native
from tensorpmf.kernels.isa import with_twin
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
    return np.asarray(log_gamma(alpha).sum(axis=axis) - log_gamma(alpha.sum(axis=axis)))


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


@with_twin
def expected_log_stacked(alpha: Floats, offsets: Ints, prior: Floats) -> tuple[Floats, float]:
    """E[log a] of all factors at once, and the sum of their divergences from their priors.

    Parameters
    ----------
    alpha
        (n_stacked_levels, R) concentrations, columns stacked.
    offsets
        (n_columns + 1,) where each column's levels begin.
    prior
        (n_stacked_levels,) the prior concentration of every level.
    """
    return _native.expected_log_stacked(np.ascontiguousarray(alpha), np.ascontiguousarray(offsets), prior)


def digamma(x: Floats) -> Floats:
    """Return the derivative of log Gamma.

    Parameters
    ----------
    x
        Numbers above zero.
    """
    return _native.digamma(np.asarray(x, dtype=np.float64, order="C"))


def trigamma(x: Floats) -> Floats:
    """Return the derivative of the digamma function.

    Parameters
    ----------
    x
        Numbers above zero.
    """
    return _native.trigamma(np.asarray(x, dtype=np.float64, order="C"))


def log_gamma(x: Floats) -> Floats:
    """Return log Gamma, exact to some 1e-14 (absolutely, where it is small).

    Parameters
    ----------
    x
        Numbers above zero.
    """
    return _native.log_gamma(np.asarray(x, dtype=np.float64, order="C"))


class FisherStacked:
    """Fisher information of Dirichlet distributions stacked over columns, in the coordinates log alpha.

    Each block is a diagonal minus a constant (Sherman–Morrison inverts it), so both products are linear in size.

    Parameters
    ----------
    alpha
        (n_stacked_levels, R) concentrations.
    offsets
        (n_columns + 1,) where each column's levels begin.
    empty
        Concentration that belongs to every distribution but is not among its levels.
    """

    def __init__(self, alpha: Floats, offsets: Ints, empty: float = 0.0) -> None:
        self.alpha, self.starts, self.n_levels = alpha, offsets[:-1], np.diff(offsets)
        self.diagonal = trigamma(alpha)
        self.constant = trigamma(np.add.reduceat(alpha, self.starts, axis=0) + empty)

    def times(self, vector: Floats) -> Floats:
        """Return the information times a vector."""
        scaled = self.alpha * vector
        sums = np.add.reduceat(scaled, self.starts, axis=0)
        return self.alpha * (self.diagonal * scaled - np.repeat(self.constant * sums, self.n_levels, axis=0))

    def solve(self, vector: Floats) -> Floats:
        """Return the inverse information times a vector."""
        scaled = vector / (self.alpha * self.diagonal)
        room = 1.0 / self.constant - np.add.reduceat(1.0 / self.diagonal, self.starts, axis=0)
        room[room <= 1e-14 / self.constant] = np.inf  # one level only: nowhere to go
        sums = np.add.reduceat(scaled, self.starts, axis=0) / room
        return (scaled + np.repeat(sums, self.n_levels, axis=0) / self.diagonal) / self.alpha
