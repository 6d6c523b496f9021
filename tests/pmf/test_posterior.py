from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, kstest

from tensorpmf.errors import NotADistributionError, SettingError
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.pmf.posterior import DirichletPosterior, drawn_dirichlet
from tensorpmf.table.schema import Schema

SCHEMA = Schema.from_n_levels([2, 3, 1])
WEIGHTS = [6.0, 3.0]
FACTORS = [np.array([[4.0, 2.0], [3.0, 1.0]]), np.array([[1.0, 5.0], [2.0, 1.0], [3.0, 1.0]]), np.array([[7.0, 3.0]])]


def posterior(**changes: object) -> DirichletPosterior:
    return DirichletPosterior(SCHEMA, WEIGHTS, FACTORS, **({"alpha_weights": 0.5} | changes))  # type: ignore[arg-type]


def test_the_mean_is_the_mean_of_every_distribution() -> None:
    mean = posterior().mean()
    np.testing.assert_allclose(mean.weights, [2 / 3, 1 / 3])
    np.testing.assert_allclose(mean.factors[1], [[1 / 6, 5 / 7], [2 / 6, 1 / 7], [3 / 6, 1 / 7]])


def test_the_mean_is_the_predictive_distribution(rng: np.random.Generator) -> None:
    drawn = np.mean([pmf.to_dense() for pmf in posterior().draw(2_000, rng)], axis=0)
    np.testing.assert_allclose(posterior().mean().to_dense(), drawn, atol=0.01)


def test_dropped_components_are_left_out_of_the_mean_but_counted_by_the_papers_rule() -> None:
    some_empty = posterior(n_empty=4, alpha_weights=0.5)
    assert some_empty.mean() == posterior().mean()
    # expected weights: 6/11, 3/11 and four of .5/11 = .045; the threshold is .5 / n_rows
    assert some_empty.rank_by_paper_rule(n_rows=100) == 6
    assert some_empty.rank_by_paper_rule(n_rows=10) == 2
    assert some_empty.rank_by_paper_rule(n_rows=1) == 1


def test_rank_counts_components_that_hold_more_than_half_a_row() -> None:
    two = DirichletPosterior(Schema.from_n_levels([2]), [1.2, 0.8, 90], [np.ones((2, 3))], alpha_weights=0.5)
    assert two.rank == 2


def test_draws_are_dirichlet(rng: np.random.Generator) -> None:
    draws = posterior().draw(2_000, rng)
    assert kstest([pmf.weights[0] for pmf in draws], beta(6, 3).cdf).pvalue > 1e-4
    assert kstest([pmf.factors[1][2, 0] for pmf in draws], beta(3, 3).cdf).pvalue > 1e-4
    assert kstest([pmf.factors[1][0, 1] for pmf in draws], beta(5, 2).cdf).pvalue > 1e-4
    assert {float(pmf.factors[2][0, 0]) for pmf in draws} == {1.0}


def test_draws_of_tiny_concentrations_are_distributions(rng: np.random.Generator) -> None:
    drawn = drawn_dirichlet(np.full((6, 200), 1e-6), np.array([0, 2, 6]), rng)
    np.testing.assert_allclose(drawn[:2].sum(axis=0), 1)
    np.testing.assert_allclose(drawn[2:].sum(axis=0), 1)
    assert 0.35 < drawn[0].mean() < 0.65


def test_draws_depend_on_the_generator_alone() -> None:
    first, again = (posterior().draw(2, np.random.default_rng(3)) for _ in range(2))
    assert first == again
    assert first[0] != first[1]
    assert posterior().draw(0, np.random.default_rng(3)) == []
    with pytest.raises(SettingError, match="draw: n must be a whole number >= 0, got -1"):
        posterior().draw(-1, np.random.default_rng(3))


def test_variances_are_those_of_draws(rng: np.random.Generator) -> None:
    rows = np.array([[0, 1, 0], [1, -1, -1], [-1, 2, 0], [-1, -1, -1]])
    drawn = np.array([pmf.prob(rows) for pmf in posterior().draw(4_000, rng)])
    np.testing.assert_allclose(posterior().variance(rows), drawn.var(axis=0), rtol=0.15, atol=1e-12)


def test_the_variance_of_one_component_is_the_beta_variance() -> None:
    one = DirichletPosterior(Schema.from_n_levels([2]), [10], [[[3], [7]]], alpha_weights=1)
    assert one.variance(np.array([[0]]))[0] == pytest.approx(0.3 * 0.7 / 11)


def test_intervals_hold_the_posterior_probability_they_promise() -> None:
    one = DirichletPosterior(Schema.from_n_levels([2]), [10], [[[30], [70]]], alpha_weights=1)
    low, high = one.interval(lambda pmf: pmf.prob(np.array([[0]]))[0], level=0.8, n_draws=3_000)
    np.testing.assert_allclose([low, high], beta(30, 70).ppf([0.1, 0.9]), atol=0.004)
    assert (type(low), type(high)) == (float, float)
    both = one.interval(lambda pmf: pmf.to_dense(), n_draws=50)
    assert both.low.shape == both.high.shape == (2,)
    assert both.low.tolist() == one.interval(lambda pmf: pmf.to_dense(), n_draws=50).low.tolist()
    other = one.interval(lambda pmf: pmf.to_dense(), n_draws=50, rng=np.random.default_rng(8))
    assert both.low.tolist() != other.low.tolist()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"level": 1.0}, "interval: level must be between 0 and 1, got 1.0"),
        ({"level": 0.0}, "interval: level must be between 0 and 1, got 0.0"),
        ({"level": "95%"}, "interval: level must be a finite number >= 0, got '95%'"),
        ({"n_draws": 1}, "interval: n_draws must be a whole number >= 2, got 1"),
    ],
)
def test_settings_of_intervals_are_checked(setting: dict[str, float], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        posterior().interval(LowRankPMF.to_dense, **setting)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("party", "interval: query must be a function of a PMF"),
        (lambda pmf: pmf, "interval: query must be a function to numbers, always as many"),
        (
            lambda pmf: [0.0] * int(100 * pmf.weights[0]),
            "interval: query must be a function to numbers, always as many",
        ),
    ],
)
def test_what_is_asked_for_an_interval_is_numbers(query: Callable[[LowRankPMF], Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        posterior().interval(query, n_draws=20)


@pytest.mark.parametrize(
    ("weights", "factors", "what", "problem"),
    [
        ([1.0, 0.0], FACTORS, "weights", "Dirichlet concentrations must be positive and finite"),
        ([1.0, np.inf], FACTORS, "weights", "Dirichlet concentrations must be positive and finite"),
        ([], FACTORS, "weights", "the shape is (0,), not (R,)"),
        (3.0, FACTORS, "weights", "the shape is (), not (R,)"),
        ([[1.0, 1.0]], FACTORS, "weights", "the shape is (1, 2), not (R,)"),
        (WEIGHTS, FACTORS[:2], "factors", "there are 2 for 3 columns"),
        (WEIGHTS, FACTORS[::-1], "factor of 'x1'", "the shape is (1, 2), not (2, 2)"),
        (
            WEIGHTS,
            [-FACTORS[0], *FACTORS[1:]],
            "factor of 'x1'",
            "Dirichlet concentrations must be positive and finite",
        ),
    ],
)
def test_what_are_no_concentrations_is_refused(weights: object, factors: object, what: str, problem: str) -> None:
    with pytest.raises(NotADistributionError) as caught:
        DirichletPosterior(SCHEMA, weights, factors, alpha_weights=1)  # type: ignore[arg-type]
    assert (caught.value.what, caught.value.problem) == (what, problem)


def test_the_prior_is_checked() -> None:
    with pytest.raises(SettingError, match="alpha_weights must be a finite number > 0, got 0"):
        posterior(alpha_weights=0)
    with pytest.raises(SettingError, match="n_empty must be a whole number >= 0, got -1"):
        posterior(n_empty=-1)
    with pytest.raises(SettingError, match="alpha_weights must be a finite number > 0, got 'a'"):
        posterior(alpha_weights="a")


def test_it_owns_its_arrays() -> None:
    weights = np.array(WEIGHTS)
    mine = DirichletPosterior(SCHEMA, weights, FACTORS, alpha_weights=0.5)
    weights[0] = 9
    assert mine == posterior()
    for array in (mine.weights, *mine.factors, *pickle.loads(pickle.dumps(mine)).factors):
        assert not array.flags.writeable


def test_equality_is_of_columns_and_numbers() -> None:
    assert posterior() == pickle.loads(pickle.dumps(posterior()))
    assert posterior() != posterior(n_empty=1)
    assert posterior() != posterior(alpha_weights=0.6)
    assert posterior() != DirichletPosterior(SCHEMA, [3, 6], FACTORS, alpha_weights=0.5)
    assert posterior() != posterior().mean()


def test_it_shows_what_a_person_wants_to_see() -> None:
    assert (
        repr(posterior(n_empty=7)) == "DirichletPosterior of 3 columns, 9 rows\n  2 components, 2 with mass; 7 dropped"
    )
