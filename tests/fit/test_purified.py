"""Locally purified states: slopes by enumeration, what a fit is worth, and the rows that are held out."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles import purified

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Status
from tensorpmf.fit.purified import LPSState
from tensorpmf.fit.reduce import LocalReducer
from tensorpmf.fit.rounds import Rounds
from tensorpmf.fit.run import Progress
from tensorpmf.kernels.purified import core_slopes
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.testing.algorithms import check_algorithm, example_table


@pytest.fixture(scope="module")
def truth() -> tp.LowRankPMF:
    return synthetic_pmf(5, 10, 5, seed=3)


@pytest.fixture(scope="module")
def table(truth: tp.LowRankPMF) -> tp.CategoricalTable:
    return sample_table(truth, 10_000, seed=4)


@pytest.mark.parametrize("cores", ["real", "complex"])
def test_slopes_are_those_of_the_enumerated_log_likelihood(cores: Any, rng: np.random.Generator) -> None:
    lps, table = tp.LPS(rank=3, cores=cores), example_table()
    state = lps.start(table.schema, rng)
    slopes = lps.normalised(state, lps.summarise(rows_of(table), state))

    def log_likelihood(moved: list[np.ndarray]) -> float:
        assert table.row_weights is not None
        return purified.log_likelihood(moved, table.codes, table.row_weights)

    assert slopes.log_likelihood == pytest.approx(log_likelihood(list(state.cores)))
    assert slopes.weight == pytest.approx(rows_of(table).total_weight)
    for site, core in enumerate(state.cores):
        found, direction = core_slopes(core, slopes.transfers[site]), rng.normal(size=core.shape)
        directions = [direction, 1j * direction] if cores == "complex" else [direction]
        for along in directions:
            both = []
            for sign in (1, -1):
                moved = list(state.cores)
                moved[site] = core + sign * 1e-5 * along
                both.append(log_likelihood(moved))
            expected = (both[0] - both[1]) / 2e-5
            assert (found.conj() * along).real.sum() == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_a_model_tells_the_log_likelihood_that_the_fit_saw(table: tp.CategoricalTable) -> None:
    result = tp.fit(table, tp.LPS(rank=2))
    assert result.status is Status.CONVERGED
    assert result.objective == pytest.approx(result.pmf.log_prob(table).sum())
    assert isinstance(result.pmf, tp.PurifiedPMF)
    assert result.posterior is None
    assert result.rank == result.pmf.rank == 2


@pytest.mark.parametrize("max_iterations", [2, 9, 10, 11, 12, 200])
def test_a_run_cut_short_tells_the_log_likelihood_of_the_model_it_returns(max_iterations: int) -> None:
    few = sample_table(synthetic_pmf(4, 3, 2, seed=3), 400, seed=4)
    start = tp.LPS(rank=2).start(few.schema, np.random.default_rng(np.random.SeedSequence(0).spawn(1)[0]))
    result = tp.fit(few, tp.LPS(rank=2), max_iterations=max_iterations, minibatch=40)
    assert result.status is Status.MAX_ITERATIONS
    assert len(result.trace) == max_iterations
    assert result.objective == pytest.approx(result.pmf.log_prob(few).sum())
    assert result.objective > tp.LPS(rank=2).finish(start).log_prob(few).sum()


def test_an_interrupt_is_followed_by_a_look_at_all_rows_which_another_one_ends(table: tp.CategoricalTable) -> None:
    few = table.take(slice(0, 400))

    def stop(now: Progress) -> None:
        if now.iteration >= 3:
            raise KeyboardInterrupt

    result = tp.fit(few, tp.LPS(rank=2), callback=stop)
    assert result.status is Status.INTERRUPTED
    assert result.objective == pytest.approx(result.pmf.log_prob(few).sum())
    assert result.starts == (pytest.approx(result.objective / 400),)


@pytest.mark.parametrize("cores", ["real", "complex"])
def test_a_result_is_saved_and_loaded_whole(cores: Any, tmp_path: Path) -> None:
    result = tp.fit(example_table(), tp.LPS(rank=2, cores=cores), max_iterations=30)
    tp.save(result, tmp_path / "chain.pmf")
    loaded = tp.load(tmp_path / "chain.pmf")
    assert loaded == result
    assert loaded.pmf.cores[0].dtype == (complex if cores == "complex" else float)


def test_a_fit_is_much_nearer_to_the_truth_than_independence(truth: tp.LowRankPMF, table: tp.CategoricalTable) -> None:
    independent = tp.kl_divergence(truth, tp.fit(table, tp.EM(rank=1)).pmf)
    assert tp.kl_divergence(truth, tp.fit(table, tp.LPS(rank=2)).pmf) < 0.8 * independent
    assert tp.kl_divergence(truth, tp.fit(table, tp.LPS(rank=4)).pmf) < 0.6 * independent


def test_bond_dimension_one_is_the_product_of_the_marginals(table: tp.CategoricalTable) -> None:
    some = table.take(slice(0, 8))
    found = tp.fit(some, tp.LPS(rank=1), tolerance=1e-13).pmf
    expected = tp.fit(some, tp.EM(rank=1)).pmf
    for name in table.schema.names:
        np.testing.assert_allclose(found.marginal(name).to_dense(), expected.marginal(name).to_dense(), atol=1e-3)


def test_training_ends_where_rows_held_out_become_less_likely(table: tp.CategoricalTable) -> None:
    """A model that is much too large for few rows: seen rows would become ever more likely."""
    few = table.take(slice(0, 300))
    algorithm = Rounds(tp.LPS(rank=8), 10)
    reduce = LocalReducer(1, minibatch=30).bind(few)
    state = algorithm.start(few.schema, np.random.default_rng(0))
    seen: list[float] = []
    for _ in range(1_000):
        if not state.visits:
            break
        ended = len(state.visits) == 1
        judged = tp.LPS().finish(state.average)
        state, _ = algorithm.update(state, reduce(algorithm.summarise, state, algorithm.part(state)))
        if ended:
            seen.append(float(judged.log_prob(few.take(slice(0, None, 10))).mean()))
    assert not state.visits, "training ended"
    assert len(seen) == state.n_rounds
    assert state.validation == pytest.approx(max(seen))
    assert seen[-1] < max(seen)
    best = algorithm.finish(state)
    assert best.log_prob(few.take(slice(0, None, 10))).mean() == pytest.approx(max(seen))
    assert algorithm.part(state) is None
    after = state.model.n_steps - state.best.n_steps
    assert tp.LPS().patience <= after < tp.LPS().patience + 9, "nine steps make a round"


def test_rows_held_out_are_never_learnt_from() -> None:
    """Whatever they show, every step leads to the same cores."""
    codes, algorithm = np.random.default_rng(0).integers(0, 3, (400, 3)), Rounds(tp.LPS(rank=2), 10)
    schema, other = tp.Schema.from_n_levels([3] * 3), codes.copy()
    other[::10] = 2
    states = [algorithm.start(schema, np.random.default_rng(0))] * 2
    reducers = [
        LocalReducer(1, 40).bind(tp.CategoricalTable.from_codes(each, schema=schema)) for each in (codes, other)
    ]
    for _ in range(30):
        assert algorithm.part(states[0]) == algorithm.part(states[1])
        steps = [
            reduce(algorithm.summarise, state, algorithm.part(state))
            for reduce, state in zip(reducers, states, strict=True)
        ]
        states = [algorithm.update(state, stats)[0] for state, stats in zip(states, steps, strict=True)]
    assert states[0].model.n_steps == 27
    for one, two in zip(states[0].model.cores, states[1].model.cores, strict=True):
        np.testing.assert_array_equal(one, two)
    assert states[0].validation != states[1].validation


def test_all_starts_hold_out_the_same_rows_and_are_compared_by_them(table: tp.CategoricalTable) -> None:
    few = table.take(slice(0, 1_000))
    result = tp.fit(few, tp.LPS(rank=3), n_starts=3)
    held_out = few.take(slice(0, None, 10))
    assert len(set(result.starts)) == 3
    assert max(result.starts) == pytest.approx(result.pmf.log_prob(held_out).mean())


def test_rounds_keep_the_contract_too() -> None:
    check_algorithm(Rounds(tp.LPS(rank=2), 4))


def test_orders_of_rounds_differ_and_visit_every_part_once() -> None:
    algorithm = Rounds(tp.LPS(rank=2), 30)
    visits = [algorithm._visits(7, n) for n in range(3)]
    assert all(sorted(each) == list(range(30)) for each in visits)
    assert all(each[-3:] == (0, 1, 2) for each in visits)
    assert all(one != other for one, other in pairwise(visits))


@pytest.mark.parametrize("outage", [0.0, 0.3])
def test_bits_do_not_depend_on_threads(outage: float) -> None:
    table = sample_table(synthetic_pmf(3, [4, 2, 3], 2, seed=0), 70_000, outage=outage, seed=1)
    one, three = (
        tp.fit(table, tp.LPS(rank=3), seed=5, n_threads=n, minibatch=20_000, max_iterations=15) for n in (1, 3)
    )
    assert one.pmf == three.pmf
    assert np.array_equal(one.trace.objective, three.trace.objective)


def test_missing_cells_are_worth_what_they_show() -> None:
    truth = synthetic_pmf(5, 4, 3, seed=0)
    table = sample_table(truth, 6_000, outage=0.4, seed=1)
    rows = (table.codes >= 0).all(axis=1)
    all_rows, complete = (tp.fit(each, tp.LPS(rank=3)).pmf for each in (table, table.take(rows)))
    assert tp.kl_divergence(truth, all_rows) < 0.6 * tp.kl_divergence(truth, complete)


@pytest.mark.parametrize(
    ("codes", "n_levels"),
    [([[0], [1], [1]] * 20, [3]), ([[1, 0, -1]], [2, 1, 3]), ([[-1, -1]] * 12, [2, 2]), ([[0, 1]] * 3, [1, 2])],
)
def test_small_tables_are_fitted(codes: list[list[int]], n_levels: list[int]) -> None:
    table = tp.CategoricalTable.from_codes(codes, n_levels=n_levels)
    result = tp.fit(table, tp.LPS(rank=3), max_iterations=2_000)
    np.testing.assert_allclose(result.pmf.to_dense().sum(), 1)
    assert np.isfinite(result.trace.objective).all()


def test_one_column_becomes_its_frequencies() -> None:
    table = tp.CategoricalTable.from_codes([[0]] * 300 + [[1]] * 600 + [[2]] * 100)
    np.testing.assert_allclose(tp.fit(table, tp.LPS(rank=2)).pmf.to_dense(), [0.3, 0.6, 0.1], atol=0.02)


def test_bonds_are_no_larger_than_columns_can_use() -> None:
    schema = tp.Schema.from_n_levels([2, 3, 3, 1])
    bonds = tp.LPS(rank=50, purification=1).start(schema, np.random.default_rng(0)).chain.bonds
    assert bonds == (1, 2, 3, 1, 1)


def test_steps_that_lower_the_log_likelihood_are_taken_back() -> None:
    table = example_table()
    lps, rows = tp.LPS(rank=2, learning_rate=1.5), rows_of(table)
    state = lps.start(table.schema, np.random.default_rng(0))
    infos, states = [], list[LPSState]()
    for _ in range(60):
        states.append(state)
        state, info = lps.update(state, lps.summarise(rows, state))
        infos.append(info)
    assert any(info.rejected for info in infos)
    assert np.diff([info.objective for info in infos]).min() >= 0
    accepted = [each for each, info in zip(states, infos, strict=True) if not info.rejected]
    assert lps.finish(state).log_prob(table) @ table.row_weights == pytest.approx(infos[-1].objective)
    assert accepted[-1].rate < 1.5


def test_hundreds_of_columns_are_fitted(rng: np.random.Generator) -> None:
    hidden = rng.integers(0, 2, (300, 1))
    codes = (rng.random((300, 200)) < 0.2 + 0.6 * hidden).astype(int)
    codes[rng.random(codes.shape) < 0.5] = -1
    table = tp.CategoricalTable.from_codes(codes, n_levels=[2] * 200)
    result = tp.fit(table, tp.LPS(rank=2), max_iterations=60)
    assert result.objective > 1.05 * tp.fit(table, tp.EM(rank=1)).objective
    assert result.pmf.most_likely("x1", [{f"x{n}": 1 for n in range(2, 201)}]) == 1


def test_a_bond_dimension_is_selected(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, tp.LPS(), (1, 3), "validation", n_starts=1)
    assert selection.rank == 3
    assert selection.best.algorithm == tp.LPS(rank=3)
    assert selection.best.pmf.rank == 3
    assert max(selection.best.trace.passes) < len(selection.best.trace), "steps read minibatches"


@pytest.mark.parametrize("criterion", ["bic", "dnml", "aic"])
def test_criteria_that_count_components_are_refused_before_anything_is_fitted(
    table: tp.CategoricalTable, criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tp.LPS, "summarise", None)
    must = r"must be one of \['validation', 'validation-error'\] for PurifiedPMF, which has no components to count"
    with pytest.raises(SettingError, match=must):
        tp.select_rank(table, tp.LPS(), (2, 4), ["validation", criterion])


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"rank": 0}, "LPS: rank must be a whole number >= 1, got 0"),
        ({"rank": 2, "purification": 0}, "LPS: purification must be a whole number >= 1"),
        ({"rank": 2, "cores": "quaternion"}, 'LPS: cores must be "real" or "complex"'),
        ({"rank": 2, "learning_rate": 0}, "LPS: learning_rate must be a finite number > 0"),
        ({"rank": 2, "validation": 1.0}, "LPS: validation must be a fraction between 0 and 1"),
        ({"rank": 2, "patience": 0}, "LPS: patience must be a whole number >= 1"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        tp.LPS(**settings)


def test_a_rank_must_be_known_to_start() -> None:
    with pytest.raises(SettingError, match=r"LPS: rank must be a whole number >= 1 here \(select_rank tries several"):
        tp.fit(tp.CategoricalTable.from_codes([[0], [1]]), tp.LPS())


@pytest.mark.parametrize(
    ("n_rows", "rows_a_step"), [(1, None), (9, None), (10, 1), (200, 20), (10_000, 500), (100_000, 2_000)]
)
def test_a_step_reads_some_hundred_rows_and_parts_are_ten_to_fifty(n_rows: int, rows_a_step: int | None) -> None:
    assert tp.LPS(rank=2).minibatch(n_rows) == rows_a_step
