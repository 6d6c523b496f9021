"""What the estimators share: the settings of a fit, and the way from what scikit-learn's users have to coded rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tensorpmf._check import whole_number
from tensorpmf.errors import hints_said
from tensorpmf.fit.contract import Algorithm
from tensorpmf.fit.result import FitResult
from tensorpmf.fit.run import fit
from tensorpmf.fit.vb import VB
from tensorpmf.learn.settings import changed, settings_of
from tensorpmf.pmf.base import PMF
from tensorpmf.table.bins import Bins
from tensorpmf.table.factor import objects
from tensorpmf.table.read import read_table
from tensorpmf.table.schema import Schema
from tensorpmf.table.table import CategoricalTable, checked_weights
from tensorpmf.typing import Floats

RandomState: TypeAlias = int | np.random.RandomState | None
"""Randomness as scikit-learn takes it."""

AnyBins: TypeAlias = Bins | Mapping[str, Bins] | Literal["auto"] | None
"""How to cut all columns, or each; ``"auto"`` where it must be, None nowhere."""

SAID = (
    (r"leave it out with drop=\[.*?\](?=, cut|, or|\.$)", "leave it out of X"),
    (r"insist with levels=\{.*\}", "insist by making it categorical"),
    (r"treat it as missing with missing=.*, or replace it first", "replace it, by NaN if it is to be missing"),
)
"""Hints of :func:`read_table` as patterns, and what is said to those who hand over X instead."""


class PMFEstimator(BaseEstimator):
    """An estimator that learns a joint PMF and answers by asking it.

    Rows may be a data frame (pandas, polars, Arrow), whose labels are taken as they are, or an array. Missing cells are
    None, NaN, or whatever the library calls null; they need no imputation. A label that did not occur in training is
    taken as missing. Of a row to which a model gives probability zero, nothing is taken as known: one odd row among
    many gets the answer of an empty one. Variational Bayes gives every row some probability, EM does not.

    Parameters
    ----------
    algorithm
        How the joint PMF is learnt, as for :func:`tensorpmf.fit`; variational Bayes if not given, which finds its rank.
        Its settings can be searched by name, as ``algorithm__max_rank``.
    bins
        How numbers are cut into bins, learnt in ``fit``, as for :func:`tensorpmf.read_table`. ``"auto"`` cuts columns
        of more than 20 different numbers into ten quantile bins, and leaves other numbers as they are. Numbers that
        are names, of shops say, should come as a categorical column or as texts.
    n_models
        How many models are fitted, from seeds of their own, to answer by the mean of their answers. Several are nearly
        always better than one, at as many times the cost; the more so if each is left to follow the data closely:
        ``PMFRecommender(VB(alpha_factors=0.2), n_models=20, max_iterations=30)``.
    n_starts
        From how many random starting points each model is fitted; the best objective is kept.
    max_iterations
        The most passes over the rows that a start may take.
    tolerance
        A start has converged when a pass gains less than this, relative to the objective.
    random_state
        Where randomness comes from.
    n_threads
        How many threads work at once; by default as many as there are processors.
    """

    results_: tuple[FitResult, ...]
    n_features_in_: int

    def __init__(
        self,
        algorithm: Algorithm[Any, Any] | None = None,
        *,
        bins: AnyBins = "auto",
        n_models: int = 1,
        n_starts: int = 1,
        max_iterations: int = 10_000,
        tolerance: float = 1e-8,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.bins: AnyBins = bins
        self.n_models = n_models
        self.n_starts = n_starts
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_threads = n_threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name.

        Parameters
        ----------
        deep
            Those of the algorithm as well, as ``algorithm__max_rank`` and the like.
        """
        return super().get_params(deep=False) | (settings_of(self._algorithm, "algorithm") if deep else {})

    def set_params(self, **params: Any) -> Self:
        """Change settings; ``algorithm__max_rank=5`` puts another algorithm in the place of the one that is there.

        Parameters
        ----------
        **params
            New values by name.
        """
        own = {name: value for name, value in params.items() if not name.startswith("algorithm__")}
        deep = {name.partition("__")[2]: value for name, value in params.items() if name not in own}
        super().set_params(**own)
        if deep:
            self.algorithm = changed(self._algorithm, deep)
        return self

    @property
    def _algorithm(self) -> Algorithm[Any, Any]:
        return VB() if self.algorithm is None else self.algorithm

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    @property
    def result_(self) -> FitResult:
        """How the fit went; of several models, that of the one with the best objective."""
        return max(self.results_, key=lambda result: result.objective)

    @property
    def pmf_(self) -> PMF:
        """The joint PMF; of several models, that of the one with the best objective."""
        return self.result_.pmf

    @property
    def schema_(self) -> Schema:
        """The columns of the joint PMF."""
        return self.pmf_.schema

    @property
    def rank_(self) -> int:
        """How many components hold mass."""
        return self.result_.rank

    @property
    def n_iter_(self) -> int:
        """How many passes over the rows the fit took."""
        return len(self.result_.trace)

    def _fit(self, table: CategoricalTable, algorithm: Algorithm[Any, Any] | None = None) -> None:
        """Learn the joint PMF of a table, as many times as there are to be models."""
        n_models = whole_number(type(self).__name__, "n_models", self.n_models, at_least=1)
        self.results_ = tuple(
            fit(
                table,
                algorithm or self._algorithm,
                seed=int(seed),
                n_starts=self.n_starts,
                max_iterations=self.max_iterations,
                tolerance=self.tolerance,
                n_threads=self.n_threads,
            )
            for seed in self._randomness().integers(2**32, size=n_models)
        )

    def _conditional(self, column: str, rows: CategoricalTable) -> Floats:
        """Return (n_rows, I) probabilities of a column's levels given the other cells, the mean of all models."""
        each = [result.pmf.conditional(column, rows, impossible="missing") for result in self.results_]
        return np.asarray(np.mean(each, axis=0))

    def _learnt(self, X: Any, sample_weight: ArrayLike | None) -> tuple[CategoricalTable, NDArray[np.intp]]:
        """Return the rows that count, their levels and bins learnt from them, and which of the rows these are."""
        rows = self._checked(X, reset=True)
        weights = checked_weights(sample_weight, len(rows))
        if weights is None:
            kept = np.arange(len(rows))
        else:
            kept = np.flatnonzero(weights)
            rows, weights = taken(rows, kept), weights[kept]
        names = None if is_frame(rows) else [f"x{ix}" for ix in range(self.n_features_in_)]
        with hints_said(SAID):
            return read_table(rows, bins=self.bins, names=names, weights=weights), kept

    def _coded(self, X: Any) -> CategoricalTable:
        """Return rows as a table of the joint PMF's columns; columns that are no features are missing."""
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        if not (is_frame(rows) and hasattr(self, "feature_names_in_")):
            array: NDArray[Any] = np.asarray(rows)
            rows = {name: array[:, ix] for ix, name in enumerate(self.schema_.names[: self.n_features_in_])}
        with hints_said(SAID):
            return self.schema_.encode(rows, unknown="missing")

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return a data frame as it is, anything else as an array, and let scikit-learn look at names and numbers."""
        rows = X if is_frame(X) else check_array(plain(X), dtype=None, ensure_all_finite="allow-nan", estimator=self)
        return validate_data(self, rows, reset=reset, skip_check_array=True)

    def _randomness(self, random_state: RandomState = None) -> np.random.Generator:
        """Return where randomness comes from: what the caller says, or else the estimator's own ``random_state``."""
        state = check_random_state(self.random_state if random_state is None else random_state)
        return np.random.default_rng(state.randint(2**31 - 1))


def is_frame(rows: object) -> bool:
    """Whether rows are a data frame, whose columns have names and types of their own."""
    return hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__dataframe__")


def plain(rows: Any) -> Any:
    """Return rows that are no data frame; of a list with texts NumPy would make texts altogether, NaN among them.

    What a masked array masks is None.
    """
    if np.ma.isMaskedArray(rows):
        return np.where(np.ma.getmaskarray(rows), objects([None]), np.ma.getdata(rows))
    made_text = not hasattr(rows, "__array__") and np.asarray(rows).dtype.kind == "U"
    return np.array(rows, dtype=object) if made_text else rows


def taken(rows: Any, positions: NDArray[np.intp]) -> Any:
    """Return some rows of a data frame or an array."""
    if not is_frame(rows):
        return rows[positions]
    import narwhals.stable.v2 as nw

    return nw.from_native(rows, eager_only=True)[positions.tolist(), :].to_native()
