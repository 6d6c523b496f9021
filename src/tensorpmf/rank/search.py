"""Trying several ranks and choosing one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

import numpy as np

from tensorpmf._check import function, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm, Status
from tensorpmf.fit.reduce import LocalReducer
from tensorpmf.fit.result import FitResult
from tensorpmf.fit.run import Effort, run, runner_for
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.pmf.posterior import DirichletPosterior
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.rank.criteria import CRITERIA, Fitted
from tensorpmf.rank.heldout import Loss, Questions, log_loss, split_rows
from tensorpmf.rank.selection import Candidate, RankSelection
from tensorpmf.table.table import CategoricalTable

if TYPE_CHECKING:
    from tensorpmf.table.schema import Schema

HELD_OUT = ("validation", "validation-error")
"""Criteria that need rows the models have not seen."""


def select_rank(
    table: CategoricalTable | Any,
    algorithm: Algorithm[Any, Any],
    ranks: Iterable[int],
    criterion: str | Sequence[str] = "bic",
    *,
    seed: int = 0,
    n_starts: int = 3,
    max_iterations: int = 10_000,
    tolerance: float = 1e-9,
    warm_start: bool = True,
    validation: float = 1 / 8,
    target: str | None = None,
    loss: Loss = "zero-one",
    refit: bool = True,
    n_jobs: int | None = None,
    callback: Callable[[Candidate], None] | None = None,
) -> RankSelection:
    """Fit an algorithm at several ranks and choose one; every score is a cost, lower is better.

    Information criteria weigh the fit against the size, and use all rows: ``"aic"``, ``"bic"`` (its n is the total row
    weight, whatever is missing), ``"sabic"``, ``"caic"``, ``"icl"``; ``"dnml"``, decomposed normalised maximum
    likelihood of rows and drawn components, as published (its companion ``"dnml-argmax"`` takes the likeliest
    components), and ``"dnml-observed"``, the same complexities with the likelihood of the rows alone. DNML as published
    tells well-separated clusters and prefers one component to five that overlap; for densities take ``"bic"`` or
    ``"dnml-observed"``.

    Held-out criteria learn from some rows and judge on the others: ``"validation"``, minus the mean log-probability of
    a row, and ``"validation-error"``, how wrong the answers are about one hidden cell of each row. A share of 1e-10 of
    a uniform distribution is mixed in, so that rows a model thinks impossible cost much, but not infinitely much.

    Parameters
    ----------
    table
        A :class:`CategoricalTable`, or anything :func:`read_table` takes.
    algorithm
        What is fitted, its rank left out: ``SQUAREM(EM())``, ``CTF()``, ``LPS()``.
    ranks
        The ranks to try.
    criterion
        What decides. Of several, the first; the others are computed beside it, from the same fits.
    seed
        Where randomness comes from: the same seed gives the same choice, whatever ``n_jobs`` is.
    n_starts
        Random starting points at each rank.
    max_iterations, tolerance
        As of :func:`fit`.
    warm_start
        At each rank, begin once more near the best model of the rank before, its heaviest components split. This is
        worth more than several random starts.
    validation
        The share of rows held out, if a held-out criterion is asked for; the paper's 70 % and 10 % are 1/8.
    target
        The column that ``"validation-error"`` asks about; by default a random observed cell of each row.
    loss
        How ``"validation-error"`` counts: ``"zero-one"``, the share of wrong levels, or ``"squared"``, the root of the
        mean squared error of numeric levels.
    refit
        Fit the chosen rank once more, to all rows, if some were held out.
    n_jobs
        How many ranks are fitted at once, by threads; by default as many as there are processors.
    callback
        Called with each :class:`Candidate`, the ranks rising.

    Examples
    --------
    >>> import tensorpmf as tp
    >>> from tensorpmf.data import sample_table, synthetic_pmf
    >>> table = sample_table(synthetic_pmf(4, 3, rank=2, seed=0), 2000, seed=1)
    >>> selection = tp.select_rank(table, tp.SQUAREM(tp.EM()), range(1, 5), criterion="bic")
    >>> selection.rank, selection.best.pmf.rank
    (2, 2)
    """
    is_one = isinstance(criterion, str) or not isinstance(cast("object", criterion), Iterable)
    criteria: tuple[str, ...] = (cast("str", criterion),) if is_one else tuple(criterion)
    for name in criteria or ("none",):
        if name not in (*CRITERIA, *HELD_OUT):
            raise SettingError("select_rank", "criterion", f"one of {[*CRITERIA, *HELD_OUT]}", name)
    if loss not in get_args(Loss):
        raise SettingError("select_rank", "loss", '"zero-one" or "squared"', loss)
    if not isinstance(cast("object", ranks), Iterable):
        raise SettingError("select_rank", "ranks", "the ranks to try, such as range(1, 11)", ranks)
    tried = sorted({whole_number("select_rank", "ranks", rank, at_least=1) for rank in ranks})
    if not tried:
        raise SettingError("select_rank", "ranks", "at least one rank", tried)
    effort = Effort.checked("select_rank", seed, n_starts, max_iterations, tolerance)
    function("select_rank", "callback", callback)
    if not isinstance(table, CategoricalTable):
        table = CategoricalTable.from_any(table)
    n_jobs = os.cpu_count() or 1 if n_jobs is None else whole_number("select_rank", "n_jobs", n_jobs, at_least=1)
    holds_out = any(name in HELD_OUT for name in criteria)
    learnt_from, unseen = split_rows(table, validation, seed) if holds_out else (table, None)
    judge = Judge(learnt_from, unseen, criteria, target, loss, seed)
    search = Search(algorithm, learnt_from, effort, n_jobs)
    judge.require_a_mixture(search.example(tried[0]))
    selection = RankSelection(search.candidates(tried, judge, warm_start, callback), criteria[0])
    if holds_out and refit:
        whole = Search(algorithm, table, effort, n_jobs)
        fits = [whole.cold(selection.rank), *whole.warm(selection.rank, selection.best.pmf)]
        return replace(selection, refitted=best_of(fits)[0])
    return selection


class Judge:
    """Scores models by several criteria.

    Parameters
    ----------
    table
        The rows they were fitted to.
    unseen
        The rows held out, if any.
    criteria
        By what.
    target, loss, seed
        As of :func:`select_rank`.
    """

    def __init__(
        self,
        table: CategoricalTable,
        unseen: CategoricalTable | None,
        criteria: Sequence[str],
        target: str | None,
        loss: Loss,
        seed: int,
    ) -> None:
        self.criteria = criteria
        self._rows = rows_of(table).merged()
        self._unseen = unseen
        self._questions = None if unseen is None else Questions.of(unseen, target, seed)
        if self._questions is not None and "validation-error" in criteria and loss == "squared":
            self._questions.require_numbers()
        self._loss: Loss = loss
        self._seed = seed

    def scores(self, pmf: PMF) -> dict[str, float]:
        """Return the scores of a model by criterion."""
        scores: dict[str, float] = {}
        fitted: Fitted | None = None
        for name in self.criteria:
            if name in CRITERIA:
                fitted = fitted or self._fitted(pmf)
                scores[name] = CRITERIA[name](fitted)
            else:
                assert self._unseen is not None
                assert self._questions is not None
                by_error = name == "validation-error"
                scores[name] = self._questions.error(pmf, self._loss) if by_error else log_loss(pmf, self._unseen)
        return scores

    def require_a_mixture(self, model: object) -> None:
        """Refuse criteria that count components, where a model of this kind has none."""
        for name in self.criteria:
            if name in CRITERIA and not isinstance(model, LowRankPMF | DirichletPosterior):
                must = f"one of {[*HELD_OUT]} for {type(model).__name__}, which has no components to count"
                raise SettingError("select_rank", "criterion", must, name)

    def _fitted(self, pmf: PMF) -> Fitted:
        self.require_a_mixture(pmf)
        assert isinstance(pmf, LowRankPMF), "what a fit returns is never a posterior"
        return Fitted(pmf, self._rows, self._seed)


Timed: TypeAlias = tuple[FitResult, float]
"""A fit and the seconds it took."""


class Search:
    """Fits one algorithm to one table at several ranks.

    Parameters
    ----------
    algorithm
        The algorithm, at any rank.
    table
        The rows.
    effort
        How often each rank is started, and when a fit stops.
    n_jobs
        How many threads work.
    """

    def __init__(self, algorithm: Algorithm[Any, Any], table: CategoricalTable, effort: Effort, n_jobs: int) -> None:
        self.algorithm = algorithm
        self.reduce = LocalReducer(n_jobs, at_rank(algorithm, 1).minibatch(table.n_rows)).bind(table)
        self.effort = effort
        self.n_jobs = n_jobs
        self._is_over = Event()

    def candidates(
        self, ranks: Sequence[int], judge: Judge, warm_start: bool, callback: Callable[[Candidate], None] | None
    ) -> tuple[Candidate, ...]:
        """Fit all ranks from random starts, several at once; then, one after the other, near the rank before."""
        candidates: list[Candidate] = []
        with ThreadPoolExecutor(self.n_jobs) as pool:
            cold = {rank: pool.submit(self.cold, rank) for rank in reversed(ranks)}  # the slowest first
            try:
                for rank in ranks:
                    fits = [cold[rank].result()]
                    if warm_start and candidates:
                        fits += self.warm(rank, candidates[-1].result.pmf)
                    best, seconds = best_of(fits)
                    candidates.append(Candidate(rank, best, judge.scores(best.pmf), seconds))
                    if callback is not None:
                        callback(candidates[-1])
            except BaseException:  # Ctrl-C reaches this thread alone; the others are to stop, too
                self._is_over.set()
                pool.shutdown(cancel_futures=True)
                raise
        return tuple(candidates)

    def example(self, rank: int) -> PMF | DirichletPosterior:
        """Return the model of a starting point: of the kind that fits give."""
        algorithm = at_rank(self.algorithm, rank)
        return algorithm.finish(algorithm.start(self.reduce.schema, np.random.default_rng(self.effort.seed)))

    def cold(self, rank: int) -> Timed:
        """Return the best fit of a rank from random starts."""
        algorithm = at_rank(self.algorithm, rank)
        runner = runner_for(algorithm, self.reduce)
        return self._timed(partial(run, algorithm, self.reduce, runner, runner.start, self.effort))

    def warm(self, rank: int, near: PMF) -> list[Timed]:
        """Return the fit of a rank from near a model, if the algorithm knows how to begin there."""
        algorithm: Any = at_rank(self.algorithm, rank)
        if not hasattr(algorithm, "start_from"):
            return []

        def start_at(_schema: Schema, rng: np.random.Generator) -> Any:
            return algorithm.start_from(near, rng)

        once = replace(self.effort, n_starts=1)
        return [self._timed(partial(run, algorithm, self.reduce, algorithm, start_at, once))]

    def _timed(self, fit: Callable[..., FitResult]) -> Timed:
        began = time.perf_counter()
        result = fit(self._stop_if_over)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return result, time.perf_counter() - began

    def _stop_if_over(self, _now: object) -> None:
        if self._is_over.is_set():
            raise KeyboardInterrupt


def best_of(fits: Sequence[Timed]) -> Timed:
    """Return the best of some fits, of equals the first, and how long they took together."""
    return max((result for result, _ in fits), key=lambda result: result.objective), sum(took for _, took in fits)


def at_rank(algorithm: Algorithm[Any, Any], rank: int) -> Algorithm[Any, Any]:
    """Return the same settings for a rank.

    Parameters
    ----------
    algorithm
        An algorithm that has ``with_rank``, or whose settings have a ``rank``.
    rank
        The rank.
    """
    with_rank: Callable[[int], Algorithm[Any, Any]] | None = getattr(algorithm, "with_rank", None)
    try:
        return replace(cast("Any", algorithm), rank=rank) if with_rank is None else with_rank(rank)
    except (AttributeError, TypeError):
        raise SettingError("select_rank", "algorithm", "one that is told its rank", algorithm) from None
