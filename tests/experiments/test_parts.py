"""What the experiments add to the library, against other people's code, plain loops, and what must come out."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf


@pytest.fixture
def factorisation(harness: Any) -> Any:
    return import_module("experiments.recommendation.factorisation")


@pytest.fixture
def methods(harness: Any) -> Any:
    return import_module("experiments.methods")


def test_scores_are_those_of_scikit_learn(harness: Any, rng: np.random.Generator) -> None:
    scores = import_module("experiments.classification.scores").scores
    truth, guess = rng.integers(0, 4, (2, 200))
    guess[guess == 1] = 0  # a class that nobody guesses
    guess[:50] = truth[:50]
    found = scores(truth, guess, 4)
    told: dict[str, Any] = {"average": "macro", "zero_division": 0}
    precision, recall = precision_score(truth, guess, **told), recall_score(truth, guess, **told)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, guess))
    assert found["f1_sklearn"] == pytest.approx(f1_score(truth, guess, **told))
    assert found["f1_paper"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert found["f1_paper"] != pytest.approx(found["f1_sklearn"])


def example_ratings(factorisation: Any, rng: np.random.Generator) -> Any:
    users, items = np.nonzero(rng.random((30, 8)) < 0.6)
    stars = rng.integers(1, 6, len(users)).astype(float)
    return factorisation.Ratings(users, items, stars, (30, 8))


def test_a_ridge_regression_is_solved_user_by_user(factorisation: Any, rng: np.random.Generator) -> None:
    known = (rng.random((4, 9)) < 0.7).astype(float)
    targets, features, cost = rng.normal(size=(4, 9)) * known, rng.normal(size=(9, 3)), np.diag([1.0, 2.0, 2.0])
    found = factorisation.ridge_regressions(targets, known, features, cost)
    for row in range(4):
        here = known[row] > 0
        gradient = features[here].T @ (features[here] @ found[row] - targets[row, here]) + cost @ found[row]
        assert np.abs(gradient).max() < 1e-10


def test_the_factorisation_is_a_stationary_point_of_its_loss(factorisation: Any, rng: np.random.Generator) -> None:
    ratings = example_ratings(factorisation, rng)
    model = factorisation.factorised(ratings, 2, 3.0, 1.0, np.random.default_rng(0))
    cost = np.array([1.0, 0.0, 3.0, 3.0])

    def loss(of_items: Any) -> float:
        guess = factorisation.Factorisation(model.mean, model.of_users, of_items).predict(ratings.users, ratings.items)
        return float(np.sum((guess - ratings.stars) ** 2) + np.sum(cost[[1, 0, 2, 3]] * of_items**2))

    for column in (1, 2, 3):
        step = np.zeros_like(model.of_items)
        step[3, column] = 1e-3
        assert loss(model.of_items) < min(loss(model.of_items + step), loss(model.of_items - step))


def test_averages_are_plain_means(factorisation: Any, rng: np.random.Generator) -> None:
    ratings = example_ratings(factorisation, rng)
    models = dict(factorisation.averages(ratings))
    user, item = int(ratings.users[0]), int(ratings.items[0])
    told = {name: float(model.predict(np.array([user]), np.array([item]))[0]) for name, model in models.items()}
    assert told["global average"] == pytest.approx(ratings.stars.mean())
    assert told["user average"] == pytest.approx(ratings.stars[ratings.users == user].mean())
    assert told["movie average"] == pytest.approx(ratings.stars[ratings.items == item].mean())


def test_a_tuned_factorisation_beats_averages_on_ratings_of_low_rank(factorisation: Any) -> None:
    rng = np.random.default_rng(0)
    stars = 3 + rng.normal(size=(200, 2)) @ rng.normal(size=(2, 20)) + 0.2 * rng.normal(size=(200, 20))
    known = rng.random(stars.shape) < 0.6
    users, items = np.nonzero(known)
    ratings = factorisation.Ratings(users, items, stars[known], stars.shape)
    model, rank, *_ = factorisation.tuned(ratings, [0, 2], [1.0, 100.0], [1.0], seed=0)
    error = model.predict(*np.nonzero(~known)) - stars[~known]
    assert rank == 2
    assert np.sqrt(np.mean(error**2)) < 0.4 < stars.std()


def test_every_method_solves_a_small_problem(methods: Any) -> None:
    truth = synthetic_pmf(4, 3, rank=2, seed=0)
    table, states = sample_table(truth, 1500, seed=1, return_states=True)
    problem = methods.Problem(table, 3, range(1, 4), target="x1", true_rank=2, states=states)
    quick = {name: solve for name, solve in methods.METHODS.items() if name != "TN"}
    solutions = [solution for solve in quick.values() for solution in solve(problem)]
    assert len({solution.method for solution in solutions}) == len(solutions)
    uniform = tp.LowRankPMF(table.schema, [1.0], [np.full((3, 1), 1 / 3)] * 4)
    for solution in solutions:
        assert solution.seconds >= 0
        assert tp.kl_divergence(truth, solution.pmfs[0]) < tp.kl_divergence(truth, uniform)


def test_the_unequal_protocol_keeps_rivals_from_a_part_of_the_rows(methods: Any) -> None:
    table = sample_table(synthetic_pmf(3, 3, rank=2, seed=0), 80, seed=1)
    assert methods.Problem(table, 2, [1]).learnt_from().n_rows == 80
    assert methods.Problem(table, 2, [1], unequal=True).learnt_from().n_rows == 70
