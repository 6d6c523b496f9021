"""Variational Bayes a part of the rows at a time, with an exact bound: memoized, also called incremental.

Source: M. Hughes and E. Sudderth, "Memoized Online Variational Inference for Dirichlet Process Mixture Models" (2013).
Each part's statistics are remembered. A visit to a part takes its old ones out of the sum and puts the new ones in, so
that nothing is forgotten gradually, no learning rate is needed, and the bound can only rise once all parts were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.kernels.estep import Counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tensorpmf.fit.vb import VB, VBState
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.pmf.base import PMF
    from tensorpmf.pmf.posterior import DirichletPosterior
    from tensorpmf.table.schema import Schema


@dataclass(frozen=True)
class Memory:
    """What is remembered of one part: its expected counts, and the entropy of its responsibilities."""

    counts: Counts
    entropy: float

    @classmethod
    def of(cls, counts: Counts, state: VBState) -> Memory:
        """Return the memory of counts just made: their normaliser is expected log-joint plus entropy."""
        return cls(counts, counts.log_norm - expected_log_joint(counts, state))

    def kept(self, kept: NDArray[np.bool_]) -> Memory:
        """Return the memory without the components that died."""
        counts = replace(self.counts, weights=self.counts.weights[kept], factors=self.counts.factors[:, kept])
        return replace(self, counts=counts)


@dataclass(frozen=True)
class MemoizedState:
    """The model, what is remembered of each part seen so far, and how many visits were made."""

    model: VBState
    memories: tuple[Memory, ...] = ()
    n_visits: int = 0
    runner: Any = None


@dataclass(frozen=True)
class Memoized(Algorithm[MemoizedState, Counts]):
    """A few rounds over the parts of the rows; then the algorithm itself goes on, from there, over all of them.

    Parameters
    ----------
    algorithm
        Settings of variational Bayes.
    n_parts
        Into how many parts the rows are divided.
    n_rounds
        How often every part is visited.
    n_first
        How often the first part is visited before the rounds: telling components apart takes steps, not rows.
    """

    algorithm: VB
    n_parts: int
    n_rounds: int = 2
    n_first: int = 40

    def start(self, schema: Schema, rng: np.random.Generator) -> MemoizedState:
        """Return the algorithm's own starting point."""
        return MemoizedState(self.algorithm.start(schema, rng))

    def part(self, state: MemoizedState) -> int | None:
        """Return the part whose turn it is, until all rounds are over."""
        return None if state.runner is not None else max(0, state.n_visits - self.n_first) % self.n_parts

    def summarise(self, block: Rows, state: MemoizedState) -> Counts:
        """Return expected counts of one block."""
        if state.runner is None:
            return self.algorithm.summarise(block, state.model)
        counts: Counts = self.algorithm.runner().summarise(block, state.runner)
        return counts

    def update(self, state: MemoizedState, stats: Counts) -> tuple[MemoizedState, Info]:
        """Replace what is remembered of the part just read, and step from the sum of all that is remembered.

        Until every part has been seen once, the objective is that of the rows seen so far, times all over seen.
        """
        if state.runner is not None:
            after, info = self.algorithm.runner().update(state.runner, stats)
            return replace(state, runner=after), info
        memories = list(state.memories)
        ix = self.part(state)
        assert ix is not None, "rounds are still going on"
        memories[ix : ix + 1] = [Memory.of(stats, state.model)]
        total = reduce(add, [memory.counts for memory in memories])
        entropy = sum(memory.entropy for memory in memories)
        bound = replace(total, log_norm=expected_log_joint(total, state.model) + entropy)
        model, info = self.algorithm.update(state.model, bound)
        assert model.kept is not None, "a state that a step led to knows what it kept"
        if not model.kept.all():
            memories = [memory.kept(model.kept) for memory in memories]
        info = replace(info, objective=info.objective * self.n_parts / len(memories), settled=False)
        after = MemoizedState(model, tuple(memories), state.n_visits + 1)
        if after.n_visits == self.n_first + self.n_rounds * self.n_parts:
            after = MemoizedState(model, runner=self.algorithm.runner().resume(model))
        return after, info

    def finish(self, state: MemoizedState) -> PMF | DirichletPosterior:
        """Return the posterior."""
        if state.runner is None:
            return self.algorithm.finish(state.model)
        return self.algorithm.runner().finish(state.runner)


def expected_log_joint(counts: Counts, state: VBState) -> float:
    """Return the sum over rows and components of rho times log gamma (the first term of eq:elbo_2)."""
    tables, _ = state.expectations
    return float((counts.weights * tables.log_weights).sum() + (counts.factors * tables.log_factors).sum())
