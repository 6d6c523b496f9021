"""The loop: starts, statuses, interruption, progress, determinism."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.errors import NoColumnsError, NoRowsError, SettingError, WeightError
from tensorpmf.fit.contract import Info, NotConvergedError, Status
from tensorpmf.fit.reduce import LocalReducer, n_blocks_for, tree_sum
from tensorpmf.fit.run import Ascent, Progress
from tensorpmf.kernels.rows import Rows


@pytest.fixture
def table(rng: np.random.Generator) -> tp.CategoricalTable:
    hidden = rng.integers(0, 2, 600)
    codes = np.stack([(hidden + (rng.random(600) < 0.2)) % 2 for _ in range(6)], axis=1)
    return tp.CategoricalTable.from_codes(codes, n_levels=[2] * 6)


def same(first: tp.FitResult, second: tp.FitResult) -> bool:
    return np.array_equal(first.trace.elbo, second.trace.elbo) and all(
        np.array_equal(a, b) for a, b in zip(first.pmf.factors, second.pmf.factors, strict=True)
    )


def test_a_converged_fit_says_so_and_has_one_trace_entry_a_pass(table: tp.CategoricalTable) -> None:
    result = tp.fit(table)
    assert result.status is Status.CONVERGED
    assert result.raise_if_failed() is result
    assert len(result.trace.elbo) == len(result.trace.rank) == len(result.trace.seconds) == len(result.trace)
    assert result.rank == result.posterior.rank == 2
    assert repr(result).startswith(f"FitResult(rank 2, objective {result.objective:.6g}, converged after ")
    assert f"after {len(result.trace)} passes in" in repr(result)


def test_steps_that_do_not_read_all_rows_are_told_from_passes(table: tp.CategoricalTable) -> None:
    result = tp.fit(table, tp.CTF(rank=2), max_iterations=7)
    assert result.trace.passes.tolist() == [1] * 7
    assert "after 7 steps, 1 pass in" in repr(result)
    assert "after 1 pass in" in repr(tp.fit(table, max_iterations=1))


def test_running_out_of_iterations_is_a_status_with_advice(table: tp.CategoricalTable) -> None:
    result = tp.fit(table, max_iterations=3)
    assert result.status is Status.MAX_ITERATIONS
    assert len(result.trace) == 3
    with pytest.raises(NotConvergedError, match="raise max_iterations"):
        result.raise_if_failed()


def test_an_interrupt_returns_the_best_state_so_far(table: tp.CategoricalTable) -> None:
    def stop(progress: Progress) -> None:
        if progress.iteration == 4:
            raise KeyboardInterrupt

    result = tp.fit(table, callback=stop, n_starts=3)
    assert result.status is Status.INTERRUPTED
    assert len(result.trace) == 5
    assert len(result.starts) == 1
    assert result.pmf.to_dense().sum() == pytest.approx(1.0)


def test_an_interrupt_of_a_later_start_is_told_too_though_an_earlier_one_is_best(table: tp.CategoricalTable) -> None:
    def stop(progress: Progress) -> None:
        if (progress.start, progress.iteration) == (1, 0):
            raise KeyboardInterrupt

    result = tp.fit(table, callback=stop, n_starts=3)
    assert result.status is Status.INTERRUPTED
    assert same(result, tp.fit(table))


def test_an_interrupt_before_the_first_pass_is_over_stays_one(
    table: tp.CategoricalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tp.VB, "summarise", stop)
    with pytest.raises(KeyboardInterrupt):
        tp.fit(table, n_threads=1)


def test_results_are_compared_by_what_they_hold(table: tp.CategoricalTable) -> None:
    result = tp.fit(table, max_iterations=3)
    assert copy.deepcopy(result) == result
    assert tp.fit(table, max_iterations=4) != result


@pytest.mark.parametrize(
    ("name", "must"),
    [("callback", "a function, or None"), ("reducer", r"what binds a table, such as LocalReducer\(\)")],
)
def test_what_is_called_must_be_callable(table: tp.CategoricalTable, name: str, must: str) -> None:
    with pytest.raises(SettingError, match=f"fit: {name} must be {must}.*, got 3"):
        tp.fit(table, **{name: 3})


def test_progress_counts_starts_and_passes(table: tp.CategoricalTable) -> None:
    seen: list[Progress] = []
    result = tp.fit(table, n_starts=2, callback=seen.append)
    assert {progress.start for progress in seen} == {0, 1}
    assert all(progress.n_starts == 2 for progress in seen)
    assert len([progress for progress in seen if progress.start == result.starts.index(max(result.starts))]) == len(
        result.trace
    )


def test_the_best_of_several_starts_is_kept(table: tp.CategoricalTable) -> None:
    result = tp.fit(table, tp.VB(max_rank=5), n_starts=4, max_iterations=8)
    assert len(result.starts) == 4
    assert result.objective == max(result.starts)
    assert len(set(result.starts)) > 1


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(rng: np.random.Generator) -> None:
    codes = rng.integers(-1, 4, (20_000, 3))
    table = tp.CategoricalTable.from_codes(codes, n_levels=[4, 4, 4])
    results = [tp.fit(table, tp.VB(max_rank=3), max_iterations=15, n_threads=n) for n in (1, 2, 3, 8)]
    assert all(same(results[0], other) for other in results[1:])
    assert not same(results[0], tp.fit(table, tp.VB(max_rank=3), max_iterations=15, seed=1))


@pytest.mark.parametrize("n_rows", [1, 4095, 8192, 100_000, 10**9])
def test_how_a_table_is_cut_depends_on_its_rows_alone_and_is_a_power_of_two(n_rows: int) -> None:
    n_blocks = n_blocks_for(n_rows)
    assert n_blocks & (n_blocks - 1) == 0
    assert 1 <= n_blocks <= 64


def test_the_tree_adds_every_block_once_and_in_order() -> None:
    blocks = [Rows.from_codes([[ix]], [16]) for ix in range(16)]
    log: list[int] = []

    class Word(str):
        def __add__(self, other: str) -> Word:
            return Word(f"({self}{other})")

    def summarise(block: Rows, state: None) -> Word:
        log.append(int(block.codes[0, 0]))
        return Word(f"{block.codes[0, 0]:x}")

    assert tree_sum(blocks, summarise, None) == "((((01)(23))((45)(67)))(((89)(ab))((cd)(ef))))"
    assert log == list(range(16))


def test_a_refused_jump_never_counts_as_convergence() -> None:
    ascent = Ascent(None, tolerance=1e-6)
    assert not any(ascent.see(Info(-10.0, rank=1, rejected=ix > 0), 0.0) for ix in range(50))


def test_a_flat_objective_is_no_convergence_while_a_component_is_dying() -> None:
    ascent = Ascent(None, tolerance=1e-6)
    assert not any(ascent.see(Info(-10.0, rank=2, settled=False), 0.0) for _ in range(50))
    assert any(ascent.see(Info(-10.0, rank=1), 0.0) for _ in range(10))


def test_anything_a_table_can_be_read_from_can_be_fitted() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x", "y", "x", None], "b": ["u", "u", "v", "v"]})
    assert tp.fit(frame).pmf.schema["a"].levels == ("x", "y")


@pytest.mark.parametrize("wrong", ["VB", tp.VB])
def test_what_is_no_algorithm_is_refused(table: tp.CategoricalTable, wrong: object) -> None:
    with pytest.raises(SettingError, match=r"such as VB\(\) or EM"):
        tp.fit(table, wrong)


@pytest.mark.parametrize("wrong", [{"n_starts": 0}, {"max_iterations": 0}, {"tolerance": -1.0}, {"tolerance": np.nan}])
def test_impossible_arguments_are_refused(table: tp.CategoricalTable, wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        tp.fit(table, **wrong)


@pytest.mark.parametrize("algorithm", [tp.VB(), tp.EM(rank=2), tp.CTF(rank=2, order="full")])
def test_what_is_left_of_a_table_must_be_one_still(table: tp.CategoricalTable, algorithm: Any) -> None:
    last_counts = table.with_weights(np.arange(table.n_rows) == table.n_rows - 1)
    for none, error in [
        (table.take([]), NoRowsError),
        (table.select([]), NoColumnsError),
        (last_counts.take([0, 1]), WeightError),
    ]:
        with pytest.raises(error):
            tp.fit(none, algorithm)


def test_threads_are_at_least_one() -> None:
    with pytest.raises(SettingError, match="n_threads"):
        LocalReducer(n_threads=0)


@pytest.mark.parametrize("algorithm", [tp.VB(max_rank=3), tp.EM(2), tp.SQUAREM(tp.EM(2)), tp.LPS(2)])
def test_a_result_tells_of_columns_that_no_rows_connect_and_of_those_never_seen(algorithm: Any) -> None:
    codes = np.random.default_rng(0).integers(0, 2, (200, 7))
    codes[:100, 2:] = codes[100:, :2] = codes[100:150, 4:] = codes[150:, 2:4] = codes[:, 6] = -1
    connects = "no rows connect 'x1', 'x2' with 'x3', 'x4' (nor with 1 other group): how these depend on each other"
    notes = tp.fit(tp.CategoricalTable.from_codes(codes, n_levels=[2] * 7), algorithm, max_iterations=5).notes
    assert notes[-2:] == (
        f"{connects} is not in the data",
        "no row observes 'x7': what the model says there is not from the data",
    )


def test_a_chain_of_rows_connects_columns(table: tp.CategoricalTable) -> None:
    codes = table.codes.copy()
    codes[:200, 2:] = codes[200:400, [0, 3, 4, 5]] = codes[400:, :2] = -1
    assert not tp.fit(tp.CategoricalTable.from_codes(codes, n_levels=[2] * 6), tp.EM(2), max_iterations=5).notes


@pytest.mark.parametrize("rank", [10**12, 10**30])
@pytest.mark.parametrize("algorithm", [tp.VB, tp.EM, tp.CTF, tp.LPS, lambda rank: tp.SQUAREM(tp.EM(rank))])
def test_more_components_than_there_is_memory_for_are_refused(algorithm: Any, rank: int) -> None:
    table = tp.CategoricalTable.from_codes(np.zeros((30, 30), dtype=int), n_levels=[4] * 30)
    with pytest.raises(SettingError, match=rf"rank must be smaller: a fit would need .*iB of memory, .*got {rank}\."):
        tp.fit(table, algorithm(rank))
