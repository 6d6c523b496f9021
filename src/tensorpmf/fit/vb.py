"""Variational Bayes for a low-rank PMF, its rank included: the paper's Algorithm VB-PMF.

Source: J. K. Chege, A. Yeredor and M. Haardt, "Joint Bayesian Parameter and Model Order Estimation for Low-Rank
Probability Mass Tensors". Equation labels are the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from tensorpmf._check import positive_number, require_memory, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.fit.memoized import Memoized
from tensorpmf.fit.quasinewton import QuasiNewton
from tensorpmf.fit.simplexes import COPIES
from tensorpmf.kernels import dirichlet
from tensorpmf.kernels.estep import Counts, LogTables, accumulate
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.kruskal import kruskal_max_rank
from tensorpmf.pmf.posterior import DirichletPosterior
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats

MOST_COMPONENTS = 100
"""The most components a fit starts from unless it is told a number."""

DEAD = 1e-9
"""A component with a smaller expected count than this has died: its next count would be nothing at all."""

STEADY = 1e-3
"""A component whose mass changes by a larger fraction in one plain step is still on its way, perhaps to die."""

PURE = 1e-3
"""The prior concentration of levels that share the components among them: small enough that a component keeps its."""

MOST_CERTAIN = 1e9
"""The largest prior concentration: the bound is a difference of log-Gammas, and those of larger ones round it away."""

ROWS_A_LEVEL = 3
"""How many rows of a part a component should have for each level: with fewer the prior outweighs them, and components
die that all rows would have kept."""

Alpha: TypeAlias = float | Sequence[float] | Floats
"""The prior concentration of a column's levels: one number, or one a level."""

AlphaFactors: TypeAlias = float | Sequence[Alpha] | Mapping[str, Alpha]


@dataclass(frozen=True)
class VBState:
    """Dirichlet concentrations of the components that live, and what the prior says.

    Parameters
    ----------
    schema
        The columns.
    weights
        (n_live,) concentrations of the weights.
    factors
        (n_stacked_levels, n_live) concentrations of the factors, columns stacked.
    alpha_factors
        (n_stacked_levels,) prior concentrations of the factors.
    n_empty
        Components that died and were dropped; each still has its prior concentration.
    kept
        Which components of the state before are still here; ``None`` for all.
    """

    schema: Schema
    weights: Floats
    factors: Floats
    alpha_weights: float
    alpha_factors: Floats
    n_empty: int
    kept: NDArray[np.bool_] | None = None

    @cached_property
    def expectations(self) -> tuple[LogTables, float]:
        """E[log λ] and E[log a] (eq:expectations), and KL(q‖p) of the weights and all factors."""
        log_weights, kl_weights = self._of_weights()
        log_factors, kl_factors = dirichlet.expected_log_stacked(self.factors, self.schema.offsets, self.alpha_factors)
        return LogTables(log_weights, log_factors), kl_weights + kl_factors

    @cached_property
    def fisher(self) -> tuple[dirichlet.FisherStacked, dirichlet.FisherStacked]:
        """Fisher information of the weights and of the factors, in log-concentrations."""
        one = np.array([0, len(self.weights)])
        empty = self.n_empty * self.alpha_weights
        return (
            dirichlet.FisherStacked(self.weights[:, None], one, empty),
            dirichlet.FisherStacked(self.factors, self.schema.offsets),
        )

    def _of_weights(self) -> tuple[Floats, float]:
        """E[log λ] of the live components, and the divergence of all weights: an empty one differs in nothing."""
        alpha, n_all = self.alpha_weights, len(self.weights) + self.n_empty
        total = self.weights.sum() + self.n_empty * alpha
        log_weights = dirichlet.digamma(self.weights) - dirichlet.digamma(np.array([total]))
        of_one, of_all, of_total = dirichlet.log_gamma(np.array([alpha, n_all * alpha, total]))
        log_beta_prior = len(self.weights) * of_one - of_all
        log_beta_posterior = dirichlet.log_gamma(self.weights).sum() - of_total
        return log_weights, float(log_beta_prior - log_beta_posterior + ((self.weights - alpha) * log_weights).sum())


@dataclass(frozen=True)
class VB(Algorithm[VBState, Counts]):
    """Variational Bayes: one run finds the joint PMF and its rank.

    Choose it when the rank is not known, which is nearly always. One pass costs O(observed cells x live components);
    components that die leave the computation at once.

    Parameters
    ----------
    max_rank
        Components to start from. By default the largest rank with a unique decomposition by Kruskal's condition, at
        least 2 and at most 100.
    alpha_weights
        Prior concentration of the component weights; small values (``<= 1e-2``) let components die.
    alpha_factors
        Prior concentration of the levels within a component: one number, one a column, or a mapping from column names;
        for a column, one number for each of its levels will do as well.
    by
        A column whose levels share the components among them: each begins with one level, and keeps it because the
        prior there is tiny. The model is then a mixture of its own for every level, which tells the levels apart
        better where there are enough components. Rows whose level is missing are shared out.
    accelerate
        Reach the same bound in fewer passes; ``False`` is the paper's plain coordinate ascent.
    """

    max_rank: int | None = None
    alpha_weights: float = 1e-6
    alpha_factors: AlphaFactors = 1.0
    by: str | None = None
    accelerate: bool = True

    def __post_init__(self) -> None:
        if self.max_rank is not None:
            whole_number("VB", "max_rank", self.max_rank, at_least=1)
        if positive_number("VB", "alpha_weights", self.alpha_weights) > MOST_CERTAIN:
            raise SettingError("VB", "alpha_weights", f"at most {MOST_CERTAIN:g}", self.alpha_weights)
        object.__setattr__(self, "alpha_factors", _owned(self.alpha_factors))

    def runner(self) -> Algorithm[Any, Any]:
        """Return the plain algorithm, or the same with quasi-Newton jumps."""
        return QuasiNewton(self) if self.accelerate else self

    def least_minibatch(self, schema: Schema) -> int:
        """Return so many rows that each component to start from can expect a few for each level of a column."""
        return int(ROWS_A_LEVEL * self._start_rank(schema) * np.mean(schema.n_levels))

    def in_parts(self, n_parts: int) -> Algorithm[Any, Any]:
        """Return memoized rounds through the parts."""
        return Memoized(self, n_parts)

    def start(self, schema: Schema, rng: np.random.Generator) -> VBState:
        """Return nearly uniform factors with noise that is as loud for many columns as for a few."""
        rank = self._start_rank(schema)
        alpha = self._alpha_of_levels(schema)
        loudness = min(1.0, (5 / max(schema.n_columns, 1)) ** 0.5)
        counts = 1.0 + loudness * rng.random((int(schema.offsets[-1]), rank))
        if self.by is not None:
            first, n_levels = schema.offsets[schema.ix(self.by)], schema[self.by].n_levels
            counts[first : first + n_levels] = np.arange(n_levels)[:, None] == np.arange(rank) % n_levels
        return VBState(
            schema=schema,
            weights=np.full(rank, 1.0 + self.alpha_weights),
            factors=counts + alpha[:, None],
            alpha_weights=self.alpha_weights,
            alpha_factors=alpha,
            n_empty=0,
        )

    def summarise(self, block: Rows, state: VBState) -> Counts:
        """Return expected counts of one block (eq:gamma_rt, eq:rho_rt)."""
        tables, _ = state.expectations
        return accumulate(block, tables)

    def update(self, state: VBState, stats: Counts) -> tuple[VBState, Info]:
        """Add the counts to the prior (eq:alpha_lambda, eq:alpha_a) and drop the components that died."""
        _, kl = state.expectations
        lives = stats.weights > DEAD
        if not lives.any():
            lives[np.argmax(stats.weights)] = True
        counts, factors = stats.weights, stats.factors
        if not lives.all():
            counts, factors = counts[lives], factors[:, lives]
        after = replace(
            state,
            weights=counts + state.alpha_weights,
            factors=factors + state.alpha_factors[:, None],
            n_empty=state.n_empty + int((~lives).sum()),
            kept=lives,
        )
        holds_mass = counts > 0.5
        drift = np.abs(after.weights / state.weights[lives] - 1.0)[holds_mass]
        settled = bool(lives.all()) and bool((drift < STEADY).all())
        return after, Info(stats.log_norm - kl, rank=max(1, int(holds_mass.sum())), settled=settled)

    def finish(self, state: VBState) -> DirichletPosterior:
        """Return the posterior."""
        return DirichletPosterior(
            state.schema,
            state.weights,
            np.split(state.factors, state.schema.offsets[1:-1]),
            alpha_weights=state.alpha_weights,
            n_empty=state.n_empty,
        )

    def notes(self, schema: Schema, rank: int) -> tuple[str, ...]:
        """Say where the number of components was capped, and where the rank may be larger than what was looked for."""
        start, bound = self._start_rank(schema), kruskal_max_rank(schema.n_levels)
        capped = f"started from {start} components, not from Kruskal's {bound}; VB(max_rank=...) sets another number"
        full = f"all {start} components hold mass, so the rank may be larger; try VB(max_rank={2 * start})"
        return (*([capped] if self.max_rank is None and start < bound else []), *([full] if rank == start > 1 else []))

    def to_vector(self, state: VBState) -> Floats:
        """Return the logarithms of the concentrations, flat."""
        return np.log(_flat(state.weights, state.factors))

    def from_vector(self, vector: Floats, state: VBState) -> VBState:
        """Return a state from a flat vector, whose concentrations are possible ones.

        None falls below its prior, and none exceeds it by more than all rows weigh: towards infinity the bound is flat,
        and its terms are so large that their sum says nothing.
        """
        n_live = len(state.weights)
        positive, most = np.exp(np.minimum(vector, 700.0)), state.weights.sum()
        of_weights, of_factors = state.alpha_weights, state.alpha_factors[:, None]
        return replace(
            state,
            weights=np.clip(positive[:n_live], of_weights, of_weights + most),
            factors=np.clip(positive[n_live:].reshape(-1, n_live), of_factors, of_factors + most),
        )

    def survivors(self, state: VBState) -> NDArray[np.bool_]:
        """Return which log-concentrations of the state before are still there."""
        assert state.kept is not None, "a state that a step led to knows what it kept"
        return (np.ones((1 + len(state.factors), 1), dtype=np.bool_) & state.kept).ravel()

    def gradient(self, state: VBState, after: VBState) -> Floats:
        """Return the gradient of the ELBO in log-concentrations: Fisher information times the plain step."""
        of_weights, of_factors = state.fisher
        return _flat(
            of_weights.times((after.weights / state.weights - 1.0)[:, None]),
            of_factors.times(after.factors / state.factors - 1.0),
        )

    def precondition(self, state: VBState, gradient: Floats) -> Floats:
        """Return the inverse Fisher information times a vector: of the gradient, the plain step."""
        of_weights, of_factors = state.fisher
        n_live = len(state.weights)
        return _flat(of_weights.solve(gradient[:n_live, None]), of_factors.solve(gradient[n_live:].reshape(-1, n_live)))

    def _start_rank(self, schema: Schema) -> int:
        least = 1 if self.by is None else schema[self.by].n_levels
        if self.max_rank is None:
            return max(least, start_rank(schema.n_levels))
        if self.max_rank < least:
            raise SettingError("VB", "max_rank", f"at least {least}, one for each level of {self.by!r}", self.max_rank)
        require_memory("VB", "max_rank", self.max_rank, COPIES * int(self.max_rank) * (1 + sum(schema.n_levels)))
        return int(self.max_rank)

    def _alpha_of_levels(self, schema: Schema) -> Floats:
        given = self.alpha_factors
        if isinstance(given, Mapping):
            for name in given:
                schema.ix(name)
            given = [given.get(name, 1.0) for name in schema.names]
        try:
            columns = list(given) if isinstance(given, (Sequence, np.ndarray)) else [given] * schema.n_columns
            pairs = zip(columns, schema.n_levels, strict=True)
            alpha = np.concatenate([np.broadcast_to(np.asarray(part, dtype=float), n) for part, n in pairs])
        except (TypeError, ValueError):
            alpha = np.array([np.nan])
        if not ((alpha > 0) & (alpha <= MOST_CERTAIN)).all():
            number = f"a number > 0 and at most {MOST_CERTAIN:g}"
            must = f"{number}, one a column, or a mapping from column names; or, for a column, one a level"
            raise SettingError("VB", "alpha_factors", must, self.alpha_factors)
        if self.by is not None:
            first = schema.offsets[schema.ix(self.by)]
            alpha[first : first + schema[self.by].n_levels] = PURE
        return alpha


def _owned(alpha: Any) -> Any:
    """Return a copy of what a caller may still change, sequences and arrays as tuples, so that settings compare."""
    if isinstance(alpha, Mapping):
        return {name: _owned(part) for name, part in cast("Mapping[str, Alpha]", alpha).items()}
    plain = cast("Floats", alpha).tolist() if isinstance(alpha, np.ndarray) else alpha
    return tuple(map(_owned, cast("Sequence[Alpha]", plain))) if isinstance(plain, list | tuple) else plain


def _flat(of_weights: Floats, of_factors: Floats) -> Floats:
    return np.concatenate([of_weights.ravel(), of_factors.ravel()])


def start_rank(n_levels: Sequence[int]) -> int:
    """Return how many components a fit starts from when it is not told: Kruskal's bound, within 2 … 100.

    Where at most one column varies there is nothing to tell components apart by.
    """
    n_varying = sum(n > 1 for n in n_levels)
    return int(np.clip(kruskal_max_rank(n_levels), 2 if n_varying > 1 else 1, MOST_COMPONENTS))
