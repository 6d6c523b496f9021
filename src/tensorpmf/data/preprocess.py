"""The paper's preprocessing, data set by data set: which columns, what counts as a level, how many bins.

The paper gives the number of columns N, of rows T and the initial rank; what follows is what reproduces all three. That
rank is Kruskal's bound, which fixes the numbers of levels. Numbers are cut into bins of equal width, because quantiles
would not do: too many values of a column repeat for 40 different quantiles (Occupancy) or 10 (Iris).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from tensorpmf.table.bins import Bins
from tensorpmf.table.read import read_table
from tensorpmf.table.schema import Column, Schema
from tensorpmf.table.table import CategoricalTable

N_MOVIES = 100
"""The paper keeps the most rated movies, so many."""

FEWEST_RATINGS = 2
"""The paper leaves out users who rated fewer of these movies."""


@dataclass(frozen=True)
class Raw:
    """Columns as they were published, and what the paper makes of them.

    Parameters
    ----------
    columns
        (n_rows,) values by column name, ``None`` where missing.
    levels
        The levels of each categorical column, in order.
    n_bins
        Into how many bins of equal width each other column is cut.
    target
        The column that is predicted.
    """

    columns: Mapping[str, NDArray[Any]]
    levels: Mapping[str, tuple[Hashable, ...]]
    n_bins: Mapping[str, int]
    target: str | None

    def tabulated(self, rows: NDArray[Any], schema: Schema | None = None) -> CategoricalTable:
        """Return a table of some rows.

        Parameters
        ----------
        rows
            Their positions.
        schema
            How numbers are cut into bins, if that was learnt from other rows.
        """
        columns = {name: values[rows] for name, values in self.columns.items()}
        if schema is not None:
            return schema.encode(columns)
        bins: dict[str, Bins] = {name: ("width", n) for name, n in self.n_bins.items()}
        return read_table(columns, levels=self.levels, bins=bins)


def credit(files: Mapping[str, bytes]) -> Raw:
    """Keep the nine categorical attributes and the class; ``?`` is missing; only observed levels count."""
    kept = (1, 4, 5, 6, 7, 9, 10, 12, 13)
    rows = _records(files["crx.data"])
    columns = {f"A{ix}": _labels((row[ix - 1] for row in rows), missing="?") for ix in kept}
    columns["class"] = _labels(row[15] for row in rows)
    return Raw(columns, {name: _observed(values) for name, values in columns.items()}, {}, "class")


def occupancy(files: Mapping[str, bytes]) -> Raw:
    """Put the three files together, leave the date out, and cut each measurement into 40 bins."""
    names = ("Temperature", "Humidity", "Light", "CO2", "HumidityRatio")
    rows = [row[2:] for content in files.values() for row in _records(content)[1:]]
    columns: dict[str, NDArray[Any]] = {name: _numbers(row[ix] for row in rows) for ix, name in enumerate(names)}
    columns["Occupancy"] = np.array([int(row[5]) for row in rows])
    return Raw(columns, {"Occupancy": (0, 1)}, dict.fromkeys(names, 40), "Occupancy")


def votes(files: Mapping[str, bytes]) -> Raw:
    """Keep everything; ``?``, neither yea nor nay, is a third level, since not to vote says something too."""
    issues = (
        "handicapped-infants", "water-project-cost-sharing", "adoption-of-the-budget-resolution",
        "physician-fee-freeze", "el-salvador-aid", "religious-groups-in-schools", "anti-satellite-test-ban",
        "aid-to-nicaraguan-contras", "mx-missile", "immigration", "synfuels-corporation-cutback",
        "education-spending", "superfund-right-to-sue", "crime", "duty-free-exports",
        "export-administration-act-south-africa",
    )  # fmt: skip
    rows = _records(files["house-votes-84.data"])
    columns = {issue: _labels(row[ix + 1] for row in rows) for ix, issue in enumerate(issues)}
    columns["party"] = _labels(row[0] for row in rows)
    levels: dict[str, tuple[Hashable, ...]] = {**dict.fromkeys(issues, ("n", "y", "?"))}
    return Raw(columns, levels | {"party": ("democrat", "republican")}, {}, "party")


def iris(files: Mapping[str, bytes]) -> Raw:
    """Cut each measurement into 10 bins."""
    names = ("sepal length", "sepal width", "petal length", "petal width")
    rows = _records(files["iris.data"])
    columns: dict[str, NDArray[Any]] = {name: _numbers(row[ix] for row in rows) for ix, name in enumerate(names)}
    columns["species"] = _labels(row[4] for row in rows)
    return Raw(columns, {"species": _observed(columns["species"])}, dict.fromkeys(names, 10), "species")


def website_phishing(files: Mapping[str, bytes]) -> Raw:
    """Give all ten variables the levels -1, 0 and 1, also the two that take only two of them."""
    header, _, rows = files["PhishingData.arff"].decode().partition("@data")
    names = [line.split()[1] for line in header.splitlines() if line.startswith("@attribute")]
    numbers = np.array([row.split(",") for row in rows.split()], dtype=np.int64)
    columns: dict[str, NDArray[Any]] = dict(zip(names, numbers.T, strict=True))
    return Raw(columns, dict.fromkeys(names, (-1, 0, 1)), {}, "Result")


@dataclass(frozen=True, eq=False)
class Ratings:
    """What users thought of movies: ``user`` and ``movie``, by the publisher's numbers, and ``rating`` in stars.

    Parameters
    ----------
    columns
        (n_ratings,) one entry a rating, by column name.
    titles
        The title of each movie, by its number.
    target
        The column that is predicted.
    """

    columns: Mapping[str, NDArray[Any]]
    titles: Mapping[int, str]
    target: str | None = "rating"

    def most_rated(self, n_movies: int = N_MOVIES, fewest: int = FEWEST_RATINGS) -> Ratings:
        """Return the ratings of the most rated movies by users who rated at least some of them.

        Parameters
        ----------
        n_movies
            How many movies are kept; of equally often rated ones those with the smaller numbers.
        fewest
            How many of them a user must have rated.
        """
        users, movies = self.columns["user"], self.columns["movie"]
        numbers, n_ratings = np.unique(movies, return_counts=True)
        best = numbers[np.argsort(-n_ratings, kind="stable")[:n_movies]]
        kept = np.isin(movies, best)
        busy, n_rated = np.unique(users[kept], return_counts=True)
        kept &= np.isin(users, busy[n_rated >= fewest])
        titles = {int(number): self.titles[int(number)] for number in best}
        return Ratings({name: values[kept] for name, values in self.columns.items()}, titles)

    def tabulated(self, ratings: NDArray[Any], schema: Schema | None = None) -> CategoricalTable:
        """Return a table of some ratings: a row for every user, whether these are theirs or not, and a column a movie.

        Parameters
        ----------
        ratings
            Their positions.
        schema
            The movies and the scale, if they are known already.
        """
        users, user_ix = np.unique(self.columns["user"], return_inverse=True)
        movies, movie_ix = np.unique(self.columns["movie"], return_inverse=True)
        if schema is None:
            scale = tuple(np.unique(self.columns["rating"]).tolist())
            schema = Schema(tuple(Column(self.titles[number], scale, ordered=True) for number in movies.tolist()))
        cells = (user_ix[ratings], movie_ix[ratings])
        stars = self.columns["rating"][ratings]
        return schema.encode(coo_array((stars, cells), shape=(len(users), len(movies))))


def movielens_100k(files: Mapping[str, bytes]) -> Ratings:
    """Read tab-separated ratings and titles."""
    return _ratings(files["u.data"], files["u.item"].decode("latin-1"), "|")


def movielens_1m(files: Mapping[str, bytes]) -> Ratings:
    """Read ratings and titles between double colons."""
    return _ratings(files["ratings.dat"].replace(b"::", b" "), files["movies.dat"].decode("latin-1"), "::")


def movielens_10m(files: Mapping[str, bytes]) -> Ratings:
    """Read ratings, half stars among them, and titles between double colons."""
    return _ratings(files["ratings.dat"].replace(b"::", b" "), files["movies.dat"].decode("utf-8"), "::")


TABLES: Final[Mapping[str, Callable[[Mapping[str, bytes]], Raw]]] = {
    "credit": credit,
    "occupancy": occupancy,
    "votes": votes,
    "iris": iris,
    "website_phishing": website_phishing,
}
"""How to read each table."""

RATINGS: Final[Mapping[str, Callable[[Mapping[str, bytes]], Ratings]]] = {
    "movielens_100k": movielens_100k,
    "movielens_1m": movielens_1m,
    "movielens_10m": movielens_10m,
}
"""How to read each collection of ratings."""


def _records(content: bytes) -> list[list[str]]:
    return [record for record in csv.reader(content.decode().splitlines()) if record]


def _labels(values: Iterable[str], missing: str | None = None) -> NDArray[Any]:
    return np.array([None if value == missing else value for value in values], dtype=object)


def _numbers(values: Iterable[str]) -> NDArray[np.float64]:
    return np.array([float(value) for value in values])


def _observed(values: Sequence[Any] | NDArray[Any]) -> tuple[Hashable, ...]:
    return tuple(sorted({value for value in values if value is not None}))


def _ratings(numbers: bytes, lines: str, between: str) -> Ratings:
    """Read four numbers a rating, of which the time is left out, and the title that follows a movie's number."""
    users, movies, stars, _ = np.fromstring(numbers.decode(), sep=" ").reshape(-1, 4).T
    columns: dict[str, NDArray[Any]] = {
        "user": users.astype(np.int64),
        "movie": movies.astype(np.int64),
        "rating": stars,
    }
    fields = [line.split(between) for line in lines.splitlines()]
    return Ratings(columns, {int(number): title for number, title, *_ in fields})
