"""Coupled tensor factorisation: a low-rank PMF fitted to the empirical marginals of small subsets of the columns.

Source: N. Kargas, N. D. Sidiropoulos and X. Fu, "Tensors, learning, and Kolmogorov extension for finite-alphabet random
vectors", IEEE Trans. Signal Process., 2018; N. Kargas and N. D. Sidiropoulos, "Learning mixtures of smooth product
distributions: identifiability and algorithm", AISTATS 2019. The default iteration is an EM of our own for their loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from tensorpmf._check import positive_number, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.fit import frobenius, mirror, simplexes
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.fit.marginals import CompleteTally, Marginals, SubsetTally, Tally, Target, Weighting
from tensorpmf.fit.subsets import COPIES, Choice, choose_subsets
from tensorpmf.kernels.marginals import Subsets
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats

DEAD = 1e-9
"""A component that weighs less holds no mass."""

LEAST = 1e-60
"""No jump takes a probability below this: even the product of three is no zero, from which nothing comes back."""


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
    nats, or minus their relative squared error: at most 0, higher is better, and it never falls.

    Choose it when the rows cannot be kept or read twice (only marginals are needed; see :func:`fit_marginals`), when
    there are very many of them and few columns, or to compare with the literature. Otherwise :class:`EM` and
    :class:`VB` use more of the data: a marginal of three columns knows nothing of what rows say about four.

    Rows are read once. Counting costs about one look per row and subset; a sweep then costs O(cells of all marginals x
    rank), whatever the number of rows, on as many threads as there are processors (or ``TENSORPMF_THREADS``). Use it as
    ``SQUAREM(CTF(rank))``: the same optimum in a fraction of the sweeps.

    Missing data: a row counts in every subset it observes wholly, so ``order=2`` loses least and ``order="full"`` reads
    *complete rows only* and throws all others away: of ten columns with every fifth cell missing, that is 9 rows in 10.
    With nothing missing ``order="full"`` is maximum likelihood, the optimum of :class:`EM`.

    Parameters
    ----------
    rank
        How many components there are; it may be left out only where :func:`select_rank` tries several.
    order
        How many columns a subset has: 3, 2 (pairs; in general not enough to tell the components), or ``"full"`` for all
        columns at once, held sparse.
    loss
        ``"kl"``, the Kullback–Leibler divergence; or ``"frobenius"``, squared error, by alternating least squares. It
        lets large cells decide and may give others probability zero: for comparison.
    method
        How the divergence is made small: ``"em"``, which updates everything at once and needs no step length, or
        ``"mirror"``, the authors' alternating mirror descent with Armijo's rule. The latter is many times slower and
        here for comparison.
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
    >>> result = tp.fit(tp.CategoricalTable.from_codes(codes), tp.CTF(rank=2))
    >>> result.rank
    2
    """

    rank: int | None = None
    order: Literal[2, 3, "full"] = 3
    loss: Literal["kl", "frobenius"] = "kl"
    method: Literal["em", "mirror"] = "em"
    weights: Weighting = "equal"
    triplets: Choice = "all"
    triplet_seed: int = 0
    max_memory: float = 4 * 2**30

    def __post_init__(self) -> None:
        if self.rank is not None:
            whole_number("CTF", "rank", self.rank, at_least=1)
        if self.order not in (2, 3, "full") or isinstance(self.order, float):
            raise SettingError("CTF", "order", '2, 3 or "full"', self.order)
        if self.method not in ("em", "mirror"):
            raise SettingError("CTF", "method", '"em" or "mirror"', self.method)
        if self.weights not in get_args(Weighting):
            raise SettingError("CTF", "weights", '"equal" or "counts"', self.weights)
        if self.loss not in ("kl", "frobenius"):
            raise SettingError("CTF", "loss", '"kl" or "frobenius"', self.loss)
        if self.loss == "frobenius" and self.order == "full":
            raise SettingError("CTF", "loss", '"kl" when order="full"', self.loss)
        if self.method == "mirror" and (self.order == "full" or self.loss == "frobenius"):
            raise SettingError("CTF", "method", '"em" when order="full" or loss="frobenius"', self.method)
        whole_number("CTF", "triplet_seed", self.triplet_seed, at_least=0)
        positive_number("CTF", "max_memory", self.max_memory)

    def start(self, schema: Schema, rng: np.random.Generator) -> CTFState:
        """Return random factors and equal weights."""
        rank, subsets = simplexes.rank_for("CTF", self.rank, schema), None
        if self.order != "full":
            copies = mirror.COPIES if self._unfolds else COPIES
            subsets = choose_subsets(schema, self.order, self.triplets, self.triplet_seed, self.max_memory, copies)
        noise = rng.random((int(schema.offsets[-1]), rank))
        return CTFState(schema, np.full(rank, 1 / rank), simplexes.normalised(noise, noise, schema.offsets), subsets)

    def with_rank(self, rank: int) -> CTF:
        """Return the same settings for another rank."""
        return replace(self, rank=rank)

    def start_from(self, pmf: LowRankPMF, rng: np.random.Generator) -> CTFState:
        """Return a starting point near a model: its heaviest components, and halves of them where that is too few."""
        state = self.start(pmf.schema, rng)
        weights, factors = simplexes.near_model(pmf, len(state.weights), rng)
        return replace(state, weights=weights, factors=factors)

    def summarise(self, block: Rows, state: CTFState) -> Tally:
        """Return what one block of rows shows of the subsets."""
        return CompleteTally.of(block) if state.subsets is None else SubsetTally.of(block, state.subsets)

    def reads_data(self, state: CTFState) -> bool:
        """Only until the marginals are counted."""
        return state.target is None

    def update(self, state: CTFState, stats: Tally | None) -> tuple[CTFState, Info]:
        """Count at the first time; then one sweep over all marginals."""
        target = state.target
        if target is None:
            assert stats is not None, "the first step reads the rows"
            target = stats.target(state.schema, self.weights)
        if self._unfolds and isinstance(target, Marginals):
            sweep = mirror.sweep if self.loss == "kl" else frobenius.sweep
            objective, weights, factors = sweep(target, state.weights, state.factors)
        else:
            counts = target.accumulate(state.weights, state.factors)
            objective, weights = counts.log_norm - target.negative_entropy, counts.weights / counts.weights.sum()
            factors = simplexes.normalised(counts.factors, state.factors, state.schema.offsets)
        after = replace(state, weights=weights, factors=factors, target=target)
        return after, Info(objective=objective, rank=int((weights > DEAD).sum()))

    def finish(self, state: CTFState) -> LowRankPMF:
        """Return the model."""
        return LowRankPMF(state.schema, state.weights, np.split(state.factors, state.schema.offsets[1:-1]))

    @property
    def _unfolds(self) -> bool:
        """Whether columns take turns, each with all its marginals unfolded."""
        return self.method == "mirror" or self.loss == "frobenius"

    def to_vector(self, state: CTFState) -> Floats:
        """Return the logarithms of weights and factors, flat."""
        return simplexes.to_logarithms(state.weights, state.factors)

    def from_vector(self, vector: Floats, state: CTFState) -> CTFState:
        """Return the state whose logarithms, up to constants, these are; no probability is zero."""
        weights, factors = simplexes.from_logarithms(vector, len(state.weights), state.schema.offsets)
        return replace(state, weights=np.maximum(weights, LEAST), factors=np.maximum(factors, LEAST))

    def project(self, vector: Floats, state: CTFState) -> Floats:
        """Return the weights and factors, flat, nearest to some that left their simplexes."""
        return simplexes.nearest(vector, len(state.weights), state.schema.offsets)
