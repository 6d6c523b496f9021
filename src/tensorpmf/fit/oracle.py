"""What nobody has: the estimate when the hidden component of every row is known. It bounds what others can reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf._check import whole_number
from tensorpmf.errors import InputError
from tensorpmf.fit.simplexes import normalised
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Floats, Ints


def oracle_ml(table: CategoricalTable | Any, states: ArrayLike, rank: int) -> LowRankPMF:
    """Return the maximum-likelihood model when the component of every row is known.

    Weights and factors are relative frequencies; those of a column come from the rows that observe it. What was never
    seen has probability zero, so a divergence from the truth may be infinite. Where nothing was seen at all, a column
    that no row of a component observes, all levels are equally likely.

    Parameters
    ----------
    table
        A :class:`CategoricalTable`, or anything :func:`read_table` takes.
    states
        (n_rows,) the component of each row, from 0.
    rank
        How many components there are.

    Examples
    --------
    >>> table = CategoricalTable.from_codes([[0, 1], [0, -1], [1, 0], [1, 1]])
    >>> pmf = oracle_ml(table, [0, 0, 1, 1], rank=2)
    >>> pmf.factors[1].tolist()
    [[0.0, 0.5], [1.0, 0.5]]
    """
    rank = whole_number("oracle_ml", "rank", rank, at_least=1)
    if not isinstance(table, CategoricalTable):
        table = CategoricalTable.from_any(table)
    try:
        codes = np.asarray(states)
    except ValueError:
        raise InputError(f"states must be {table.n_rows} whole numbers, one a row, got a ragged list.") from None
    if codes.shape != (table.n_rows,) or codes.dtype.kind not in "iu":
        raise InputError(f"states must be {table.n_rows} whole numbers, one a row, got {codes.dtype} {codes.shape}.")
    if codes.min() < 0 or codes.max() >= rank:
        raise InputError(f"states must be 0 to {rank - 1}, got {codes.min()} to {codes.max()}.")
    weights, factors = completed_counts(rows_of(table), codes.astype(np.int64), rank)
    offsets = table.schema.offsets
    uniform = np.ones_like(factors)
    factors = normalised(factors, normalised(uniform, uniform, offsets), offsets)
    return LowRankPMF(table.schema, weights / weights.sum(), np.split(factors, offsets[1:-1]))


def completed_counts(rows: Rows, states: Ints, rank: int) -> tuple[Floats, Floats]:
    """Return (rank,) the weight of each component's rows, and (n_stacked_levels, rank) of those that show each level.

    Parameters
    ----------
    rows
        The rows.
    states
        (n_rows,) the component of each row.
    rank
        How many components there are.
    """
    row_ix, levels = _observed(rows)
    n_stacked = int(rows.offsets[-1])
    row_weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    weights = np.bincount(states, row_weights, minlength=rank).astype(np.float64)
    factors = np.bincount(levels * rank + states[row_ix], row_weights[row_ix], minlength=n_stacked * rank)
    return weights, factors.astype(np.float64).reshape(n_stacked, rank)


def _observed(rows: Rows) -> tuple[Ints, Ints]:
    """(n_cells,) the row of each observed cell, and its stacked level."""
    if rows.is_sparse:
        assert rows.indptr is not None
        assert rows.columns is not None
        assert rows.values is not None
        row_ix = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        return row_ix, rows.offsets[rows.columns] + rows.values
    codes = rows.dense()
    row_ix, column_ix = np.nonzero(codes >= 0)
    return row_ix, rows.offsets[column_ix] + codes[row_ix, column_ix]
