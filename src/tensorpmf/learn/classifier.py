"""Classification: the probability of each class, given whatever else is known of a row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from tensorpmf.errors import InputError, MixedLabelsError, NoLabelError
from tensorpmf.learn.base import PMFEstimator
from tensorpmf.learn.settings import changed
from tensorpmf.table.cells import code_type
from tensorpmf.table.factor import is_null, objects
from tensorpmf.table.schema import Column, Schema
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes, Floats

CLASS = "class"
"""What ``y`` is called in settings, and in the joint PMF unless it has a name of its own."""


class PMFClassifier(ClassifierMixin, PMFEstimator):
    """Classify rows by the joint PMF of features and class, ``P(class | what is known of the row)``.

    Features may be missing, in training and in prediction. So may classes in training: None, NaN or null. Such rows
    still tell how the features hang together, so a few labelled rows among many are put to good use.

    Where classification is all that matters, give every class a mixture of its own and average several models:
    ``PMFClassifier(VB(100, alpha_factors=0.2, by="class"), n_models=10)``. There ``"class"`` stands for ``y``, whatever
    its name.

    The settings are those of :class:`PMFEstimator`.

    Attributes
    ----------
    classes_
        The classes, sorted.
    target_
        What the class is called in the joint PMF.
    results_
        What :func:`tensorpmf.fit` returned, for each model. ``result_`` is the best of them; ``pmf_``, ``rank_``,
        ``schema_`` and ``n_iter_`` are parts of that.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = PMFClassifier().fit(X, y)
    >>> round(classifier.score(X, y), 1)
    1.0
    >>> X.loc[[0], "petal width (cm)"] = None
    >>> classifier.predict(X[:1]).item()
    0
    """

    classes_: NDArray[Any]
    target_: str

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the joint PMF of features and class.

        Parameters
        ----------
        X
            (n_rows, n_features) the features.
        y
            (n_rows,) the class of each row; None, NaN and null where it is not known.
        sample_weight
            (n_rows,) how much each row counts.
        """
        if y is None:
            raise InputError("PMFClassifier requires y to be passed, but the target y is None.")
        features, kept = self._learnt(X, sample_weight)
        name = str(getattr(y, "name", None) or CLASS)
        while name in features.schema.names:
            name += "_"
        check_consistent_length(X, y)
        self.target_ = name
        self.classes_, codes = classes_of(labels_of(y)[kept])
        schema = Schema((*features.schema.columns, Column(name, tuple(self.classes_.tolist()))))
        both = np.column_stack([features.codes, codes.astype(code_type(len(self.classes_)))])
        table = CategoricalTable.from_codes(both, weights=features.row_weights, schema=schema)
        by_class = getattr(self.algorithm, "by", None) == CLASS and CLASS not in schema.names
        self._fit(table, changed(self.algorithm, {"by": name}) if by_class else self.algorithm)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return (n_rows, n_classes) the probability of each class.

        Parameters
        ----------
        X
            (n_rows, n_features) the features, as far as they are known.
        """
        rows = self._coded(X)
        return self._conditional(self.target_, rows)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return (n_rows, n_classes) the logarithm of the probability of each class.

        Parameters
        ----------
        X
            (n_rows, n_features) the features, as far as they are known.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return (n_rows,) the most probable class.

        Parameters
        ----------
        X
            (n_rows, n_features) the features, as far as they are known.
        """
        prob = self.predict_proba(X)
        classes: NDArray[Any] = self.classes_[np.argmax(prob, axis=1)]
        return classes

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose most probable class is theirs; rows whose class is not known do not count.

        Parameters
        ----------
        X
            (n_rows, n_features) the features, as far as they are known.
        y
            (n_rows,) the class of each row; None, NaN and null where it is not known.
        sample_weight
            (n_rows,) how much each row counts.
        """
        check_consistent_length(X, y, sample_weight)
        known, labels = known_labels(labels_of(y))
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(labels, self.predict(X)[known], sample_weight=weights))


def labels_of(y: Any) -> NDArray[Any]:
    """Return (n_rows,) labels as an array; of a series that holds nulls one of objects, so that no type is widened.

    Parameters
    ----------
    y
        A series, a list or an array.
    """
    import narwhals.stable.v2 as nw

    series = nw.from_native(y, pass_through=True, series_only=True)
    if isinstance(series, nw.Series) and series.null_count():
        return objects(series.to_list())
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    return labels


def known_labels(labels: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return (n_rows,) which rows have a label, and theirs.

    Parameters
    ----------
    labels
        (n_rows,) labels; None, NaN and null are none.
    """
    known = np.array([not is_null(label) for label in labels.tolist()], dtype=bool)
    if not known.any():
        raise NoLabelError()
    seen = labels[known]
    if seen.dtype == object:
        example = {isinstance(label, str): label for label in seen.tolist()}
        if len(example) > 1:
            raise MixedLabelsError(example[True], example[False])
        seen = np.array(seen.tolist())
    return known, seen


def classes_of(labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return the classes, sorted, and the code of each label, ``-1`` where there is none.

    Parameters
    ----------
    labels
        (n_rows,) labels; None, NaN and null are none.
    """
    known, seen = known_labels(labels)
    assert_all_finite(seen, input_name="y")
    check_classification_targets(seen)
    classes, inverse = np.unique(seen, return_inverse=True)
    codes = np.full(len(labels), -1, dtype=np.int64)
    codes[known] = inverse
    return classes, codes
