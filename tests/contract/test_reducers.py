"""Every reducer, found where reducers are, is held to the contract, and leads every algorithm to the same bits."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.contract.examples import EXAMPLES

import tensorpmf as tp
from tensorpmf import scale
from tensorpmf.fit import reduce as reduce_module
from tensorpmf.fit.contract import Algorithm, Reducer
from tensorpmf.fit.reduce import LocalReducer
from tensorpmf.kernels import blocks as blocks_module
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.scale import DaskReducer, FileReducer
from tensorpmf.testing.algorithms import check_reducer, example_table

REDUCERS: dict[str, Callable[[Any, int | None], list[Reducer]]] = {
    "LocalReducer": lambda client, minibatch: [LocalReducer(n, minibatch) for n in (1, 3)],
    "FileReducer": lambda client, minibatch: [FileReducer(n_threads=n, minibatch=minibatch) for n in (1, 3)],
    "DaskReducer": lambda client, minibatch: [DaskReducer(client, minibatch)],
}
"""Reducers that differ in nothing but where the rows live and who works on them."""

ALGORITHMS = [each for some in EXAMPLES.values() for each in some]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small table be sorted in several batches and cut into several blocks."""
    monkeypatch.setattr(reduce_module, "ROWS_A_BLOCK", 100)
    monkeypatch.setattr(blocks_module, "BLOCK_NS", 1.0)
    monkeypatch.setattr(blocks_module, "BLOCK_STATE_NS", 1.0)
    monkeypatch.setattr(blocks_module, "SORT_AT_ONCE", 400)


def long_table(outage: float = 0.0, n_rows: int = 900) -> tp.CategoricalTable:
    """Rows of two groups, many of which occur once."""
    rng = np.random.default_rng(1)
    n_levels = [6, 5, 4, 3]
    codes = (rng.random((n_rows, 4)) ** rng.choice([0.3, 2.0], size=(n_rows, 1)) * n_levels).astype(np.int64)
    codes[rng.random(codes.shape) < outage] = -1
    return tp.CategoricalTable.from_codes(codes, n_levels)


def wide_table() -> tp.CategoricalTable:
    """Rows of which few cells are observed, so that they are not sorted."""
    codes = np.random.default_rng(2).integers(0, 3, (500, 40))
    codes[np.random.default_rng(3).random(codes.shape) < 0.95] = -1
    codes[0] = 0
    return tp.CategoricalTable.from_codes(codes, [3] * 40).compressed()


def weighted(table: tp.CategoricalTable) -> tp.CategoricalTable:
    return table.with_weights(np.random.default_rng(4).gamma(2.0, 1.0, table.n_rows))


TABLES: dict[str, Callable[[], tp.CategoricalTable]] = {
    "complete": long_table,
    "missing": lambda: long_table(0.3),
    "weighted": lambda: weighted(long_table(0.3)),
    "sparse": lambda: weighted(long_table(0.3)).compressed(),
}


def same(one: tp.FitResult, other: tp.FitResult) -> bool:
    """Whether two fits went the same way to the same model, bit by bit."""
    return (
        np.array_equal(one.trace.objective, other.trace.objective)
        and np.array_equal(one.pmf.to_dense(), other.pmf.to_dense())
        and one.rank == other.rank
    )


def test_every_reducer_is_here() -> None:
    found = {kind.__name__ for kind in vars(scale).values() if inspect.isclass(kind) and hasattr(kind, "bind")}
    assert {"LocalReducer", *found} == set(REDUCERS)


@pytest.mark.parametrize("kind", ["complete", "missing", "weighted", "sparse"])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_every_reducer_leads_to_the_same_bits(algorithm: Algorithm[Any, Any], kind: str, client: Any) -> None:
    table = TABLES[kind]()
    assert len(LocalReducer(1).bind(table).blocks(0)) > 2
    results = [
        tp.fit(table, algorithm, reducer=reducer, max_iterations=5)
        for reducers in REDUCERS.values()
        for reducer in reducers(client, None)
    ]
    assert all(same(results[0], other) for other in results[1:])


@pytest.mark.parametrize("algorithm", [tp.VB(max_rank=5), tp.LPS(rank=2)], ids=str)
def test_every_reducer_leads_to_the_same_bits_part_by_part(algorithm: Algorithm[Any, Any], client: Any) -> None:
    table = weighted(long_table(0.2))
    results = [
        tp.fit(table, algorithm, reducer=reducer, max_iterations=12)
        for reducers in REDUCERS.values()
        for reducer in reducers(client, 300)
    ]
    assert all(same(results[0], other) for other in results[1:])


def test_every_reducer_leads_to_the_same_bits_where_rows_are_not_sorted(client: Any) -> None:
    results = [
        tp.fit(table, tp.VB(max_rank=4), reducer=reducer, max_iterations=10)
        for table in (wide_table(),)
        for reducers in REDUCERS.values()
        for reducer in reducers(client, None)
    ]
    assert all(
        np.array_equal(results[0].trace.objective, other.trace.objective)
        and np.array_equal(results[0].pmf.weights, other.pmf.weights)
        for other in results[1:]
    )


@pytest.mark.parametrize("minibatch", [None, 60])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", REDUCERS)
def test_every_reducer_keeps_the_contract(name: str, compressed: bool, minibatch: int | None, client: Any) -> None:
    table = example_table()
    held = replace(table, cells=table.cells.compressed()) if compressed else table
    for reducer in REDUCERS[name](client, minibatch):
        check_reducer(reducer, held, rows_of(table))


@dataclass(frozen=True)
class Forgetful:
    """A reducer that loses the last row."""

    def bind(self, table: tp.CategoricalTable) -> Any:
        return LocalReducer(1).bind(table.take(slice(None, -1)))


def test_a_reducer_that_loses_a_row_is_found() -> None:
    table = example_table()
    with pytest.raises(AssertionError, match="the weight of all rows"):
        check_reducer(Forgetful(), table, rows_of(table))
