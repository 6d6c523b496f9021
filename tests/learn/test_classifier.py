from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score

import tensorpmf as tp
from tensorpmf.data import Dataset
from tensorpmf.errors import InputError, MixedLabelsError, NoLabelError, SettingError, TensorPMFError
from tensorpmf.learn import PMFClassifier

Rows = tuple[pd.DataFrame, pd.Series]


@pytest.fixture
def rows(rng: np.random.Generator) -> Rows:
    """Two blocs that vote differently, one cell in six missing."""
    party = rng.choice(["left", "right"], 300)
    agrees = rng.random((300, 4)) < np.where(party == "left", 0.9, 0.2)[:, None]
    votes = pd.DataFrame(np.where(agrees, "yes", "no"), columns=list("abcd"), dtype=object)
    return votes.mask(rng.random(votes.shape) < 1 / 6), pd.Series(party, name="party")


def brute_force(classifier: PMFClassifier, row: list[Any]) -> list[float]:
    """P(class | known cells), by adding up the cells of the probability tensor that agree with what is known."""
    tensor, schema = classifier.pmf_.to_dense(), classifier.schema_
    totals = [0.0] * len(classifier.classes_)
    for cell in product(*map(range, tensor.shape)):
        labels = [column.levels[code] for column, code in zip(schema.columns, cell, strict=True)]
        if all(known is None or known == label for known, label in zip(row, labels, strict=False)):
            totals[cell[-1]] += tensor[cell]
    return [total / sum(totals) for total in totals]


def test_a_mixture_for_each_class_tells_what_one_of_independent_features_cannot() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    y = pd.Series((X[:, 0] != X[:, 1]).astype(int), name="odd")
    by_class = PMFClassifier(tp.VB(max_rank=8, alpha_factors=0.2, by="odd"), n_starts=5).fit(X, y)
    assert by_class.score(X, y) == 1.0
    purity = by_class.pmf_.marginal("odd").factors[0].max(axis=0)  # type: ignore[attr-defined]
    assert (purity > 0.99).all()


@pytest.mark.parametrize(
    ("odd", "hint"),
    [
        ([None] * 60, "leave it out of X."),
        ([f"t{ix}" for ix in range(60)], "leave it out of X, or insist by making it categorical."),
        (list(range(60)), "leave it out of X, cut it with bins={'odd': 10}, or insist by making it categorical."),
        ([np.inf, 1.0] * 30, "replace it, by NaN if it is to be missing."),
    ],
)
def test_hints_name_what_a_classifier_takes(rows: Rows, odd: list[Any], hint: str) -> None:
    X, y = rows[0][:60], rows[1][:60]
    with pytest.raises(TensorPMFError) as caught:
        PMFClassifier(bins=None).fit(X.assign(odd=odd), y)
    assert caught.value.hint == hint
    with pytest.raises(TensorPMFError) as caught:
        PMFClassifier(bins=None).fit(X.assign(odd=odd).rename(columns={"odd": "o]'d"}), y)
    assert caught.value.hint == hint.replace("'odd'", '"o]\'d"')
    texts = X.assign(odd=pd.Categorical([f"t{ix}" for ix in range(60)]))
    assert PMFClassifier().fit(texts, y).schema_["odd"].n_levels == 60


def test_an_impossible_row_gets_the_share_of_each_class() -> None:
    X, y = pd.DataFrame({"a": [0, 0, 1] * 20, "b": [0, 0, 1] * 20}), ["no", "no", "yes"] * 20
    classifier = PMFClassifier(tp.EM(rank=2), n_starts=5).fit(X, y)
    odd = pd.DataFrame({"a": [1, 0], "b": [1, 1]})
    np.testing.assert_allclose(classifier.predict_proba(odd), [[0, 1], [2 / 3, 1 / 3]], atol=1e-6)
    assert classifier.predict(odd).tolist() == ["yes", "no"]


def test_a_mixture_for_each_class_is_asked_for_whatever_the_class_is_called(rows: Rows) -> None:
    X, y = rows
    named, nameless = (PMFClassifier(tp.VB(8, by="class")).fit(X, labels) for labels in (y, y.to_numpy()))
    np.testing.assert_array_equal(named.predict_proba(X), nameless.predict_proba(X))
    assert (named.target_, nameless.target_) == ("party", "class")
    assert named.algorithm == tp.VB(8, by="class")
    assert cross_val_predict(named, X, y, method="predict_proba").shape == (300, 2)
    feature = PMFClassifier(tp.VB(8, by="class")).fit(X.rename(columns={"a": "class"}), y)
    assert (feature.pmf_.marginal("class").factors[0].max(axis=0) > 0.99).all()  # type: ignore[attr-defined]


def test_probabilities_are_those_of_the_joint_pmf(rows: Rows) -> None:
    X, y = rows
    classifier = PMFClassifier().fit(X, y)
    assert classifier.classes_.tolist() == ["left", "right"]
    assert classifier.target_ == "party"
    asked = [["yes", "no", "yes", "yes"], [None, "no", None, "yes"], [None] * 4, ["yes", "maybe", None, "no"]]
    prob = classifier.predict_proba(pd.DataFrame(asked, columns=list("abcd")))
    asked[3][1] = None  # "maybe" did not occur in training
    np.testing.assert_allclose(prob, [brute_force(classifier, row) for row in asked], rtol=1e-10)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X)), classifier.predict_proba(X))
    assert classifier.score(X, y) > 0.9


def test_frames_and_arrays_say_the_same(rows: Rows) -> None:
    X, y = rows
    columns = {name: [None if pd.isna(label) else label for label in X[name]] for name in X}
    expected = PMFClassifier().fit(X, y).predict_proba(X)
    for frame, labels in (
        (pl.DataFrame(columns), pl.Series(y.tolist())),
        (pa.table(columns), y.tolist()),
        (X.astype("category"), y.astype("category")),
        (X.to_numpy(), y.to_numpy()),
        (X.to_numpy().tolist(), y.tolist()),
    ):
        classifier = PMFClassifier().fit(frame, labels)
        np.testing.assert_allclose(classifier.predict_proba(frame), expected, rtol=1e-6)


def test_numbers_with_holes_are_categories_while_they_are_few(rng: np.random.Generator) -> None:
    X = np.where(rng.random((200, 3)) < 0.2, np.nan, rng.integers(0, 5, (200, 3)))
    classifier = PMFClassifier().fit(X, rng.integers(0, 2, 200))
    assert classifier.schema_.names == ("x0", "x1", "x2", "class")
    assert classifier.schema_["x0"].levels == (0, 1, 2, 3, 4)


def test_masked_cells_are_missing(rng: np.random.Generator) -> None:
    X, y, hidden = rng.integers(0, 3, (200, 2)), rng.integers(0, 2, 200), rng.random((200, 2)) < 0.3
    masked, holey = np.ma.array(np.where(hidden, 99, X), mask=hidden), np.where(hidden, np.nan, X)
    classifier = PMFClassifier().fit(masked, y)
    assert classifier.schema_["x0"].levels == (0, 1, 2)
    np.testing.assert_allclose(classifier.predict_proba(masked), PMFClassifier().fit(holey, y).predict_proba(holey))


def test_bins_are_learnt_in_fit_and_only_where_there_must_be_some(rng: np.random.Generator) -> None:
    X = pd.DataFrame({"real": rng.normal(size=300), "whole": rng.integers(0, 15, 300), "many": np.arange(300)})
    classifier = PMFClassifier().fit(X, X["real"] > 0)
    assert classifier.schema_.n_levels == (10, 15, 10, 2)
    assert classifier.predict(X.assign(real=[1e6] * 300)).all()
    assert PMFClassifier(bins={"real": 3, "many": 4}).fit(X, X["whole"]).schema_.n_levels[:3] == (3, 15, 4)


@pytest.mark.parametrize("none", [None, np.nan, pd.NA])
def test_rows_without_a_class_teach_how_features_hang_together(rng: np.random.Generator, none: object) -> None:
    """Of rows with a class the first half of the features is known, of those to classify the second half."""
    kind = rng.integers(0, 2, 1000)
    X = np.where(rng.random((1000, 8)) < 0.85, kind[:, None], 1 - kind[:, None]).astype(float)
    y = np.array(["even", "odd"], dtype=object)[kind]
    labels = np.where(np.arange(1000) < 40, y, none)
    X[:40, 4:], X[800:, :4] = np.nan, np.nan
    assert PMFClassifier().fit(X[:800], labels[:800]).score(X[800:], y[800:]) > 0.85
    assert PMFClassifier().fit(X[:40, :4], labels[:40]).score(X[800:, :4], y[800:]) < 0.65


def test_classes_stay_what_they_are(rows: Rows) -> None:
    X, y = rows
    for labels in ((y == "left").to_numpy(), np.where(y == "left", 3, 7), np.where(y == "left", 0.0, np.nan)):
        classifier = PMFClassifier().fit(X, labels)
        known = labels[~pd.isna(labels)]
        assert classifier.classes_.tolist() == sorted(set(known.tolist()))
        assert classifier.classes_.dtype == labels.dtype


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series([1, 2, None] * 100, dtype="Int64"), [1, 2]),
        (pd.Series([True, False, None] * 100, dtype="boolean"), [False, True]),
        (pl.Series([1, 2, None] * 100), [1, 2]),
        (pa.chunked_array([[True, False, None] * 100]), [False, True]),
    ],
)
def test_classes_stay_what_they_are_where_some_are_null(rows: Rows, labels: Any, classes: list[Any]) -> None:
    found = PMFClassifier().fit(rows[0], labels).classes_.tolist()
    assert [(type(label), label) for label in found] == [(type(label), label) for label in classes]


def test_a_feature_may_be_called_like_the_class(rows: Rows) -> None:
    X, y = rows
    classifier = PMFClassifier().fit(X.rename(columns={"a": "party"}), y)
    assert classifier.target_ == "party_"


def test_probabilities_are_calibrated(rng: np.random.Generator) -> None:
    """Of the rows told a class with probability p, a share of p have it; the Brier score is that of the truth."""
    pmf = tp.LowRankPMF(
        tp.Schema.from_n_levels([3, 3, 3, 2]),
        [0.3, 0.3, 0.4],
        [*(rng.dirichlet(np.ones(3), 3).T for _ in range(3)), np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]])],
    )
    train, test = pmf.sample(8000, rng).codes, pmf.sample(20_000, rng).codes
    told = PMFClassifier().fit(train[:, :3], train[:, 3]).predict_proba(test[:, :3])[:, 1]
    for low in np.arange(0.1, 0.9, 0.1):
        here = (told >= low) & (told < low + 0.1)
        if here.sum() > 500:
            assert abs(test[here, 3].mean() - told[here].mean()) < 0.06
    truth = pmf.conditional("x4", test)[:, 1]
    assert np.mean((told - test[:, 3]) ** 2) < np.mean((truth - test[:, 3]) ** 2) + 0.002


def test_several_models_answer_by_the_mean_of_their_answers(rows: Rows) -> None:
    X, y = rows
    classifier = PMFClassifier(tp.VB(max_rank=6, alpha_factors=0.2), n_models=4).fit(X, y)
    table = classifier.schema_.encode(X)
    each = [result.pmf.conditional("party", table) for result in classifier.results_]
    np.testing.assert_allclose(classifier.predict_proba(X), sum(each) / 4)
    assert not np.allclose(each[0], each[1])
    assert classifier.result_.objective == max(result.objective for result in classifier.results_)
    assert classifier.n_iter_ == len(classifier.result_.trace)
    assert classifier.rank_ == classifier.result_.rank


def test_rows_without_a_class_are_not_scored(rows: Rows) -> None:
    X, y = rows
    known = np.arange(300) % 3 > 0
    classifier, weights = PMFClassifier().fit(X, y.where(known)), np.arange(300.0)
    assert classifier.score(X, y.where(known)) == np.mean(classifier.predict(X)[known] == y[known])
    hits = (classifier.predict(X) == y)[known]
    assert classifier.score(X, y.where(known), weights) == pytest.approx(np.average(hits, weights=weights[known]))
    assert cross_val_score(PMFClassifier(), X, y.where(known), cv=KFold(3)).min() > 0.8


def test_what_cannot_be_learnt_from_is_refused(rows: Rows) -> None:
    X, y = rows
    with pytest.raises(NoLabelError, match="no row has a label"):
        PMFClassifier().fit(X, [None] * 300)
    with pytest.raises(MixedLabelsError, match="one is 'left' and another 1"):
        PMFClassifier().fit(X, y.replace("right", 1))
    with pytest.raises(InputError, match="y to be passed"):
        PMFClassifier().fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PMFClassifier().fit(X, y[:-1])
    with pytest.raises(SettingError, match="n_models must be a whole number >= 1"):
        PMFClassifier(n_models=0).fit(X, y)


def cross_validated(dataset: Dataset, n_splits: int, **settings: Any) -> float:
    """Mean accuracy over splits of 80 and 20 %, the bins the paper's, learnt from the 80 %."""
    target = str(dataset.target)
    accuracy = []
    for seed in range(n_splits):
        train: NDArray[np.intp] = np.random.default_rng(seed).permutation(dataset.n_entries)
        tables = dataset.split(train[: int(0.8 * dataset.n_entries)])
        (X, y), (X_test, y_test) = ((t.select(t.schema.names[:-1]).codes, t.codes[:, -1]) for t in tables)
        assert tables[0].schema.names[-1] == target
        accuracy.append(PMFClassifier(**settings).fit(X, y).score(X_test, y_test))
    return float(np.mean(accuracy))


@pytest.mark.parametrize(
    ("name", "at_least"), [("credit", 0.85), ("votes", 0.945), ("iris", 0.93), ("website_phishing", 0.85)]
)
def test_real_tables_are_classified(real: Callable[[str], Dataset], name: str, at_least: float) -> None:
    assert cross_validated(real(name), n_splits=10) > at_least
