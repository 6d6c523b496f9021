"""Rows on a cluster: workers may come, go and die; what is lost is time."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ON_LOOPBACK

import tensorpmf as tp
from tensorpmf.errors import ClusterError, MissingExtraError, SettingError
from tensorpmf.fit import reduce as reduce_module
from tensorpmf.fit.reduce import LocalReducer, tree_sum
from tensorpmf.kernels import blocks as blocks_module
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import pieces
from tensorpmf.scale import DaskReducer, cluster

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce_module, "ROWS_A_BLOCK", 200)
    monkeypatch.setattr(blocks_module, "BLOCK_NS", 1.0)
    monkeypatch.setattr(blocks_module, "BLOCK_STATE_NS", 1.0)
    monkeypatch.setattr(cluster, "A_WHILE", 0.05)


@pytest.fixture
def table(rng: np.random.Generator) -> tp.CategoricalTable:
    codes = rng.integers(-1, 4, (3_000, 5))
    return tp.CategoricalTable.from_codes(codes, [4] * 5, weights=rng.gamma(1.0, 1.0, 3_000))


@pytest.fixture
def other_client() -> Iterator[Any]:
    """A client of a cluster to be mistreated."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, silence_logs="CRITICAL", **ON_LOOPBACK
        ) as processes,
        distributed.Client(processes) as client,
    ):
        yield client


def fitted(table: tp.CategoricalTable, reducer: Any, **how: Any) -> tp.FitResult:
    return tp.fit(table, tp.VB(max_rank=4), reducer=reducer, max_iterations=10, tolerance=0.0, **how)


def same(one: tp.FitResult, other: tp.FitResult) -> bool:
    return np.array_equal(one.trace.objective, other.trace.objective)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_time_only(table: tp.CategoricalTable, other_client: Any) -> None:
    killed: list[int] = []

    def kill(progress: Any) -> None:
        processes = list(other_client.run(os.getpid).values()) if progress.iteration in (2, 5) else []
        for process in processes[:1] if progress.iteration == 2 else processes:
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    assert same(fitted(table, DaskReducer(other_client), callback=kill), fitted(table, LocalReducer(1)))
    assert len(killed) >= 2
    assert set(killed).isdisjoint(other_client.run(os.getpid).values())


@pytest.mark.slow
def test_a_cluster_whose_workers_are_gone_is_given_up(table: tp.CategoricalTable, other_client: Any) -> None:
    def dismiss(progress: Any) -> None:
        other_client.cluster.scale(0)

    with pytest.raises(ClusterError, match="without workers"):
        fitted(table, DaskReducer(other_client, patience=0.2), callback=dismiss)


def test_a_client_that_was_closed_is_told(table: tp.CategoricalTable, client: Any) -> None:
    own = distributed.Client(client.scheduler.address, set_as_default=False)
    reduce = DaskReducer(own).bind(table)
    own.close()
    with pytest.raises(ClusterError, match="client is closed"):
        reduce(tp.EM().summarise, None)


def test_rows_go_in_several_messages(table: tp.CategoricalTable, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "SENT_AT_ONCE", 1)
    assert same(fitted(table, DaskReducer(client)), fitted(table, LocalReducer(1)))


@dataclass(frozen=True)
class Failing(tp.EM):
    """EM that cannot count."""

    def summarise(self, block: Rows, state: Any) -> Any:
        raise ArithmeticError("cannot count")


def test_an_error_on_a_worker_is_passed_on(table: tp.CategoricalTable, client: Any) -> None:
    with pytest.raises(ArithmeticError, match="cannot count"):
        tp.fit(table, Failing(rank=2), reducer=DaskReducer(client))


def tables_kept() -> int:
    return len(cluster._tables)


def test_workers_forget_a_table_when_its_fit_is_over(table: tp.CategoricalTable, client: Any) -> None:
    reduce = DaskReducer(client).bind(table)
    state = tp.EM(rank=2).start(table.schema, np.random.default_rng(0))
    reduce(tp.EM().summarise, state)
    before = client.run(tables_kept)
    del reduce
    gc.collect()
    for worker, n_tables in before.items():
        assert client.submit(tables_kept, workers=[worker], pure=False).result() == n_tables - 1


class Sum(str):
    def __add__(self, other: str) -> Sum:
        return Sum(f"({self}{other})")


@given(n_blocks=st.integers(1, 40), n_runs=st.integers(1, 12))
def test_runs_of_blocks_add_up_as_all_blocks_do(n_blocks: int, n_runs: int) -> None:
    blocks = [Sum(f"{ix} ") for ix in range(n_blocks)]
    sums = {
        (start, stop): tree_sum(blocks[start:stop], lambda block, state: block, None)
        for run in pieces(n_blocks, min(n_runs, n_blocks))
        for start, stop in cluster.nodes(0, n_blocks, *run)
    }
    assert cluster.joined(sums, 0, n_blocks) == tree_sum(blocks, lambda block, state: block, None)


def test_a_worker_says_what_it_lacks_and_keeps_what_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Any = type(cluster._tables)()
    monkeypatch.setattr(cluster, "_tables", kept)
    names = [(0, 0), (0, 1), (0, 2)]
    what = pickle.dumps((block_and_state, 10))

    def step(table: str, **sent: int) -> Any:
        blocks = {names[int(place[1:])]: pickle.dumps(block) for place, block in sent.items()}
        return cluster.step(pickle.dumps((table, names, (1, 4), 4, 2, blocks)), what)

    assert step("one") == names
    assert step("one", _1=2) == [(0, 0), (0, 2)]
    assert step("one", _0=1, _2=3) == {(1, 2): 11, (2, 4): 25}
    assert step("one") == {(1, 2): 11, (2, 4): 25}
    for table in "abcd":
        step(table)
    assert list(kept) == ["a", "b", "c", "d"]
    cluster.forget("b")
    cluster.forget("b")
    assert list(kept) == ["a", "c", "d"]


def block_and_state(block: int, state: int) -> int:
    return block + state


@dataclass
class Sparse:
    """A client of a cluster whose workers come and go."""

    answers: list[dict[str, int]]
    status: str = "running"
    asked: list[str] = field(default_factory=list)

    def nthreads(self) -> dict[str, int]:
        return self.answers.pop(0)


def test_workers_keep_their_places(table: tp.CategoricalTable) -> None:
    one, two, three, other = (dict.fromkeys(names, 2) for names in ("a", "ab", "abc", "bd"))
    client = Sparse([{}, {}, one, two, three, other])
    reduce = cluster.DaskReduce(client, LocalReducer(1).bind(table), 10.0)
    places: list[list[str]] = []
    for _ in range(4):
        assert reduce._meet_workers() == 2
        places.append(list(reduce._workers))
    assert places == [["a"], ["a", "b"], ["a", "b", "c"], ["d", "b"]]
    client.status = "closed"


def test_a_cluster_without_workers_is_not_waited_for_for_ever(table: tp.CategoricalTable) -> None:
    client = Sparse([{}] * 100, status="connecting")
    reduce = cluster.DaskReduce(client, LocalReducer(1).bind(table), 0.01)
    with pytest.raises(ClusterError, match=r"without workers for 0\.01 seconds"):
        reduce(tp.EM().summarise, None)


def test_what_dask_says_is_put_clearly() -> None:
    with pytest.raises(ClusterError, match="cancelled"), cluster._errors_explained():
        raise distributed.CancelledError
    with pytest.raises(ClusterError, match="workers died"), cluster._errors_explained():
        raise distributed.KilledWorker("step", "worker", 3)


@pytest.mark.parametrize("wrong", [{"client": None}, {"minibatch": 0}, {"patience": 0}])
def test_settings_are_checked(wrong: dict[str, Any], client: Any) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        DaskReducer(**{"client": client, **wrong})


def test_without_dask_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"tensorpmf\[scale\]"):
        DaskReducer(None)
