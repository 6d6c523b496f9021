"""What the columns of a table are: their names, their levels in order, and how numbers are cut into bins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tensorpmf.errors import InputError, UnknownColumnError, UnknownLevelError
from tensorpmf.typing import Floats, Ints


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
        For a numeric column that was cut into bins, the inner cut points: bin ``k`` holds ``edges[k-1] <= x < edges[k]``.
    centres
        For a numeric column that was cut into bins, one representative number for each bin (the mean of the training values in it).
    """

    name: str
    levels: tuple[Hashable, ...]
    ordered: bool = False
    edges: tuple[float, ...] | None = None
    centres: tuple[float, ...] | None = None

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return len(self.levels)

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        return {label: code for code, label in enumerate(self.levels)}

    def code(self, label: Hashable) -> int:
        """Return the code of a label."""
        try:
            return self._code_of[label]
        except (KeyError, TypeError):
            raise UnknownLevelError(self.name, label, self.levels) from None

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


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...]
    _position: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_position", {column.name: ix for ix, column in enumerate(self.columns)})

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

    @property
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

    @classmethod
    def from_n_levels(cls, n_levels: Sequence[int], names: Sequence[str] | None = None) -> Schema:
        """Return a schema whose labels are the codes themselves."""
        names = [f"x{ix + 1}" for ix in range(len(n_levels))] if names is None else names
        return cls(tuple(Column(name, tuple(range(n))) for name, n in zip(names, n_levels, strict=True)))
