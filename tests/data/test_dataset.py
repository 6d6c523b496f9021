"""The paper's preprocessing: on a few lines of each format, and on the real files where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.data import Dataset, load_dataset
from tensorpmf.data.preprocess import RATINGS, TABLES
from tensorpmf.errors import SettingError, UnknownDatasetError

CREDIT = b"""\
b,30.83,0,u,g,w,v,1.25,t,t,01,f,g,00202,0,+
?,58.67,4.46,y,p,?,h,3.04,f,t,06,f,s,00043,560,-
"""
OCCUPANCY = b"""\
"date","Temperature","Humidity","Light","CO2","HumidityRatio","Occupancy"
"1","2015-02-04 17:51:00",23.18,27.272,426,721.25,0.00479298817650529,1
"2","2015-02-04 17:51:59",23.15,27.2675,429.5,714,0.00478344094931065,0
"""
ARFF = b"@relation x\r\n\r\n@attribute SFH {1,-1,0}\r\n@attribute Result {0,1,-1}\r\n\r\n@data\r\n1,0\r\n-1,1\r\n"
RATED = [(7, 10, 4.0), (7, 30, 3.5), (7, 20, 1.0), (8, 10, 5.0), (8, 20, 2.0), (9, 20, 3.0), (9, 40, 3.0)]

TITLES = {10: "A", 20: "Bé", 30: "C", 40: "D"}


def rated(between: str) -> bytes:
    return "".join(f"{between.join(map(str, rating))}{between}978300760\n" for rating in RATED).encode()


def titled(between: str) -> str:
    return "".join(between.join([str(number), title, "Drama\n"]) for number, title in TITLES.items())


def test_credit_keeps_nine_attributes_and_takes_question_marks_as_missing() -> None:
    raw = TABLES["credit"]({"crx.data": CREDIT})
    assert list(raw.columns) == ["A1", "A4", "A5", "A6", "A7", "A9", "A10", "A12", "A13", "class"]
    table = raw.tabulated(np.arange(2))
    assert table.to_columns()["A6"] == ["w", None]
    assert table.schema["A13"].levels == ("g", "s")


def test_occupancy_puts_its_files_together_without_dates() -> None:
    raw = TABLES["occupancy"]({"a": OCCUPANCY, "b": OCCUPANCY})
    assert raw.columns["Light"].tolist() == [426.0, 429.5] * 2
    assert raw.columns["Occupancy"].tolist() == [1, 0, 1, 0]
    assert raw.tabulated(np.arange(4)).n_levels == (40, 40, 40, 40, 40, 2)


def test_not_to_vote_is_a_level() -> None:
    line = b"republican,n,y,n,y,y,y,n,n,n,y,?,y,y,y,n,y\n"
    table = TABLES["votes"]({"house-votes-84.data": line}).tabulated(np.arange(1))
    assert table.outage == 0
    assert table.to_columns()["synfuels-corporation-cutback"] == ["?"]


def test_phishing_variables_all_have_three_levels() -> None:
    raw = TABLES["website_phishing"]({"PhishingData.arff": ARFF})
    assert {name: values.tolist() for name, values in raw.columns.items()} == {"SFH": [1, -1], "Result": [0, 1]}
    assert raw.tabulated(np.arange(2)).n_levels == (3, 3)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("movielens_100k", {"u.data": rated("\t"), "u.item": titled("|").encode("latin-1")}),
        ("movielens_1m", {"ratings.dat": rated("::"), "movies.dat": titled("::").encode("latin-1")}),
        ("movielens_10m", {"ratings.dat": rated("::"), "movies.dat": titled("::").encode()}),
    ],
)
def test_the_most_rated_movies_and_the_users_who_rated_two_of_them_are_kept(name: str, files: dict[str, bytes]) -> None:
    ratings = RATINGS[name](files)
    assert list(zip(*(values.tolist() for values in ratings.columns.values()), strict=True)) == RATED
    table = ratings.most_rated(n_movies=3).tabulated(np.arange(5))
    assert table.schema.names == ("A", "Bé", "C")
    assert table.to_columns() == {"A": [4.0, 5.0], "Bé": [1.0, 2.0], "C": [3.5, None]}


def test_bins_are_learnt_from_the_training_rows_alone() -> None:
    lines = b"".join(b"5.1,3.5,1.4,%d,Iris-a\n" % width for width in (0, 1, 2, 3, 4, 90, 5, 6))
    raw = TABLES["iris"]({"iris.data": lines})
    dataset = Dataset("iris", "Iris", "https://nowhere", "none", "nobody", raw)
    train, test = dataset.split([0, 1, 2, 3, 4])
    edges = train.schema["petal width"].edges
    assert edges is not None
    assert edges[-1] < 4
    assert test.schema == train.schema
    assert test.to_columns()["petal width"] == [train.schema["petal width"].levels[-1]] * 3
    assert dataset.table.schema["petal width"].edges != edges


@pytest.mark.parametrize("train", [[], [2], [True], 0.8])
def test_a_split_that_cannot_be_is_refused(train: Any) -> None:
    raw = TABLES["credit"]({"crx.data": CREDIT})
    with pytest.raises(SettingError, match="train must be positions, or a mask, of some of the 2 entries"):
        Dataset("credit", "", "", "", "", raw).split(train)


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownDatasetError, match="did you mean 'movielens_1m'"):
        load_dataset("movielens-1m")
    with pytest.raises(UnknownDatasetError, match=r"there is no data set \['iris'\]"):
        load_dataset(["iris"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "n_columns", "n_rows", "n_classes", "rank"),
    [
        ("credit", 10, 690, 2, 16),
        ("occupancy", 6, 20560, 2, 98),
        ("votes", 17, 435, 2, 17),
        ("iris", 5, 150, 3, 19),
        ("website_phishing", 10, 1353, 3, 10),
    ],
)
def test_tables_are_as_large_as_the_papers_and_start_at_its_ranks(
    real: Callable[[str], Dataset], name: str, n_columns: int, n_rows: int, n_classes: int, rank: int
) -> None:
    dataset = real(name)
    assert dataset.target is not None
    assert (dataset.table.n_columns, dataset.table.n_rows) == (n_columns, n_rows)
    assert dataset.table.schema[dataset.target].n_levels == n_classes
    assert tp.kruskal_max_rank(dataset.table.n_levels) == rank
    assert dataset.licence in repr(dataset)
    assert dataset.citation in repr(dataset)


def test_classes_are_as_frequent_as_published(real: Callable[[str], Dataset]) -> None:
    def counts(name: str) -> dict[object, int]:
        dataset = real(name)
        labels, numbers = np.unique(dataset.columns[str(dataset.target)].astype(str), return_counts=True)
        return dict(zip(labels.tolist(), numbers.tolist(), strict=True))

    assert counts("credit") == {"+": 307, "-": 383}
    assert counts("votes") == {"democrat": 267, "republican": 168}
    assert counts("website_phishing") == {"-1": 702, "0": 103, "1": 548}
    assert counts("occupancy") == {"0": 15810, "1": 4750}
    assert sum((values == None).sum() for values in real("credit").columns.values()) == 42  # noqa: E711


@pytest.mark.parametrize(
    ("name", "n_rows", "outage", "n_levels"), [("movielens_1m", 6010, 0.695, 5), ("movielens_10m", 67741, 0.72, 10)]
)
def test_movielens_is_as_large_and_as_empty_as_the_papers(
    real: Callable[[str], Dataset], name: str, n_rows: int, outage: float, n_levels: int
) -> None:
    dataset = real(name)
    assert dataset.table.n_rows == n_rows
    assert dataset.table.n_levels == (n_levels,) * 100
    assert abs(dataset.table.outage - outage) < 0.005


def test_ratings_are_split_cell_by_cell(real: Callable[[str], Dataset], rng: np.random.Generator) -> None:
    dataset = real("movielens_1m")
    train, test = dataset.split(rng.random(dataset.n_entries) < 0.8)
    observed = [table.codes >= 0 for table in (train, test, dataset.table)]
    assert not (observed[0] & observed[1]).any()
    assert np.array_equal(observed[0] | observed[1], observed[2])
    assert np.array_equal(np.maximum(train.codes, test.codes), dataset.table.codes)
