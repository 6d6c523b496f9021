"""Finding identical rows: by a hash of each row, checked cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tensorpmf.typing import Floats, Ints

if TYPE_CHECKING:
    from tensorpmf.kernels.rows import Rows

ROWS_AT_ONCE = 1 << 16


def merge(rows: Rows) -> tuple[Ints, Floats]:
    """Return the first of each set of identical rows, in order, and the weight of the set.

    Parameters
    ----------
    rows
        The rows.
    """
    hashes = hash_rows(rows)
    _, first, kind = np.unique(hashes, return_index=True, return_inverse=True)
    leader = first[kind]
    leader = np.where(_equal(rows, leader), leader, np.arange(rows.n_rows))
    weights = np.bincount(leader, weights=rows.weights, minlength=rows.n_rows).astype(np.float64)
    distinct = np.flatnonzero(leader == np.arange(rows.n_rows))
    return distinct, weights[distinct]


def hash_rows(rows: Rows) -> NDArray[np.uint64]:
    """Return (n_rows,) a number for each row, equal for equal rows.

    Parameters
    ----------
    rows
        The rows.
    """
    of_column = np.random.default_rng(7).integers(1, 1 << 63, size=rows.n_columns, dtype=np.uint64) | np.uint64(1)
    if rows.is_sparse:
        indptr, columns, values = rows.cells
        total = np.zeros(len(values) + 1, dtype=np.uint64)
        np.cumsum(_mixed((values.astype(np.uint64) + np.uint64(1)) * of_column[columns]), out=total[1:])
        return total[indptr[1:]] - total[indptr[:-1]]
    hashes = np.zeros(rows.n_rows, dtype=np.uint64)
    codes = rows.dense()
    for column, factor in enumerate(of_column):
        hashes += _mixed((codes[:, column].astype(np.int64) + 1).astype(np.uint64) * factor)
    return hashes


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits, so that sums of cells do not cancel by chance; a missing cell (0) stays 0."""
    x = (x ^ (x >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(29))


def _equal(rows: Rows, leader: Ints) -> NDArray[np.bool_]:
    """Whether each row is the same as its leader."""
    same = np.ones(rows.n_rows, dtype=bool)
    followers = np.flatnonzero(leader != np.arange(rows.n_rows))
    for start in range(0, len(followers), ROWS_AT_ONCE):
        some = followers[start : start + ROWS_AT_ONCE]
        same[some] = (rows.take(some).dense() == rows.take(leader[some]).dense()).all(axis=1)
    return same
