"""Biased matrix factorisation by alternating ridge regressions, its rank and ridges chosen on a validation split.

Source: Y. Koren, R. Bell and C. Volinsky, "Matrix factorization techniques for recommender systems", Computer, 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SWEEPS = 20
"""How often users and items take turns; the error no longer moves then."""


@dataclass(frozen=True)
class Ratings:
    """Who rated what and how: three arrays of one length, and how many users and items there are."""

    users: NDArray[np.intp]
    items: NDArray[np.intp]
    stars: Floats
    shape: tuple[int, int]

    def take(self, chosen: NDArray[np.intp]) -> Ratings:
        """Return some of them."""
        return Ratings(self.users[chosen], self.items[chosen], self.stars[chosen], self.shape)

    def dense(self, values: Floats) -> Floats:
        """Return (n_users, n_items) some values, one a rating; 0 where there is no rating."""
        matrix = np.zeros(self.shape)
        matrix[self.users, self.items] = values
        return matrix


@dataclass(frozen=True)
class Factorisation:
    """``mean + user's vector . item's vector``: a user's is (offset, 1, factors), an item's (1, offset, factors)."""

    mean: float
    of_users: Floats
    of_items: Floats

    def predict(self, users: NDArray[np.intp], items: NDArray[np.intp]) -> Floats:
        """Return (n,) expected stars."""
        return np.asarray(self.mean + np.einsum("nr,nr->n", self.of_users[users], self.of_items[items]))


def factorised(
    ratings: Ratings, rank: int, ridge: float, offset_ridge: float, rng: np.random.Generator
) -> Factorisation:
    """Return the factorisation after some sweeps.

    Parameters
    ----------
    ratings
        The training ratings.
    rank
        How many factors beside the offsets.
    ridge, offset_ridge
        What squared factors and offsets cost, in units of squared stars.
    rng
        Where the first item factors come from.
    """
    mean = float(ratings.stars.mean())
    stars, rated = ratings.dense(ratings.stars - mean), ratings.dense(np.ones(len(ratings.stars)))
    of_users, of_items = (np.zeros((n, 2 + rank)) for n in ratings.shape)
    of_users[:, 1] = of_items[:, 0] = 1.0
    of_items[:, 2:] = 0.1 * rng.standard_normal((len(of_items), rank))
    cost = np.diag([offset_ridge, *[ridge] * rank])
    by_user, by_item = [0, *range(2, 2 + rank)], [1, *range(2, 2 + rank)]
    for _ in range(SWEEPS):
        of_users[:, by_user] = ridge_regressions(stars - rated * of_items[:, 1], rated, of_items[:, by_user], cost)
        of_items[:, by_item] = ridge_regressions(
            (stars - rated * of_users[:, :1]).T, rated.T, of_users[:, by_item], cost
        )
    return Factorisation(mean, of_users, of_items)


def ridge_regressions(targets: Floats, known: Floats, features: Floats, cost: Floats) -> Floats:
    """Return (n, r) the weights of n regressions on the same features, each on the rows it knows.

    Parameters
    ----------
    targets
        (n, m) what is to be explained; 0 where it is not known.
    known
        (n, m) 1 where it is, else 0.
    features
        (m, r) what explains it.
    cost
        (r, r) the ridge.
    """
    n_features = features.shape[1]
    squares = np.einsum("mr,ms->mrs", features, features).reshape(len(features), -1)
    gram = (known @ squares).reshape(-1, n_features, n_features)
    return np.asarray(np.linalg.solve(gram + cost, (targets @ features)[:, :, None])[:, :, 0])


def tuned(
    ratings: Ratings, ranks: Sequence[int], ridges: Sequence[float], offset_ridges: Sequence[float], seed: int
) -> tuple[Factorisation, int, float, float]:
    """Return the factorisation of all ratings, with the rank and ridges that did best on a tenth of them.

    Parameters
    ----------
    ratings
        The training ratings.
    ranks, ridges, offset_ridges
        What is tried.
    seed
        Where randomness comes from.
    """
    order = np.random.default_rng(seed).permutation(len(ratings.stars))
    held_out, rest = ratings.take(order[: len(order) // 10]), ratings.take(order[len(order) // 10 :])

    def error(rank: int, ridge: float, offset_ridge: float) -> float:
        model = factorised(rest, rank, ridge, offset_ridge, np.random.default_rng(seed))
        return float(np.mean((model.predict(held_out.users, held_out.items) - held_out.stars) ** 2))

    best = min(product(ranks, ridges, offset_ridges), key=lambda tried: error(*tried))
    return factorised(ratings, *best, np.random.default_rng(seed)), *best


def averages(ratings: Ratings) -> Iterator[tuple[str, Factorisation]]:
    """Yield the naive predictors by name: everybody's mean, the mean of each movie, and of each user."""
    mean = float(ratings.stars.mean())
    n_users, n_items = ratings.shape
    yield "global average", Factorisation(mean, np.zeros((n_users, 1)), np.zeros((n_items, 1)))
    yield (
        "movie average",
        Factorisation(mean, np.ones((n_users, 1)), _means(ratings.items, ratings.stars - mean, n_items)),
    )
    yield (
        "user average",
        Factorisation(mean, _means(ratings.users, ratings.stars - mean, n_users), np.ones((n_items, 1))),
    )


def _means(ix: NDArray[np.intp], values: Floats, n: int) -> Floats:
    """(n, 1) mean of the values of each; 0 where there are none."""
    return (np.bincount(ix, values, n) / np.maximum(np.bincount(ix, minlength=n), 1))[:, None]
