"""The paper's data sets, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorpmf.data.fetch import fetch
from tensorpmf.data.preprocess import RATINGS, TABLES, Ratings, Raw
from tensorpmf.data.sources import SOURCES
from tensorpmf.errors import SettingError, UnknownDatasetError
from tensorpmf.table.table import CategoricalTable


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set, preprocessed as in the paper, and where it comes from.

    Parameters
    ----------
    name
        What :func:`load_dataset` calls it.
    title
        Its full name.
    url
        The official address it was fetched from, or would be.
    licence
        The terms of use.
    citation
        What to cite.
    raw
        The columns the paper uses, before anything was learnt from them.
    """

    name: str
    title: str
    url: str
    licence: str
    citation: str
    raw: Raw | Ratings

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """The columns the paper uses, as published: numbers are not cut; ``None`` is missing.

        Of MovieLens: ``user``, ``movie`` and ``rating``, one entry a rating.
        """
        return self.raw.columns

    @property
    def target(self) -> str | None:
        """The column that is predicted."""
        return self.raw.target

    @property
    def n_entries(self) -> int:
        """How many rows, or ratings, there are."""
        return len(next(iter(self.columns.values())))

    @cached_property
    def table(self) -> CategoricalTable:
        """All of it, bins learnt from all rows; of MovieLens one row a user and one column a movie."""
        return self.raw.tabulated(np.arange(self.n_entries))

    def split(self, train: ArrayLike) -> tuple[CategoricalTable, CategoricalTable]:
        """Return a training table and a test table of what is left; bins are learnt from the training rows alone.

        Of MovieLens, ratings are split: both tables have all users and movies, but each cell is observed in one only.

        Parameters
        ----------
        train
            Positions, or a mask, of the rows (of MovieLens: the ratings) to train with.
        """
        chosen = np.zeros(self.n_entries, dtype=bool)
        try:
            chosen[np.asarray(train)] = True
        except IndexError:
            must = f"positions, or a mask, of some of the {self.n_entries} entries"
            raise SettingError("split", "train", must, train) from None
        training = self.raw.tabulated(np.flatnonzero(chosen))
        return training, self.raw.tabulated(np.flatnonzero(~chosen), training.schema)

    def __repr__(self) -> str:
        return (
            f"{self.title}: {self.table.n_rows} rows × {self.table.n_columns} columns\n"
            f"  from     {self.url}\n  licence  {self.licence}\n  cite     {self.citation}"
        )


def load_dataset(name: str) -> Dataset:
    """Return one of the paper's data sets, preprocessed as in the paper.

    Its files are downloaded from their official address once, checked by SHA-256, and kept in a folder of the user's;
    that needs the extra ``data``. If the environment variable ``TENSORPMF_DATA`` names a folder, they are read from
    ``<folder>/<name>/`` instead, and nothing is downloaded.

    Parameters
    ----------
    name
        ``"credit"``, ``"occupancy"``, ``"votes"``, ``"iris"``, ``"website_phishing"``, ``"movielens_100k"``,
        ``"movielens_1m"`` or ``"movielens_10m"``.
    """
    if not isinstance(cast("object", name), str) or name not in SOURCES:
        raise UnknownDatasetError(name, tuple(SOURCES))
    source = SOURCES[name]
    files = fetch(source)
    raw = TABLES[name](files) if name in TABLES else RATINGS[name](files).most_rated()
    return Dataset(name, source.title, source.url, source.licence, source.citation, raw)
