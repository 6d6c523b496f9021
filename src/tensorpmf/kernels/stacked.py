"""Factors of all columns stacked into one array: sums within columns, and back.

Stacked arrays have shape (n_stacked_levels, R): the levels of column ``n`` are rows ``offsets[n]:offsets[n+1]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tensorpmf.typing import Floats, Ints


def offsets_of(n_levels: Sequence[int]) -> Ints:
    """(n_columns + 1,) the stacked row at which each column's levels begin."""
    return np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64)


def stack(factors: Sequence[Floats]) -> Floats:
    """Return one (n_stacked_levels, R) array from one (I_n, R) array a column."""
    return np.concatenate(factors, axis=0)


def unstack(stacked: Floats, offsets: Ints) -> list[Floats]:
    """Return one (I_n, R) view a column of a stacked array."""
    return [stacked[start:stop] for start, stop in pairwise(offsets)]


def column_sums(stacked: Floats, offsets: Ints) -> Floats:
    """(n_columns, R) sums of a stacked array over the levels of each column."""
    return np.asarray(np.add.reduceat(stacked, offsets[:-1], axis=0))


def spread(per_column: Floats, offsets: Ints) -> Floats:
    """Repeat (n_columns, R) values for every level of their column: the shape of a stacked array."""
    return np.repeat(per_column, np.diff(offsets), axis=0)


def khatri_rao(one: Floats, other: Floats) -> Floats:
    """(I * J, R) products of all pairs of rows of an (I, R) and a (J, R) array."""
    return (one[:, None] * other).reshape(-1, one.shape[1])


ALONE = 1 << 18
"""A BLAS leaves a product of so few multiplications to the thread that asks for it."""


def product(a: Floats, b: Floats) -> Floats:
    """Return ``a @ b``, the long axis in pieces: on this thread, where a BLAS would wait for others to do very little.

    Parameters
    ----------
    a, b
        (n, m) and (m, k), m much larger than n and k.
    """
    n_at_once = max(16, ALONE // max(1, len(a) * b.shape[1]))
    total = np.zeros((len(a), b.shape[1]))
    for start in range(0, len(b), n_at_once):
        total += a[:, start : start + n_at_once] @ b[start : start + n_at_once]
    return total
