"""Rows cut into blocks for many passes over them: sorted, merged, packed and indexed where that makes a pass faster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorpmf.kernels.packing import listed, rows_ns
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import Sorted, Sorter, pieces
from tensorpmf.typing import Codes, Floats

MOST_BLOCKS = 64

BLOCK_NS = 60_000.0
"""A block should take so long at least: a call from Python costs a tenth of it."""

BLOCK_STATE_NS = 200.0
"""And so long for each state: to clear its counts, take them apart and add them to other blocks is a fifth of it."""

INDEX_BYTES = 1 << 26
"""A table whose index would take more memory goes without."""

SORT_AT_ONCE = 1 << 19
"""Rows sorted together at most, so that sorting needs little memory beside the table's."""


def cut(rows: Rows, n_most: int = MOST_BLOCKS) -> list[Rows]:
    """Return rows cut into a power of two of blocks, sorted, merged and packed where that makes a pass faster.

    Which row is in which block is nobody's business: only sums over all blocks are those of the rows.

    Parameters
    ----------
    rows
        The rows.
    n_most
        How many blocks at most; by default as many as are worth a call.
    """
    return _sorted_blocks(rows, n_most) or _blocks_as_they_come(rows, n_most)


def _blocks_as_they_come(rows: Rows, n_most: int) -> list[Rows]:
    n_states = sum(rows.n_levels)
    cost = rows_ns(rows.n_rows, rows.n_observed, n_states)
    n_blocks = power_of_two(min(n_most, int(cost / _block_ns(n_states)), rows.n_rows))
    indexed = rows.n_rows * rows.n_observed * 2 < INDEX_BYTES
    return [
        replace(rows.take(slice(*piece)), packed_as=listed(rows.n_levels), indexed=indexed)
        for piece in pieces(rows.n_rows, n_blocks)
    ]


def _sorted_blocks(rows: Rows, n_most: int) -> list[Rows]:
    """Return sorted blocks, none where sorting does not pay; batches are sorted by themselves, which saves memory."""
    if rows.n_rows == 0 or (rows.is_sparse and rows.n_columns > 4 * rows.n_observed):
        return []
    codes = rows.dense()
    missing = _lowest(codes) < 0
    n_batches = power_of_two(-(-rows.n_rows // SORT_AT_ONCE) * 2 - 1)
    batches: list[tuple[Sorted, Floats | None]] = []
    plan = None
    for start, stop in pieces(rows.n_rows, n_batches):
        sorter = Sorter(rows.n_levels, missing, codes[start:stop])
        if plan is None:
            plan = sorter.plan()
            if plan.cost_ns > rows_ns(stop - start, rows.n_observed, sum(rows.n_levels)):
                return []
        batches.append(sorter.sort(None if rows.weights is None else rows.weights[start:stop], plan))
    assert plan is not None, "there is at least one batch"
    n_wanted = min(n_most, int(n_batches * plan.cost_ns / _block_ns(sum(plan.packing.n_states))))
    n_each = power_of_two(min(n_wanted // n_batches, *(batch.n_rows for batch, _ in batches)))
    n_shown = len(plan.packing.groups) - plan.n_prefix_groups
    indexed = n_shown > 1 and rows.n_rows * n_shown * 2 < INDEX_BYTES
    return [
        Rows(rows.n_levels, weights=None if weights is None else weights[a:b], sorted=batch.cut(a, b), indexed=indexed)
        for batch, weights in batches
        for a, b in pieces(batch.n_rows, n_each)
    ]


def _block_ns(n_states: int) -> float:
    """Return how long a block should take at least: what comes on top of it should be little."""
    return max(BLOCK_NS, BLOCK_STATE_NS * n_states)


def power_of_two(most: int) -> int:
    """Return the largest power of two that is not above a number, and at least one."""
    return 1 << (max(1, most).bit_length() - 1)


def _lowest(codes: Codes) -> Codes:
    """(n_columns,) the lowest code of each column; NumPy is slow at it where rows are short."""
    return np.array([column.min() for column in codes.T]) if codes.shape[1] < 64 else codes.min(axis=0)
