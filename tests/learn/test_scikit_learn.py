"""scikit-learn's own checks, and the ways its users put estimators together."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import tensorpmf as tp
from tensorpmf import learn
from tensorpmf.errors import UnknownSettingError
from tensorpmf.learn import PMFClassifier, PMFDensity, PMFImputer, PMFRecommender

ESTIMATORS = [thing for thing in vars(learn).values() if isinstance(thing, type) and issubclass(thing, BaseEstimator)]
FEATURES = [kind for kind in ESTIMATORS if kind is not PMFRecommender]  # whose columns are features, not user and item


class OfNumbers:
    """Claims to take numbers only: the checks then feed it real ones, which are cut into bins."""

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.categorical = False
        return tags


class NumericClassifier(OfNumbers, PMFClassifier): ...


class NumericDensity(OfNumbers, PMFDensity): ...


class NumericImputer(OfNumbers, PMFImputer): ...


@parametrize_with_checks([kind(n_threads=1) for kind in FEATURES])
def test_it_passes_the_checks_on_categories(estimator: Any, check: Any) -> None:
    check(estimator)


@parametrize_with_checks([kind(n_threads=1) for kind in (NumericClassifier, NumericDensity, NumericImputer)])
def test_it_passes_the_checks_on_real_numbers(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_the_recommender_passes_the_checks_that_need_no_features(check: str) -> None:
    recommender = PMFRecommender()
    subject = PMFRecommender if check == "check_parameters_default_constructible" else recommender
    getattr(estimator_checks, check)("PMFRecommender", recommender if isinstance(subject, type) else subject)


@pytest.fixture
def iris() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


def test_cross_validation(iris: Any) -> None:
    assert cross_val_score(PMFClassifier(), *iris, cv=5).mean() > 0.92


def test_holes_are_filled_on_the_way_to_another_estimator(iris: Any, rng: np.random.Generator) -> None:
    X, y = iris
    holey = X.mask(rng.random(X.shape) < 0.2)
    pipeline = make_pipeline(PMFImputer(strategy="expected"), GaussianNB())
    assert cross_val_score(pipeline, holey, y, cv=3).mean() > 0.85
    assert pipeline.fit(holey, y)[:-1].get_feature_names_out().tolist() == list(X.columns)


def test_settings_are_searched(iris: Any) -> None:
    grid = {"algorithm": [tp.VB(max_rank=1), tp.VB(max_rank=8)], "bins": [5, 10]}
    search = GridSearchCV(PMFClassifier(), grid, cv=3).fit(*iris)
    assert search.best_params_["algorithm"] == tp.VB(max_rank=8)
    assert search.best_score_ > 0.9


def test_settings_of_the_algorithm_are_searched_by_name(iris: Any) -> None:
    search = GridSearchCV(PMFClassifier(), {"algorithm__max_rank": [1, 8]}, cv=3).fit(*iris)
    assert search.best_params_ == {"algorithm__max_rank": 8}
    assert search.best_estimator_.algorithm == tp.VB(max_rank=8)
    given = tp.SQUAREM(tp.EM(rank=2))
    density = PMFDensity(given)
    assert density.get_params()["algorithm__algorithm__rank"] == 2
    pipeline = make_pipeline(density).set_params(pmfdensity__algorithm__algorithm__rank=3)
    assert pipeline[0].algorithm == tp.SQUAREM(tp.EM(rank=3))
    assert density.set_params(algorithm=tp.EM(), algorithm__rank=4).algorithm == tp.EM(rank=4)
    assert given == tp.SQUAREM(tp.EM(rank=2))
    with pytest.raises(UnknownSettingError, match=r"VB has no setting 'max_rnk'[^?]*did you mean 'max_rank'"):
        PMFImputer().set_params(algorithm__max_rnk=2)


def test_ratings_are_cross_validated_as_pairs_and_numbers(rng: np.random.Generator) -> None:
    taste, users, items = rng.integers(0, 2, 200), *np.divmod(np.arange(1600), 8)
    ratings = 1 + 2 * (taste[users] == items % 2) + rng.integers(0, 2, 1600)
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(PMFRecommender(), np.column_stack([users, items]), ratings, cv=folds)
    assert scores.min() > 0.5


def test_sample_weights_are_routed(iris: Any) -> None:
    X, y = iris
    weights = np.where(y == 2, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = PMFClassifier().set_fit_request(sample_weight=True)
        done = cross_validate(
            make_pipeline(classifier),
            X,
            y,
            params={"sample_weight": weights},
            return_estimator=True,
            scoring=make_scorer(lambda truth, guess: 0.0),
        )
    assert all(set(pipeline.classes_) == {0, 1} for pipeline in done["estimator"])


@pytest.mark.parametrize("kind", FEATURES)
def test_what_was_learnt_survives_pickling_and_is_forgotten_by_a_clone(kind: Any, iris: Any) -> None:
    X, y = iris
    fitted = kind(tp.VB(max_rank=4), n_models=2).fit(X, y)
    method = "predict_proba" if hasattr(kind, "predict_proba") else "transform"
    again = getattr(pickle.loads(pickle.dumps(fitted)), method)(X)
    np.testing.assert_array_equal(again, getattr(fitted, method)(X))
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "results_")


def test_outputs_are_frames_if_asked_for(iris: Any) -> None:
    X, _ = iris
    density = PMFDensity().set_output(transform="pandas").fit(X)
    resp = density.transform(X)
    assert list(resp.columns) == [f"pmfdensity{ix}" for ix in range(density.pmf_.rank)]
    assert resp.index.equals(X.index)
    polars = PMFImputer().set_output(transform="polars").fit_transform(X)
    assert polars.columns == list(X.columns)
    assert type(polars).__module__.startswith("polars")


def test_names_of_features_are_kept_and_their_order_is_watched(iris: Any) -> None:
    X, y = iris
    classifier = PMFClassifier().fit(X, y)
    assert classifier.feature_names_in_.tolist() == list(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(X[X.columns[::-1]])


@pytest.mark.parametrize("kind", FEATURES)
def test_the_same_seed_gives_the_same_model_and_another_one_another(kind: Any, iris: Any) -> None:
    X, y = iris
    weights = [kind(random_state=seed, max_iterations=3).fit(X, y).pmf_.weights for seed in (1, 1, 2)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
