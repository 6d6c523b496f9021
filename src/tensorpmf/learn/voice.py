"""What a joint PMF of ratings says of some users, tilted towards what each of them is like if that was learnt."""

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
    tilt
        What the model misses of a user; None to leave that out.
    """

    pmf: PMF
    rows: CategoricalTable
    tilt: Tilt | None = None

    def ratings(self, item_ix: int, user_ix: Ints) -> Floats:
        """Return (n, n_ratings) the probability of each rating of an item by some users who have not rated it."""
        prob = self.untilted(item_ix, user_ix)
        if self.tilt is None:
            return prob
        theta = self.tilt.theta(self._leanings[user_ix], np.arange(len(user_ix)), np.full(len(user_ix), item_ix))
        return tilted(prob, theta, self.tilt.scale)

    def means(self, ratings: Floats) -> Floats:
        """Return (n_users, n_items) the mean rating of each item by each user; of rated items it means nothing.

        Parameters
        ----------
        ratings
            (n_ratings,) what the ratings are.
        """
        if self.tilt is None and isinstance(self.pmf, LowRankPMF):
            return self._resp @ np.stack([ratings @ factor for factor in self.pmf.factors], axis=1)
        everybody = np.arange(self.rows.n_rows)
        each = [self.untilted(item_ix, everybody) for item_ix in range(self.rows.n_columns)]
        if self.tilt is not None:
            theta = self._leanings @ self.tilt.loadings.T + self.tilt.offsets
            each = [tilted(prob, theta[:, ix], self.tilt.scale) for ix, prob in enumerate(each)]
        return np.stack([prob @ ratings for prob in each], axis=1)

    def known(self) -> Cells:
        """Return the known ratings, and what the model says of each from the user's others."""
        cells = self.rows.cells.compressed()
        base = np.empty((len(cells.values), max(self.rows.n_levels)))
        by_item = np.argsort(cells.columns, kind="stable")
        for item_ix, places in enumerate(np.split(by_item, np.cumsum(cells.n_observed)[:-1])):
            base[places] = self._others_say(item_ix, cells.rows[places])
        shape = (self.rows.n_rows, self.rows.n_columns)
        return Cells(cells.rows, cells.columns.astype(np.int64), base, cells.values.astype(np.int64), shape)

    def untilted(self, item_ix: int, user_ix: Ints) -> Floats:
        """Return (n, n_ratings) the same without the tilt."""
        if isinstance(self.pmf, LowRankPMF):
            return self._resp[user_ix] @ self.pmf.factors[item_ix].T
        return self._others_say(item_ix, user_ix)

    def _others_say(self, item_ix: int, user_ix: Ints) -> Floats:
        """(n, n_ratings) the same from the ratings of other items, also where the item is rated."""
        name = self.pmf.schema.names[item_ix]
        return self.pmf.conditional(name, self.rows.take(user_ix), impossible="missing")

    @cached_property
    def _resp(self) -> Floats:
        """(n_users, R) what all items that a user has not rated share."""
        assert isinstance(self.pmf, LowRankPMF), "only a mixture has components"
        return self.pmf.responsibilities(self.rows, impossible="missing")

    @cached_property
    def _leanings(self) -> Floats:
        """(n_users, 1 + rank) the users' part of the tilt."""
        assert self.tilt is not None, "there is a tilt"
        return self.tilt.of_rows(self.known())


def without(rows: CategoricalTable, column_ix: Ints) -> CategoricalTable:
    """Return rows in each of which one column is missing.

    Parameters
    ----------
    rows
        The rows.
    column_ix
        (n_rows,) which column; ``-1`` for none.
    """
    cells = rows.cells.compressed()
    kept = cells.columns != column_ix[cells.rows]
    triples = cells.rows[kept], cells.columns[kept], cells.values[kept]
    return replace(rows, cells=CompressedCells.of_triples(*triples, (rows.n_rows, rows.n_columns)))
