"""Density: how probable a row is, which component made it, how odd it is, and new rows like it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tensorpmf._check import whole_number
from tensorpmf.learn.base import PMFEstimator, RandomState
from tensorpmf.pmf.average import average
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.filling import answers
from tensorpmf.pmf.lowrank import mixture
from tensorpmf.typing import Floats

EQUAL = 1e-9
"""Surprises closer than this differ by rounding only."""


class PMFDensity(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, PMFEstimator):
    """Learn the joint PMF of rows: score them, assign them to components, find odd ones, draw new ones.

    The settings are those of :class:`PMFEstimator`.

    Attributes
    ----------
    results_
        What :func:`tensorpmf.fit` returned, for each model. ``result_`` is the best of them; ``pmf_``, ``rank_``,
        ``schema_`` and ``n_iter_`` are parts of that.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, species = load_iris(return_X_y=True)
    >>> density = PMFDensity().fit(X)
    >>> density.transform(X[:2]).round(2).max(axis=1).tolist()
    [1.0, 1.0]
    >>> density.sample(3).shape
    (3, 4)
    """

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the joint PMF of rows.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        y
            Not used.
        sample_weight
            (n_rows,) how much each row counts.
        """
        table, _ = self._learnt(X, sample_weight)
        self._fit(table)
        return self

    @property
    def pmf_(self) -> PMF:
        """The joint PMF; of several models, their average, of which every row has the mean of its probabilities."""
        return super().pmf_ if len(self.results_) == 1 else average([mixture(result.pmf) for result in self.results_])

    def score_samples(self, X: Any) -> Floats:
        """Return (n_rows,) the logarithm of each row's probability; missing cells are summed out.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        """
        return self.pmf_.log_prob(self._coded(X))

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean logarithm of the rows' probabilities; higher is better.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        y
            Not used.
        """
        return float(np.mean(self.score_samples(X)))

    def transform(self, X: Any) -> Floats:
        """Return (n_rows, n_components) the probability that each component made each row.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        """
        return mixture(self.pmf_).responsibilities(self._coded(X), impossible="missing")

    @property
    def _n_features_out(self) -> int:
        return mixture(self.pmf_).rank

    def anomaly_score(self, X: Any, *, n_draws: int = 1000) -> Floats:
        """Return (n_rows,) how odd each row is: how much more it surprises than usual, in standard deviations.

        The surprise of a row is minus the logarithm of its probability. What is usual is learnt from rows drawn from
        the model in which the same cells are missing, so that rows with many and with few holes can be compared. If all
        of these surprise alike, a row that surprises more scores infinity.

        Of a number that was cut, only its bin is looked at: one beyond all that were seen is as odd as the largest that
        was, unless ``bins`` gives edges by hand with an outer one beyond what is usual.

        Parameters
        ----------
        X
            (n_rows, n_features) the rows.
        n_draws
            How many rows are drawn for comparison.
        """
        n_draws = whole_number("anomaly_score", "n_draws", n_draws, at_least=2)
        rows, pmf = self._coded(X), self.pmf_
        draws = pmf.sample(n_draws, self._randomness()).codes
        patterns, pattern_ix = np.unique(rows.codes >= 0, axis=0, return_inverse=True)
        usual = np.array([-pmf.log_prob(np.where(seen, draws, -1)) for seen in patterns])
        centre, spread = (figure[pattern_ix.ravel()] for figure in (usual.mean(axis=1), usual.std(axis=1)))
        excess = -pmf.log_prob(rows) - centre
        beyond = np.where(excess > EQUAL, np.inf, 0.0)  # where all rows drawn are equally probable
        return np.asarray(np.divide(excess, spread, out=beyond, where=spread > EQUAL))

    def sample(self, n_samples: int = 1, *, random_state: RandomState = None) -> NDArray[Any]:
        """Return (n_samples, n_features) new rows; where numbers were cut into bins, the mean of the bin drawn.

        Parameters
        ----------
        n_samples
            How many rows.
        random_state
            Where randomness comes from; by default the estimator's, and the same rows every time.
        """
        check_is_fitted(self)
        codes = self.pmf_.sample(n_samples, self._randomness(random_state)).codes
        drawn = [answers(column)[code] for column, code in zip(self.schema_.columns, codes.T, strict=True)]
        return np.column_stack(drawn)
