"""The reducer for tables in this process's memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tensorpmf._check import whole_number
from tensorpmf.fit.contract import Stats
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.table.table import CategoricalTable

if TYPE_CHECKING:
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.table.schema import Schema

ROWS_A_BLOCK = 4096
MOST_BLOCKS = 64
CELLS_WORTH_A_THREAD = 50_000


def n_blocks_for(n_rows: int) -> int:
    """Return into how many blocks a table is cut: a power of two that depends on its rows alone."""
    wanted = max(1, min(MOST_BLOCKS, n_rows // ROWS_A_BLOCK))
    return 1 << (wanted.bit_length() - 1)


def tree_sum(blocks: Sequence[Rows], summarise: Callable[[Rows, Any], Stats], state: Any) -> Stats:
    """Return the statistics of all blocks, halves added to halves; few partial sums are held at a time."""
    if len(blocks) == 1:
        return summarise(blocks[0], state)
    half = len(blocks) // 2
    return tree_sum(blocks[:half], summarise, state) + tree_sum(blocks[half:], summarise, state)


@dataclass(frozen=True)
class LocalReducer:
    """Reduces over rows in memory, with threads; the answer has the same bits for any number of them.

    Parameters
    ----------
    n_threads
        How many threads work at once; by default as many as there are processors, or ``TENSORPMF_THREADS``.
    """

    n_threads: int | None = None

    def __post_init__(self) -> None:
        if self.n_threads is not None:
            whole_number("LocalReducer", "n_threads", self.n_threads, at_least=1)

    def bind(self, table: CategoricalTable | Any) -> LocalReduce:
        """Cut a table into fixed blocks."""
        if not isinstance(table, CategoricalTable):
            table = CategoricalTable.from_any(table)
        rows = rows_of(table).merged()
        n_blocks = n_blocks_for(rows.n_rows)
        n_threads = self.n_threads or int(os.environ.get("TENSORPMF_THREADS", 0)) or os.cpu_count() or 1
        edges = [rows.n_rows * ix // n_blocks for ix in range(n_blocks + 1)]
        blocks = [rows.take(slice(start, stop)) for start, stop in pairwise(edges)]
        return LocalReduce(table.schema, blocks, min(n_threads, n_blocks))


class LocalReduce:
    """Fixed blocks of one table, and the threads that work on them."""

    def __init__(self, schema: Schema, blocks: Sequence[Rows], n_threads: int) -> None:
        self.schema = schema
        self.blocks = blocks
        n_tasks = 1 << (n_threads - 1).bit_length()
        size = len(blocks) // min(n_tasks, len(blocks))
        self._subtrees = [blocks[at : at + size] for at in range(0, len(blocks), size)]
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __call__(self, summarise: Callable[[Rows, Any], Stats], state: Any) -> Stats:
        """Return the sum of ``summarise(block, state)`` over all blocks."""
        if self._pool is None:
            return tree_sum(self.blocks, summarise, state)
        first, *rest = self._subtrees
        waiting = [self._pool.submit(tree_sum, subtree, summarise, state) for subtree in rest]
        sums = [tree_sum(first, summarise, state), *(future.result() for future in waiting)]
        while len(sums) > 1:
            sums = [sums[at] + sums[at + 1] for at in range(0, len(sums), 2)]
        return sums[0]
