from __future__ import annotations

from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_array, csr_matrix
from sklearn.model_selection import KFold, cross_val_score

import tensorpmf as tp
from tensorpmf.data import Dataset
from tensorpmf.errors import (
    DuplicateCellError,
    InputError,
    NoRowsError,
    NotNumericError,
    SettingError,
    UnknownLevelError,
)
from tensorpmf.learn import PMFRecommender
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.typing import Floats

FILMS = ["Alien", "Brazil", "Casablanca", "Dracula", "Eraserhead"]
Line = tuple[Hashable, Hashable, float]


@pytest.fixture
def lines(rng: np.random.Generator) -> list[Line]:
    """Ratings from 1 to 4 by two kinds of users, two in three given."""
    likes = np.array([[1, 1, 0, 0, 1], [0, 0, 1, 1, 1]])[rng.integers(0, 2, 150)]
    stars = 1.0 + 2 * likes + rng.integers(0, 2, likes.shape)
    given = rng.random(likes.shape) < 2 / 3
    given[~given.any(axis=1), 0] = True
    return [(f"u{u}", FILMS[i], float(stars[u, i])) for u, i in zip(*np.nonzero(given), strict=True)]


@pytest.fixture
def recommender(lines: list[Line]) -> PMFRecommender:
    return PMFRecommender().fit(lines)


def given_others(recommender: PMFRecommender, known: dict[Any, float], item: str) -> Any:
    """P(rating of an item | the ratings of others), asked of the PMF in its own words."""
    others = {film: stars for film, stars in known.items() if film != item}
    pmf = recommender.pmf_.given(others) if others else recommender.pmf_
    return pmf.marginal(item).to_dense()


def test_a_rating_is_predicted_from_the_others(recommender: PMFRecommender, lines: list[Line]) -> None:
    known = {film: stars for user, film, stars in lines if user == "u3"}
    pairs = [("u3", film) for film in FILMS]  # seen or not, and the user's own rating is not looked at
    expected = [given_others(recommender, known, film) for film in FILMS]
    np.testing.assert_allclose(recommender.predict_proba(pairs), expected, rtol=1e-9)
    assert recommender.ratings_.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(recommender.predict(pairs), np.array(expected) @ [1, 2, 3, 4])


def test_median_and_mode_are_those_of_the_distribution(recommender: PMFRecommender, lines: list[Line]) -> None:
    pairs = [line[:2] for line in lines]
    prob = recommender.predict_proba(pairs)
    median, mode = (recommender.predict(pairs, statistic=name) for name in ("median", "mode"))
    for row, middle, top in zip(prob, median, mode, strict=True):
        assert row[: int(middle) - 1].sum() < 0.5 <= row[: int(middle)].sum() + 1e-9
        assert row[int(top) - 1] == row.max()
    truth = np.array([line[2] for line in lines])
    assert np.abs(median - truth).mean() <= np.abs(recommender.predict(pairs) - truth).mean()
    with pytest.raises(SettingError, match="statistic must be one of 'mean', 'median', 'mode'"):
        recommender.predict(pairs, statistic="mid")  # type: ignore[arg-type]


def test_ratings_come_in_many_shapes(lines: list[Line], recommender: PMFRecommender) -> None:
    users, films, stars = map(list, zip(*lines, strict=True))
    pairs = [("u3", "Alien"), ("u9", "Dracula")]
    expected = recommender.predict(pairs)
    frame = pd.DataFrame({"who": users, "what": films, "stars": stars})
    for X, y in (
        (frame, None),
        (pl.from_pandas(frame), None),
        (frame[["who", "what"]], stars),
        (np.array(list(zip(users, films, strict=True)), dtype=object), stars),
        (list(zip(users, films, strict=True)), stars),
    ):
        np.testing.assert_allclose(PMFRecommender().fit(X, y).predict(pairs), expected)
    np.testing.assert_allclose(recommender.predict(pd.DataFrame(pairs)), expected)


def test_a_sparse_matrix_is_ratings_too(lines: list[Line]) -> None:
    users = [int(str(line[0])[1:]) for line in lines]
    films = [FILMS.index(str(line[1])) for line in lines]
    matrix = csr_matrix(([line[2] for line in lines], (users, films)), shape=(150, 5))
    recommender = PMFRecommender().fit(matrix)
    assert recommender.items_.tolist() == [0, 1, 2, 3, 4]
    by_line = PMFRecommender().fit(list(zip(users, films, strict=True)), matrix.tocoo().data)
    np.testing.assert_allclose(recommender.predict([(3, 0)]), by_line.predict([(3, 0)]))
    new = coo_array(([4.0, 1.0], ([0, 0], [0, 2])), shape=(1, 5))
    assert recommender.recommend([0], n=1, known=new)[0][0][0] in (1, 4)


def test_a_new_user_needs_no_new_fit(recommender: PMFRecommender) -> None:
    known = [("new", "Alien", 4), ("new", "Casablanca", 1), ("new", "Unheard of", 3)]
    expected = given_others(recommender, {"Alien": 4.0, "Casablanca": 1.0}, "Brazil")
    np.testing.assert_allclose(recommender.predict_proba([("new", "Brazil")], known=known), [expected])
    nobody = recommender.predict_proba([("nobody", "Brazil"), ("nobody", "Unheard of")])
    np.testing.assert_allclose(nobody[0], recommender.pmf_.marginal("Brazil").to_dense())
    np.testing.assert_allclose(nobody[1], recommender.overall_)
    assert recommender.overall_.sum() == pytest.approx(1)


def test_the_best_unseen_items_come_first(recommender: PMFRecommender, lines: list[Line]) -> None:
    users = recommender.users_.tolist()
    lists = recommender.recommend(users, n=2)
    assert len(lists) == len(users)
    for user, best in zip(users, lists, strict=True):
        seen = {line[1] for line in lines if line[0] == user}
        unseen = [film for film in FILMS if film not in seen]
        told = recommender.predict([(user, film) for film in unseen]) if unseen else np.array([])
        assert [item for item, _ in best] == [unseen[ix] for ix in np.argsort(-told, kind="stable")[:2]]
        np.testing.assert_allclose([stars for _, stars in best], np.sort(told)[::-1][:2])
    assert {len(best) for best in lists} == {0, 1, 2}
    assert all(len(best) == 5 for best in recommender.recommend(users, n=10, exclude_seen=False))
    with pytest.raises(SettingError, match="n must be a whole number >= 1"):
        recommender.recommend(users, n=0)


def test_several_models_answer_by_the_mean_of_their_answers(lines: list[Line]) -> None:
    recommender = PMFRecommender(tp.VB(max_rank=4, alpha_factors=0.2), n_models=3, max_iterations=3).fit(lines)
    pairs = [line[:2] for line in lines[:50]]
    each = []
    for result in recommender.results_:
        single = PMFRecommender().fit(lines)
        single.results_, single.tilts_ = (result,), (None,)
        each.append(single.predict_proba(pairs))
    np.testing.assert_allclose(recommender.predict_proba(pairs), np.mean(each, axis=0))
    assert not np.allclose(each[0], each[1])


@pytest.mark.parametrize("tilt_rank", [0, 1])
def test_impossible_users_are_taken_for_unknown_ones(tilt_rank: int) -> None:
    lines = [(user, film, 1.0 + 4 * (user % 2)) for user in range(60) for film in FILMS]
    recommender = PMFRecommender(tp.EM(rank=2), n_starts=5, tilt_rank=tilt_rank).fit(lines)
    known = [("odd", "Alien", 1), ("odd", "Brazil", 5), ("fan", "Alien", 5)]
    odd, fan = recommender.predict([("odd", "Casablanca"), ("fan", "Casablanca")], known=known)
    assert (odd, fan) == pytest.approx((3, 5), abs=0.2)
    assert [len(best) for best in recommender.recommend(["odd", "fan"], known=known)] == [3, 4]


def test_the_score_is_the_variance_explained(lines: list[Line], recommender: PMFRecommender) -> None:
    pairs, stars = [line[:2] for line in lines], np.array([line[2] for line in lines])
    told = recommender.predict(pairs)
    expected = 1 - np.mean((told - stars) ** 2) / stars.var()
    assert recommender.score(pairs, stars) == pytest.approx(expected)
    assert recommender.score(lines) == pytest.approx(expected)
    weights = np.arange(len(lines)) < 50
    assert recommender.score(pairs, stars, weights) == pytest.approx(recommender.score(pairs[:50], stars[:50]))


def test_sparse_rows_are_scored_as_new_users(lines: list[Line]) -> None:
    users = [int(str(line[0])[1:]) for line in lines]
    films = [FILMS.index(str(line[1])) for line in lines]
    matrix = csr_matrix(([line[2] for line in lines], (users, films)), shape=(150, 5))
    recommender = PMFRecommender().fit(matrix[:100])
    told = recommender.predict(list(zip(*matrix[100:].nonzero(), strict=True)), known=matrix[100:])
    stars = matrix[100:].data
    expected = 1 - np.mean((told - stars) ** 2) / stars.var()
    assert recommender.score(matrix[100:]) == pytest.approx(expected)
    assert cross_val_score(PMFRecommender(), matrix, cv=KFold(3)).min() > 0.2


@pytest.mark.parametrize(("line", "what"), [((None, "y", 4), "user"), (("a", float("nan"), 4), "item")])
def test_a_rating_needs_a_user_and_an_item(line: Line, what: str) -> None:
    with pytest.raises(InputError, match=rf"^line 2 holds a rating, but no {what}\.$"):
        PMFRecommender().fit([("a", "x", 3), ("a", None, None), line])  # type: ignore[list-item]


def test_any_joint_pmf_will_do(lines: list[Line], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without components to share, every rating is asked for on its own; the answers are the same."""
    recommender = PMFRecommender(n_models=2).fit(lines)
    pairs = [line[:2] for line in lines[:40]]
    prob, lists = recommender.predict_proba(pairs), recommender.recommend(["u1", "u2"])
    monkeypatch.setattr("tensorpmf.learn.voice.LowRankPMF", type("Other", (), {}))
    np.testing.assert_allclose(recommender.predict_proba(pairs), prob)
    assert [[item for item, _ in best] for best in recommender.recommend(["u1", "u2"])] == [
        [item for item, _ in best] for best in lists
    ]


@pytest.fixture
def moody(rng: np.random.Generator) -> list[Line]:
    """Ratings from 1 to 5 by users who differ in nothing but how generous they are, two in three given."""
    mood = rng.normal(0, 1.2, 150)[:, None] + rng.normal(0, 0.7, (150, 8)) + 3
    given = rng.random(mood.shape) < 2 / 3
    return [(int(u), int(i), float(mood[u, i].round().clip(1, 5))) for u, i in zip(*np.nonzero(given), strict=True)]


def test_a_tilt_tells_generous_users_from_others(moody: list[Line], rng: np.random.Generator) -> None:
    held_out = rng.random(len(moody)) < 0.2
    known = [line for line, out in zip(moody, held_out, strict=True) if not out]
    asked = [line for line, out in zip(moody, held_out, strict=True) if out]
    truth = np.array([line[2] for line in asked])
    errors = []
    for rank in (0, 1):  # beside one component, to which all users are alike
        recommender = PMFRecommender(tp.VB(max_rank=1), tilt_rank=rank, tilt_ridge=2).fit(known)
        errors.append(np.mean((recommender.predict([line[:2] for line in asked]) - truth) ** 2))
    assert errors[1] < 0.6 * errors[0]


def test_a_tilted_prediction_does_not_look_at_the_rating_itself(moody: list[Line]) -> None:
    recommender = PMFRecommender(n_models=2, tilt_rank=2, tilt_ridge=2).fit(moody)
    mine = [line for line in moody if line[0] == 7]
    for line in mine[:3]:
        others = [other for other in mine if other != line]
        expected = recommender.predict_proba([line[:2]], known=others)
        np.testing.assert_allclose(recommender.predict_proba([line[:2], (7, 0)])[:1], expected, rtol=1e-9)
        assert expected.sum() == pytest.approx(1)


def test_known_ratings_are_predicted_all_at_once(moody: list[Line], monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is asked once an item for what users are like, not once an item for each item."""
    recommender = PMFRecommender(tilt_rank=2).fit(moody)
    pairs, calls, ask = [line[:2] for line in moody], list[str](), LowRankPMF.conditional
    expected = [recommender.predict([pair])[0] for pair in pairs[:20]]
    monkeypatch.setattr(
        LowRankPMF, "conditional", lambda pmf, name, *a, **k: calls.append(name) or ask(pmf, name, *a, **k)
    )
    np.testing.assert_allclose(recommender.predict(pairs)[:20], expected)
    assert len(calls) <= len(recommender.items_)


def test_the_only_rating_there_is_can_be_tilted_nowhere() -> None:
    recommender = PMFRecommender(tilt_rank=1).fit([(user, film, 3) for user in range(20) for film in FILMS])
    assert recommender.predict([(0, "Alien"), ("new", "Brazil")]).tolist() == [3, 3]


def test_tilted_lists_and_new_users_agree_with_predictions(moody: list[Line]) -> None:
    recommender = PMFRecommender(tilt_rank=2, tilt_ridge=2).fit(moody)
    (best,) = recommender.recommend([9], n=8)
    assert len(best) > 1
    told = recommender.predict([(9, item) for item, _ in best])
    np.testing.assert_allclose([stars for _, stars in best], told)
    assert (np.diff(told) <= 0).all()
    known = [("new", *line[1:]) for line in moody if line[0] == 9]
    assert dict(recommender.recommend(["new"], n=8, known=known)[0]) == pytest.approx(dict(best))
    with pytest.raises(SettingError, match="tilt_rank must be a whole number >= 0, got -1"):
        PMFRecommender(tilt_rank=-1).fit(moody)
    with pytest.raises(SettingError, match="tilt_ridge must be"):
        PMFRecommender(tilt_ridge=0).fit(moody)


def test_ratings_may_be_cut_into_bins(rng: np.random.Generator) -> None:
    pairs = [(user, item) for user in range(100) for item in range(4)]
    hours = rng.exponential(size=400)
    recommender = PMFRecommender(bins=5).fit(pairs, hours)
    assert len(recommender.ratings_) == 5
    assert 0 < recommender.predict([(0, 0)])[0] < hours.max()


def test_what_are_no_ratings_is_refused(lines: list[Line]) -> None:
    with pytest.raises(InputError, match="got 2 columns and no y"):
        PMFRecommender().fit([line[:2] for line in lines])
    with pytest.raises(InputError, match="got 1 columns and a y"):
        PMFRecommender().fit(np.zeros((4, 1)), [1, 2, 3, 4])
    with pytest.raises(InputError, match=r"line 1 is \('u0', 'Alien'\), but all lines must be pairs"):
        PMFRecommender().fit([lines[0], ("u0", "Alien")])
    with pytest.raises(NoRowsError):
        PMFRecommender().fit([], [])
    with pytest.raises(DuplicateCellError):
        PMFRecommender().fit([*lines, lines[0]])


def test_what_are_no_pairs_is_refused(recommender: PMFRecommender, lines: list[Line]) -> None:
    with pytest.raises(InputError, match="line 0 is 'u3', but all lines must be pairs"):
        recommender.predict(("u3", "Al"))
    with pytest.raises(InputError, match="expected lines of user and item, got 3 columns"):
        recommender.predict(lines)


def test_ratings_that_are_not_there_are_left_out(lines: list[Line], recommender: PMFRecommender) -> None:
    expected = recommender.predict([("u3", "Brazil")])
    for none in (None, np.nan, pd.NA):
        more = [*lines, ("u0", "Unheard of", none), ("nobody", "Brazil", none)]
        again = PMFRecommender().fit(more)
        assert again.items_.tolist() == FILMS
        assert "nobody" not in again.users_
        np.testing.assert_allclose(again.predict([("u3", "Brazil")]), expected)
    frame = pd.DataFrame(more, columns=["who", "what", "stars"]).astype({"stars": "Float64"})
    np.testing.assert_allclose(PMFRecommender().fit(frame).predict([("u3", "Brazil")]), expected)


def test_texts_may_be_ratings_if_they_are_numbers(lines: list[Line], recommender: PMFRecommender) -> None:
    texts = np.array(lines)  # all texts
    np.testing.assert_allclose(PMFRecommender().fit(texts).predict(texts[:9, :2]), recommender.predict(texts[:9, :2]))
    with pytest.raises(NotNumericError, match="column 'rating' holds 'good', which is no number"):
        PMFRecommender().fit([*lines, ("u0", "Unheard of", "good")])  # type: ignore[list-item]


def test_nothing_known_and_nothing_asked_are_no_mistakes(recommender: PMFRecommender) -> None:
    assert recommender.predict([]).shape == (0,)
    assert recommender.predict_proba([]).shape == (0, 4)
    assert recommender.recommend([]) == []
    assert recommender.recommend(["new"], known=[]) == recommender.recommend(["nobody"])


def test_whom_and_what_cannot_be_is_refused(recommender: PMFRecommender) -> None:
    for users in ("u3", 3):
        with pytest.raises(SettingError, match="users must be a list of users"):
            recommender.recommend(users)  # type: ignore[arg-type]
    with pytest.raises(UnknownLevelError, match=r"'rating' has no level 4\.5\. Known levels: 1\.0, 2\.0"):
        recommender.recommend(["new"], known=[("new", "Alien", 4.5)])
    with pytest.raises(NoRowsError):
        PMFRecommender().fit([])


def test_movielens_is_predicted_well_and_fast(real: Callable[[str], Dataset], rng: np.random.Generator) -> None:
    """Errors differ by .005 from split to split; a prototype's single run had .877–.881 stars, and .864 for twenty."""
    dataset = real("movielens_1m")
    pairs = np.column_stack([dataset.columns["user"], dataset.columns["movie"]])
    stars, train = dataset.columns["rating"], rng.random(dataset.n_entries) < 0.8

    def error(told: Floats) -> float:
        return float(np.sqrt(np.mean((told - stars[~train]) ** 2)))

    single = PMFRecommender(tp.VB(max_rank=50)).fit(pairs[train], stars[train])
    began = perf_counter()
    told = single.predict(pairs[~train])
    assert (~train).sum() / (perf_counter() - began) > 1e5
    assert error(told) < 0.885
    many = PMFRecommender(tp.VB(max_rank=50, alpha_factors=0.2), n_models=20, max_iterations=30)
    many.fit(pairs[train], stars[train])
    assert error(many.predict(pairs[~train])) < error(told) - 0.01
    median = many.predict(pairs[~train], statistic="median")
    assert np.mean(np.abs(median - stars[~train])) < 0.625
    tilted = PMFRecommender(tp.VB(8, alpha_factors=0.5), n_models=10, max_iterations=30, tilt_rank=10)
    assert error(tilted.fit(pairs[train], stars[train]).predict(pairs[~train])) < 0.845
