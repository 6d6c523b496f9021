"""Variational Bayes against the paper's formulas taken literally, exact evidence, and the invariants of any fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.elbo import elbo_39
from tests.oracles.evidence import log_evidence

import tensorpmf as tp
from tensorpmf.errors import SettingError, UnknownColumnError
from tensorpmf.fit.vb import VBState, start_rank
from tensorpmf.kernels.rows import Rows
from tensorpmf.table.schema import Schema


def paper_table(rank: int, n_rows: int, seed: int, outage: float = 0.0) -> tp.CategoricalTable:
    from tensorpmf.data import sample_table, synthetic_pmf

    return sample_table(synthetic_pmf(rank=rank, seed=seed), n_rows, outage=outage, seed=seed + 1000)


def random_state(rng: np.random.Generator, schema: Schema, rank: int, alpha_weights: float) -> VBState:
    return VBState(
        schema=schema,
        weights=alpha_weights + rng.gamma(1.0, 3.0, rank),
        factors=0.7 + rng.gamma(1.0, 2.0, (int(schema.offsets[-1]), rank)),
        alpha_weights=alpha_weights,
        alpha_factors=np.full(int(schema.offsets[-1]), 0.7),
        n_empty=0,
    )


@given(st.integers(0, 2**32), st.sampled_from([1e-6, 0.1, 1.0]), st.integers(1, 4))
def test_the_bound_equals_equation_39_taken_literally(seed: int, alpha_weights: float, rank: int) -> None:
    rng = np.random.default_rng(seed)
    n_levels = [2, 3, 1, 4]
    codes = np.stack([rng.integers(-1, n, 12) for n in n_levels], axis=1)
    schema = Schema.from_n_levels(n_levels)
    state = replace(random_state(rng, schema, rank, alpha_weights), alpha_factors=rng.gamma(2.0, 1.0, 10))
    algorithm = tp.VB(alpha_weights=alpha_weights)
    _, info = algorithm.update(state, algorithm.summarise(Rows.from_codes(codes, n_levels), state))
    prior, factors = (np.split(stacked, schema.offsets[1:-1]) for stacked in (state.alpha_factors, state.factors))
    literal = elbo_39(codes, n_levels, alpha_weights, prior, state.weights, factors)
    assert info.objective == pytest.approx(literal, rel=1e-9, abs=1e-9)


@given(st.integers(0, 2**32))
def test_the_bound_never_exceeds_the_exact_log_evidence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_levels, rank = [2, 3], 2
    codes = np.stack([rng.integers(-1, n, 7) for n in n_levels], axis=1)
    codes[0] = 0, 0
    table = tp.CategoricalTable.from_codes(codes, n_levels=n_levels)
    result = tp.fit(table, tp.VB(max_rank=rank, alpha_weights=0.5, alpha_factors=0.8), seed=seed % 1000)
    assert result.objective <= log_evidence(codes, n_levels, rank, 0.5, 0.8) + 1e-9


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("outage", [0.0, 0.4])
def test_the_bound_never_falls(accelerate: bool, outage: float) -> None:
    result = tp.fit(paper_table(4, 2_000, 3, outage), tp.VB(accelerate=accelerate), max_iterations=400)
    assert np.diff(result.trace.elbo).min() >= -1e-9 * abs(result.objective)


def test_the_bound_never_falls_where_few_rows_weigh_much(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 3, size=(60, 4))  # of two levels nothing is seen: towards infinity the bound is flat
    table = tp.CategoricalTable.from_codes(codes, n_levels=[5] * 4, weights=np.full(60, 1e6))
    for seed in range(3):
        trace = tp.fit(table, seed=seed).trace
        assert np.diff(trace.elbo).min() >= -1e-12 * np.abs(trace.elbo).max()


def test_no_jump_leads_to_impossible_concentrations(rng: np.random.Generator) -> None:
    state = random_state(rng, tp.Schema.from_n_levels([2, 3]), 4, 1e-6)
    for away in (-800.0, 800.0):
        jumped = tp.VB().from_vector(np.full(4 + 5 * 4, away), state)
        np.testing.assert_array_equal(jumped.weights, 1e-6 + (away > 0) * state.weights.sum())
        np.testing.assert_array_equal(jumped.factors, 0.7 + (away > 0) * state.weights.sum())


def test_dropping_dead_components_does_not_change_the_bound(rng: np.random.Generator) -> None:
    n_levels = [3, 4, 2]
    schema = Schema.from_n_levels(n_levels)
    codes = np.stack([rng.integers(0, n, 50) for n in n_levels], axis=1)
    rows = Rows.from_codes(codes, n_levels)
    algorithm = tp.VB(alpha_weights=1e-6, alpha_factors=0.7)
    small = random_state(rng, schema, 3, 1e-6)
    dead = np.full((int(schema.offsets[-1]), 2), 0.7)
    large = VBState(
        schema, np.r_[small.weights, 1e-6, 1e-6], np.hstack([small.factors, dead]), 1e-6, small.alpha_factors, 0
    )
    small = VBState(schema, small.weights, small.factors, 1e-6, small.alpha_factors, 2)
    after_small, of_small = algorithm.update(small, algorithm.summarise(rows, small))
    after_large, of_large = algorithm.update(large, algorithm.summarise(rows, large))
    assert of_small.objective == pytest.approx(of_large.objective, rel=1e-12)
    assert after_large.n_empty == after_small.n_empty >= 2
    np.testing.assert_allclose(after_large.weights, after_small.weights)


def test_an_accelerated_run_reaches_no_lower_a_bound_in_a_third_of_the_passes() -> None:
    ratios = []
    for seed in range(4):
        table = paper_table(5, 10_000, seed)
        plain, quick = tp.fit(table, tp.VB(accelerate=False), seed=seed), tp.fit(table, seed=seed)
        assert quick.objective >= plain.objective - 1e-7 * abs(plain.objective)
        ratios.append(len(quick.trace) / len(plain.trace))
    assert np.median(ratios) < 1 / 3


def test_the_rank_of_the_papers_generator_is_found() -> None:
    ranks = [tp.fit(paper_table(5, 100_000, seed)).rank for seed in range(4)]
    assert ranks == [5, 5, 5, 5]


def test_a_permutation_of_columns_rows_and_components_permutes_every_step(rng: np.random.Generator) -> None:
    n_levels, order, swap = [2, 3, 4], [2, 0, 1], [1, 3, 2, 0]
    codes = np.stack([rng.integers(-1, n, 200) for n in n_levels], axis=1)
    algorithm = tp.VB(alpha_factors=0.7)
    state = random_state(rng, Schema.from_n_levels(n_levels), 4, 1e-6)
    parts = np.split(state.factors, state.schema.offsets[1:-1])
    twin = VBState(
        Schema.from_n_levels([n_levels[ix] for ix in order]),
        state.weights[swap],
        np.concatenate([parts[ix][:, swap] for ix in order]),
        1e-6,
        state.alpha_factors,
        0,
    )
    rows = Rows.from_codes(codes, n_levels)
    mixed = Rows.from_codes(codes[rng.permutation(200)][:, order], twin.schema.n_levels)
    for _ in range(5):
        state, info = algorithm.update(state, algorithm.summarise(rows, state))
        twin, twin_info = algorithm.update(twin, algorithm.summarise(mixed, twin))
        assert twin_info.objective == pytest.approx(info.objective, rel=1e-12)
    np.testing.assert_allclose(np.sort(twin.weights), np.sort(state.weights), rtol=1e-9)


def test_a_row_twice_is_a_row_of_weight_two() -> None:
    table = paper_table(3, 500, 6)
    twice = tp.CategoricalTable.from_codes(np.concatenate([table.codes, table.codes]), n_levels=[10] * 5)
    heavy = table.with_weights(np.full(table.n_rows, 2.0))
    np.testing.assert_array_equal(tp.fit(twice).trace.elbo, tp.fit(heavy).trace.elbo)


def test_a_complete_and_a_missing_column_agree_with_leaving_the_column_out() -> None:
    table = paper_table(3, 1_000, 7)
    codes = table.codes.copy()
    codes[1:, 4] = -1
    with_hole = tp.fit(tp.CategoricalTable.from_codes(codes, n_levels=[10] * 5), tp.VB(max_rank=4, accelerate=False))
    without = tp.fit(
        tp.CategoricalTable.from_codes(codes[:, :4], n_levels=[10] * 4), tp.VB(max_rank=4, accelerate=False)
    )
    names = ["x1", "x2", "x3", "x4"]
    np.testing.assert_allclose(with_hole.pmf.marginal(names).to_dense(), without.pmf.to_dense(), atol=2e-4)


def test_one_level_one_row_and_an_unobserved_level_are_handled() -> None:
    one_row = tp.fit(tp.CategoricalTable.from_codes([[0, 1, 2]], n_levels=[1, 2, 3]))
    assert one_row.rank == 1
    assert one_row.pmf.to_dense().sum() == pytest.approx(1.0)
    assert tp.fit(tp.CategoricalTable.from_codes([[0, 0]], n_levels=[1, 1])).rank == 1
    only_level = tp.fit(tp.CategoricalTable.from_codes([[0, 0]] * 9, n_levels=[1, 1]))
    assert only_level.converged
    assert only_level.pmf.prob(np.array([[0, 0]])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "settings", [{"max_rank": 0}, {"max_rank": 2.5}, {"alpha_weights": 0.0}, {"alpha_weights": 1e10}]
)
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=next(iter(settings))):
        tp.VB(**settings)


def test_the_largest_prior_still_gives_the_evidence_of_one_component() -> None:
    codes = np.array([[0], [0], [1], [0]] * 100)
    result = tp.fit(tp.CategoricalTable.from_codes(codes, n_levels=[3]), tp.VB(max_rank=1, alpha_factors=1e9))
    rising = [np.sum(np.log1p(np.arange(n) / alpha)) for n, alpha in ((300, 1e9), (100, 1e9), (400, 3e9))]
    assert result.objective == pytest.approx(rising[0] + rising[1] - rising[2] - 400 * np.log(3), abs=1e-4)


def test_a_prior_for_each_column_by_name_or_position_reaches_the_bound() -> None:
    table = paper_table(2, 300, 8)
    by_name = tp.fit(table, tp.VB(alpha_factors={"x2": 3.0, "x5": 0.5}))
    by_position = tp.fit(table, tp.VB(alpha_factors=[1.0, 3.0, 1.0, 1.0, 0.5]))
    by_level = tp.fit(table, tp.VB(alpha_factors={"x2": [3.0] * 10, "x5": np.full(10, 0.5)}))
    assert by_name.objective == by_position.objective == by_level.objective != tp.fit(table).objective
    with pytest.raises(UnknownColumnError, match="'x9'"):
        tp.fit(table, tp.VB(alpha_factors={"x9": 1.0}))
    for wrong in ([1.0, -1.0, 1.0, 1.0, 1.0], [1.0, 2.0], {"x2": [1.0, 2.0]}, "many", 1e10, np.nan):
        with pytest.raises(SettingError, match="alpha_factors"):
            tp.fit(table, tp.VB(alpha_factors=wrong))


def labelled_table(rng: np.random.Generator, outage: float) -> tp.CategoricalTable:
    """Rows of two classes, each a mixture of two; the class, the last column, is missing in some."""
    label, part = rng.integers(0, 2, 600), rng.integers(0, 2, 600)
    likely = (label ^ part)[:, None] * [1, 0, 1] + part[:, None] * [0, 1, 1]
    features = np.where(rng.random((600, 3)) < 0.8, likely, rng.integers(0, 3, (600, 3)))
    label = np.where(rng.random(600) < outage, -1, label)
    return tp.CategoricalTable.from_codes(np.column_stack([features, label]), n_levels=[3, 3, 3, 2])


def test_components_divided_among_classes_count_the_rows_of_their_class_alone(rng: np.random.Generator) -> None:
    table = labelled_table(rng, outage=0.0)
    posterior = tp.fit(table, tp.VB(max_rank=8, by="x4")).posterior
    assert posterior is not None
    of_class = posterior.mean().factors[3] > 0.99
    assert of_class.sum(axis=0).tolist() == [1] * len(posterior.weights)
    for label in (0, 1):
        rows = table.codes[table.codes[:, 3] == label]
        assert (posterior.weights[of_class[label]] - 1e-6).sum() == pytest.approx(len(rows), abs=1e-6)
        for column in range(3):
            counts = (posterior.factors[column][:, of_class[label]] - 1.0).sum(axis=1)
            np.testing.assert_allclose(counts, np.bincount(rows[:, column], minlength=3), atol=1e-6)


def test_rows_without_a_class_are_shared_out_among_all_components(rng: np.random.Generator) -> None:
    table, asked = labelled_table(rng, outage=0.9), labelled_table(rng, outage=0.0)
    result = tp.fit(table, tp.VB(max_rank=8, by="x4"), n_starts=5)
    assert result.posterior is not None
    assert result.posterior.weights.sum() == pytest.approx(600, abs=1e-4)
    assert np.diff(result.trace.elbo).min() >= -1e-9
    features = np.column_stack([asked.codes[:, :3], np.full(600, -1)])
    right = result.pmf.conditional("x4", features).argmax(axis=1) == asked.codes[:, 3]
    assert right.mean() > 0.85


def test_every_class_needs_a_component() -> None:
    table = paper_table(2, 300, 8)
    assert tp.fit(table, tp.VB(by="x5"), max_iterations=3).pmf.rank >= 1
    with pytest.raises(SettingError, match="max_rank must be at least 10, one for each level of 'x5', got 4"):
        tp.fit(table, tp.VB(max_rank=4, by="x5"))
    with pytest.raises(UnknownColumnError, match="'x9'"):
        tp.fit(table, tp.VB(by="x9"))


def test_the_starting_rank_is_kruskals_bound_within_reason() -> None:
    assert start_rank([10] * 5) == 23
    assert start_rank([10] * 100) == 100
    assert start_rank([2, 2]) == 2
    assert start_rank([7]) == start_rank([7, 1]) == start_rank([1, 1, 1]) == 1


def test_a_cap_on_the_components_and_a_rank_at_the_cap_are_said() -> None:
    wide = tp.CategoricalTable.from_codes(np.zeros((3, 60), dtype=int), n_levels=[10] * 60)
    (note,) = tp.fit(wide, max_iterations=1).notes
    assert "started from 100 components, not from Kruskal's 270" in note
    (note,) = tp.fit(paper_table(5, 3_000, 9), tp.VB(max_rank=2)).notes
    assert "VB(max_rank=4)" in note
    assert tp.fit(paper_table(2, 3_000, 9)).notes == ()


def test_settings_are_copied_and_compare() -> None:
    per_level = np.array([1.0, 3.0])
    by_name, by_position = {"x1": per_level, "x2": [2.0]}, [per_level, 2.0]
    algorithms = tp.VB(alpha_factors=by_name), tp.VB(alpha_factors=by_position), tp.VB(alpha_factors=per_level)
    per_level[0] = 9.0
    by_name["x3"] = [1.0]
    by_position[1] = 9.0
    assert algorithms == (
        tp.VB(alpha_factors={"x1": (1.0, 3.0), "x2": (2.0,)}),
        tp.VB(alpha_factors=((1.0, 3.0), 2.0)),
        tp.VB(alpha_factors=np.array([1.0, 3.0])),
    )
