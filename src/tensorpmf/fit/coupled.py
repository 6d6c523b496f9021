"""Coupled tensor factorisation: a low-rank PMF fitted to the empirical marginals of small subsets of the columns.

Source: N. Kargas, N. D. Sidiropoulos and X. Fu, "Tensors, learning, and Kolmogorov extension for finite-alphabet random
vectors", IEEE Trans. Signal Process., 2018; N. Kargas and N. D. Sidiropoulos, "Learning mixtures of smooth product
distributions: identifiability and algorithm", AISTATS 2019. The default iteration is an EM of our own for their loss.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import SettingError
from tensorpmf.fit import mirror
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.fit.marginals import CompleteRows, Marginals, SubsetTally, Tally, Target, Weighting, tally_of_tables
from tensorpmf.fit.result import FitResult
from tensorpmf.fit.run import fit
from tensorpmf.fit.subsets import Choice, choose_subsets
from tensorpmf.kernels.marginals import Subsets
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.stacked import column_sums, spread
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats, Ints

FLOOR = 1e-100
"""Stands for a probability of zero where a logarithm is needed."""

DEAD = 1e-9
"""A component that weighs less holds no mass."""


@dataclass(frozen=True, eq=False)
class CTFState:
    """Weights and factors, and the marginals once they have been counted.

    Parameters
    ----------
    schema
        The columns.
    weights
        (R,) component weights.
    factors
        (n_stacked_levels, R) factors, columns stacked.
    subsets
        The subsets to count; None for all columns at once.
    target
        The empirical distributions; None until the rows have been read.
    """

    schema: Schema
    weights: Floats
    factors: Floats
    subsets: Subsets | None
    target: Target | None = None


@dataclass(frozen=True)
class CTF(Algorithm[CTFState, Any]):
    """Coupled tensor factorisation: the PMF of given rank whose marginals are nearest to the empirical ones.

    The objective is minus the average Kullback–Leibler divergence of the model's marginals from the empirical ones, in
    nats: at most 0, higher is better, and it never falls.

    Choose it when the rows cannot be kept or read twice (only marginals are needed; see :func:`fit_marginals`), when
    there are very many of them and few columns, or to compare with the literature. Otherwise :class:`EM` and
    :class:`VB` use more of the data: a marginal of three columns knows nothing of what rows say about four.

    Rows are read once. Counting costs about one look per row and subset; a sweep then costs O(cells of all marginals x
    rank), whatever the number of rows. Acceleration by :class:`SQUAREM` pays.

    Missing data: a row counts in every subset it observes wholly, so ``order=2`` loses least and ``order="full"`` reads
    *complete rows only* and throws all others away; where every fifth cell is missing of ten columns, that is 9 rows of 10.
    With nothing missing ``order="full"`` is maximum likelihood, the optimum of :class:`EM`.

    Parameters
    ----------
    rank
        How many components the model has.
    order
        How many columns a subset has: 3, 2 (pairs; in general not enough to tell the components), or ``"full"`` for all
        columns at once, held sparse.
    method
        ``"em"``, which updates everything at once and needs no step length, or ``"mirror"``, the authors' alternating
        mirror descent with Armijo's rule. The latter is slower and here for comparison.
    weights
        Every marginal weighs the same (``"equal"``), or what was counted for it (``"counts"``).
    triplets
        Which subsets: ``"all"``, a fraction of all, how many (drawn so that columns occur equally often and all are
        connected), or a list of tuples of column names or positions.
    triplet_seed
        Which subsets are drawn; all starts of a fit, and all ranks tried, see the same ones.
    max_memory
        Bytes the marginals may take; more is refused before it is taken.

    Examples
    --------
    >>> import numpy as np, tensorpmf as tp
    >>> codes = np.random.default_rng(0).integers(0, 2, size=(500, 4))
    >>> result = tp.fit(tp.CategoricalTable.from_codes(codes), CTF(rank=2))
    >>> result.rank
    2
    """

    rank: int
    order: Literal[2, 3, "full"] = 3
    method: Literal["em", "mirror"] = "em"
    weights: Weighting = "equal"
    triplets: Choice = "all"
    triplet_seed: int = 0
    max_memory: float = 4 * 2**30

    def __post_init__(self) -> None:
        if not (isinstance(self.rank, (int, np.integer)) and self.rank >= 1):
            raise SettingError("CTF", "rank", "a whole number >= 1", self.rank)
        if self.order not in (2, 3, "full"):
            raise SettingError("CTF", "order", '2, 3 or "full"', self.order)
        if self.method not in ("em", "mirror"):
            raise SettingError("CTF", "method", '"em" or "mirror"', self.method)
        if self.weights not in get_args(Weighting):
            raise SettingError("CTF", "weights", '"equal" or "counts"', self.weights)
        if self.order == "full" and self.method == "mirror":
            raise SettingError("CTF", "method", '"em" when order="full"', self.method)
        if not self.max_memory > 0:
            raise SettingError("CTF", "max_memory", "a number of bytes > 0", self.max_memory)

    def start(self, schema: Schema, rng: np.random.Generator) -> CTFState:
        """Return random factors and equal weights."""
        subsets = None
        if self.order != "full":
            subsets = choose_subsets(schema, self.order, self.triplets, self.triplet_seed, self.max_memory)
        factors = rng.random((int(schema.offsets[-1]), self.rank))
        return CTFState(
            schema, np.full(self.rank, 1 / self.rank), normalised(factors, factors, schema.offsets), subsets
        )

    def summarise(self, block: Rows, state: CTFState) -> Tally:
        """Return what one block of rows shows of the subsets."""
        return CompleteRows.of(block) if state.subsets is None else SubsetTally.of(block, state.subsets)

    def reads_data(self, state: CTFState) -> bool:
        """Only until the marginals are counted."""
        return state.target is None

    def update(self, state: CTFState, stats: Tally | None) -> tuple[CTFState, Info]:
        """Count at the first time; then one sweep over all marginals."""
        target = state.target
        if target is None:
            assert stats is not None, "the first step reads the rows"
            target = stats.target(state.schema, self.weights)
        if self.method == "mirror" and isinstance(target, Marginals):
            log_norm, weights, factors = mirror.sweep(target, state.weights, state.factors)
        else:
            counts = target.accumulate(state.weights, state.factors)
            log_norm, weights = counts.log_norm, counts.weights / counts.weights.sum()
            factors = normalised(counts.factors, state.factors, state.schema.offsets)
        after = replace(state, weights=weights, factors=factors, target=target)
        return after, Info(objective=log_norm - target.negative_entropy, rank=int((weights > DEAD).sum()))

    def finish(self, state: CTFState) -> LowRankPMF:
        """Return the model."""
        return LowRankPMF(state.schema, state.weights, np.split(state.factors, state.schema.offsets[1:-1]))

    def to_vector(self, state: CTFState) -> Floats:
        """Return the logarithms of weights and factors, flat."""
        return np.log(np.maximum(np.concatenate([state.weights, state.factors.ravel()]), FLOOR))

    def from_vector(self, vector: Floats, state: CTFState) -> CTFState:
        """Return the state a flat vector of logarithms stands for, normalised."""
        offsets = state.schema.offsets
        log_weights, log_factors = vector[: self.rank], vector[self.rank :].reshape(-1, self.rank)
        weights = np.maximum(np.exp(log_weights - log_weights.max()), FLOOR)
        tops = spread(np.maximum.reduceat(log_factors, offsets[:-1], axis=0), offsets)
        factors = np.maximum(np.exp(log_factors - tops), FLOOR)
        return replace(state, weights=weights / weights.sum(), factors=normalised(factors, factors, offsets))


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


@dataclass(frozen=True)
class GivenMarginals:
    """A reducer with no rows behind it: marginals that are known already."""

    schema: Schema

    def bind(self, table: Mapping[Sequence[Hashable], ArrayLike]) -> ReadMarginals:
        """Take the marginals where others take rows."""
        return ReadMarginals(self.schema, tally_of_tables(self.schema, table))


@dataclass(frozen=True, eq=False)
class ReadMarginals:
    """Answers every pass with the same tally."""

    schema: Schema
    tally: SubsetTally

    def __call__(self, summarise: Any, state: Any) -> Any:
        """Return the tally."""
        return self.tally


def fit_marginals(
    schema: Schema, marginals: Mapping[Sequence[Hashable], ArrayLike], algorithm: Algorithm[Any, Any], **settings: Any
) -> FitResult:
    """Learn a joint PMF from marginals alone, whoever counted them.

    Parameters
    ----------
    schema
        The columns.
    marginals
        For each tuple of column names or positions, all equally long, an array with one axis a column; each is divided
        by its sum.
    algorithm
        A :class:`CTF`, or a wrapper of one; which subsets there are is taken from the marginals.
    **settings
        As of :func:`fit`.

    Examples
    --------
    >>> import numpy as np, tensorpmf as tp
    >>> schema = tp.Schema.from_n_levels([2, 2, 2])
    >>> result = fit_marginals(schema, {("x1", "x2", "x3"): np.eye(2)[:, :, None] * [0.25, 0.25]}, CTF(rank=2))
    >>> round(float(result.objective), 3)
    -0.0
    """
    return fit(marginals, algorithm, reducer=GivenMarginals(schema), **settings)
