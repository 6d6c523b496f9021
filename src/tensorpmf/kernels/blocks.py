"""Rows cut into blocks for many passes over them: sorted, merged, packed and indexed where that makes a pass faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tensorpmf.kernels.packing import listed, rows_ns
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import Plan, Sorter, pieces
from tensorpmf.typing import Codes

Held = TypeVar("Held")

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
    return [block_of(batch, span) for batch, span in lay_out(rows, lambda batch: batch, n_most)]


def lay_out(
    rows: Rows,
    keep: Callable[[Rows], Held],
    n_most: int = MOST_BLOCKS,
    take: Callable[[slice], Rows] | None = None,
) -> list[tuple[Held, slice]]:
    """Make rows ready batch by batch, so that only one batch need be in memory; return where each block will be found.

    Parameters
    ----------
    rows
        The rows.
    keep
        Takes a batch away as soon as it is ready; what it returns stands for the batch.
    n_most
        How many blocks at most.
    take
        How to fetch some consecutive rows; by default ``rows.take``.
    """
    take = take or rows.take
    return _lay_out_sorted(rows, keep, n_most, take) or _lay_out_as_they_come(rows, keep, n_most, take)


def block_of(batch: Rows, span: slice) -> Rows:
    """Return a block of a batch.

    Parameters
    ----------
    batch
        The batch.
    span
        Which of its rows, as :func:`lay_out` says.
    """
    if batch.sorted is None:  # such a batch is a block
        return batch
    weights = None if batch.weights is None else batch.weights[span]
    return replace(batch, weights=weights, sorted=batch.sorted.cut(span.start, span.stop))


def _lay_out_as_they_come(
    rows: Rows, keep: Callable[[Rows], Held], n_most: int, take: Callable[[slice], Rows]
) -> list[tuple[Held, slice]]:
    n_states = sum(rows.n_levels)
    cost = rows_ns(rows.n_rows, rows.n_observed, n_states)
    n_blocks = power_of_two(min(n_most, int(cost / _block_ns(n_states)), rows.n_rows))
    indexed = rows.n_rows * rows.n_observed * 2 < INDEX_BYTES
    return [
        (keep(replace(take(slice(a, b)), packed_as=listed(rows.n_levels), indexed=indexed)), slice(0, b - a))
        for a, b in pieces(rows.n_rows, n_blocks)
    ]


def _lay_out_sorted(
    rows: Rows, keep: Callable[[Rows], Held], n_most: int, take: Callable[[slice], Rows]
) -> list[tuple[Held, slice]]:
    """Return nothing where sorting does not pay; batches are sorted by themselves, which saves memory."""
    if rows.n_rows == 0 or (rows.is_sparse and rows.n_columns > 4 * rows.n_observed):
        return []
    n_batches = power_of_two(-(-rows.n_rows // SORT_AT_ONCE) * 2 - 1)
    spans = [slice(*piece) for piece in pieces(rows.n_rows, n_batches)]
    missing = np.any([_lowest(take(span).dense()) < 0 for span in spans], axis=0)
    plan: Plan | None = None
    indexed = False
    batches: list[tuple[Held, int]] = []
    for span in spans:
        batch = take(span)
        sorter = Sorter(rows.n_levels, missing, batch.dense())
        if plan is None:
            plan = sorter.plan()
            if plan.cost_ns > rows_ns(batch.n_rows, rows.n_observed, sum(rows.n_levels)):
                return []
            n_shown = len(plan.packing.groups) - plan.n_prefix_groups
            indexed = n_shown > 1 and rows.n_rows * n_shown * 2 < INDEX_BYTES
        ready, weights = sorter.sort(batch.weights, plan)
        held = keep(Rows(rows.n_levels, weights=weights, sorted=ready, indexed=indexed))
        batches.append((held, ready.n_rows))
    assert plan is not None, "there is at least one batch"
    n_wanted = min(n_most, int(n_batches * plan.cost_ns / _block_ns(sum(plan.packing.n_states))))
    n_each = power_of_two(min(n_wanted // n_batches, *(n_rows for _, n_rows in batches)))
    return [(held, slice(*piece)) for held, n_rows in batches for piece in pieces(n_rows, n_each)]


def _block_ns(n_states: int) -> float:
    """Return how long a block should take at least: what comes on top of it should be little."""
    return max(BLOCK_NS, BLOCK_STATE_NS * n_states)


def power_of_two(most: int) -> int:
    """Return the largest power of two that is not above a number, and at least one."""
    return 1 << (max(1, most).bit_length() - 1)


def _lowest(codes: Codes) -> Codes:
    """(n_columns,) the lowest code of each column; NumPy is slow at it where rows are short."""
    return np.array([column.min() for column in codes.T]) if codes.shape[1] < 64 else codes.min(axis=0)
