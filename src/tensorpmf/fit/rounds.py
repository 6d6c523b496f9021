"""Training in rounds: step after step through the parts of the rows, then a look at parts that no step has seen.

Averaging what the last steps led to, which takes their noise out, is B. Polyak and A. Juditsky, "Acceleration of
stochastic approximation by averaging", SIAM J. Control Optim., 1992.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.kernels.purified import Slopes

if TYPE_CHECKING:
    from tensorpmf.fit.purified import LPS, LPSState
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.pmf.purified import PurifiedPMF
    from tensorpmf.table.schema import Schema

MEMORY = 0.99
"""How much of the average a step leaves."""


@dataclass(frozen=True)
class RoundsState:
    """Where training is, and the best it came by.

    Parameters
    ----------
    model
        The state the next step is taken from.
    average
        The same, its cores averaged over the last steps: what is judged.
    seed
        What orders the parts.
    visits
        The parts that are still to be read in this round, those held out at its end.
    heard
        The log-likelihood and the weight of the rows held out that were read in this round.
    best
        ``average`` when the rows held out were most likely.
    validation
        Their mean log-likelihood then.
    n_rounds
        How many rounds there were.
    last
        What there is to know of the best model, once all rows were read with it.
    """

    model: LPSState
    average: LPSState
    seed: int
    visits: tuple[int, ...]
    best: LPSState
    heard: tuple[float, float] = (0.0, 0.0)
    validation: float = -np.inf
    n_rounds: int = 0
    last: Info | None = None


@dataclass(frozen=True)
class Rounds(Algorithm[RoundsState, Slopes]):
    """Early stopping on rows held out.

    Parameters
    ----------
    algorithm
        What takes the steps.
    n_parts
        Into how many parts the rows are divided, two at least; the first ones are held out.
    """

    algorithm: LPS
    n_parts: int

    @property
    def n_held_out(self) -> int:
        """How many parts no step sees."""
        return int(np.clip(round(self.algorithm.validation * self.n_parts), 1, self.n_parts - 1))

    def start(self, schema: Schema, rng: np.random.Generator) -> RoundsState:
        """Return the algorithm's own starting point."""
        model = self.algorithm.start(schema, rng)
        seed = int(rng.integers(2**32))
        return RoundsState(model, model, seed, self._visits(seed, 0), model)

    def part(self, state: RoundsState) -> int | None:
        """Return the part whose turn it is; all of them once training is over."""
        return state.visits[0] if state.visits else None

    def reads_data(self, state: RoundsState) -> bool:
        """Until all is known of the best model."""
        return state.last is None

    def summarise(self, block: Rows, state: RoundsState) -> Slopes:
        """Return the slopes of one block: at the model for a step, at the average for a judgement."""
        return self.algorithm.summarise(block, self._entering(state))

    def update(self, state: RoundsState, stats: Slopes) -> tuple[RoundsState, Info]:
        """Step, or listen to rows held out, or, once training is over, tell how likely all rows are."""
        if state.last is not None:
            return state, state.last
        entering = self._entering(state)
        slopes = self.algorithm.normalised(entering, stats)
        n_times = self.n_parts if state.visits else 1
        info = Info(n_times * slopes.log_likelihood, entering.rank, settled=False, validation=state.validation)
        if not state.visits:
            mean = state.validation if state.n_rounds else slopes.log_likelihood / slopes.weight
            info = replace(info, settled=True, validation=mean)
            return replace(state, last=info), info
        part, rest = state.visits[0], state.visits[1:]
        if part >= self.n_held_out:
            model = self.algorithm.step(state.model, slopes)
            return replace(state, model=model, average=_averaged(state.average, model), visits=rest), info
        heard = state.heard[0] + slopes.log_likelihood, state.heard[1] + slopes.weight
        after = replace(state, heard=heard, visits=rest)
        if not rest:
            after = self._judged(after)
        return after, replace(info, validation=after.validation)

    def closing(self, state: RoundsState) -> RoundsState:
        """End training here; before any round is over, the average so far is the best there is."""
        return replace(state, best=state.best if state.n_rounds else state.average, visits=())

    def finish(self, state: RoundsState) -> PurifiedPMF:
        """Return the model that was best for the rows held out."""
        return self.algorithm.finish(state.best)

    def _entering(self, state: RoundsState) -> LPSState:
        if not state.visits:
            return state.best
        return state.average if state.visits[0] < self.n_held_out else state.model

    def _judged(self, state: RoundsState) -> RoundsState:
        """Keep what is best so far, and begin another round, unless many steps were in vain."""
        log_likelihood, weight = state.heard
        validation = log_likelihood / weight if weight > 0 else 0.0
        n_rounds = state.n_rounds + 1
        after = replace(state, heard=(0.0, 0.0), visits=self._visits(state.seed, n_rounds), n_rounds=n_rounds)
        if validation > state.validation:
            return replace(after, best=state.average, validation=validation)
        in_vain = state.model.n_steps - state.best.n_steps >= self.algorithm.patience
        return replace(after, visits=()) if in_vain else after

    def _visits(self, seed: int, n_rounds: int) -> tuple[int, ...]:
        """Parts to learn from, in an order of this round's own, and behind them those held out."""
        order = np.random.default_rng([seed, n_rounds]).permutation(np.arange(self.n_held_out, self.n_parts))
        return (*order.tolist(), *range(self.n_held_out))


def _averaged(average: LPSState, model: LPSState) -> LPSState:
    """Return the mean over the first steps, and a running one over those that follow."""
    share = max(1 - MEMORY, 1 / max(1, model.n_steps))
    moved = (mean + share * (core - mean) for mean, core in zip(average.cores, model.cores, strict=True))
    return replace(model, cores=tuple(moved))
