"""Coupled factorisation: exact marginals give the factors back, all columns at once is maximum likelihood."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import dense, em_loops

import tensorpmf as tp
from tensorpmf.errors import (
    MarginalError,
    MemoryLimitError,
    SettingError,
    UnconnectedColumnsError,
    UnknownColumnError,
    UnobservedTogetherError,
)
from tensorpmf.fit import mirror
from tensorpmf.fit.coupled import CTF, CTFState
from tensorpmf.fit.given import fit_marginals
from tensorpmf.fit.marginals import CompleteTally, SubsetTally
from tensorpmf.fit.squarem import SQUAREM
from tensorpmf.kernels.marginals import Subsets
from tensorpmf.kernels.rows import Rows
from tensorpmf.table.schema import Schema


def some_pmf(rng: np.random.Generator, n_levels: list[int], rank: int) -> tp.LowRankPMF:
    factors = [rng.dirichlet(np.ones(n), size=rank).T for n in n_levels]
    return tp.LowRankPMF(Schema.from_n_levels(n_levels), rng.dirichlet(np.full(rank, 5.0)), factors)


def some_codes(rng: np.random.Generator, pmf: tp.LowRankPMF, n_rows: int, outage: float = 0.0) -> np.ndarray:
    tensor = dense.tensor(pmf)
    cells = rng.choice(tensor.size, size=n_rows, p=tensor.ravel())
    codes = np.stack(np.unravel_index(cells, tensor.shape), axis=1)
    codes[rng.random(codes.shape) < outage] = -1
    return codes


def table_of(codes: np.ndarray, pmf: tp.LowRankPMF) -> tp.CategoricalTable:
    return tp.CategoricalTable.from_codes(codes, n_levels=pmf.schema.n_levels)


def exact_marginals(pmf: tp.LowRankPMF, order: int) -> dict[tuple[int, ...], np.ndarray]:
    tensor = dense.tensor(pmf)
    return {columns: dense.marginal(tensor, list(columns)) for columns in combinations(range(len(pmf.schema)), order)}


def distance(one: tp.LowRankPMF, other: tp.LowRankPMF) -> float:
    """The largest difference of weights and factors under the best matching of components."""
    return min(
        max(
            np.abs(one.weights - other.weights[list(order)]).max(),
            *(np.abs(a - b[:, order]).max() for a, b in zip(one.factors, other.factors, strict=True)),
        )
        for order in permutations(range(other.rank))
    )


@pytest.mark.parametrize(
    ("algorithm", "objective", "factors"),
    [
        (CTF(rank=3), 1e-12, 1e-5),
        (CTF(rank=3, method="mirror"), 1e-6, 1e-2),
        (CTF(rank=3, loss="frobenius"), 1e-9, 1e-3),
    ],
)
def test_exact_marginals_give_the_factors_back(
    rng: np.random.Generator, algorithm: CTF, objective: float, factors: float
) -> None:
    truth = some_pmf(rng, [4, 3, 4, 3, 5], 3)
    result = fit_marginals(truth.schema, exact_marginals(truth, 3), algorithm, tolerance=1e-15, max_iterations=3000)
    assert result.objective == pytest.approx(0.0, abs=objective)
    assert distance(result.pmf, truth) < factors


def test_the_objective_is_minus_the_average_divergence_of_the_marginals(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 2, 4, 2], 2)
    codes = some_codes(rng, truth, 300, outage=0.2)
    table = table_of(codes, truth)
    result = tp.fit(table, CTF(rank=2), max_iterations=60)
    model = dense.tensor(result.pmf)
    divergences = []
    for columns in combinations(range(4), 3):
        seen = codes[(codes[:, columns] >= 0).all(axis=1)][:, columns]
        empirical = np.zeros([truth.schema.n_levels[c] for c in columns])
        for cell in map(tuple, seen):
            empirical[cell] += 1 / len(seen)
        ratio = np.where(empirical > 0, empirical, 1.0) / dense.marginal(model, list(columns))
        divergences.append((empirical * np.log(np.where(empirical > 0, ratio, 1.0))).sum())
    after = tp.fit(table, CTF(rank=2), max_iterations=61).objective
    assert after == pytest.approx(-np.mean(divergences), rel=1e-9)


@given(
    st.integers(0, 2**32),
    st.sampled_from([2, 3, "full"]),
    st.sampled_from(["equal", "counts"]),
    st.sampled_from([0.0, 0.3]),
)
def test_the_objective_never_falls_and_never_exceeds_zero(
    seed: int, order: object, weights: object, outage: float
) -> None:
    rng = np.random.default_rng(seed)
    truth = some_pmf(rng, [3, 2, 4, 1], 2)
    table = table_of(some_codes(rng, truth, 120, outage), truth)
    result = tp.fit(table, CTF(rank=3, order=order, weights=weights), seed=seed % 100, max_iterations=40)  # type: ignore[arg-type]
    assert np.diff(result.trace.objective).min() >= -1e-12
    assert result.objective <= 1e-12


def test_mirror_descent_never_falls_and_ends_below_em_or_level_with_it(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [4, 3, 3, 4], 2)
    table = table_of(some_codes(rng, truth, 2000), truth)
    descent = tp.fit(table, CTF(rank=2, method="mirror"), max_iterations=30)
    em = tp.fit(table, CTF(rank=2), tolerance=1e-12)
    assert np.diff(descent.trace.objective).min() >= -1e-12
    assert em.objective - 1e-3 < descent.objective < em.objective + 1e-9


@pytest.mark.parametrize("weights", ["equal", "counts"])
def test_squared_error_is_told_relative_to_the_marginals_and_never_rises(
    rng: np.random.Generator, weights: Literal["equal", "counts"]
) -> None:
    truth = some_pmf(rng, [3, 2, 4, 2], 2)
    codes = some_codes(rng, truth, 300, outage=0.2)
    table = table_of(codes, truth)
    algorithm = CTF(rank=2, loss="frobenius", weights=weights)
    model = dense.tensor(tp.fit(table, algorithm, max_iterations=7).pmf)
    errors, norms = 0.0, 0.0
    for columns in combinations(range(4), 3):
        seen = codes[(codes[:, columns] >= 0).all(axis=1)][:, columns]
        empirical = np.zeros([truth.schema.n_levels[c] for c in columns])
        for cell in map(tuple, seen):
            empirical[cell] += 1 / len(seen)
        counts = len(seen) if weights == "counts" else 1
        errors += counts * ((empirical - dense.marginal(model, list(columns))) ** 2).sum()
        norms += counts * (empirical**2).sum()
    objective = tp.fit(table, algorithm, max_iterations=40, tolerance=0).trace.objective
    assert objective[7] == pytest.approx(-errors / norms, rel=1e-9)
    assert np.diff(objective).min() >= -1e-15
    assert objective[-1] > objective[0]


def test_squared_error_ends_where_no_move_within_the_simplexes_makes_it_smaller(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 3, 3], 2)
    table = table_of(some_codes(rng, truth, 500), truth)
    pmf = tp.fit(table, CTF(rank=2, loss="frobenius"), tolerance=1e-15, max_iterations=3000).pmf
    empirical = np.zeros((3, 3, 3))
    np.add.at(empirical, tuple(table.codes.T), 1 / 500)

    def error(weights: np.ndarray, factors: list[np.ndarray]) -> float:
        return float(((np.einsum("r,ir,jr,kr->ijk", weights, *factors) - empirical) ** 2).sum())

    least = error(pmf.weights, list(pmf.factors))
    for _ in range(300):
        near = [pmf.weights, *pmf.factors]
        ix = int(rng.integers(4))
        near[ix] = 0.999 * near[ix] + 0.001 * rng.dirichlet(np.ones(len(near[ix])), near[ix].shape[1:]).T
        assert error(near[0], near[1:]) >= least * (1 - 1e-6)


def test_all_columns_at_once_is_maximum_likelihood(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 2, 4, 3], 2)
    codes = some_codes(rng, truth, 200)
    algorithm = CTF(rank=2, order="full")
    state = algorithm.start(truth.schema, np.random.default_rng(3))
    factors = np.split(state.factors, truth.schema.offsets[1:-1])
    weights, factors = em_loops.em(codes, state.weights, factors, 300)
    best = em_loops.log_likelihood(codes, weights, factors)
    rows = Rows.from_codes(codes, truth.schema.n_levels)
    state, _ = algorithm.update(state, algorithm.summarise(rows, state))
    for _ in range(299):
        state, _ = algorithm.update(state, None)
    np.testing.assert_allclose(state.weights, weights, rtol=1e-9)
    np.testing.assert_allclose(state.factors, np.concatenate(factors), rtol=1e-8, atol=1e-12)
    pmf = algorithm.finish(state)
    ours = em_loops.log_likelihood(codes, np.array(pmf.weights), list(pmf.factors))
    assert ours == pytest.approx(best, rel=1e-9)


def test_all_columns_at_once_reads_complete_rows_only(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 2, 4], 2)
    codes = some_codes(rng, truth, 150, outage=0.3)
    complete = codes[(codes >= 0).all(axis=1)]
    assert 0 < len(complete) < 150
    for order in ("full", 3):
        one = tp.fit(table_of(codes, truth), CTF(rank=2, order=order), max_iterations=50)  # type: ignore[arg-type]
        other = tp.fit(table_of(complete, truth), CTF(rank=2, order="full"), max_iterations=50)
        np.testing.assert_allclose(one.trace.objective, other.trace.objective, atol=1e-12)
        np.testing.assert_allclose(one.pmf.weights, other.pmf.weights, rtol=1e-9)


def test_incomplete_rows_count_in_every_subset_they_observe(rng: np.random.Generator) -> None:
    """Pairs seen in rows that never show three columns are enough for order 2."""
    truth = some_pmf(rng, [2, 2, 2], 2)
    codes = some_codes(rng, truth, 300)
    codes[np.arange(300), rng.integers(0, 3, 300)] = -1
    assert tp.fit(table_of(codes, truth), CTF(rank=2, order=2), max_iterations=5).rank == 2
    with pytest.raises(UnobservedTogetherError, match="any subset of 3 columns") as caught:
        tp.fit(table_of(codes, truth), CTF(rank=2, order=3))
    assert caught.value.columns == ("x1", "x2", "x3")
    with pytest.raises(UnobservedTogetherError, match=r"VB and EM use every observed cell; CTF of a lower order"):
        tp.fit(table_of(codes, truth), CTF(rank=2, order="full"))
    codes[:, 0] = -1
    with pytest.raises(UnobservedTogetherError, match=r"VB and EM use every observed cell\.$"):
        tp.fit(table_of(codes, truth), CTF(rank=2, order=2))


@pytest.mark.parametrize("order", [2, 3, "full"])
def test_statistics_add_and_a_row_twice_is_weight_two(rng: np.random.Generator, order: object) -> None:
    truth = some_pmf(rng, [3, 2, 4, 2], 2)
    codes = some_codes(rng, truth, 60, outage=0.2)
    algorithm = CTF(rank=2, order=order)  # type: ignore[arg-type]
    state = algorithm.start(truth.schema, np.random.default_rng(0))
    rows = Rows.from_codes(codes, truth.schema.n_levels)
    whole = algorithm.summarise(rows, state)
    parts = [algorithm.summarise(rows.take(slice(at, at + 7)), state) for at in range(0, 60, 7)]
    added = sum(parts[1:], start=parts[0])
    twice = Rows.from_codes(np.concatenate([codes, codes[:9]]), truth.schema.n_levels)
    weighted = Rows.from_codes(codes, truth.schema.n_levels, 1.0 + (np.arange(60) < 9))
    for one, other in ((whole, added), (algorithm.summarise(twice, state), algorithm.summarise(weighted, state))):
        (after_one, info_one), (after_other, info_other) = algorithm.update(state, one), algorithm.update(state, other)
        assert info_one.objective == pytest.approx(info_other.objective, rel=1e-12)
        np.testing.assert_allclose(after_one.factors, after_other.factors, rtol=1e-12)


def test_rows_are_kept_until_they_outgrow_their_counts(rng: np.random.Generator) -> None:
    subsets = Subsets.of([(0, 1)], (3, 4))
    rows = Rows.from_codes(rng.integers(0, 3, (5, 2)), (3, 4))
    few = SubsetTally.of(rows, subsets)
    assert few.cells is None
    counts = few.counts()
    many = few + few
    assert many.rows == ()
    np.testing.assert_array_equal(many.counts(), 2 * counts)
    np.testing.assert_array_equal((many + few).counts(), 3 * counts)
    np.testing.assert_array_equal((few + many).counts(), 3 * counts)
    np.testing.assert_array_equal((many + many).counts(), 4 * counts)
    np.testing.assert_array_equal(few.counts(), counts)


def test_tallies_travel_without_what_can_be_made_again(rng: np.random.Generator) -> None:
    subsets = Subsets.of(list(combinations(range(30), 3)), (2,) * 30)
    tally = SubsetTally.of(Rows.from_codes(rng.integers(-1, 2, (50, 30)), (2,) * 30), subsets)
    counts = tally.counts()
    sent = pickle.dumps(tally)
    assert len(sent) < subsets.columns.nbytes + 30_000
    np.testing.assert_array_equal(pickle.loads(sent).counts(), counts)


@pytest.mark.parametrize("coordinates", ["log", "simplex"])
def test_squared_extrapolation_reaches_the_same_objective_in_fewer_sweeps(
    rng: np.random.Generator, coordinates: Literal["log", "simplex"]
) -> None:
    truth = some_pmf(rng, [4, 3, 3, 4], 2)
    table = table_of(some_codes(rng, truth, 800, outage=0.1), truth)
    plain = tp.fit(table, CTF(rank=2), tolerance=1e-11)
    fast = tp.fit(table, SQUAREM(CTF(rank=2), coordinates=coordinates), tolerance=1e-11)
    assert fast.objective == pytest.approx(plain.objective, abs=1e-7)
    assert len(fast.trace) < 0.6 * len(plain.trace)


def test_complete_rows_are_held_once_each(rng: np.random.Generator) -> None:
    rows = Rows.from_codes(np.array([[0, 1], [1, -1], [0, 1], [1, 0]]), (2, 2))
    tally = CompleteTally.of(rows) + CompleteTally.of(rows)
    np.testing.assert_array_equal(tally.rows.dense(), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(tally.rows.weights, [4.0, 2.0])


def test_marginals_weigh_the_same_or_what_was_counted(rng: np.random.Generator) -> None:
    schema = Schema.from_n_levels([2, 2, 2])
    codes = np.array([[0, 0, -1]] * 6 + [[1, 1, 1]] * 2)
    for weighting, expected in (("equal", [1 / 3, 1 / 3, 1 / 3]), ("counts", [8 / 12, 2 / 12, 2 / 12])):
        algorithm = CTF(rank=1, order=2, weights=weighting)  # type: ignore[arg-type]
        state = algorithm.start(schema, rng)
        target = algorithm.summarise(Rows.from_codes(codes, (2, 2, 2)), state).target(schema, algorithm.weights)
        np.testing.assert_allclose(target.weights, expected)
        np.testing.assert_allclose([table.sum() for table in target.subsets.tables(target.cells)], expected)


def test_the_data_are_read_once(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 2, 4], 2)
    algorithm = CTF(rank=2)
    state = algorithm.start(truth.schema, rng)
    assert algorithm.reads_data(state)
    rows = Rows.from_codes(some_codes(rng, truth, 40), truth.schema.n_levels)
    after, _ = algorithm.update(state, algorithm.summarise(rows, state))
    assert not algorithm.reads_data(after)
    assert algorithm.reads_data(state)


def test_a_row_permutation_and_thread_count_change_no_bit(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 2, 4, 3], 2)
    codes = some_codes(rng, truth, 500, outage=0.1)
    one = tp.fit(table_of(codes, truth), CTF(rank=2), max_iterations=20, n_threads=1)
    for shuffled, n_threads in ((codes[rng.permutation(500)], 1), (codes, 3)):
        other = tp.fit(table_of(shuffled, truth), CTF(rank=2), max_iterations=20, n_threads=n_threads)
        np.testing.assert_array_equal(other.trace.objective, one.trace.objective)
        np.testing.assert_array_equal(other.pmf.weights, one.pmf.weights)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_a_start_from_a_model_is_near_it(rng: np.random.Generator, rank: int) -> None:
    truth = some_pmf(rng, [3, 2, 4], 3)
    algorithm = CTF().with_rank(rank)
    model = algorithm.finish(algorithm.start_from(truth, rng))
    assert model.rank == algorithm.rank == rank
    if rank == 1:
        np.testing.assert_array_equal(model.factors[0][:, 0], truth.factors[0][:, np.argmax(truth.weights)])
    elif rank == 3:
        np.testing.assert_allclose(dense.tensor(model), dense.tensor(truth))
    else:
        random = algorithm.finish(algorithm.start(truth.schema, rng))
        assert np.abs(model.to_dense() - truth.to_dense()).sum() < np.abs(random.to_dense() - truth.to_dense()).sum()


def test_a_rank_is_asked_for() -> None:
    with pytest.raises(SettingError, match="select_rank tries several, VB finds it"):
        tp.fit(tp.CategoricalTable.from_codes(np.zeros((3, 3), dtype=int)), CTF())


@pytest.mark.parametrize("order", [2, 3, "full"])
def test_states_go_to_vectors_and_back(rng: np.random.Generator, order: object) -> None:
    truth = some_pmf(rng, [3, 2, 4], 2)
    algorithm = CTF(rank=4, order=order)  # type: ignore[arg-type]
    state = algorithm.start(truth.schema, rng)
    vector = algorithm.to_vector(state)
    assert vector.shape == (4 + 9 * 4,)
    back = algorithm.from_vector(vector, state)
    np.testing.assert_allclose(back.weights, state.weights, rtol=1e-12)
    np.testing.assert_allclose(back.factors, state.factors, rtol=1e-12)
    rows = Rows.from_codes(some_codes(rng, truth, 40), truth.schema.n_levels)
    counted, _ = algorithm.update(state, algorithm.summarise(rows, state))
    assert algorithm.from_vector(vector, counted).target is counted.target


@given(st.integers(0, 2**32), st.sampled_from([1.0, 1e3, 1e6]))
def test_any_vector_is_a_state_that_can_go_on(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    truth = some_pmf(rng, [3, 2, 4], 2)
    algorithm = CTF(rank=3)
    state = algorithm.start(truth.schema, rng)
    rows = Rows.from_codes(some_codes(rng, truth, 40), truth.schema.n_levels)
    state, _ = algorithm.update(state, algorithm.summarise(rows, state))
    jumped = algorithm.from_vector(rng.normal(0.0, size, 3 + 9 * 3), state)
    assert jumped.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.add.reduceat(jumped.factors, [0, 3, 5]), 1.0)
    after, info = algorithm.update(jumped, None)
    assert np.isfinite(info.objective)
    algorithm.finish(after)


def test_a_level_nobody_shows_gets_probability_zero(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 2, (50, 3))
    table = tp.CategoricalTable.from_codes(codes, n_levels=[3, 2, 2])
    result = tp.fit(table, CTF(rank=2), max_iterations=5)
    np.testing.assert_array_equal(result.pmf.factors[0][2], 0.0)
    algorithm = CTF(rank=2)
    state = CTFState(table.schema, result.pmf.weights, np.concatenate(result.pmf.factors), None)
    assert np.isfinite(algorithm.to_vector(state)).all()


def test_marginals_can_be_given_in_any_order_and_by_name(rng: np.random.Generator) -> None:
    truth = some_pmf(rng, [3, 2, 4, 2], 2)
    exact = exact_marginals(truth, 3)
    by_name = {tuple(truth.schema.names[c] for c in columns[::-1]): 7.0 * table.T for columns, table in exact.items()}
    one = fit_marginals(truth.schema, exact, CTF(rank=2), max_iterations=10)
    other = fit_marginals(truth.schema, by_name, CTF(rank=2), max_iterations=10)
    np.testing.assert_allclose(one.trace.objective, other.trace.objective, atol=1e-14)


@pytest.mark.parametrize(
    ("marginals", "says"),
    [
        ({(0, 1): np.ones((2, 2))}, r"must have shape \(3, 2\), got \(2, 2\)"),
        ({(0, 1): np.zeros((3, 2))}, "not all zero"),
        ({(0, 1): np.full((3, 2), np.nan)}, "finite"),
        ({(0, 1): -np.ones((3, 2))}, "not negative"),
        ({(0, 1): np.ones((3, 2)), (0, 1, 2): np.ones((3, 2, 4))}, "equally many columns"),
        ({(0, 0): np.ones((3, 3))}, "different columns"),
        ({(0, 1): np.ones((3, 2)), (1, 0): np.ones((2, 3))}, "given twice"),
        ({}, "there must be some"),
        ({(0,): np.ones(3)}, "two different columns or more"),
        ({(0, 1): [[1, 2], [3]]}, "must be an array of numbers"),
        ({"x1": np.ones(3)}, "a tuple of columns as its key, not 'x1'"),
    ],
)
def test_marginals_that_are_none_are_refused(marginals: Any, says: str) -> None:
    with pytest.raises(MarginalError, match=says):
        fit_marginals(Schema.from_n_levels([3, 2, 4]), marginals, CTF(rank=2, order=2))


def test_marginals_are_a_mapping_and_for_coupled_factorisation() -> None:
    schema, marginals = Schema.from_n_levels([3, 2]), {(0, 1): np.ones((3, 2))}
    assert fit_marginals(schema, marginals, SQUAREM(CTF(rank=1, order=2))).converged
    for wrong in (tp.VB(), SQUAREM(tp.EM(rank=2))):
        with pytest.raises(SettingError, match="algorithm must be a CTF with its settings, or a wrapper of one"):
            fit_marginals(schema, marginals, wrong)
    with pytest.raises(SettingError, match="marginals must be a mapping from tuples of columns to arrays"):
        fit_marginals(schema, [np.ones((3, 2))], CTF(rank=1, order=2))
    with pytest.raises(SettingError, match="fit_marginals: schema must be a Schema, got None"):
        fit_marginals(None, marginals, CTF(rank=1, order=2))


def test_marginals_that_leave_columns_unconnected_are_refused() -> None:
    marginals = {(0, 1): np.ones((3, 2)), (2, 3): np.ones((4, 2))}
    with pytest.raises(UnconnectedColumnsError, match="joins 'x3', 'x4' with 'x1'"):
        fit_marginals(Schema.from_n_levels([3, 2, 4, 2]), marginals, CTF(rank=2, order=2))


def test_a_marginal_of_an_unknown_column_is_refused() -> None:
    with pytest.raises(UnknownColumnError, match="there is no column 3"):
        fit_marginals(Schema.from_n_levels([3, 2, 4]), {(0, 3): np.ones((3, 2))}, CTF(rank=2, order=2))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rank", 0),
        ("rank", 2.5),
        ("order", 1),
        ("order", "half"),
        ("order", 2.0),
        ("triplet_seed", -1),
        ("loss", "hinge"),
        ("method", "newton"),
        ("weights", "none"),
        ("max_memory", 0),
    ],
)
def test_settings_out_of_range_are_refused(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"^CTF: {setting} must be"):
        CTF(**{"rank": 2, setting: value})  # type: ignore[arg-type]


def test_what_takes_columns_in_turn_is_refused_for_all_columns_at_once() -> None:
    with pytest.raises(SettingError, match='method must be "em" when order="full"'):
        CTF(rank=2, order="full", method="mirror")
    with pytest.raises(SettingError, match='loss must be "kl" when order="full"'):
        CTF(rank=2, order="full", loss="frobenius")
    with pytest.raises(SettingError, match=r'method must be "em" .* or loss="frobenius"'):
        CTF(rank=2, loss="frobenius", method="mirror")


def test_too_many_marginals_are_refused_before_a_row_is_read() -> None:
    table = tp.CategoricalTable.from_codes(np.zeros((3, 100), dtype=int), n_levels=[10] * 100)
    with pytest.raises(MemoryLimitError, match=r"1\.00 GiB"):
        tp.fit(table, CTF(rank=2, max_memory=2**30))


@pytest.mark.parametrize(("setting", "copies"), [({}, 3), ({"method": "mirror"}, 10), ({"loss": "frobenius"}, 10)])
def test_no_more_memory_is_taken_than_was_estimated(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, setting: dict[str, Any], copies: int
) -> None:
    monkeypatch.setattr(mirror, "MOST_STEPS_OF_FACTORS", 3)
    monkeypatch.setattr(mirror, "MOST_STEPS_OF_WEIGHTS", 3)
    n_levels = [8] * 12
    codes = rng.integers(-1, 8, (600, 12))
    algorithm = CTF(rank=2, **setting)
    state = algorithm.start(Schema.from_n_levels(n_levels), rng)
    rows = Rows.from_codes(codes.astype(np.int8), n_levels)
    parts = [algorithm.summarise(rows.take(slice(at, at + 200)), state) for at in (0, 200, 400)]
    assert state.subsets is not None
    tracemalloc.start()
    algorithm.update(state, parts[0] + parts[1] + parts[2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    scratch = 600 * 12 * 8
    assert 1.0 * 8 * state.subsets.n_cells < peak < copies * 8 * state.subsets.n_cells + scratch
