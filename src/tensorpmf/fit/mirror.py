"""Alternating mirror descent on coupled marginals: the authors' algorithm, for comparison.

Source: N. Kargas and N. D. Sidiropoulos, "Learning mixtures of smooth product distributions: identifiability and
algorithm", AISTATS 2019, with the constants of their published program. One column's factor at a time moves along
exponentiated gradients, with Armijo's rule for the step, until it hardly moves; then the weights do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np

from tensorpmf.fit.marginals import Marginals, Unfolding
from tensorpmf.kernels.stacked import khatri_rao
from tensorpmf.typing import Floats

SHRINK, SLOPE, LEAST_STEP = 0.5, 1e-3, 1e-5
FIRST_STEP_OF_FACTORS, FIRST_STEP_OF_WEIGHTS = 0.5, 0.2
MOST_STEPS_OF_FACTORS, MOST_STEPS_OF_WEIGHTS = 1000, 100
HARDLY_MOVES = 1e-4
TINY = 1e-300
"""Stands for a model's probability of zero, so that empty cells may have one."""

COPIES = 10
"""Arrays as large as all the marginals at one time: they, unfolded by three columns with the levels of the others, and
three models of them."""

Evaluate: TypeAlias = Callable[[Floats], tuple[float, list[Floats]]]
"""Returns the cost of a point, and the model's marginals there."""

Gradient: TypeAlias = Callable[[list[Floats]], Floats]
"""Returns the gradient of the cost where the model has these marginals."""


def sweep(target: Marginals, weights: Floats, factors: Floats) -> tuple[float, Floats, Floats]:
    """Return minus the average divergence at the point of entry, and weights and factors after one round.

    Parameters
    ----------
    target
        The marginals.
    weights, factors
        (R,) and (n_stacked_levels, R) where to begin.
    """
    scale = target.subsets.n_subsets
    cost_at_entry = _of_weights(target, factors)[0](weights)[0]
    factors = factors.copy()
    for column, unfolding in enumerate(target.unfoldings):
        evaluate, gradient = _of_factor(unfolding, weights, factors, scale)
        span = target.subsets.span(column)
        factors[span] = descend(factors[span], evaluate, gradient, FIRST_STEP_OF_FACTORS, MOST_STEPS_OF_FACTORS)
    evaluate, gradient = _of_weights(target, factors)
    weights = descend(weights, evaluate, gradient, FIRST_STEP_OF_WEIGHTS, MOST_STEPS_OF_WEIGHTS)
    return -cost_at_entry / scale - target.negative_entropy, weights, factors


def descend(point: Floats, evaluate: Evaluate, gradient: Gradient, step: float, most: int) -> Floats:
    """Return where mirror descent on columns of probabilities ends: it hardly moves, or has made the most steps.

    Parameters
    ----------
    point
        (I,) or (I, R) columns of probabilities.
    evaluate, gradient
        The cost and its gradient.
    step
        The length tried first in every step.
    most
        How many steps there may be.
    """
    cost, model = evaluate(point)
    for _ in range(most):
        slope = gradient(model)
        length = step
        while True:
            moved = _exponentiated(point, length * slope)
            moved_cost, moved_model = evaluate(moved)
            if cost - moved_cost >= SLOPE * float(np.vdot(slope, point - moved)):
                break
            length *= SHRINK
            if length < LEAST_STEP:
                return point
        still = np.linalg.norm(point - moved) < HARDLY_MOVES * np.linalg.norm(point)
        point, cost, model = moved, moved_cost, moved_model
        if still:
            break
    return point


def _exponentiated(point: Floats, change: Floats) -> Floats:
    """Return the point times exp(-change), each column normalised."""
    moved: Floats = point * np.exp(change.min(axis=0) - change)
    moved /= moved.sum(axis=0)
    return moved


def _of_factor(unfolding: Unfolding, weights: Floats, factors: Floats, scale: float) -> tuple[Evaluate, Gradient]:
    """Cost and gradient in one column's factor: the marginals are that factor times what the others make."""
    others = weights
    for levels in unfolding.rest:
        others = others * factors[levels]
    cells = unfolding.cells * scale

    def evaluate(point: Floats) -> tuple[float, list[Floats]]:
        model = np.maximum(point @ others.T, TINY)
        return -float(np.vdot(cells, np.log(model))), [model]

    def gradient(model: list[Floats]) -> Floats:
        return -((cells / model[0]) @ others)

    return evaluate, gradient


def _of_weights(target: Marginals, factors: Floats) -> tuple[Evaluate, Gradient]:
    """Cost and gradient in the weights of the components."""
    subsets, scale, ones = target.subsets, target.subsets.n_subsets, np.ones(factors.shape[1])
    cells = [subsets.matrix(target.cells, group) for group in subsets.groups]
    followers = [factors[group.levels] for group in subsets.groups]
    leads = [reduce(khatri_rao, (factors[subsets.span(column)] for column in group.lead)) for group in subsets.groups]

    def evaluate(point: Floats) -> tuple[float, list[Floats]]:
        model = [np.maximum((lead * point) @ follower.T, TINY) for lead, follower in zip(leads, followers, strict=True)]
        return -scale * sum(float(np.vdot(x, np.log(m))) for x, m in zip(cells, model, strict=True)), model

    def gradient(model: list[Floats]) -> Floats:
        slope = np.zeros_like(ones)
        for x, m, lead, follower in zip(cells, model, leads, followers, strict=True):
            slope -= scale * (lead * ((x / m) @ follower)).sum(axis=0)
        return slope

    return evaluate, gradient
