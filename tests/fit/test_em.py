"""EM against plain loops, closed forms and published log-likelihoods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import em_loops
from tests.oracles.published import PUBLISHED, contingency_table

import tensorpmf as tp
from tensorpmf.errors import SettingError
from tensorpmf.fit.em import EMState
from tensorpmf.pmf.rows_of import rows_of


def random_codes(rng: np.random.Generator, n_rows: int, n_levels: list[int], outage: float) -> np.ndarray:
    codes = (rng.random((n_rows, len(n_levels))) ** rng.choice([0.4, 2.0], (n_rows, 1)) * n_levels).astype(int)
    codes[rng.random(codes.shape) < outage] = -1
    return codes


@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from([0.0, 0.3]))
def test_steps_are_those_of_plain_loops(seed: int, rank: int, outage: float) -> None:
    rng = np.random.default_rng(seed)
    n_levels = [2, 4, 3]
    codes = random_codes(rng, 30, n_levels, outage)
    codes[0] = 0  # every column is observed
    em, table = tp.EM(rank), tp.CategoricalTable.from_codes(codes, n_levels=n_levels)
    state = em.start(table.schema, rng)
    weights, factors = em_loops.em(codes, state.weights, np.split(state.factors, table.schema.offsets[1:-1]), 4)
    for _ in range(4):
        state, _ = em.update(state, em.summarise(rows_of(table), state))
    pmf = em.finish(state)
    np.testing.assert_allclose(pmf.weights, weights, atol=1e-9)
    for found, expected in zip(pmf.factors, factors, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    _, info = em.update(state, em.summarise(rows_of(table), state))
    assert info.objective == pytest.approx(em_loops.log_likelihood(codes, weights, factors), rel=1e-10)


@given(st.integers(0, 2**32), st.floats(0, 0.8))
def test_the_log_likelihood_never_falls(seed: int, outage: float) -> None:
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, 60, [3, 2, 5, 2], outage)
    table = tp.CategoricalTable.from_codes(codes, n_levels=[3, 2, 5, 2], weights=rng.gamma(1.0, size=60))
    trace = tp.fit(table, tp.EM(rank=3), seed=seed, max_iterations=40).trace
    assert np.diff(trace.objective).min() >= -1e-9 * abs(trace.objective[0])


@pytest.mark.parametrize(
    ("name", "rank"), [(name, rank) for name, (_, _, known) in PUBLISHED.items() for rank in known]
)
def test_the_published_log_likelihood_is_reached(name: str, rank: int) -> None:
    counts, n_levels, known = PUBLISHED[name]
    result = tp.fit(
        contingency_table(counts, n_levels), tp.SQUAREM(tp.EM(rank)), n_starts=10, tolerance=1e-11, n_threads=1
    )
    digits = len(str(known[rank]).partition(".")[2])
    assert round(result.objective, digits) == known[rank]


def test_plain_em_reaches_it_too() -> None:
    counts, n_levels, known = PUBLISHED["values"]
    result = tp.fit(contingency_table(counts, n_levels), tp.EM(2), n_starts=3, tolerance=1e-12)
    assert round(result.objective, 4) == known[2]


def test_one_component_is_the_product_of_the_marginals() -> None:
    codes = np.array([[0, 2], [1, -1], [1, 0], [0, 2], [-1, 1]])
    pmf = tp.fit(tp.CategoricalTable.from_codes(codes, n_levels=[2, 3]), tp.EM(rank=1)).pmf
    np.testing.assert_allclose(pmf.marginal("x1").to_dense(), [2 / 4, 2 / 4])
    np.testing.assert_allclose(pmf.marginal("x2").to_dense(), [1 / 4, 1 / 4, 2 / 4])


def test_a_component_that_observes_nothing_of_a_column_keeps_its_factor() -> None:
    schema = tp.Schema.from_n_levels([2, 2])
    table = tp.CategoricalTable.from_codes([[0, 1], [0, 1], [1, -1]], schema=schema)
    factors = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.6], [0.7, 0.4]])  # the second component shows x1 = 1 alone
    state = EMState(schema, np.array([0.5, 0.5]), factors)
    after, _ = tp.EM(2).update(state, tp.EM(2).summarise(rows_of(table), state))
    np.testing.assert_allclose(after.factors[2:], [[0.0, 0.6], [1.0, 0.4]])
    np.testing.assert_allclose(after.weights, [2 / 3, 1 / 3])


def test_a_level_nobody_shows_gets_probability_zero() -> None:
    table = tp.CategoricalTable.from_codes([[0, 0], [1, 1], [0, 1]], n_levels=[3, 2])
    pmf = tp.fit(table, tp.EM(rank=2)).pmf
    assert pmf.prob(np.array([[2, 0]])) == [0.0]


def test_rows_of_thousands_of_columns_do_not_underflow(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 4, (20, 2000))
    result = tp.fit(tp.CategoricalTable.from_codes(codes, n_levels=[4] * 2000), tp.EM(rank=2), max_iterations=5)
    assert np.isfinite(result.trace.objective).all()
    assert result.objective < -1000


def test_a_rank_must_be_known_to_start() -> None:
    with pytest.raises(SettingError, match=r"EM: rank must be a whole number >= 1 here \(select_rank tries several"):
        tp.fit(tp.CategoricalTable.from_codes([[0], [1]]), tp.EM())
    with pytest.raises(SettingError, match="EM: rank must be a whole number >= 1, got 0"):
        tp.EM(rank=0)


@pytest.mark.parametrize("rank", [1, 2, 3, 6])
def test_a_start_from_a_model_has_the_rank_asked_for(rank: int, rng: np.random.Generator) -> None:
    schema = tp.Schema.from_n_levels([2, 5])
    pmf = tp.LowRankPMF(schema, [0.1, 0.6, 0.3], [rng.dirichlet(np.ones(n), 3).T for n in schema.n_levels])
    started = tp.EM(rank).finish(tp.EM(rank).start_from(pmf, rng))
    assert started.rank == rank
    if rank == 3:
        np.testing.assert_allclose(started.to_dense(), pmf.to_dense())
    if rank > 3:
        np.testing.assert_allclose(started.weights.max(), 0.3)  # the heaviest was halved, and its halves perhaps
