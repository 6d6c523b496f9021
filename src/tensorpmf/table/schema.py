"""What the columns of a table are: their names, their levels in order, and how numbers are cut into bins."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorpmf.errors import (
    DuplicateColumnError,
    InputError,
    SettingError,
    UnhashableLevelError,
    UnknownColumnError,
    UnknownLevelError,
    counted,
)
from tensorpmf.table.factor import as_float, is_hashable, is_null, is_number
from tensorpmf.table.summary import described
from tensorpmf.typing import Floats, Ints

if TYPE_CHECKING:
    from tensorpmf.table.table import CategoricalTable


@dataclass(frozen=True)
class Column:
    """One categorical variable.

    Parameters
    ----------
    name
        How the column is called.
    levels
        Labels of any hashable kind, in declared order; unobserved ones are kept.
    ordered
        Whether the order of the levels means something.
    edges
        For a numeric column that was cut into bins, the inner cut points: bin ``k`` holds
        ``edges[k-1] <= x < edges[k]``, so numbers beyond those seen in training go to the first or the last bin.
    centres
        For a numeric column that was cut into bins, one representative number for each bin: the mean of the training
        values in it.

    Examples
    --------
    >>> age = Column("age", ("< 20", "[20, 40)", ">= 40"), ordered=True, edges=(20, 40), centres=(12, 31, 55))
    >>> age.code("[20, 40)"), age.code(20), age.code(99)
    (1, 1, 2)
    """

    name: str
    levels: tuple[Hashable, ...]
    ordered: bool = False
    edges: tuple[float, ...] | None = None
    centres: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        _check_levels(self.name, self.levels)

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return len(self.levels)

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        return {label: code for code, label in enumerate(self.levels)}

    def code(self, label: Any) -> int:
        """Return the code of a label, or of a number when the column was cut into bins."""
        try:
            return self._code_of[label]
        except (KeyError, TypeError):
            if self.edges is not None and is_number(label) and isfinite(as_float(label)):
                return bisect_right(self.edges, float(label))
            raise UnknownLevelError(self.name, label, self.levels) from None

    def parse(self, text: str) -> Hashable:
        """Return the label that a text, from a file or a command line, stands for.

        Parameters
        ----------
        text
            The label as it is written: ``"4"`` and ``"4.0"`` both stand for the level 4, ``"true"`` for True.
        """
        if text in self._code_of:
            return text
        if text in self._label_of:
            return self._label_of[text]
        try:
            return self.levels[self.code(float(text))]
        except ValueError:  # no number, or no such level: an UnknownLevelError is one too
            raise UnknownLevelError(self.name, text, self.levels) from None

    @cached_property
    def _label_of(self) -> dict[str, Hashable]:
        """Each label by how it is written; truth values also without a capital or in capitals."""
        spelt: dict[str, Hashable] = {}
        for label in self.levels:
            text = str(label)
            spellings = (text, text.lower(), text.upper()) if isinstance(label, bool) else (text,)
            for spelling in spellings:
                spelt.setdefault(spelling, label)
        return spelt

    @property
    def values(self) -> Floats:
        """The number each level stands for; an error if the levels are not numbers."""
        numbers = self.levels if self.centres is None else self.centres
        try:
            return np.array([float(number) for number in numbers])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InputError(
                f"column {self.name!r} has levels that are not numbers, so it has no expectation.",
                hint="pass values=[...] with one number per level.",
            ) from None


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table, in order.

    Examples
    --------
    >>> schema = Schema((Column("size", ("S", "M", "L"), ordered=True), Column("sold", (False, True))))
    >>> schema
    Schema: 2 columns
      size  3 levels  'S' < 'M' < 'L'
      sold  2 levels  False, True
    >>> schema.names, schema.n_levels
    (('size', 'sold'), (3, 2))
    >>> schema.encode([{"size": "M"}, {"size": "L", "sold": True}]).codes
    array([[ 1, -1],
           [ 2,  1]], dtype=int8)
    """

    columns: tuple[Column, ...]
    _position: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "_position", {column.name: ix for ix, column in enumerate(self.columns)})
        check_names(self.names)

    def __repr__(self) -> str:
        return "\n".join([f"Schema: {counted(len(self.columns), 'column')}", *described(self.columns)])

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.ix(name)]

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    @cached_property
    def n_levels(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(column.n_levels for column in self.columns)

    @cached_property
    def offsets(self) -> Ints:
        """(n_columns + 1,) where each column's levels begin when all columns' levels are stacked."""
        return np.concatenate([[0], np.cumsum(self.n_levels)]).astype(np.int64)

    def ix(self, name: str) -> int:
        """Return the position of a column."""
        try:
            return self._position[name]
        except (KeyError, TypeError):
            raise UnknownColumnError(name, self.names) from None

    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of some columns, in the order given."""
        return Schema(tuple(self[name] for name in names))

    def encode(self, source: object, **options: Any) -> CategoricalTable:
        """Return new rows as a table with this schema.

        Parameters
        ----------
        source
            Anything :func:`read_table` takes. Columns of the schema that are not there are missing.
        **options
            As for :func:`read_table`; ``unknown="missing"`` treats labels that the schema does not have as missing.
        """
        from tensorpmf.table.read import read_table

        return read_table(source, schema=self, **options)

    @classmethod
    def from_n_levels(cls, n_levels: Sequence[int], names: Sequence[str] | None = None) -> Schema:
        """Return a schema whose labels are the codes themselves."""
        names = default_names(len(n_levels)) if names is None else names
        return cls(tuple(Column(name, tuple(range(n))) for name, n in zip(names, n_levels, strict=True)))


def _check_levels(name: str, levels: Sequence[Hashable]) -> None:
    if not levels:
        raise InputError(f"column {name!r} has no levels.")
    if not all(map(is_hashable, levels)):
        raise UnhashableLevelError(name, next(label for label in levels if not is_hashable(label)))
    if len(set(levels)) < len(levels):
        twice = next(label for label, n in Counter(levels).items() if n > 1)
        raise InputError(f"column {name!r} has the level {twice!r} more than once.")
    if any(map(is_null, levels)):
        raise InputError(
            f"column {name!r} has the level {next(filter(is_null, levels))!r}, but that is what is missing."
        )


def require_schema(owner: str, schema: object) -> Schema:
    """Return a schema, or an error if it is none.

    Parameters
    ----------
    owner
        What needs one.
    schema
        What the caller gave.
    """
    if not isinstance(schema, Schema):
        raise SettingError(owner, "schema", "a Schema", schema)
    return schema


def default_names(n_columns: int) -> list[str]:
    """Return ``x1``, ``x2``, …: what columns are called that have no names of their own."""
    return [f"x{ix + 1}" for ix in range(n_columns)]


def check_names(names: Sequence[str]) -> None:
    """Raise an error if two columns have the same name."""
    if len(set(names)) < len(names):
        raise DuplicateColumnError(next(name for name, n in Counter(names).items() if n > 1))
