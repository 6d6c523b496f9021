"""What is known about a row: a level, or a set of levels, of some columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from tensorpmf.table.factor import is_hashable
from tensorpmf.table.schema import Column, Schema
from tensorpmf.typing import Codes, Floats

Known: TypeAlias = Hashable | Iterable[Hashable]
"""What can be known of one column: a level, or a set (or list, or array) of levels."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one column.

    Parameters
    ----------
    column
        The column.
    codes
        The codes of the levels it may have.
    is_set
        Whether it was given as a set of levels; such a column remains, restricted to the set.
    """

    column: Column
    codes: tuple[int, ...]
    is_set: bool

    @classmethod
    def of(cls, column: Column, known: Known) -> Evidence:
        """Return what a level, or a set of levels, says about a column."""
        is_set = _is_collection(known) or (isinstance(known, frozenset) and known not in column.levels)
        levels = cast("Iterable[Hashable]", known if is_set else [known])
        return cls(column, tuple(sorted({column.code(level) for level in levels})), is_set)

    @property
    def likelihood(self) -> Floats:
        """(I,) one for the levels the column may have, zero for the others."""
        likelihood = np.zeros(self.column.n_levels)
        likelihood[list(self.codes)] = 1.0
        return likelihood

    def __str__(self) -> str:
        levels = [repr(self.column.levels[code]) for code in self.codes]
        return f"{self.column.name} in {{{', '.join(levels)}}}" if self.is_set else f"{self.column.name}={levels[0]}"


def _is_collection(known: Any) -> bool:
    """Whether it is a set, a list, an array or the like, none of which can be a level."""
    is_one = getattr(known, "ndim", 1) == 0
    return hasattr(known, "__iter__") and not (is_one or is_hashable(known) or isinstance(known, Mapping))


def read_evidence(schema: Schema, known: Mapping[str, Known]) -> dict[int, Evidence]:
    """Return what is known, by the position of the column.

    Parameters
    ----------
    schema
        The columns.
    known
        A level, or a set of levels, by column name.
    """
    return {schema.ix(name): Evidence.of(schema[name], value) for name, value in known.items()}


def describe_row(schema: Schema, codes: Codes, most: int = 6) -> str:
    """Return ``a='x', b='y'``: what a row of codes says, its missing cells left out.

    Parameters
    ----------
    schema
        The columns.
    codes
        (n_columns,) codes, ``-1`` is missing.
    most
        How many columns to tell at most.
    """
    told = [
        f"{column.name}={column.levels[code]!r}"
        for column, code in zip(schema.columns, codes, strict=True)
        if code >= 0
    ]
    return ", ".join(told[:most] + ["…"] * (len(told) > most))
