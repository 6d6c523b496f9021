"""Weights and stacked factors as points on simplexes: starting points, normalising, logarithms, the nearest point.

A point is (R,) weights that sum to one and (n_stacked_levels, R) factors that sum to one within each column.
"""

from __future__ import annotations

import numpy as np

from tensorpmf._check import known_rank, require_memory
from tensorpmf.kernels.stacked import column_sums, spread
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats, Ints

TINIEST = 1e-300
"""Stands for a probability of zero where a logarithm is needed."""


COPIES = 4
"""Arrays as large as the model that a fit holds at one time: two states, logarithms, counts."""


def rank_for(owner: str, rank: int | None, schema: Schema) -> int:
    """Return the rank that an algorithm was told, if there is room for so many components.

    Parameters
    ----------
    owner
        The algorithm.
    rank
        What its settings say.
    schema
        The columns.
    """
    known = known_rank(owner, rank)
    require_memory(owner, "rank", known, COPIES * known * (1 + sum(schema.n_levels)))
    return known


def normalised(counts: Floats, otherwise: Floats, offsets: Ints) -> Floats:
    """Return factors that sum to one within each column; where nothing was counted, the other ones.

    Parameters
    ----------
    counts, otherwise
        (n_stacked_levels, R) what to divide by its sums, and factors.
    offsets
        (n_columns + 1,) where each column's levels begin.
    """
    sums = spread(column_sums(counts, offsets), offsets)
    return np.divide(counts, sums, out=otherwise.copy(), where=sums > 0)


def random_factors(schema: Schema, rank: int, rng: np.random.Generator) -> Floats:
    """Return random factors, quieter for many columns, so that a row's component is as uncertain as for a few.

    Parameters
    ----------
    schema
        The columns.
    rank
        How many components there are.
    rng
        Where randomness comes from.
    """
    loudness = min(1.0, (5 / schema.n_columns) ** 0.5)
    noise = rng.random((int(schema.offsets[-1]), rank)) ** loudness
    return normalised(noise, noise, schema.offsets)


def near_model(pmf: LowRankPMF, rank: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return a point near a model: its heaviest components, or all of them and halves of the heaviest.

    Parameters
    ----------
    pmf
        The model.
    rank
        How many components the point has.
    rng
        Where randomness comes from.
    """
    heaviest = np.argsort(-pmf.weights, kind="stable")[:rank]
    weights, factors = pmf.weights[heaviest], np.concatenate(pmf.factors)[:, heaviest]
    while len(weights) < rank:
        weights, factors = split_heaviest(weights, factors, pmf.schema, rng)
    return weights / weights.sum(), factors


def split_heaviest(weights: Floats, factors: Floats, schema: Schema, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return a point with one component more: the heaviest is halved, and its halves are moved apart.

    Parameters
    ----------
    weights, factors
        The point.
    schema
        The columns.
    rng
        Where randomness comes from.
    """
    heaviest = int(np.argmax(weights))
    share = random_factors(schema, 1, rng)[:, 0]
    half = weights[heaviest] / 2
    moved = np.column_stack([factors, (factors[:, heaviest] + share) / 2])
    return np.append(np.where(np.arange(len(weights)) == heaviest, half, weights), half), moved


def to_logarithms(weights: Floats, factors: Floats) -> Floats:
    """Return the logarithms of a point, flat."""
    return np.asarray(np.log(np.maximum(np.concatenate([weights, factors.ravel()]), TINIEST)))


def from_logarithms(vector: Floats, rank: int, offsets: Ints) -> tuple[Floats, Floats]:
    """Return the point whose logarithms, up to constants, are in a flat vector.

    Parameters
    ----------
    vector
        (rank + n_stacked_levels * rank,) logarithms.
    rank
        How many components there are.
    offsets
        (n_columns + 1,) where each column's levels begin.
    """
    log_weights, log_factors = vector[:rank], vector[rank:].reshape(-1, rank)
    tops = spread(np.maximum.reduceat(log_factors, offsets[:-1], axis=0), offsets)
    weights, factors = np.exp(log_weights - log_weights.max()), np.exp(log_factors - tops)
    return weights / weights.sum(), normalised(factors, factors, offsets)


def nearest(vector: Floats, rank: int, offsets: Ints) -> Floats:
    """Return the point nearest to a flat vector of weights and factors that left their simplexes, flat.

    Parameters
    ----------
    vector
        (rank + n_stacked_levels * rank,) numbers.
    rank
        How many components there are.
    offsets
        (n_columns + 1,) where each column's levels begin.
    """
    weights, factors = vector[:rank, None], vector[rank:].reshape(-1, rank)
    blocks = [weights, *np.split(factors, offsets[1:-1])]
    return np.concatenate([project_columns(block).ravel() for block in blocks])


def project_columns(block: Floats) -> Floats:
    """Return the Euclidean projection of each column of an array onto the probability simplex.

    Source: J. Duchi et al., "Efficient projections onto the l1-ball for learning in high dimensions", ICML 2008.

    Parameters
    ----------
    block
        (n, n_columns) numbers.
    """
    falling = -np.sort(-block, axis=0)
    surplus = np.cumsum(falling, axis=0) - 1.0
    n_first = np.arange(1, len(block) + 1)[:, None]
    n_positive = (falling * n_first > surplus).sum(axis=0)
    threshold = surplus[n_positive - 1, np.arange(block.shape[1])] / n_positive
    return np.asarray(np.maximum(block - threshold, 0.0))
