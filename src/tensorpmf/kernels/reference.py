"""Legible twins of the compiled kernels: the same signatures, plain loops, the paper's equations by their labels.

Slow on purpose. Each compiled kernel must agree with its twin here; tests hold them to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from scipy.special import digamma, gammaln

from tensorpmf.kernels.estep import Counts, LogTables
from tensorpmf.kernels.marginals import Subsets
from tensorpmf.kernels.rows import Rows
from tensorpmf.typing import Floats, Ints


def accumulate(rows: Rows, tables: LogTables) -> Counts:
    """One pass over the rows: the sums of (eq:alpha_lambda) and (eq:alpha_a), and the rows' log-normaliser."""
    weights = np.zeros_like(tables.log_weights)
    factors = np.zeros_like(tables.log_factors)
    log_norm = 0.0
    for weight, cells in _each_row(rows):
        log_gamma = _log_gamma(cells, tables)
        log_sum, rho = _normalise(log_gamma)
        weights += weight * rho
        for cell in cells:
            factors[cell] += weight * rho
        if weight > 0:
            log_norm += weight * log_sum
    return Counts(weights, factors, log_norm)


def log_normaliser(rows: Rows, tables: LogTables) -> Floats:
    """(n_rows,) log of the sum over r of gamma_rt (eq:gamma_rt)."""
    return np.array([_normalise(_log_gamma(cells, tables))[0] for _, cells in _each_row(rows)], dtype=np.float64)


def responsibilities(rows: Rows, tables: LogTables) -> Floats:
    """(n_rows, R) the probability rho_rt that component r explains row t (eq:rho_rt)."""
    resp = np.empty((rows.n_rows, tables.rank))
    for row_ix, (_, cells) in enumerate(_each_row(rows)):
        resp[row_ix] = _normalise(_log_gamma(cells, tables))[1]
    return resp


def _each_row(rows: Rows) -> Iterator[tuple[float, list[int]]]:
    """Yield the weight of each row and the stacked positions of its observed cells."""
    for row_ix, codes in enumerate(rows.dense()):
        weight = 1.0 if rows.weights is None else float(rows.weights[row_ix])
        yield weight, [int(rows.offsets[n] + code) for n, code in enumerate(codes) if code >= 0]


def _log_gamma(cells: list[int], tables: LogTables) -> Floats:
    """(R,) log gamma_rt = log lambda_r + sum over observed n of log a_nr(y_nt) (eq:gamma_rt, eq:expectations)."""
    log_gamma = tables.log_weights.copy()
    for cell in cells:
        log_gamma += tables.log_factors[cell]
    return log_gamma


def _normalise(log_gamma: Floats) -> tuple[float, Floats]:
    """Return log sum gamma, and rho (eq:rho_rt); an impossible row belongs to nobody: -inf and zeros."""
    top = log_gamma.max()
    if top == -np.inf:
        return -np.inf, np.zeros_like(log_gamma)
    gamma = np.exp(log_gamma - top)
    return float(top + np.log(gamma.sum())), gamma / gamma.sum()


def expected_log_stacked(alpha: Floats, offsets: Ints, prior: Floats) -> tuple[Floats, float]:
    """E[log a] of all factors (eq:exp_log_dir), and the sum of their divergences from their priors."""
    log_factors = np.empty_like(alpha)
    divergence = 0.0
    for start, stop in pairwise(offsets):
        for r in range(alpha.shape[1]):
            q, p = alpha[start:stop, r], prior[start:stop]
            log_factors[start:stop, r] = digamma(q) - digamma(q.sum())
            divergence += _log_beta(p) - _log_beta(q) + float((q - p) @ log_factors[start:stop, r])
    return log_factors, divergence


def _log_beta(alpha: Floats) -> float:
    """Log of the multivariate beta function of one distribution."""
    return float(np.sum(gammaln(alpha))) - float(gammaln(np.sum(alpha)))


def count_marginals(rows: Rows, subsets: Subsets, into: Floats | None = None) -> Floats:
    """(n_cells,) the weight of the rows that show each cell of each subset, all its columns observed."""
    counts = np.zeros(subsets.n_cells) if into is None else into
    for columns, table in zip(subsets.columns, subsets.tables(counts), strict=True):
        for row_ix, codes in enumerate(rows.dense()[:, columns]):
            if (codes >= 0).all():
                table[tuple(codes)] += 1.0 if rows.weights is None else rows.weights[row_ix]
    return counts


def accumulate_marginals(cells: Floats, subsets: Subsets, weights: Floats, factors: Floats) -> Counts:
    """One EM pass over the cells of all marginals: each cell that counts anything is shared among the components."""
    counts = Counts(np.zeros_like(weights), np.zeros_like(factors), 0.0)
    for columns, table in zip(subsets.columns, subsets.tables(cells), strict=True):
        for codes in zip(*np.nonzero(table), strict=True):
            gamma = weights.copy()
            for column, code in zip(columns, codes, strict=True):
                gamma *= factors[subsets.offsets[column] + code]
            share = table[codes] * gamma / gamma.sum()
            for column, code in zip(columns, codes, strict=True):
                counts.factors[subsets.offsets[column] + code] += share
            log_norm = counts.log_norm + table[codes] * np.log(gamma.sum())
            counts = Counts(counts.weights + share, counts.factors, log_norm)
    return counts


def descend(
    moves: Sequence[Floats], falls: Sequence[Floats], curvatures: Sequence[float], gradient: Floats
) -> tuple[Floats, Sequence[float]]:
    """Run the first loop of Nocedal and Wright's Algorithm 7.4."""
    q, shares = gradient.copy(), np.zeros(len(moves))
    for i in reversed(range(len(moves))):
        shares[i] = sum(moves[i] * q) / curvatures[i]
        q -= shares[i] * falls[i]
    return q, shares.tolist()


def ascend(
    moves: Sequence[Floats],
    falls: Sequence[Floats],
    curvatures: Sequence[float],
    shares: Sequence[float],
    ahead: Floats,
) -> Floats:
    """Run the second loop of Nocedal and Wright's Algorithm 7.4."""
    r = ahead.copy()
    for i in range(len(moves)):
        r += moves[i] * (shares[i] - sum(falls[i] * r) / curvatures[i])
    return r
