"""Tables and models to try the kernels on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from tensorpmf.kernels.estep import Counts, LogTables, accumulate
from tensorpmf.kernels.rows import Rows

RANKS = (1, 2, 3, 5, 8, 9, 17, 33, 70)
"""One component, fewer than any vector holds, and more than a strip of vectors holds; multiples of widths and not."""


@dataclass(frozen=True)
class Case:
    """A table, a model, and what they were made of."""

    rows: Rows
    tables: LogTables

    def single(self) -> Case:
        return replace(self, tables=LogTables(self.tables.log_weights, self.tables.log_factors, "single"))


def some_codes(rng: np.random.Generator, n_levels: Sequence[int], n_rows: int, missing: float) -> np.ndarray:
    codes = np.stack([rng.integers(0, n, n_rows) for n in n_levels], axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    return codes


def some_tables(rng: np.random.Generator, n_levels: Sequence[int], rank: int, impossible: float = 0.0) -> LogTables:
    weights = rng.dirichlet(np.ones(rank))
    factors = np.concatenate([rng.dirichlet(np.ones(n), rank).T for n in n_levels])
    factors[rng.random(factors.shape) < impossible] = 0.0
    with np.errstate(divide="ignore"):
        return LogTables(np.log(weights), np.log(factors))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Tables of a few columns: complete or not, weighted or not, of any integer type and layout."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_levels = draw(st.lists(st.sampled_from([1, 2, 3, 4, 12]), min_size=1, max_size=7))
    n_rows = draw(st.sampled_from([0, 1, 2, 7, 40, 150]))
    codes = some_codes(rng, n_levels, n_rows, draw(st.sampled_from([0.0, 0.2, 0.8, 1.0])))
    codes = codes.astype(draw(st.sampled_from([np.int8, np.int16, np.int32, np.int64])))
    if draw(st.booleans()):
        codes = np.asfortranarray(codes)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n_rows) if draw(st.booleans()) else None
    tables = some_tables(rng, n_levels, draw(st.sampled_from(RANKS)), draw(st.sampled_from([0.0, 0.0, 0.3])))
    return Case(Rows.from_codes(codes, n_levels, weights), tables)


def compressed(rows: Rows) -> Rows:
    codes = rows.dense()
    row_ix, columns = np.nonzero(codes >= 0)
    indptr = np.searchsorted(row_ix, np.arange(rows.n_rows + 1))
    return Rows.from_csr(indptr, columns.astype(np.int16), codes[row_ix, columns], rows.n_levels, rows.weights)


def over_blocks(blocks: Sequence[Rows], tables: LogTables) -> Counts:
    total = accumulate(blocks[0], tables)
    for block in blocks[1:]:
        total = total + accumulate(block, tables)
    return total


def assert_same(found: Counts, expected: Counts, weight: float, precision: float = 1e-12) -> None:
    size = precision * (1.0 + weight)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=size)
    np.testing.assert_allclose(found.factors, expected.factors, rtol=0, atol=size)
    np.testing.assert_allclose(found.log_norm, expected.log_norm, rtol=precision, atol=size)
