"""What joint PMFs of ratings say of some users: the mean of what each says, tilted towards what each user is like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tensorpmf.fit.tilt import Cells, Tilt, tilted
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.cells import CompressedCells
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Voice:
    """What one model says of some users.

    Parameters
    ----------
    pmf
        The model.
    rows
        What is known of the users.
    """

    pmf: PMF
    rows: CategoricalTable

    @cached_property
    def resp(self) -> Floats | None:
        """(n_users, R) what all items a user has not rated share, if the model is a mixture."""
        return self.pmf.responsibilities(self.rows) if isinstance(self.pmf, LowRankPMF) else None

    def ratings(self, item_ix: int, user_ix: Ints) -> Floats:
        """Return (n, n_ratings) the probability of each rating of an item by some users, their own not looked at."""
        name = self.pmf.schema.names[item_ix]
        if not isinstance(self.pmf, LowRankPMF) or self.resp is None:
            return self.pmf.conditional(name, self.rows.take(user_ix))
        prob = self.resp[user_ix] @ self.pmf.factors[item_ix].T
        seen = self.rows.cells.column(item_ix)[user_ix] >= 0
        if seen.any():
            prob[seen] = self.pmf.conditional(name, self.rows.take(user_ix[seen]))
        return prob

    def means(self, ratings: Floats) -> Floats:
        """Return (n_users, n_items) the mean rating of each item by each user."""
        if not isinstance(self.pmf, LowRankPMF) or self.resp is None:
            return np.stack([self.pmf.conditional(name, self.rows) @ ratings for name in self.pmf.schema.names], axis=1)
        return self.resp @ np.stack([ratings @ factor for factor in self.pmf.factors], axis=1)


@dataclass(frozen=True, eq=False)
class Answers:
    """What all models together say of some users.

    Parameters
    ----------
    voices
        What each model says of them.
    rows
        What is known of the users.
    tilt
        What the models miss of a user; None to leave that out.
    """

    voices: tuple[Voice, ...]
    rows: CategoricalTable
    tilt: Tilt | None = None

    def ratings(self, item_ix: int, user_ix: Ints) -> Floats:
        """Return (n, n_ratings) the probability of each rating of an item by some users, their own not looked at."""
        prob = self._untilted(item_ix, user_ix)
        if self.tilt is None:
            return prob
        leanings = self._leanings[user_ix]
        seen = self.rows.cells.column(item_ix)[user_ix] >= 0
        if seen.any():
            leanings[seen] = self._of(without(self.rows.take(user_ix[seen]), item_ix))._leanings
        theta = self.tilt.theta(leanings, np.arange(len(user_ix)), np.full(len(user_ix), item_ix))
        return tilted(prob, theta, self.tilt.scale)

    def means(self, ratings: Floats) -> Floats:
        """Return (n_users, n_items) the mean rating of each item by each user; of a rated item it means nothing.

        Parameters
        ----------
        ratings
            (n_ratings,) what the ratings are.
        """
        if self.tilt is None:
            return np.asarray(np.mean([voice.means(ratings) for voice in self.voices], axis=0))
        everybody, n_items = np.arange(self.rows.n_rows), self.rows.n_columns
        theta = self._leanings @ self.tilt.loadings.T + self.tilt.offsets
        base = (self._untilted(item_ix, everybody) for item_ix in range(n_items))
        each = [tilted(prob, theta[:, ix], self.tilt.scale) @ ratings for ix, prob in enumerate(base)]
        return np.stack(each, axis=1)

    def known(self) -> Cells:
        """Return the known ratings, and what the models say of each from the user's others."""
        cells = self.rows.cells.compressed()
        base = np.empty((len(cells.values), max(self.rows.n_levels)))
        by_item = np.argsort(cells.columns, kind="stable")
        for item_ix, places in enumerate(np.split(by_item, np.cumsum(cells.n_observed)[:-1])):
            base[places] = self._untilted(item_ix, cells.rows[places])
        shape = (self.rows.n_rows, self.rows.n_columns)
        return Cells(cells.rows, cells.columns.astype(np.int64), base, cells.values.astype(np.int64), shape)

    def _untilted(self, item_ix: int, user_ix: Ints) -> Floats:
        return np.asarray(np.mean([voice.ratings(item_ix, user_ix) for voice in self.voices], axis=0))

    @cached_property
    def _leanings(self) -> Floats:
        """(n_users, 1 + rank) the users' part of the tilt."""
        assert self.tilt is not None, "there is a tilt"
        return self.tilt.of_rows(self.known())

    def _of(self, rows: CategoricalTable) -> Answers:
        """Return what the same models say of others."""
        return replace(self, rows=rows, voices=tuple(Voice(voice.pmf, rows) for voice in self.voices))


def without(rows: CategoricalTable, column_ix: int) -> CategoricalTable:
    """Return rows in which one column is missing."""
    cells = rows.cells.compressed()
    kept = cells.columns != column_ix
    triples = cells.rows[kept], cells.columns[kept], cells.values[kept]
    return replace(rows, cells=CompressedCells.of_triples(*triples, (rows.n_rows, rows.n_columns)))
