"""``tensorpmf recommend`` lists what the recommender does."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

import tensorpmf as tp
from tensorpmf.learn import PMFRecommender

TASTES = {"action": [5, 4, 1, 2], "romance": [1, 2, 5, 4]}
FILMS = ["Alien", "Brazil", "Casablanca", "1984"]
LINES = [
    (10 * number + user, film, stars)
    for number in range(30)
    for user, ratings in enumerate(TASTES.values())
    for film, stars in zip(FILMS, ratings, strict=True)
    if (number + stars) % 4
]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Ratings by sixty users, numbered, with a column more than there must be and one rating not given."""
    path = tmp_path / "ratings.csv"
    lines = ["who,film,stars,when", *(f"{user},{film},{stars},{user}" for user, film, stars in LINES), "0,1984,,9"]
    path.write_text("\n".join(lines))
    return path


def rows(printed: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(printed)))


def test_users_get_what_the_recommender_says(call: Callable, ratings: Path) -> None:
    recommender = PMFRecommender().fit(LINES)
    for options, chosen, settings in (
        (["--user", "31", "-u", "10", "-n", 2], [31, 10], {"n": 2}),
        (["-u", "10", "--seen"], [10], {"exclude_seen": False}),
        ([], recommender.users_.tolist(), {}),
    ):
        lists = recommender.recommend(chosen, **settings)  # type: ignore[arg-type]
        answer = call("recommend", ratings, *options, "--json").answer
        told = [(row["user"], row["item"], pytest.approx(row["rating"])) for row in answer]
        assert told == [(user, film, stars) for user, best in zip(chosen, lists, strict=True) for film, stars in best]
    header, *printed = rows(call("recommend", ratings, "-u", "31", "-n", 1).out)
    assert header == ["user", "item", "rating"]
    ((film, stars),) = recommender.recommend([31], n=1)[0]
    assert printed == [["31", film, f"{stars:.6g}"]]


def test_somebody_new_is_described_by_ratings(call: Callable, ratings: Path, tmp_path: Path) -> None:
    model = tmp_path / "films.pmf"
    known = ["--given", "Alien=1", "--given", "Casablanca=5"]
    printed = call("recommend", ratings, *known, "--save", model).out
    asked = PMFRecommender().fit(LINES).pmf_.given({"Alien": 1, "Casablanca": 5})
    assert rows(printed) == [["item", "rating"], *([film, f"{asked.expect(film):.6g}"] for film in ("1984", "Brazil"))]
    assert call("recommend", model, *known).out == printed
    assert call("recommend", model, *known, "-n", 1).out.count("\n") == 2
    by_average = [row["item"] for row in call("recommend", model, "--json").answer]
    pmf = tp.load(model).pmf
    assert by_average == sorted(FILMS, key=lambda film: -pmf.expect(film))
