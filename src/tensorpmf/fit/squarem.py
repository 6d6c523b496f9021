"""Fewer passes by squared extrapolation: two plain steps, then a jump along and beyond them.

Source: R. Varadhan and C. Roland, "Simple and globally convergent methods for accelerating the convergence of any EM
algorithm", Scand. J. Stat., 2008; for the PMF of categorical data J. K. Chege et al., "Efficient probability mass
function estimation from partially observed data", Asilomar, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, get_args, runtime_checkable

import numpy as np

from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm, Info, Stats
from tensorpmf.typing import Floats

if TYPE_CHECKING:
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.pmf.base import PMF
    from tensorpmf.pmf.posterior import DirichletPosterior
    from tensorpmf.table.schema import Schema

Scheme = Literal["s1", "s2", "s3"]
Coordinates = Literal["log", "simplex"]

FLOOR = 1e-12
"""No jump puts a parameter below this unless plain steps did: for EM a zero is a trap."""

MOST_GROWTH = 1e4
"""No jump multiplies a parameter by more than this."""

GROWTH = 4.0
"""By how much the longest jump grows when it succeeded."""

SHRINKAGE = 0.5
"""How long the next jump may be at most, compared with one that was refused."""

LEAST = 0.01
"""A jump that goes no further beyond the plain steps is not worth the risk."""


@runtime_checkable
class FixedPoint(Protocol):
    """What an algorithm must offer to be accelerated: its positive parameters as a vector of logarithms, and back."""

    def to_vector(self, state: Any) -> Floats:
        """Return the logarithms of all parameters, flat."""
        ...

    def from_vector(self, vector: Floats, state: Any) -> Any:
        """Return the feasible state at some logarithms, in all else like ``state``."""
        ...


@runtime_checkable
class OnSimplexes(FixedPoint, Protocol):
    """A fixed-point algorithm whose parameters are probabilities."""

    def project(self, vector: Floats, state: Any) -> Floats:
        """Return the probabilities nearest to some numbers that are none."""
        ...


@dataclass(frozen=True)
class SquaremState:
    """Where the next pass is made, and how it came there.

    Parameters
    ----------
    point
        The state the next pass enters with.
    before
        The state that led to ``point`` by a plain step, if a pair has begun.
    fallback
        Where to go on if ``point``, a jump, is refused; None if it is no jump.
    seen
        What the last accepted pass showed; a jump must not fall below it.
    jump
        How long the last jump was; 1 is as far as the plain steps went.
    longest
        The longest jump that is tried.
    """

    point: Any
    before: Any = None
    fallback: Any = None
    seen: Info | None = None
    jump: float = 1.0
    longest: float = 1.0


@dataclass(frozen=True)
class SQUAREM(Algorithm[SquaremState, Stats], Generic[Stats]):
    """Reach the optimum of a fixed-point algorithm in a fraction of its passes, without ever going down.

    Choose it around :class:`EM` and :class:`CTF`; it costs a few vectors of the model's size. A jump that would lower
    the objective is refused: that pass is lost, and the plain steps go on.

    Parameters
    ----------
    algorithm
        What to accelerate: :class:`EM`, :class:`CTF`, :class:`VB` or your own, if it has the methods of
        :class:`FixedPoint`.
    scheme
        How long a jump is, from r, the first plain step, and v, the change from it to the second: ``"s1"`` is
        ``-(r.v)/(v.v)``, ``"s2"`` is ``-(r.r)/(r.v)``, ``"s3"`` is ``|r|/|v|``. With refused jumps, the first needs the
        fewest passes.
    coordinates
        Jump in the logarithms of the parameters, each as important as its parameter is large, which stays feasible by
        itself; or in the parameters, and on to the nearest point of the probability simplexes.

    Examples
    --------
    >>> import numpy as np, tensorpmf as tp
    >>> table = tp.CategoricalTable.from_codes(np.random.default_rng(0).integers(0, 3, size=(300, 4)))
    >>> plain, fast = tp.fit(table, tp.EM(rank=2)), tp.fit(table, SQUAREM(tp.EM(rank=2)))
    >>> len(fast.trace) < len(plain.trace)
    True
    """

    algorithm: Any
    scheme: Scheme = "s1"
    coordinates: Coordinates = "log"

    def __post_init__(self) -> None:
        if self.scheme not in get_args(Scheme):
            raise SettingError("SQUAREM", "scheme", '"s1", "s2" or "s3"', self.scheme)
        if self.coordinates not in get_args(Coordinates):
            raise SettingError("SQUAREM", "coordinates", '"log" or "simplex"', self.coordinates)
        if isinstance(self.algorithm, type) or not isinstance(self.algorithm, FixedPoint):
            raise SettingError(
                "SQUAREM", "algorithm", "one that repeats a fixed-point step, as EM does", self.algorithm
            )
        if self.coordinates == "simplex" and not isinstance(self.algorithm, OnSimplexes):
            raise SettingError("SQUAREM", "coordinates", f'"log" for {type(self.algorithm).__name__}', "simplex")

    def with_rank(self, rank: int) -> Self:
        """Return the same settings for another rank."""
        return replace(self, algorithm=self.algorithm.with_rank(rank))

    def start(self, schema: Schema, rng: np.random.Generator) -> SquaremState:
        """Return the algorithm's own starting point."""
        return SquaremState(self.algorithm.start(schema, rng))

    def start_from(self, pmf: PMF, rng: np.random.Generator) -> SquaremState:
        """Return the algorithm's own starting point near a model."""
        return SquaremState(self.algorithm.start_from(pmf, rng))

    def resume(self, state: Any) -> SquaremState:
        """Return where to go on from a state of the algorithm, or of its own."""
        return state if isinstance(state, SquaremState) else SquaremState(state)

    def summarise(self, block: Rows, state: SquaremState) -> Stats:
        """Return the algorithm's own statistics at the point under trial."""
        stats: Stats = self.algorithm.summarise(block, state.point)
        return stats

    def reads_data(self, state: SquaremState) -> bool:
        """Whether the algorithm's own step does."""
        return bool(self.algorithm.reads_data(state.point))

    def update(self, state: SquaremState, stats: Stats) -> tuple[SquaremState, Info]:
        """Take a plain step; refuse a jump that lowered the objective; after two plain steps, jump."""
        after, info = self.algorithm.update(state.point, stats)
        if state.seen is not None:
            if not info.objective >= state.seen.objective:
                shorter = max(1.0, SHRINKAGE * state.jump)
                return SquaremState(state.fallback, longest=shorter), replace(state.seen, rejected=True)
            return SquaremState(after, longest=_longer(state.longest, state.jump)), info
        if state.before is None:
            return SquaremState(after, before=state.point, longest=state.longest), info
        return self._jump(state, after, info), info

    def finish(self, state: SquaremState) -> PMF | DirichletPosterior:
        """Return the model of the last state that a plain step led to."""
        model: PMF | DirichletPosterior = self.algorithm.finish(
            state.point if state.fallback is None else state.fallback
        )
        return model

    def notes(self, schema: Schema, rank: int) -> tuple[str, ...]:
        """Return the algorithm's own."""
        notes: tuple[str, ...] = self.algorithm.notes(schema, rank)
        return notes

    def _jump(self, state: SquaremState, after: Any, info: Info) -> SquaremState:
        """Return the point two plain steps lead on to; a new pair is begun where that is no jump at all."""
        logs = [self.algorithm.to_vector(each) for each in (state.before, state.point, after)]
        if len({len(each) for each in logs}) > 1:
            return SquaremState(after, longest=state.longest)
        first, second, third = logs if self.coordinates == "log" else [np.exp(each) for each in logs]
        step, bend = second - first, third - 2 * second + first
        weights = np.exp(logs[1]) if self.coordinates == "log" else np.ones_like(step)
        jump = min(step_length(self.scheme, step, bend, weights), state.longest)
        if jump < 1.0 + LEAST:
            return SquaremState(after, longest=_longer(state.longest, jump))
        target = first + 2 * jump * step + jump**2 * bend
        if self.coordinates == "simplex":
            target = np.log(np.maximum(self.algorithm.project(target, after), FLOOR))
        lowest, highest = np.minimum(logs[2], np.log(FLOOR)), logs[2] + np.log(MOST_GROWTH)
        point = self.algorithm.from_vector(np.clip(target, lowest, highest), after)
        return SquaremState(point, fallback=after, seen=info, jump=jump, longest=state.longest)


def step_length(scheme: Scheme, step: Floats, bend: Floats, weights: Floats) -> float:
    """Return how far to jump, as a multiple of the plain steps: at least 1, infinitely far where nothing bends.

    Parameters
    ----------
    scheme
        Which of the three lengths of Varadhan and Roland.
    step
        r, the first plain step.
    bend
        v, by how much the second one differs from it.
    weights
        How much each coordinate counts in the inner products.
    """
    rr, rv, vv = ((weights * a) @ b for a, b in ((step, step), (step, bend), (bend, bend)))
    over, under = {"s1": (-rv, vv), "s2": (rr, -rv), "s3": (np.sqrt(rr), np.sqrt(vv))}[scheme]
    if rv >= 0 and scheme != "s3":
        return 1.0 if rr == 0 else np.inf
    return max(1.0, float(over / under)) if under > 0 else 1.0


def _longer(longest: float, jump: float) -> float:
    """Return the next longest jump after one that did not fail."""
    return GROWTH * longest if jump >= longest else longest
