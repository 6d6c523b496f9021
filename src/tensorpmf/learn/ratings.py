"""Ratings as users have them, one a line or as a sparse matrix, and as rows of the joint PMF of all items."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

from tensorpmf.errors import InputError, NotNumericError, UnknownLevelError, counted
from tensorpmf.learn.base import is_frame
from tensorpmf.table.factor import is_null
from tensorpmf.table.schema import Column, Schema
from tensorpmf.table.source import factor_of
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Triples:
    """Who rated what, and how.

    Parameters
    ----------
    users
        (n_ratings,) labels.
    items
        (n_ratings,) labels.
    ratings
        (n_ratings,) numbers, or nothing where it is the ratings that are asked for.
    """

    users: Sequence[Hashable]
    items: Sequence[Hashable]
    ratings: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any, y: ArrayLike | None = None, *, rated: bool = True) -> Triples:
        """Return triples from lines or from a sparse matrix.

        Parameters
        ----------
        X
            Lines of user and item, and of the rating unless that is given apart; or a sparse matrix.
        y
            (n_ratings,) the ratings, if given apart.
        rated
            Whether there must be ratings.
        """
        if hasattr(X, "tocoo"):
            entries = X.tocoo()
            return cls(entries.row.tolist(), entries.col.tolist(), np.asarray(entries.data, dtype=np.float64))
        columns: list[Any] = columns_of(X) or [[] for _ in range(3 if rated and y is None else 2)]
        if rated and y is None and len(columns) == 3:
            y = columns.pop()
        if not rated and len(columns) != 2:
            raise InputError(f"expected lines of user and item, got {counted(len(columns), 'column')}.")
        if len(columns) != 2 or (rated and y is None):
            raise InputError(
                f"expected lines of user and item, and their ratings, got {len(columns)} columns"
                f" and {'no' if y is None else 'a'} y.",
                hint="fit([(user, item), …], ratings), or fit([(user, item, rating), …]), or fit(sparse_matrix).",
            )
        users, items = columns
        return cls(users, items, numbers_of(y)).given() if rated else cls(users, items, np.empty(0))

    def given(self) -> Triples:
        """Return those that have a rating, all of which need a user and an item; None, NaN and null are none."""
        given = ~np.isnan(self.ratings)
        if not len(given) == len(self.users) == len(self.items):  # of lists that do not fit together others complain
            return self
        for what, labels in (("user", self.users), ("item", self.items)):
            lost = nulls_among(labels) & given
            if lost.any():
                raise InputError(f"line {int(np.argmax(lost))} holds a rating, but no {what}.")
        if given.all():
            return self
        return Triples(list(compress(self.users, given)), list(compress(self.items, given)), self.ratings[given])


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of users: a row each, and a last row of which nothing is known.

    Parameters
    ----------
    users
        The row of each user.
    items
        The column of each item.
    table
        The rows.
    """

    users: dict[Hashable, int]
    items: dict[Hashable, int]
    table: CategoricalTable

    @classmethod
    def of(cls, rated: Triples, schema: Schema, labels: NDArray[Any]) -> Evidence:
        """Return ratings as rows of a joint PMF; those of items that it does not know are left out.

        Parameters
        ----------
        rated
            The ratings.
        schema
            The columns of the joint PMF.
        labels
            (n_items,) the items that its columns stand for.
        """
        check_scale(rated.ratings, schema.columns[0])
        users = {user: ix for ix, user in enumerate(dict.fromkeys(rated.users))}
        items = {item: ix for ix, item in enumerate(labels.tolist())}
        user_ix, item_ix = positions(rated.users, users), positions(rated.items, items)
        kept = item_ix >= 0
        cells = (rated.ratings[kept], (user_ix[kept], item_ix[kept]))
        return cls(users, items, schema.encode(coo_array(cells, shape=(len(users) + 1, len(items)))))

    def holds(self, user_ix: Ints, item_ix: Ints) -> NDArray[np.bool_]:
        """Return (n,) whether the users have rated the items."""
        cells, n_items = self.table.cells.compressed(), self.table.n_columns
        return np.isin(user_ix * n_items + item_ix, cells.rows * n_items + cells.columns)


def nulls_among(labels: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Return (n,) which labels are none; of those that cannot be hashed others complain.

    Parameters
    ----------
    labels
        The labels.
    """
    try:
        some = any(map(is_null, set(labels)))
    except TypeError:
        some = False
    return np.array([is_null(label) for label in labels]) if some else np.zeros(len(labels), dtype=bool)


def numbers_of(ratings: Any) -> Floats:
    """Return ratings as numbers, texts such as ``"4.5"`` too; NaN where there is none.

    Parameters
    ----------
    ratings
        (n_ratings,) ratings.
    """
    factor = factor_of("rating", ratings)
    numbers = np.empty(len(factor.labels))
    for ix, label in enumerate(factor.labels.tolist()):
        try:
            numbers[ix] = float(label)
        except (TypeError, ValueError):
            raise NotNumericError("rating", label, "cannot be predicted") from None
    return factor.spread(numbers, np.nan)


def check_scale(ratings: Floats, column: Column) -> None:
    """Raise an error if some rating is none of those that a column has; into bins any number goes.

    Parameters
    ----------
    ratings
        (n_ratings,) numbers.
    column
        The ratings of an item.
    """
    strange = np.setdiff1d(ratings, column.values)
    if strange.size and column.edges is None:
        raise UnknownLevelError("rating", float(strange[0]), column.values.tolist())


def columns_of(lines: Any) -> list[Any]:
    """Return lists of labels, one for each column of a data frame, an array, or a list of lines.

    Parameters
    ----------
    lines
        The lines.
    """
    if is_frame(lines):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(lines, eager_only=True)
        return [frame[:, ix].to_list() for ix in range(frame.shape[1])]
    if getattr(lines, "ndim", 1) == 2:
        return [column.tolist() for column in lines.T]
    rows = list(lines)
    for number, line in enumerate(rows):
        if isinstance(line, str | bytes) or not hasattr(line, "__len__") or len(line) != len(rows[0]):
            raise InputError(
                f"line {number} is {line!r}, but all lines must be pairs of user and item, or all have a rating too.",
                hint="also a single pair comes in a list: [(user, item)].",
            )
    return [list(column) for column in zip(*rows, strict=True)]


def positions(labels: Sequence[Hashable], known: dict[Hashable, int]) -> Ints:
    """Return (n,) where labels stand among known ones, ``-1`` for those that are not known.

    Parameters
    ----------
    labels
        The labels.
    known
        The position of each known label.
    """
    return np.array([known.get(label, -1) for label in labels], dtype=np.int64)
