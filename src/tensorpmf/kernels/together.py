"""Which columns rows connect: two that a row observes together, and two that are both connected with a third."""

from __future__ import annotations

import numpy as np

from tensorpmf.kernels.rows import Rows
from tensorpmf.typing import Ints

FIRST_CELLS, MOST_CELLS = 1 << 11, 1 << 18
"""Cells of the first block of rows that is looked at, and of the largest; every block is twice the one before."""


def connected_groups(rows: Rows) -> tuple[list[Ints], Ints]:
    """Return the groups of columns that no row connects with each other, and the columns that no row observes.

    Rows are looked at once at most, and only until all columns are connected: mostly the first ones will do. A row that
    weighs nothing says nothing.

    Parameters
    ----------
    rows
        The rows.
    """
    labels, seen = np.arange(rows.n_columns), np.zeros(rows.n_columns, dtype=np.bool_)
    start, n_cells = 0, FIRST_CELLS
    while start < rows.n_rows:
        stop = start + max(1, n_cells // max(1, rows.n_columns))
        block = rows.take(slice(start, stop))
        start, n_cells = stop, min(2 * n_cells, MOST_CELLS)
        starts, columns = _observed(block if block.weights is None else block.take(block.weights > 0))
        seen[columns] = True
        labels = _joined(labels, starts, columns)
        if seen.all() and not labels.any():
            break
    return [np.flatnonzero(seen & (labels == label)) for label in np.unique(labels[seen])], np.flatnonzero(~seen)


def _observed(rows: Rows) -> tuple[Ints, Ints]:
    """Where the cells of each row that has some begin, and (n_cells,) their columns, row after row."""
    if rows.is_sparse:
        indptr, columns, _ = rows.cells
        return indptr[:-1][np.diff(indptr) > 0], columns.astype(np.int64)
    row_ix, columns = np.nonzero(rows.dense() >= 0)
    return np.flatnonzero(np.diff(row_ix, prepend=-1)), columns


def _joined(labels: Ints, starts: Ints, columns: Ints) -> Ints:
    """(n_columns,) the first column of each group, from those before and what some rows observe together."""
    while len(starts):
        of_cells = labels[columns]
        lowest = np.repeat(np.minimum.reduceat(of_cells, starts), np.diff(starts, append=len(columns)))
        apart = lowest < of_cells
        if not apart.any():
            break
        lead = np.arange(len(labels))
        np.minimum.at(lead, of_cells[apart], lowest[apart])
        while (lead[lead] < lead).any():
            lead = lead[lead]
        labels = lead[labels]
    return labels
