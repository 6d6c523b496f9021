"""Predict ratings held out: by the joint PMF of all movies, by matrix factorisation, and by averages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tensorpmf as tp
from experiments.methods import METHODS, Clock, Problem, Solution, ctf3d
from experiments.recommendation.factorisation import Ratings, averages, tuned
from tensorpmf.data import Dataset, load_dataset
from tensorpmf.learn import PMFRecommender

TRAINING = 0.8

TILTED: Mapping[str, PMFRecommender] = {
    "VB-PMF, tilted": PMFRecommender(tp.VB(50), tilt_rank=10, n_threads=1),
    "VB-PMF, 10 small runs, tilted": PMFRecommender(
        tp.VB(8, alpha_factors=0.5), tilt_rank=10, n_models=10, max_iterations=30, n_threads=1
    ),
}
"""Not in the paper: settings chosen on ratings held out of the training ratings of two splits."""


def run(config: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield RMSE and MAE, in stars, of one method on one random split of the ratings.

    A hidden rating is predicted from the same user's training ratings alone. Of a distribution, its mean and its median
    are told; the paper has the mean for both errors.
    """
    data = dataset(config["data"])
    ratings = np.random.default_rng(seed).permutation(data.n_entries)
    n_training = round(TRAINING * data.n_entries)
    if config["method"] in ("BMF", "averages"):
        yield from by_factors(config, data, ratings[:n_training], ratings[n_training:], seed)
        return
    if config["method"] in TILTED:
        yield by_recommender(config, data, ratings[:n_training], ratings[n_training:], seed)
        return
    training, test = data.split(ratings[:n_training])
    for solution in solutions(config, training, seed):
        yield {
            "method": solution.method,
            **told(*answers(solution.pmfs, training, test)),
            "found_rank": solution.rank,
            "seconds": solution.seconds,
            "seconds_worst_rank": solution.worst,
        }


@cache
def dataset(name: str) -> Dataset:
    """Return a data set, read once a process."""
    return load_dataset(name)


def solutions(config: Mapping[str, Any], training: tp.CategoricalTable, seed: int) -> Iterator[Solution]:
    """Yield what a PMF method makes of the training ratings."""
    given = Problem(
        training,
        config["start_rank"],
        config["ranks"]["tried"],
        seed=seed,
        loss="squared",
        unequal=config["protocol"] == "unequal",
        validation=config["validation"],
        settings={"max_iterations": config["max_iterations"]},
    )
    if config["method"] == "CTF3D":
        return ctf3d(given, triplets=config["triplets"])
    return METHODS[config["method"]](given)


def answers(
    pmfs: Sequence[Any], training: tp.CategoricalTable, test: tp.CategoricalTable
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean, the median and the truth of every rating held out, in stars."""
    asked, known = test.codes, training.codes
    resps = [pmf.responsibilities(training) for pmf in pmfs]
    parts: list[NDArray[np.float64]] = []
    for ix, column in enumerate(training.schema.columns):
        here = np.flatnonzero(asked[:, ix] >= 0)
        assert (known[here, ix] < 0).all(), "a rating is either trained with or asked for"
        prob = sum(resp[here] @ pmf.factors[ix].T for resp, pmf in zip(resps, pmfs, strict=True)) / len(pmfs)
        stars = column.values
        median = stars[np.argmax(np.cumsum(prob, axis=1) >= 0.5 - 1e-12, axis=1)]
        parts.append(np.stack([prob @ stars, median, stars[asked[here, ix]]]))
    mean, median, truth = np.concatenate(parts, axis=1)
    return mean, median, truth


def by_recommender(
    config: Mapping[str, Any], data: Dataset, training: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> dict[str, Any]:
    """Return the errors of a recommender whose predictions are tilted, and how many it makes a second."""
    pairs, stars = np.column_stack([data.columns["user"], data.columns["movie"]]), data.columns["rating"].astype(float)
    recommender = TILTED[config["method"]].set_params(random_state=seed)
    clock = Clock()
    recommender.fit(pairs[training], stars[training])
    seconds, clock = clock.spent(), Clock()
    mean = recommender.predict(pairs[test])
    speed = len(test) / clock.spent()
    median = recommender.predict(pairs[test], statistic="median")
    found = {"found_rank": recommender.results_[0].rank, "seconds": seconds, "predictions_per_second": speed}
    return {**told(mean, median, stars[test]), **found}


def by_factors(
    config: Mapping[str, Any], data: Dataset, training: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the errors of the averages, or of tuned biased matrix factorisation."""
    users, user_ix = np.unique(data.columns["user"], return_inverse=True)
    movies, movie_ix = np.unique(data.columns["movie"], return_inverse=True)
    everything = Ratings(user_ix, movie_ix, data.columns["rating"].astype(float), (len(users), len(movies)))
    known, asked = everything.take(training), everything.take(test)
    if config["method"] == "averages":
        for name, model in averages(known):
            yield {"method": name, **errors(model.predict(asked.users, asked.items), asked.stars)}
        return
    clock = Clock()
    tried = config["tried"]
    model, rank, ridge, offset = tuned(known, tried["ranks"], tried["ridges"], tried["offset_ridges"], seed)
    seconds = clock.spent()
    found = errors(model.predict(asked.users, asked.items), asked.stars)
    yield {**found, "found_rank": rank, "ridge": ridge, "offset_ridge": offset, "seconds": seconds}


def told(mean: NDArray[np.float64], median: NDArray[np.float64], truth: NDArray[np.float64]) -> dict[str, float]:
    """Return the errors of means, and the absolute error of medians."""
    return {**errors(mean, truth), "mae_median": mae(median, truth)}


def errors(guess: NDArray[np.float64], truth: NDArray[np.float64]) -> dict[str, float]:
    """Return root mean squared error and mean absolute error."""
    return {"rmse": rmse(guess, truth), "mae": mae(guess, truth)}


def rmse(guess: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((guess - truth) ** 2)))


def mae(guess: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """Return the mean absolute error."""
    return float(np.mean(np.abs(guess - truth)))
