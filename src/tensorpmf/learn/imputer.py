"""Imputation: what stands in the missing cells, most likely, on average, or drawn, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from tensorpmf._check import whole_number
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm
from tensorpmf.learn.base import AnyBins, PMFEstimator, RandomState
from tensorpmf.learn.holes import filled, holes_of, wrappable
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.filling import answers, best
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes, Floats

STRATEGIES = ("most_likely", "expected", "sampled")


@dataclass(frozen=True, eq=False)
class Imputation:
    """One way to fill in what is missing.

    Parameters
    ----------
    rows
        The rows, of the same kind as those handed in, without holes.
    prob
        (n_rows,) how probable everything that was filled in is together, given what was observed; 1 for complete rows.
    """

    rows: Any
    prob: Floats


class PMFImputer(OneToOneFeatureMixin, TransformerMixin, PMFEstimator):
    """Fill in missing cells from the joint PMF, given the other cells of the row.

    Observed cells stay as they are. A number that was cut into bins is filled in as the mean of a bin, or as the
    expected value. Data frames of pandas and polars come back as such, their columns of the types they had unless
    these have no room for what is filled in: the mean of whole numbers is a real number.

    Parameters
    ----------
    algorithm
        How the joint PMF is learnt, as for :func:`tensorpmf.fit`; variational Bayes if not given, which finds its rank.
    strategy
        What ``transform`` fills in: the ``"most_likely"`` level of each cell; its ``"expected"`` value, where levels
        are numbers, and the most likely one elsewhere; or levels ``"sampled"`` for all cells of a row together, which
        keeps the spread and the correlations of the data.
    bins
        How numbers are cut into bins, as for :class:`PMFEstimator`, like all that follows.
    n_models, n_starts, max_iterations, tolerance, random_state, n_threads
        As for :class:`PMFEstimator`.

    Attributes
    ----------
    results_
        What :func:`tensorpmf.fit` returned, for each model. ``result_`` is the best of them; ``pmf_``, ``rank_``,
        ``schema_`` and ``n_iter_`` are parts of that.

    Examples
    --------
    >>> rows = [["rain", "wet"], ["rain", "wet"], ["sun", "dry"], ["sun", "dry"], ["rain", None]] * 20
    >>> imputer = PMFImputer().fit(rows)
    >>> imputer.transform([["rain", None], [None, "dry"]]).tolist()
    [['rain', 'wet'], ['sun', 'dry']]
    """

    def __init__(
        self,
        algorithm: Algorithm[Any, Any] | None = None,
        *,
        strategy: Literal["most_likely", "expected", "sampled"] = "most_likely",
        bins: AnyBins = "auto",
        n_models: int = 1,
        n_starts: int = 1,
        max_iterations: int = 10_000,
        tolerance: float = 1e-8,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            algorithm,
            bins=bins,
            n_models=n_models,
            n_starts=n_starts,
            max_iterations=max_iterations,
            tolerance=tolerance,
            random_state=random_state,
            n_threads=n_threads,
        )
        self.strategy = strategy

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the joint PMF of rows, whatever cells are missing.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        y
            Not used.
        sample_weight
            (n_rows,) how much each row counts.
        """
        if self.strategy not in STRATEGIES:
            raise SettingError("PMFImputer", "strategy", f"one of {', '.join(STRATEGIES)}", self.strategy)
        table, _ = self._learnt(X, sample_weight)
        self._fit(table)
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows with their holes filled in.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        """
        if self.strategy == "sampled":
            return wrappable(self.impute(X, 1)[0].rows)
        table = self._coded(X)
        rows = wrappable(self._checked(X, reset=False))
        return filled(rows, holes_of(rows), lambda ix, holes: self._best(table, ix, holes))

    def impute(self, X: Any, n_imputations: int = 5, *, random_state: RandomState = None) -> list[Imputation]:
        """Return several imputations; the holes of a row are drawn together, given what was observed.

        Analyse each of them, then pool the results: their spread is what the missing cells leave open. Several models
        take turns.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        n_imputations
            How many.
        random_state
            Where randomness comes from; by default the estimator's, and the same imputations every time.
        """
        n_imputations = whole_number("impute", "n_imputations", n_imputations, at_least=1)
        table = self._coded(X)
        rows = self._checked(X, reset=False)
        holes, rng = holes_of(rows), self._randomness(random_state)
        turns = islice(cycle(self.results_), n_imputations)
        return [self._drawn(result.pmf, rows, holes, table, rng) for result in turns]

    def probabilities(self, X: Any, column: str) -> Floats:
        """Return (n_rows, n_levels) the probability of each level of a column, given the other cells of each row.

        The levels are ``schema_[column].levels``. Of the column itself nothing is looked at.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        column
            The column's name; ``"x0"``, ``"x1"``, … when the imputer was fitted to an array.
        """
        return self._conditional(column, self._coded(X))

    def certainty(self, X: Any) -> Floats:
        """Return (n_rows, n_features) how probable the most likely filling of each missing cell is; 1 where observed.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        """
        table = self._coded(X)
        holes = holes_of(self._checked(X, reset=False))
        prob = np.ones(holes.shape)
        for ix in np.flatnonzero(holes.any(axis=0)).tolist():
            prob[holes[:, ix], ix] = self._levels(table, ix, holes[:, ix]).max(axis=1)
        return prob

    def _levels(self, table: CategoricalTable, ix: int, holes: NDArray[np.bool_]) -> Floats:
        return self._conditional(self.schema_.names[ix], table.take(holes))

    def _best(self, table: CategoricalTable, ix: int, holes: NDArray[np.bool_]) -> NDArray[Any]:
        prob = self._levels(table, ix, holes)
        return best(self.schema_.columns[ix], prob, expected=self.strategy == "expected")

    def _drawn(
        self, pmf: PMF, rows: Any, missing: NDArray[np.bool_], table: CategoricalTable, rng: np.random.Generator
    ) -> Imputation:
        """Draw what is missing; a label that is not known stays as it is, so it is drawn only to be dropped.

        So does an impossible row, of which nothing is taken as known.
        """
        known: Codes = np.where(np.isneginf(pmf.log_prob(table))[:, None], -1, table.codes)
        codes: Codes = np.where(missing | (known >= 0), pmf.complete(known, rng).codes, -1)
        columns = [answers(column) for column in self.schema_.columns]
        whole = filled(rows, missing, lambda ix, holes: np.asarray(columns[ix][codes[holes, ix]]))
        return Imputation(whole, np.exp(pmf.log_prob(codes) - pmf.log_prob(known)))
