"""The pass over the rows: against the limit of this machine, against Numba, packed, in threads, in both precisions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest

from benchmarks.guard import Guard
from benchmarks.roofline import limit_ms
from benchmarks.timing import least
from benchmarks.twin import Twin, any_columns, five_columns
from benchmarks.workloads import ALL, BINARY, PAPER, Workload, codes_of, rows_of, tables_of
from tensorpmf.fit.reduce import LocalReduce
from tensorpmf.kernels.blocks import cut
from tensorpmf.kernels.estep import Counts, LogTables, accumulate
from tensorpmf.kernels.packing import listed
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.stacked import column_sums, offsets_of
from tensorpmf.table.schema import Schema

RANKS = (5, 23, 50, 450)
PRECISIONS = ("double", "single")


@lru_cache(maxsize=1)
def blocks_of(workload: Workload) -> list[Rows]:
    """The rows of a workload as a fit holds them: sorted, merged, packed, indexed."""
    return cut(rows_of(workload))


def one_pass(blocks: list[Rows], tables: LogTables) -> Counts:
    """A pass from log-tables to counts, as an iteration of a fit makes it: packed tables are built anew."""
    tables = replace(tables, _ready={})
    counts = accumulate(blocks[0], tables)
    for block in blocks[1:]:
        counts = counts + accumulate(block, tables)
    return counts


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_distance_from_the_limit(benchmark: Any, guard: Guard, workload: Workload, rank: int, precision: str) -> None:
    blocks, tables = blocks_of(workload), tables_of(workload, rank, precision)
    task = partial(one_pass, blocks, tables)
    n_tries = 20 if rank < 100 else 5
    counts = benchmark.pedantic(task, rounds=3, warmup_rounds=1)
    limit = limit_ms(blocks, rank, precision)
    name = f"pass / limit: {workload.name}, R={rank}, {precision}"
    ratio = guard(name, lambda: 1e3 * least(task, n_tries=n_tries)[0] / limit)
    benchmark.extra_info.update(objective=counts.log_norm, rank=rank, passes=1, limit_ms=limit, ratio=ratio)
    print(f"\n{name}: {ratio * limit:.3f} ms, {ratio:.2f} × the limit of {limit:.3f} ms")
    assert counts.weights.sum() == pytest.approx(workload.n_rows, rel=1e-5)


@pytest.mark.parametrize("loop", [five_columns, any_columns], ids=["written out", "any columns"])
def test_against_numba(benchmark: Any, guard: Guard, loop: Callable[[int], Callable[..., Any]]) -> None:
    """One pass, float32, T = 10⁵, N = 5, I = 10, 23 components, one thread: as a fit makes it, and row by row."""
    tables = tables_of(PAPER, 23, "single")
    theirs = Twin(loop, codes_of(PAPER), PAPER.n_levels, tables)
    as_fitted = partial(one_pass, blocks_of(PAPER), tables)
    row_by_row = partial(one_pass, [replace(rows_of(PAPER), packed_as=listed(PAPER.n_levels))], tables)
    counts = benchmark.pedantic(as_fitted, rounds=5, warmup_rounds=1)
    for name, ours in (("as fitted", as_fitted), ("row by row, unpacked", row_by_row)):

        def measure(ours: Callable[[], Counts] = ours) -> float:
            own, other = least(ours, theirs)
            return own / other

        ratio = guard(f"pass / Numba, {loop.__name__.replace('_', ' ')}: {name}", measure)
        print(f"\n{name}: {1 / ratio:.1f} × as fast as Numba ({loop.__name__})")
        benchmark.extra_info[name] = 1 / ratio
    benchmark.extra_info.update(objective=counts.log_norm, rank=23, passes=1)
    assert theirs().log_norm == pytest.approx(counts.log_norm, rel=1e-6)
    np.testing.assert_allclose(theirs().factors, counts.factors, atol=20)  # they sum 10⁵ rows in single precision


def test_packing_binary_columns(benchmark: Any, guard: Guard) -> None:
    """64 binary columns: packed as a fit packs them, against one column a group."""
    tables, rows = tables_of(BINARY, 23), rows_of(BINARY)
    packed = partial(one_pass, blocks_of(BINARY), tables)
    unpacked = partial(one_pass, [replace(rows, packed_as=listed(BINARY.n_levels))], tables)
    counts = benchmark.pedantic(packed, rounds=3, warmup_rounds=1)

    def measure() -> float:
        own, other = least(packed, unpacked)
        return own / other

    ratio = guard("packed / one column a group: N=64 binary, R=23", measure)
    benchmark.extra_info.update(objective=counts.log_norm, rank=23, passes=1, gain=1 / ratio)
    print(f"\npacking binary columns: {1 / ratio:.1f} × as fast")
    assert unpacked().log_norm == pytest.approx(counts.log_norm, rel=1e-12)


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_two_threads(benchmark: Any, guard: Guard, workload: Workload) -> None:
    """A pass of two threads against one: the same bits, in about half of the time where nobody else is at work."""
    tables, rows = tables_of(workload, 50), rows_of(workload)
    one, two = (LocalReduce(Schema.from_n_levels(workload.n_levels), rows, 1, n_threads) for n_threads in (1, 2))
    in_one, in_two = (partial(reduce, accumulate, tables) for reduce in (one, two))
    counts = benchmark.pedantic(in_two, rounds=3, warmup_rounds=1)

    def measure() -> float:
        single, double = least(in_one, in_two, n_tries=15, clock=time.perf_counter)
        return double / single

    ratio = guard(f"two threads / one: {workload.name}, R=50", measure, slack=0.5)
    benchmark.extra_info.update(objective=counts.log_norm, rank=50, passes=1, gain=1 / ratio)
    print(f"\ntwo threads: {1 / ratio:.2f} × as fast: {workload.name}")
    np.testing.assert_array_equal(in_one().factors, counts.factors)


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_single_precision(benchmark: Any, guard: Guard, workload: Workload) -> None:
    """What single precision would gain, and lose: it is not the default."""
    single, double = (
        partial(one_pass, blocks_of(workload), tables_of(workload, 23, kind)) for kind in PRECISIONS[::-1]
    )
    counts = benchmark.pedantic(single, rounds=3, warmup_rounds=1)
    exact = double()

    def measure() -> float:
        own, other = least(single, double)
        return own / other

    ratio = guard(f"single / double precision: {workload.name}, R=23", measure)
    lost = abs(counts.log_norm / exact.log_norm - 1)
    benchmark.extra_info.update(objective=counts.log_norm, rank=23, passes=1, gain=1 / ratio, lost=lost)
    print(f"\nsingle precision: {1 / ratio:.2f} × as fast, log-likelihood off by {lost:.1e}: {workload.name}")
    offsets = offsets_of(workload.n_levels)
    np.testing.assert_allclose(column_sums(counts.factors, offsets), column_sums(exact.factors, offsets), rtol=1e-2)
