"""A joint PMF as a mixture of product distributions: the canonical polyadic form of the probability tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import NotADistributionError
from tensorpmf.pmf.base import PMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats

TOLERANCE = 1e-6
"""How far from one a distribution handed in may sum before it is refused; within it, it is divided by its sum."""


@dataclass(frozen=True, eq=False, repr=False)
class LowRankPMF(PMF):
    """A mixture of product distributions, ``P(x) = sum_r weights[r] * prod_n factors[n][x_n, r]``.

    Parameters
    ----------
    schema
        The columns and their levels.
    weights
        (R,) mixing weights; they sum to one.
    factors
        One (I_n, R) array a column; each of its columns sums to one.
    """

    schema: Schema
    weights: Floats
    factors: tuple[Floats, ...]

    def __init__(self, schema: Schema, weights: ArrayLike, factors: Sequence[ArrayLike]) -> None:
        weights = distribution(weights, "weights", (-1,))
        if len(factors) != len(schema):
            raise NotADistributionError("factors", f"there are {len(factors)} for {len(schema)} columns")
        stacked = np.empty((sum(schema.n_levels), len(weights)))
        for column, start, factor in zip(schema.columns, schema.offsets, factors, strict=False):
            shape = (column.n_levels, len(weights))
            stacked[start : start + column.n_levels] = distribution(factor, f"factor of {column.name!r}", shape)
        stacked.setflags(write=False)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "factors", tuple(np.split(stacked, schema.offsets[1:-1])))

    @property
    def rank(self) -> int:
        """How many components there are."""
        return len(self.weights)


def distribution(values: ArrayLike, what: str, shape: tuple[int, ...]) -> Floats:
    """Return a read-only copy whose columns are checked to be, and then are, distributions.

    Parameters
    ----------
    values
        (I,) or (I, R); what is not negative and sums to one along the first axis.
    what
        How to call it in an error.
    shape
        The shape it must have; ``-1`` is any positive length.
    """
    copy = np.array(values, dtype=np.float64, order="C")
    fits = copy.ndim == len(shape) and all(
        have == want or (want == -1 and have > 0) for have, want in zip(copy.shape, shape, strict=True)
    )
    if not fits:
        raise NotADistributionError(what, f"the shape is {copy.shape}, not {shape}")
    if not np.all(copy >= 0):
        raise NotADistributionError(what, "there are negative entries or NaN")
    total = copy.sum(axis=0)
    if not np.all(np.abs(total - 1) <= TOLERANCE):
        raise NotADistributionError(what, f"it sums to {np.ravel(total)[np.argmax(np.abs(total - 1))]}, not to 1")
    copy /= np.where(np.abs(total - 1) <= 1e-12, 1.0, total)  # dividing again changes nothing: a loaded model is the saved one
    copy.setflags(write=False)
    return copy
