"""What rows show of small subsets of their columns: counting it, and the EM pass over the cells of such marginals.

A subset is split into its *lead* (all columns but one) and its *follower*. Subsets with the same lead are kept
together: their counts form one matrix, cells of the lead by stacked levels of the followers, so that what is done with
the lead is done once, and one matrix product serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf._check import default_threads
from tensorpmf.kernels import _native
from tensorpmf.kernels.estep import Counts
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.stacked import offsets_of
from tensorpmf.typing import Codes, Floats, Ints

Result = TypeVar("Result")

ROWS_AT_ONCE, CODES_AT_ONCE = 1 << 15, 1 << 22
CELLS_A_PART = 1 << 16
MOST_PARTS = 16


@dataclass(frozen=True)
class Group:
    """Subsets that share their lead.

    Parameters
    ----------
    lead
        (order - 1,) columns they share.
    shape
        How many levels each column of the lead has.
    subsets
        Which subsets these are.
    levels
        (n_follower_levels,) stacked positions of the levels of all followers.
    starts
        (n_followers,) where each follower's levels begin in ``levels``.
    cells
        Where the counts lie: a matrix of ``prod(shape)`` rows and ``len(levels)`` columns.
    """

    lead: tuple[int, ...]
    shape: tuple[int, ...]
    subsets: slice
    levels: Ints
    starts: Ints
    cells: slice


@dataclass(frozen=True)
class Part:
    """Groups that one thread works on.

    Parameters
    ----------
    group_starts
        (n_groups + 1,) the subset at which each group begins.
    cells
        Where their cells lie.
    """

    group_starts: Ints
    cells: slice


@dataclass(frozen=True, eq=False)
class Subsets:
    """Subsets of columns, all of one size, ordered by lead.

    Parameters
    ----------
    n_levels
        How many levels each column of the table has.
    columns
        (n_subsets, order) the columns of each subset: its lead, then its follower; these are the axes of its marginal.
    """

    n_levels: tuple[int, ...]
    columns: Ints

    @classmethod
    def of(cls, columns: ArrayLike, n_levels: tuple[int, ...]) -> Subsets:
        """Return subsets ordered by lead.

        In a triplet a pair of columns leads whose positions are both even or both odd. There always is one, and half as
        many pairs lead as would otherwise.

        Parameters
        ----------
        columns
            (n_subsets, order) distinct columns of each subset, in any order.
        n_levels
            How many levels each column of the table has.
        """
        chosen = np.sort(np.asarray(columns, dtype=np.int64), axis=1)
        if chosen.shape[1] == 3:
            odd = chosen % 2
            follower = np.select([odd[:, 0] == odd[:, 1], odd[:, 0] == odd[:, 2]], [2, 1], 0)
            lead_first = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])
            chosen = np.take_along_axis(chosen, lead_first[follower], axis=1)
        return cls(n_levels, np.ascontiguousarray(chosen[np.lexsort(chosen.T[::-1])]))

    def __reduce__(self) -> tuple[type[Subsets], tuple[tuple[int, ...], Ints]]:
        """Send no more than it takes to another process."""
        return Subsets, (self.n_levels, self.columns)

    @property
    def n_subsets(self) -> int:
        """How many subsets there are."""
        return len(self.columns)

    @property
    def order(self) -> int:
        """How many columns each subset has."""
        return int(self.columns.shape[1])

    @cached_property
    def offsets(self) -> Ints:
        """(n_columns + 1,) where each column's levels begin when those of all columns are stacked."""
        return offsets_of(self.n_levels)

    def span(self, column: int) -> slice:
        """Return where a column's levels are stacked."""
        return slice(int(self.offsets[column]), int(self.offsets[column + 1]))

    @cached_property
    def n_cells(self) -> int:
        """How many cells the marginals have in all."""
        return int(np.asarray(self.n_levels, dtype=np.int64)[self.columns].prod(axis=1).sum())

    @cached_property
    def group_starts(self) -> Ints:
        """(n_groups + 1,) the subset at which each group begins."""
        lead = self.columns[:, :-1]
        new = np.flatnonzero((lead[1:] != lead[:-1]).any(axis=1)) + 1
        return np.concatenate([[0], new, [self.n_subsets]]).astype(np.int64)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The subsets of each lead together."""
        return tuple(self._groups())

    def _groups(self) -> Iterator[Group]:
        stacked = np.arange(self.offsets[-1], dtype=np.int64)
        cells_before = 0
        for start, stop in zip(self.group_starts[:-1], self.group_starts[1:], strict=True):
            lead = tuple(int(column) for column in self.columns[start, :-1])
            followers = [int(column) for column in self.columns[start:stop, -1]]
            shape = tuple(self.n_levels[column] for column in lead)
            levels = np.concatenate([stacked[self.span(column)] for column in followers])
            starts = offsets_of([self.n_levels[column] for column in followers])[:-1]
            n_cells = int(np.prod(shape)) * len(levels)
            cells = slice(cells_before, cells_before + n_cells)
            cells_before += n_cells
            yield Group(lead, shape, slice(int(start), int(stop)), levels, starts, cells)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The groups in parts of about as many cells; how many there are depends on the cells alone."""
        n_parts = int(np.clip(self.n_cells // CELLS_A_PART, 1, MOST_PARTS))
        ends = np.array([group.cells.stop for group in self.groups])
        cuts = np.unique(np.searchsorted(ends, self.n_cells * np.arange(n_parts) // n_parts, side="right"))
        return tuple(
            Part(self.group_starts[start : stop + 1], slice(self.groups[start].cells.start, int(ends[stop - 1])))
            for start, stop in pairwise([*cuts.tolist(), len(ends)])
        )

    def matrix(self, cells: Floats, group: Group) -> Floats:
        """Return the view of one group's cells: lead cells by stacked follower levels."""
        return cells[group.cells].reshape(-1, len(group.levels))

    def tables(self, cells: Floats) -> Iterator[Floats]:
        """Yield the view of each subset's cells, in order, with the axes of its row of ``columns``."""
        for group in self.groups:
            matrix = self.matrix(cells, group).reshape(*group.shape, -1)
            yield from np.split(matrix, group.starts[1:], axis=-1)


def count_marginals(rows: Rows, subsets: Subsets, into: Floats | None = None) -> Floats:
    """Return (n_cells,) the weight of the rows that show each cell of each subset, all its columns observed.

    Parameters
    ----------
    rows
        The rows.
    subsets
        The subsets; :meth:`Subsets.tables` tells the cells apart.
    into
        (n_cells,) counts to add to, in place; by default new ones.
    """
    counts = np.zeros(subsets.n_cells) if into is None else into
    levels = np.asarray(subsets.n_levels, dtype=np.int64)
    size = max(1, min(ROWS_AT_ONCE, CODES_AT_ONCE // rows.n_columns))
    for start in range(0, rows.n_rows, size):
        piece = rows.take(slice(start, start + size))
        codes = np.ascontiguousarray(piece.dense().T, dtype=np.int32)
        weights = np.ones(piece.n_rows) if piece.weights is None else piece.weights

        def count(part: Part, codes: Codes = codes, weights: Floats = weights) -> None:
            _native.count_marginals(codes, weights, levels, subsets.columns, part.group_starts, counts[part.cells])

        _on_threads(count, subsets.parts)
    return counts


def accumulate_marginals(cells: Floats, subsets: Subsets, weights: Floats, factors: Floats) -> Counts:
    """Return the statistics of one EM pass over the cells of all marginals, each cell a row that shows it.

    With the ratio of cell to model ``Q = cells / (sum_r lambda_r a_r b_r c_r)``, component ``r`` takes
    ``Q lambda_r a_r b_r c_r`` of each cell.

    Parameters
    ----------
    cells
        (n_cells,) how much each cell counts.
    subsets
        Which marginals these are the cells of.
    weights
        (R,) component weights.
    factors
        (n_stacked_levels, R) factors, columns stacked.
    """
    weights, factors = np.ascontiguousarray(weights), np.ascontiguousarray(factors)

    def share(part: Part) -> Counts:
        counts, by_level = np.zeros_like(weights), np.zeros_like(factors)
        log_norm = _native.accumulate_marginals(
            cells[part.cells], subsets.offsets, subsets.columns, part.group_starts, weights, factors, counts, by_level
        )
        return Counts(counts, by_level, log_norm)

    first, *others = _on_threads(share, subsets.parts)
    return sum(others, start=first)


def _on_threads(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Return what each part gives, in order; how many threads there are changes nothing in it."""
    n_threads = min(len(parts), default_threads())
    if n_threads == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, parts))
