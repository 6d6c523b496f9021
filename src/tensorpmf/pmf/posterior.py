"""The variational posterior over the parameters of a low-rank PMF: independent Dirichlet distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import NotADistributionError
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats


@dataclass(frozen=True, eq=False, repr=False)
class DirichletPosterior:
    """Independent Dirichlet distributions over the weights and over each column's level probabilities in each component.

    Parameters
    ----------
    schema
        The columns and their levels.
    weights
        (R,) Dirichlet concentrations of the mixing weights, of the components that were kept.
    factors
        One (I_n, R) array of Dirichlet concentrations a column.
    alpha_weights
        The prior concentration of each weight.
    n_empty
        How many components were dropped because they held no mass; each has weight concentration ``alpha_weights``.
    """

    schema: Schema
    weights: Floats
    factors: tuple[Floats, ...]
    alpha_weights: float
    n_empty: int

    def __init__(
        self,
        schema: Schema,
        weights: ArrayLike,
        factors: Sequence[ArrayLike],
        *,
        alpha_weights: float,
        n_empty: int = 0,
    ) -> None:
        weights = _concentrations(weights, "weights", None)
        if len(factors) != len(schema):
            raise NotADistributionError("factors", f"there are {len(factors)} for {len(schema)} columns")
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(
            self,
            "factors",
            tuple(
                _concentrations(factor, f"factor of {column.name!r}", (column.n_levels, len(weights)))
                for column, factor in zip(schema.columns, factors, strict=True)
            ),
        )
        object.__setattr__(self, "alpha_weights", float(alpha_weights))
        object.__setattr__(self, "n_empty", int(n_empty))

    @property
    def rank(self) -> int:
        """How many components hold mass: more than half a row each."""
        return int(np.sum(self.weights - self.alpha_weights > 0.5))

    def mean(self) -> LowRankPMF:
        """Return the posterior mean, which is the exact posterior predictive distribution of the kept components."""
        return LowRankPMF(self.schema, self.weights / self.weights.sum(), [f / f.sum(axis=0) for f in self.factors])


def _concentrations(values: ArrayLike, what: str, shape: tuple[int, ...] | None) -> Floats:
    copy = np.array(values, dtype=np.float64, order="C")
    if (shape is None and (copy.ndim != 1 or not copy.size)) or (shape is not None and copy.shape != shape):
        raise NotADistributionError(what, f"the shape is {copy.shape}, not {shape or '(R,)'}")
    if not np.all((copy > 0) & np.isfinite(copy)):
        raise NotADistributionError(what, "Dirichlet concentrations must be positive and finite")
    copy.setflags(write=False)
    return copy
