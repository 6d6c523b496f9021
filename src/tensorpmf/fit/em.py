"""Maximum likelihood by expectation and maximisation.

Source: A. Yeredor and M. Haardt, "Maximum likelihood estimation of a low-rank probability mass tensor from partial
observations", IEEE Signal Process. Lett., 2019; for complete rows it is the EM of latent class analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tensorpmf._check import whole_number
from tensorpmf.fit import simplexes
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.kernels.estep import Counts, LogTables, accumulate
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats


@dataclass(frozen=True, eq=False)
class EMState:
    """Weights and factors.

    Parameters
    ----------
    schema
        The columns.
    weights
        (R,) component weights; they sum to one.
    factors
        (n_stacked_levels, R) factors, columns stacked; each column's levels sum to one within a component.
    """

    schema: Schema
    weights: Floats
    factors: Floats

    @cached_property
    def log_tables(self) -> LogTables:
        """Logarithms, as the kernels take them."""
        with np.errstate(divide="ignore"):
            return LogTables(np.log(self.weights), np.log(self.factors))


@dataclass(frozen=True)
class EM(Algorithm[EMState, Counts]):
    """Maximum likelihood for a given rank; the log-likelihood never falls.

    Choose it when the rank is known, as ``SQUAREM(EM(rank))`` rather than bare: the same optimum in a fraction of the
    passes. It finds a *local* optimum, so try several starts (``fit(..., n_starts=10)``). One pass costs
    O(observed cells x rank). Missing cells are summed out exactly; a row of weight two counts like two rows.

    A component that explains no observed cell of a column keeps its factor there.

    Parameters
    ----------
    rank
        How many components there are; it may be left out only where :func:`select_rank` tries several.

    Examples
    --------
    >>> import numpy as np, tensorpmf as tp
    >>> codes = np.random.default_rng(0).integers(0, 2, size=(500, 4))
    >>> result = tp.fit(tp.CategoricalTable.from_codes(codes), EM(rank=2))
    >>> result.rank, result.converged
    (2, True)
    """

    rank: int | None = None

    def __post_init__(self) -> None:
        if self.rank is not None:
            whole_number("EM", "rank", self.rank, at_least=1)

    def with_rank(self, rank: int) -> EM:
        """Return the same settings for another rank."""
        return replace(self, rank=rank)

    def start(self, schema: Schema, rng: np.random.Generator) -> EMState:
        """Return random factors and equal weights."""
        rank = simplexes.rank_for("EM", self.rank, schema)
        return EMState(schema, np.full(rank, 1 / rank), simplexes.random_factors(schema, rank, rng))

    def start_from(self, pmf: LowRankPMF, rng: np.random.Generator) -> EMState:
        """Return a starting point near a model: its heaviest components, and halves of them where these are too few."""
        rank = simplexes.rank_for("EM", self.rank, pmf.schema)
        return EMState(pmf.schema, *simplexes.near_model(pmf, rank, rng))

    def summarise(self, block: Rows, state: EMState) -> Counts:
        """Return expected counts of one block: the E-step."""
        return accumulate(block, state.log_tables)

    def update(self, state: EMState, stats: Counts) -> tuple[EMState, Info]:
        """Divide the counts by their sums: the M-step. A factor's sum is the mass of rows that observe its column."""
        after = replace(
            state,
            weights=stats.weights / stats.weights.sum(),
            factors=simplexes.normalised(stats.factors, state.factors, state.schema.offsets),
        )
        return after, Info(objective=stats.log_norm, rank=int((stats.weights > 0).sum()))

    def finish(self, state: EMState) -> LowRankPMF:
        """Return the model."""
        return LowRankPMF(state.schema, state.weights, np.split(state.factors, state.schema.offsets[1:-1]))

    def to_vector(self, state: EMState) -> Floats:
        """Return the logarithms of weights and factors, flat."""
        return simplexes.to_logarithms(state.weights, state.factors)

    def from_vector(self, vector: Floats, state: EMState) -> EMState:
        """Return the state whose logarithms, up to constants, these are."""
        weights, factors = simplexes.from_logarithms(vector, len(state.weights), state.schema.offsets)
        return replace(state, weights=weights, factors=factors)

    def project(self, vector: Floats, state: EMState) -> Floats:
        """Return the weights and factors, flat, nearest to some that left their simplexes."""
        return simplexes.nearest(vector, len(state.weights), state.schema.offsets)
