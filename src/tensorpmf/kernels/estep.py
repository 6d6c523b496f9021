"""The pass over the rows that everything is made of: responsibilities, and the statistics they add up to.

EM hands it logarithms of probabilities, VB hands it expected logarithms; it cannot tell. An impossible row (every
component gives it probability zero) has log-normaliser ``-inf`` and responsibilities zero: it adds to no statistic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorpmf.kernels.rows import Rows
from tensorpmf.typing import Floats, Ints

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class LogTables:
    """Log-weights and log-factors of a model, stacked over its columns; ``-inf`` is a probability of zero.

    Parameters
    ----------
    log_weights
        (R,) log lambda, or its expectation.
    log_factors
        (n_stacked_levels, R) log a of column ``n`` and level ``i`` in row ``offsets[n] + i``, or its expectation.
    """

    log_weights: Floats
    log_factors: Floats

    @property
    def rank(self) -> int:
        """How many components there are."""
        return len(self.log_weights)


@dataclass(frozen=True, eq=False)
class Counts:
    """What one pass over rows adds up; the counts of two blocks add.

    Parameters
    ----------
    weights
        (R,) sum over rows of weight times rho (eq:alpha_lambda without its prior).
    factors
        (n_stacked_levels, R) the same over the rows that show each level (eq:alpha_a without its prior).
    log_norm
        Sum over rows of weight times log sum over r of gamma_rt (eq:gamma_rt).
    """

    weights: Floats
    factors: Floats
    log_norm: float

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.weights + other.weights, self.factors + other.factors, self.log_norm + other.log_norm)


def accumulate(rows: Rows, tables: LogTables) -> Counts:
    """Return the statistics of one pass over the rows (eq:gamma_rt, eq:rho_rt, eq:alpha_lambda, eq:alpha_a).

    Parameters
    ----------
    rows
        The rows.
    tables
        The model.
    """
    weights = np.zeros_like(tables.log_weights)
    factors = np.zeros_like(tables.log_factors)
    log_norm = 0.0
    for start, stop in _pieces(rows, tables):
        piece = rows.take(slice(start, stop))
        log_sum, resp = _normalised(piece, tables)
        weight = np.ones(stop - start) if piece.weights is None else piece.weights
        resp *= weight[:, None]
        weights += resp.sum(axis=0)
        row_ix, cells = _cells(piece)
        order = np.argsort(cells, kind="stable")
        found, first = np.unique(cells[order], return_index=True)
        if len(found):
            factors[found] += np.add.reduceat(resp[row_ix[order]], first, axis=0)
        log_norm += float(weight[weight > 0] @ log_sum[weight > 0])
    return Counts(weights, factors, log_norm)


def log_normaliser(rows: Rows, tables: LogTables) -> Floats:
    """Return (n_rows,) log sum over r of gamma_rt: the log-probability of each row, missing cells summed out.

    Parameters
    ----------
    rows
        The rows.
    tables
        The model.
    """
    pieces = [_normalised(rows.take(slice(a, b)), tables)[0] for a, b in _pieces(rows, tables)]
    return np.concatenate([np.empty(0), *pieces])


def responsibilities(rows: Rows, tables: LogTables) -> Floats:
    """Return (n_rows, R) the probability that each component explains each row (eq:rho_rt).

    Parameters
    ----------
    rows
        The rows.
    tables
        The model.
    """
    pieces = [_normalised(rows.take(slice(a, b)), tables)[1] for a, b in _pieces(rows, tables)]
    return np.concatenate([np.empty((0, tables.rank)), *pieces])


def _pieces(rows: Rows, tables: LogTables) -> list[tuple[int, int]]:
    size = max(1, _CELLS_AT_ONCE // max(1, rows.n_columns * tables.rank))
    return [(start, min(start + size, rows.n_rows)) for start in range(0, rows.n_rows, size)]


def _cells(rows: Rows) -> tuple[Ints, Ints]:
    codes = rows.dense().astype(np.int64)
    row_ix, column_ix = np.nonzero(codes >= 0)
    return row_ix, rows.offsets[column_ix] + codes[row_ix, column_ix]


def _normalised(rows: Rows, tables: LogTables) -> tuple[Floats, Floats]:
    log_gamma = np.tile(tables.log_weights, (rows.n_rows, 1))
    row_ix, cells = _cells(rows)
    np.add.at(log_gamma, row_ix, tables.log_factors[cells])
    top = log_gamma.max(axis=1, keepdims=True)
    gamma = np.exp(log_gamma - np.where(np.isfinite(top), top, 0.0))
    total = gamma.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_sum = (np.where(np.isfinite(top), top, 0.0) + np.log(total)).ravel()
    return log_sum, gamma / np.where(total > 0, total, 1.0)
