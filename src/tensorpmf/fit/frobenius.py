"""Alternating least squares on coupled marginals, weights and factors kept on their simplexes: the Frobenius loss.

Source: N. Kargas, N. D. Sidiropoulos and X. Fu, "Tensors, learning, and Kolmogorov extension for finite-alphabet random
vectors", IEEE Trans. Signal Process., 2018. Given all else, one column's factor, or the weights, is a least-squares
problem on simplexes, of R unknowns a level. They solve it by ADMM; here it is accelerated projected gradient ascent,
which takes back a step that would make things worse, so that the loss never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import sqrt

import numpy as np

from tensorpmf.fit.marginals import Marginals
from tensorpmf.fit.simplexes import project_columns
from tensorpmf.kernels.stacked import khatri_rao, product
from tensorpmf.typing import Floats

MOST_STEPS = 200
HARDLY_MOVES = 1e-7


def sweep(target: Marginals, weights: Floats, factors: Floats) -> tuple[float, Floats, Floats]:
    """Return minus the relative squared error at the point of entry, and weights and factors after one round.

    The error is the weighted sum over marginals of the squared distance of model and data, relative to that of zero.

    Parameters
    ----------
    target
        The marginals.
    weights, factors
        (R,) and (n_stacked_levels, R) where to begin.
    """
    subsets, rank = target.subsets, len(weights)
    spans = [subsets.span(column) for column in range(len(subsets.n_levels))]
    grams = np.stack([_gram(factors[span]) for span in spans])
    gram, moment = _of_weights(target, factors, grams)
    error = 1.0 + float(weights @ gram @ weights - 2 * moment @ weights) / target.squared_norm
    factors = factors.copy()
    for column, (span, unfolding) in enumerate(zip(spans, target.unfoldings, strict=True)):
        others = reduce(np.multiply, (factors[levels] for levels in unfolding.rest), weights)
        shared = np.zeros((rank, rank))
        for subset, axis in np.argwhere(subsets.columns == column).tolist():
            shared += target.weights[subset] * np.delete(grams[subsets.columns[subset]], axis, axis=0).prod(axis=0)
        gram = shared * np.outer(weights, weights)
        factors[span] = nearest(factors[span], gram, product(unfolding.cells, others), project_columns)
        grams[column] = _gram(factors[span])
    gram, moment = _of_weights(target, factors, grams)
    weights = nearest(weights[None], gram, moment[None], lambda row: project_columns(row.T).T)[0]
    return -max(0.0, error), weights, factors


def nearest(point: Floats, gram: Floats, moment: Floats, project: Callable[[Floats], Floats]) -> Floats:
    """Return where ``A G A' / 2 - A V'`` is least, as near as accelerated projected gradients come.

    Parameters
    ----------
    point
        (n, R) where to begin: A.
    gram
        (R, R) G.
    moment
        (n, R) V.
    project
        Returns the nearest point that is allowed.
    """
    step = 1.0 / max(float(np.abs(gram).sum(axis=1).max()), np.finfo(float).tiny)
    ahead, momentum, cost = point, 1.0, np.inf
    for _ in range(MOST_STEPS):
        moved = project(ahead - step * (ahead @ gram - moment))
        moved_cost = float(np.vdot(moved @ gram / 2 - moment, moved))
        if moved_cost > cost:
            if ahead is point:
                break
            ahead, momentum = point, 1.0
            continue
        still = np.linalg.norm(moved - point) <= HARDLY_MOVES * np.linalg.norm(point)
        faster = (1 + sqrt(1 + 4 * momentum**2)) / 2
        ahead, point = moved + (momentum - 1) / faster * (moved - point), moved
        momentum, cost = faster, moved_cost
        if still:
            break
    return point


def _gram(factor: Floats) -> Floats:
    """(R, R) inner products of the components of one factor."""
    return np.asarray(factor.T @ factor)


def _of_weights(target: Marginals, factors: Floats, grams: Floats) -> tuple[Floats, Floats]:
    """(R, R) and (R,) what the squared error is made of, as a function of the weights."""
    subsets = target.subsets
    gram = np.einsum("m,mrs->rs", target.weights, grams[subsets.columns].prod(axis=1))
    moment = np.zeros(factors.shape[1])
    for group in subsets.groups:
        lead = reduce(khatri_rao, (factors[subsets.span(column)] for column in group.lead))
        moment += (lead * product(subsets.matrix(target.cells, group), factors[group.levels])).sum(axis=0)
    return gram, moment
