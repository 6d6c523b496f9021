"""Fewer passes: a limited-memory quasi-Newton ascent preconditioned by the algorithm's own step.

Every pass over the rows gives an objective and, through the plain step from the same point, its exact gradient. The
classical two-loop recursion (Nocedal and Wright, Algorithm 7.4) turns the last few gradients into a direction; its
initial metric is the algorithm's Fisher information, so that the first direction is the plain step itself and the
memory only has to learn what the plain step gets wrong. The last move scales that metric (their 7.20), within limits.
A jump that would lower the objective is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tensorpmf._check import whole_number
from tensorpmf.fit.contract import Algorithm, Info, Stats
from tensorpmf.kernels.recursion import ascend, descend
from tensorpmf.typing import Floats

if TYPE_CHECKING:
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.pmf.base import PMF
    from tensorpmf.pmf.posterior import DirichletPosterior
    from tensorpmf.table.schema import Schema

LONGEST_JUMP = 4.0
"""No coordinate (the logarithm of a concentration) moves further than this in one jump."""

SHORTER = 0.25
"""A refused jump is tried once more at this fraction of its length; then the plain step is taken."""

SCALES = (0.5, 2.0)
"""How much shorter or longer than a plain step a step may be where the memory is silent."""


class Curved(Protocol):
    """What an algorithm must know of its own geometry; coordinates are those of ``to_vector``."""

    def to_vector(self, state: Any) -> Floats:
        """Return the coordinates of a state."""
        ...

    def from_vector(self, vector: Floats, state: Any) -> Any:
        """Return the state at some coordinates, in all else like ``state``."""
        ...

    def gradient(self, state: Any, after: Any) -> Floats:
        """Return the gradient of the objective at ``state``, from the plain step it leads to."""
        ...

    def survivors(self, state: Any) -> NDArray[np.bool_]:
        """Return which coordinates of the state before are still there in this one."""
        ...

    def precondition(self, state: Any, gradient: Floats) -> Floats:
        """Return the inverse Fisher information at ``state`` times a vector."""
        ...


class Pair(NamedTuple):
    """A move, how the gradient fell along it, and their inner product."""

    move: Floats
    fall: Floats
    curvature: float

    @classmethod
    def of(cls, move: Floats, fall: Floats) -> Pair:
        """Return the pair, its inner product worked out once."""
        return cls(move, fall, inner(move, fall))

    @property
    def teaches(self) -> bool:
        """Whether the gradient fell along the move, as it does where the objective is concave."""
        return self.curvature > 1e-10 * sqrt(inner(self.move, self.move) * inner(self.fall, self.fall))


@dataclass(frozen=True)
class Accepted:
    """A point whose objective and gradient are known, and the plain step from it."""

    after: Any
    info: Info
    vector: Floats
    gradient: Floats


@dataclass(frozen=True)
class QuasiNewtonState:
    """Where the next pass is made, and what the last accepted one taught.

    Parameters
    ----------
    point
        The state the next pass enters with.
    n_plain
        Plain steps still to be taken before jumps begin.
    accepted
        The last accepted point, which the next one must not fall below; ``None`` after plain steps.
    jump
        The move, in coordinates, that led from the accepted point to ``point``.
    tries
        How many jumps from the accepted point were refused.
    memory
        What the last moves taught, oldest first.
    """

    point: Any
    n_plain: int = 0
    accepted: Accepted | None = None
    jump: Floats | None = None
    tries: int = 0
    memory: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class QuasiNewton(Algorithm[QuasiNewtonState, Stats], Generic[Stats]):
    """Reach an algorithm's optimum in fewer passes, without ever going down.

    Parameters
    ----------
    algorithm
        What to accelerate; it must know its own geometry (:class:`Curved`), as :class:`VB` does.
    memory
        How many past moves shape a jump. Each costs two arrays of the model's size.
    n_plain
        Plain steps before the first jump: far from an optimum curvature says little about where to go.
    """

    algorithm: Any
    memory: int = 10
    n_plain: int = 10

    def __post_init__(self) -> None:
        whole_number("QuasiNewton", "memory", self.memory, at_least=1)
        whole_number("QuasiNewton", "n_plain", self.n_plain, at_least=0)

    def start(self, schema: Schema, rng: np.random.Generator) -> QuasiNewtonState:
        """Return the algorithm's own starting point."""
        return QuasiNewtonState(self.algorithm.start(schema, rng), n_plain=self.n_plain)

    def resume(self, state: Any) -> QuasiNewtonState:
        """Return where to go on from a state of the algorithm that has already come some way."""
        return QuasiNewtonState(state)

    def summarise(self, block: Rows, state: QuasiNewtonState) -> Stats:
        """Return the algorithm's own statistics at the point under trial."""
        stats: Stats = self.algorithm.summarise(block, state.point)
        return stats

    def update(self, state: QuasiNewtonState, stats: Stats) -> tuple[QuasiNewtonState, Info]:
        """Refuse the point under trial if it lowered the objective; otherwise learn from it and jump on."""
        after, info = self.algorithm.update(state.point, stats)
        if state.accepted is not None and not info.objective >= state.accepted.info.objective:
            return self._step_back(state, state.accepted), replace(state.accepted.info, rejected=True)
        if state.n_plain > 0:
            return QuasiNewtonState(after, n_plain=state.n_plain - 1), info
        survives = self.algorithm.survivors(after)
        if not survives.all():
            left = [Pair.of(pair.move[survives], pair.fall[survives]) for pair in state.memory]
            return QuasiNewtonState(after, memory=tuple(pair for pair in left if pair.teaches)), info
        here = Accepted(after, info, self.algorithm.to_vector(state.point), self.algorithm.gradient(state.point, after))
        return self._jump(state, here), info

    def finish(self, state: QuasiNewtonState) -> PMF | DirichletPosterior:
        """Return the model after a last plain step from the best point."""
        model: PMF | DirichletPosterior = self.algorithm.finish(
            state.point if state.accepted is None else state.accepted.after
        )
        return model

    def _jump(self, state: QuasiNewtonState, here: Accepted) -> QuasiNewtonState:
        """Return the next point to try from an accepted one."""
        memory = state.memory
        if state.accepted is not None:
            pair = Pair.of(here.vector - state.accepted.vector, state.accepted.gradient - here.gradient)
            if pair.teaches:
                memory = (*memory, pair)[-self.memory :]
        jump = direction(memory, here.gradient, lambda vector: self.algorithm.precondition(state.point, vector))
        if not memory or not inner(here.gradient, jump) > 0:
            return QuasiNewtonState(here.after, accepted=here)
        jump *= min(1.0, LONGEST_JUMP / float(np.abs(jump).max()))
        point = self.algorithm.from_vector(here.vector + jump, here.after)
        return QuasiNewtonState(point, accepted=here, jump=jump, memory=memory)

    def _step_back(self, state: QuasiNewtonState, accepted: Accepted) -> QuasiNewtonState:
        """Return a shorter jump from the accepted point, or, when that was refused too, the plain step."""
        if state.jump is None or state.tries > 0:
            return QuasiNewtonState(accepted.after)
        jump = SHORTER * state.jump
        point = self.algorithm.from_vector(accepted.vector + jump, accepted.after)
        return replace(state, point=point, jump=jump, tries=1)


def inner(a: Floats, b: Floats) -> float:
    """Return the inner product, on this thread: a BLAS waits for others, and its sum depends on how many there are."""
    return float(np.einsum("i,i", a, b))


def direction(memory: Sequence[Pair], gradient: Floats, precondition: Callable[[Floats], Floats]) -> Floats:
    """Return the direction of ascent: the two-loop recursion on what the last moves taught."""
    if not memory:
        return precondition(gradient)
    moves, falls, curvatures = zip(*memory, strict=True)
    ahead, shares = descend(moves, falls, curvatures, gradient)
    scale = curvatures[-1] / inner(falls[-1], precondition(falls[-1]))
    ahead = precondition(ahead) * min(max(scale, SCALES[0]), SCALES[1])
    return ascend(moves, falls, curvatures, shares, ahead)
