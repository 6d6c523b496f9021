"""The only loop: reduce, update, look, until nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tensorpmf._check import function, positive_number, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm, Info, Reduce, Reducer, Status, Trace
from tensorpmf.fit.reduce import LocalReducer
from tensorpmf.fit.result import FitResult
from tensorpmf.fit.vb import VB
from tensorpmf.pmf.posterior import DirichletPosterior
from tensorpmf.table.table import CategoricalTable

if TYPE_CHECKING:
    from tensorpmf.table.schema import Schema


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told after every pass."""

    start: int
    n_starts: int
    iteration: int
    info: Info
    seconds: float


@dataclass(frozen=True)
class Effort:
    """How often to start, from what seed, and when to stop: settings of :func:`fit`."""

    seed: int
    n_starts: int
    max_iterations: int
    tolerance: float

    @classmethod
    def checked(cls, owner: str, seed: int, n_starts: int, max_iterations: int, tolerance: float) -> Effort:
        """Return the settings, or tell a caller of ``owner`` what they must be."""
        return cls(
            whole_number(owner, "seed", seed, at_least=0),
            whole_number(owner, "n_starts", n_starts, at_least=1),
            whole_number(owner, "max_iterations", max_iterations, at_least=1),
            positive_number(owner, "tolerance", tolerance, zero=True),
        )


@dataclass
class Ascent:
    """One start under way: its state, what was seen of it, and whether it still moves."""

    state: Any
    tolerance: float
    infos: list[Info] = field(default_factory=list[Info])
    seconds: list[float] = field(default_factory=list[float])
    passes: list[float] = field(default_factory=list[float])
    status: Status = Status.MAX_ITERATIONS
    _still: int = 0
    _last: float = -np.inf

    def see(self, info: Info, seconds: float, passes: float = 1.0) -> bool:
        """Record a step; return whether the ascent has converged.

        A refused jump is no sign of convergence, and neither is a flat objective while a component is dying.
        """
        self.infos.append(info)
        self.seconds.append(seconds)
        self.passes.append(passes)
        if info.rejected:
            return False
        gain = info.objective - self._last
        self._last = info.objective
        flat = gain <= self.tolerance * max(1.0, abs(info.objective))
        self._still = self._still + 1 if flat and info.settled else 0
        return self._still >= PATIENCE

    @property
    def trace(self) -> Trace:
        """What was seen, as arrays."""
        return Trace(
            np.array([info.objective for info in self.infos], dtype=np.float64),
            np.array([info.rank for info in self.infos], dtype=np.int64),
            np.array(self.seconds, dtype=np.float64),
            np.cumsum(self.passes, dtype=np.float64),
        )


PATIENCE = 2


def climb(
    algorithm: Algorithm[Any, Any],
    reduce: Reduce,
    state: Any,
    effort: Effort,
    watch: Callable[[int, Info, float], None],
) -> Ascent:
    """Iterate one start until it converges, runs out of iterations or is interrupted."""
    ascent = Ascent(state, effort.tolerance)
    began = time.perf_counter()

    def converges(state: Any) -> bool:
        part = algorithm.part(state)
        reads = algorithm.reads_data(state)
        stats = reduce(algorithm.summarise, state, part) if reads else None
        ascent.state, info = algorithm.update(state, stats)
        seconds = time.perf_counter() - began
        converged = ascent.see(info, seconds, passes=reads * (1.0 if part is None else 1.0 / reduce.n_parts))
        watch(len(ascent.infos) - 1, info, seconds)
        return converged

    try:
        for n_left in reversed(range(effort.max_iterations)):
            if n_left == 0:
                ascent.state = algorithm.closing(ascent.state)
            if converges(ascent.state):
                ascent.status = Status.CONVERGED
                break
    except KeyboardInterrupt:
        ascent.status = Status.INTERRUPTED
        closing = algorithm.closing(ascent.state)
        if ascent.infos and closing is not ascent.state:
            ascent.state = closing
            with suppress(KeyboardInterrupt):
                converges(closing)
    return ascent


def fit(
    table: CategoricalTable | Any,
    algorithm: Algorithm[Any, Any] | None = None,
    *,
    seed: int = 0,
    n_starts: int = 1,
    max_iterations: int = 10_000,
    tolerance: float = 1e-9,
    reducer: Reducer | None = None,
    n_threads: int | None = None,
    minibatch: int | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> FitResult:
    """Learn the joint PMF of a categorical table, its rank included.

    Parameters
    ----------
    table
        A :class:`CategoricalTable`, or anything :func:`read_table` takes.
    algorithm
        Settings of the method; by default :class:`VB`.
    seed
        Where randomness comes from: the same seed gives the same bits, whatever the number of threads.
    n_starts
        How many random starting points are tried; the best objective is kept.
    max_iterations
        The most steps a start may take; one is a pass over the rows, unless it reads a part of them, or none. Where
        steps only estimate the objective, as those of :class:`LPS` do, the last one tells that of the model returned.
    tolerance
        A start has converged when a pass gains less than this, relative to the objective.
    reducer
        Where the rows live; by default in this process's memory.
    n_threads
        How many threads work in this process; by default as many as there are processors.
    minibatch
        About how many rows a step reads; by default what the algorithm suggests: some hundreds for :class:`LPS`, all
        for others. :class:`VB` takes it for tables so long that one pass takes a while: two rounds of memoized
        variational Bayes go before passes over all rows, and a useful model is there after a fraction of a pass. Fewer
        rows than three for each component it starts from and each level of a column are not read at a time.
    callback
        Called with a :class:`Progress` after every pass.

    Returns
    -------
    FitResult
        The model, its posterior if the method has one, its rank, and how the fit went. Interrupted by Ctrl-C, the best
        state so far with status ``INTERRUPTED``.
    """
    effort = Effort.checked("fit", seed, n_starts, max_iterations, tolerance)
    function("fit", "callback", callback)
    algorithm = VB() if algorithm is None else algorithm
    if not isinstance(cast("object", algorithm), Algorithm):
        raise SettingError("fit", "algorithm", "an algorithm with its settings, such as VB() or EM(rank=3)", algorithm)
    notes: tuple[str, ...] = ()
    if reducer is None:
        table = table if isinstance(table, CategoricalTable) else CategoricalTable.from_any(table)
        n_at_once = algorithm.minibatch(table.n_rows)
        if minibatch is not None:
            n_at_once, notes = enough(whole_number("fit", "minibatch", minibatch, at_least=1), algorithm, table)
        reducer = LocalReducer(n_threads, n_at_once)
    if not hasattr(reducer, "bind"):
        raise SettingError("fit", "reducer", "what binds a table, such as LocalReducer(), or None", reducer)
    reduce = reducer.bind(table)
    runner = runner_for(algorithm, reduce, minibatch)
    result = run(algorithm, reduce, runner, runner.start, effort, callback)
    return replace(result, notes=(*notes, *result.notes)) if notes else result


def enough(minibatch: int, algorithm: Algorithm[Any, Any], table: CategoricalTable) -> tuple[int, tuple[str, ...]]:
    """Return how many rows a step reads, as many as it is told or as it takes at least, and what is to be said of it.

    Parameters
    ----------
    minibatch
        How many are wanted.
    algorithm
        What reads them.
    table
        The rows.
    """
    least = algorithm.least_minibatch(table.schema) if table.n_columns else 1
    if minibatch >= min(least, table.n_rows):
        return minibatch, ()
    n_at_once = table.n_rows // max(1, table.n_rows // least)
    why = f"minibatch={minibatch} is too few rows for so many components and levels"
    return n_at_once, (f"{why}, so {n_at_once} were read at a time",)


def runner_for(algorithm: Algorithm[Any, Any], reduce: Reduce, minibatch: int | None = None) -> Algorithm[Any, Any]:
    """Return what is really iterated over some rows, whole or in parts.

    Parameters
    ----------
    algorithm
        The settings of the method.
    reduce
        What reduces over the rows.
    minibatch
        What the caller said of the parts.
    """
    runner = algorithm.runner() if reduce.n_parts == 1 else algorithm.in_parts(reduce.n_parts)
    if runner is None:
        all_rows = f"None for {type(algorithm).__name__}, every step of which reads all rows"
        raise SettingError("fit", "minibatch", all_rows, reduce.n_parts if minibatch is None else minibatch)
    return runner


def run(
    algorithm: Algorithm[Any, Any],
    reduce: Reduce,
    runner: Algorithm[Any, Any],
    start_at: Callable[[Schema, np.random.Generator], Any],
    effort: Effort,
    callback: Callable[[Progress], None] | None,
) -> FitResult:
    """Do what :func:`fit` does once it knows what to iterate, over which rows, and where to start.

    Parameters
    ----------
    algorithm
        The settings of the method.
    reduce
        What reduces over the rows.
    runner
        What is iterated.
    start_at
        Returns a starting point.
    effort, callback
        As of :func:`fit`.
    """
    ascents: list[Ascent] = []
    for start, child in enumerate(np.random.SeedSequence(effort.seed).spawn(effort.n_starts)):

        def watch(iteration: int, info: Info, seconds: float, start: int = start) -> None:
            if callback is not None:
                callback(Progress(start, effort.n_starts, iteration, info, seconds))

        state = start_at(reduce.schema, np.random.default_rng(child))
        ascents.append(climb(runner, reduce, state, effort, watch))
        if ascents[-1].status is Status.INTERRUPTED:
            break
    moved = [ascent for ascent in ascents if ascent.infos]
    if not moved:  # interrupted before the first pass was over: there is nothing to return yet
        raise KeyboardInterrupt
    best = max(moved, key=lambda ascent: ascent.infos[-1].score)
    status = Status.INTERRUPTED if ascents[-1].status is Status.INTERRUPTED else best.status
    model = runner.finish(best.state)
    rank = best.infos[-1].rank
    return FitResult(
        pmf=model.mean() if isinstance(model, DirichletPosterior) else model,
        posterior=model if isinstance(model, DirichletPosterior) else None,
        rank=rank,
        status=status,
        trace=best.trace,
        algorithm=algorithm,
        notes=(*algorithm.notes(reduce.schema, rank), *getattr(reduce, "notes", ())),
        starts=tuple(ascent.infos[-1].score for ascent in moved),
    )
