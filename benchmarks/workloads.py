"""The tables that kernels are timed on: seeded, made once, nothing fetched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tensorpmf.kernels.estep import LogTables
from tensorpmf.kernels.rows import Rows


@dataclass(frozen=True)
class Workload:
    """A table drawn from a low-rank PMF, some of its cells hidden.

    Parameters
    ----------
    name
        What it is called in reports.
    n_rows, n_levels
        Its size.
    missing
        Share of cells hidden.
    sparse
        Whether rows hold the observed cells only.
    """

    name: str
    n_rows: int
    n_levels: tuple[int, ...]
    missing: float = 0.0
    sparse: bool = False


PAPER = Workload("N=5 I=10", 100_000, (10,) * 5)
BINARY = Workload("N=64 binary", 100_000, (2,) * 64)
RATINGS = Workload("N=100 I=10, 72 % missing", 67_741, (10,) * 100, missing=0.72)
SPARSE = Workload("N=1000 I=10, 98 % missing", 50_000, (10,) * 1000, missing=0.98, sparse=True)
ALL = (PAPER, BINARY, RATINGS, SPARSE)


@lru_cache(maxsize=8)
def codes_of(workload: Workload, true_rank: int = 5) -> np.ndarray:
    """(n_rows, n_columns) codes drawn from the workload's PMF: the paper's generator, Dirichlet(1) factors."""
    rng = np.random.default_rng(20261118)
    weights = np.cumsum(rng.dirichlet(np.ones(true_rank)))
    component = np.searchsorted(weights, rng.random(workload.n_rows)).clip(max=true_rank - 1)
    codes = np.empty((workload.n_rows, len(workload.n_levels)), dtype=np.int8)
    for column, n_levels in enumerate(workload.n_levels):
        cumulative = np.cumsum(rng.dirichlet(np.ones(n_levels), true_rank), axis=1)
        drawn = (rng.random(workload.n_rows)[:, None] > cumulative[component]).sum(axis=1)
        codes[:, column] = drawn.clip(max=n_levels - 1)
        codes[rng.random(workload.n_rows) < workload.missing, column] = -1
    return codes


@lru_cache(maxsize=8)
def rows_of(workload: Workload) -> Rows:
    """The rows of a workload."""
    codes = codes_of(workload)
    if not workload.sparse:
        return Rows.from_codes(codes, workload.n_levels)
    row_ix, columns = np.nonzero(codes >= 0)
    indptr = np.searchsorted(row_ix, np.arange(workload.n_rows + 1))
    return Rows.from_csr(indptr, columns.astype(np.int16), codes[row_ix, columns], workload.n_levels)


def tables_of(workload: Workload, rank: int, precision: str = "double") -> LogTables:
    """A model of some rank, unrelated to the one the rows were drawn from."""
    rng = np.random.default_rng(rank)
    factors = np.concatenate([rng.dirichlet(np.ones(n), rank).T for n in workload.n_levels])
    return LogTables(np.log(rng.dirichlet(np.ones(rank))), np.log(factors), precision)  # type: ignore[arg-type]
