"""Whole fits, in passes of the Numba loop over 10⁵ × 5 cells: a unit of time that every machine has its own of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pytest

import tensorpmf as tp
from benchmarks.guard import Guard
from benchmarks.timing import least
from benchmarks.twin import Twin, any_columns
from benchmarks.workloads import PAPER, codes_of, tables_of
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.fit.contract import Status


@dataclass(frozen=True)
class Problem:
    """A table of the paper's generator, and how many components a fit of it starts from."""

    name: str
    n_rows: int
    rank: int
    n_columns: int = 5
    n_levels: int = 10
    outage: float = 0.0
    max_rank: int = 23


PROBLEMS = [
    Problem("T=1e4 R=5", 10_000, 5),
    Problem("T=1e5 R=5", 100_000, 5),
    Problem("T=1e5 R=15", 100_000, 15),
    Problem("T=1e5 R=10, 50 % missing", 100_000, 10, outage=0.5),
    Problem("T=2e4 N=64 binary R=8", 20_000, 8, 64, 2, max_rank=30),
    Problem("T=67741 N=100 R=20, 72 % missing", 67_741, 20, 100, 10, 0.72, 50),
]


@lru_cache(maxsize=1)
def numba_pass() -> Twin:
    return Twin(any_columns, codes_of(PAPER), PAPER.n_levels, tables_of(PAPER, 23, "single"))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_fit(benchmark: Any, guard: Guard, problem: Problem) -> None:
    truth = synthetic_pmf(problem.n_columns, problem.n_levels, problem.rank, seed=0)
    table = sample_table(truth, problem.n_rows, outage=problem.outage, seed=1000)

    def fit() -> tp.FitResult:
        return tp.fit(table, tp.VB(max_rank=problem.max_rank), n_threads=1)

    def measure() -> float:
        own, other = least(fit, numba_pass(), n_tries=3)
        return own / other

    result = benchmark.pedantic(fit, rounds=1)
    units = guard(f"fit / Numba pass: {problem.name}", measure)
    n_passes = guard(f"passes of a fit: {problem.name}", lambda: float(len(result.trace)))
    benchmark.extra_info.update(objective=result.objective, rank=result.rank, passes=n_passes, numba_passes=units)
    print(
        f"\nfit of {problem.name}: {units:.1f} Numba passes over 10⁵ rows, {n_passes:.0f} passes, "
        f"rank {result.rank}, bound {result.objective:.3f}"
    )
    assert result.status is Status.CONVERGED
