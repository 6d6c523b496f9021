"""The reducer for tables in this process's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from tensorpmf._check import default_threads, whole_number
from tensorpmf.errors import NoColumnsError, NoRowsError, WeightError, counted, listing
from tensorpmf.fit.contract import Stats
from tensorpmf.kernels.blocks import cut
from tensorpmf.kernels.together import connected_groups
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.table.table import CategoricalTable

if TYPE_CHECKING:
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.table.schema import Schema
    from tensorpmf.typing import Ints

Block = TypeVar("Block")
"""Rows, or what stands for them."""

ROWS_A_BLOCK = 8192
MOST_BLOCKS = 64


def n_blocks_for(n_rows: int) -> int:
    """Return into how many blocks rows are cut: a power of two that depends on their number alone."""
    wanted = max(1, min(MOST_BLOCKS, n_rows // ROWS_A_BLOCK))
    return 1 << (wanted.bit_length() - 1)


def tree_sum(blocks: Sequence[Block], summarise: Callable[[Block, Any], Stats], state: Any) -> Stats:
    """Return the statistics of all blocks, halves added to halves; few partial sums are held at a time."""
    if len(blocks) == 1:
        return summarise(blocks[0], state)
    half = len(blocks) // 2
    return tree_sum(blocks[:half], summarise, state) + tree_sum(blocks[half:], summarise, state)


def subtrees(blocks: Sequence[Block], depth: int) -> Iterator[Sequence[Block]]:
    """Yield the parts of the tree that hang ``depth`` steps below its root, from left to right."""
    if depth == 0 or len(blocks) == 1:
        yield blocks
    else:
        half = len(blocks) // 2
        yield from subtrees(blocks[:half], depth - 1)
        yield from subtrees(blocks[half:], depth - 1)


def top_sum(sums: Iterator[Stats], n_blocks: int, depth: int) -> Stats:
    """Add the sums of subtrees as :func:`tree_sum` would have added them."""
    if depth == 0 or n_blocks == 1:
        return next(sums)
    half = n_blocks // 2
    left = top_sum(sums, half, depth - 1)
    return left + top_sum(sums, n_blocks - half, depth - 1)


class Threads:
    """Adds over blocks with some threads, the caller's among them; the sum has the same bits for any number.

    Parameters
    ----------
    n_threads
        How many; by default as many as there are processors, or ``TENSORPMF_THREADS``.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        n_threads = n_threads or default_threads()
        self._depth = (n_threads - 1).bit_length()
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def sum(self, blocks: Sequence[Block], summarise: Callable[[Block, Any], Stats], state: Any) -> Stats:
        """Return what :func:`tree_sum` returns."""
        if self._pool is None or len(blocks) == 1:
            return tree_sum(blocks, summarise, state)
        first, *rest = subtrees(blocks, self._depth)
        waiting = [self._pool.submit(tree_sum, subtree, summarise, state) for subtree in rest]
        sums = [tree_sum(first, summarise, state), *(future.result() for future in waiting)]
        return top_sum(iter(sums), len(blocks), self._depth)


def table_to_learn_from(table: CategoricalTable | Any) -> CategoricalTable:
    """Return a table that something can be learnt from, or say what it lacks.

    Parameters
    ----------
    table
        A table, or anything one can be read from.
    """
    if not isinstance(table, CategoricalTable):
        table = CategoricalTable.from_any(table)
    if not table.n_columns:
        raise NoColumnsError()
    if not table.n_rows:
        raise NoRowsError()
    if not table.total_weight:
        raise WeightError("sum to zero")
    return table


def n_parts_for(n_rows: int, minibatch: int | None) -> int:
    """Return how many parts have about so many rows each.

    Parameters
    ----------
    n_rows
        How many rows there are.
    minibatch
        About how many rows make one part; all, if there is no such number.
    """
    return 1 if minibatch is None else max(1, n_rows // minibatch)


def part_of(rows: Rows, part: int, n_parts: int) -> Rows:
    """Return one of several parts, spread evenly over the rows, so that a part of a sorted table is like the whole.

    Parameters
    ----------
    rows
        All rows.
    part, n_parts
        Which of how many parts.
    """
    return rows if n_parts == 1 else rows.take(slice(part, None, n_parts))


@dataclass(frozen=True)
class LocalReducer:
    """Reduces over rows in memory, with threads; the answer has the same bits for any number of them.

    Parameters
    ----------
    n_threads
        How many threads work at once; by default as many as there are processors, or ``TENSORPMF_THREADS``.
    minibatch
        About how many rows make one part, for algorithms that read a part of the rows at a time; by default all.
    """

    n_threads: int | None = None
    minibatch: int | None = None

    def __post_init__(self) -> None:
        if self.n_threads is not None:
            whole_number("LocalReducer", "n_threads", self.n_threads, at_least=1)
        if self.minibatch is not None:
            whole_number("LocalReducer", "minibatch", self.minibatch, at_least=1)

    def bind(self, table: CategoricalTable | Any) -> LocalReduce:
        """Cut a table into fixed blocks."""
        table = table_to_learn_from(table)
        return LocalReduce(table.schema, rows_of(table), n_parts_for(table.n_rows, self.minibatch), self.n_threads)


class LocalReduce:
    """Fixed blocks of one table, and the threads that work on them.

    A part of the rows is cut, sorted and merged when it is first read.
    """

    def __init__(self, schema: Schema, rows: Rows, n_parts: int, n_threads: int | None) -> None:
        self.schema = schema
        self.n_parts = n_parts
        self._rows = rows
        self._blocks: dict[int, list[Rows]] = {}
        self._threads = Threads(n_threads)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of these rows: of which columns, taken together or alone, they say nothing."""
        groups, unseen = connected_groups(self._rows)
        alone = f"no row observes {self._named(unseen)}: what the model says there is not from the data"
        named = " with ".join(map(self._named, groups[:2]))
        more = f" (nor with {counted(len(groups) - 2, 'other group')})" if len(groups) > 2 else ""
        apart = f"no rows connect {named}{more}: how these depend on each other is not in the data"
        return (*([apart] if len(groups) > 1 else []), *([alone] if len(unseen) else []))

    def _named(self, columns: Ints) -> str:
        return listing([self.schema.names[int(ix)] for ix in columns], 5)

    def blocks(self, part: int) -> list[Rows]:
        """Return the blocks of one part."""
        if part not in self._blocks:
            rows = part_of(self._rows, part, self.n_parts)
            self._blocks[part] = cut(rows, n_blocks_for(rows.n_rows))
        return self._blocks[part]

    def __call__(self, summarise: Callable[[Rows, Any], Stats], state: Any, part: int | None = None) -> Stats:
        """Return the sum of ``summarise(block, state)`` over all blocks, or those of one part."""
        parts = range(self.n_parts) if part is None else [part]
        return self._threads.sum([block for ix in parts for block in self.blocks(ix)], summarise, state)
