"""From the raw values of a column to what the column is: its levels, their order, its bins."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from typing import Any, Literal

import numpy as np

from tensorpmf.errors import (
    HINT_ON_COMMAS,
    ContinuousColumnError,
    InputError,
    TooManyLevelsError,
    UnknownColumnError,
    UnobservedColumnError,
    has_comma,
)
from tensorpmf.table.bins import Bins, binned_column, n_bins
from tensorpmf.table.encode import finite_numbers
from tensorpmf.table.factor import Factor, as_float, is_number, plain
from tensorpmf.table.schema import Column
from tensorpmf.typing import Floats

FEW = 20
"""So many distinct values are never too many to be levels."""

BINS = 10
"""Into how many bins numbers are cut when nobody says how."""


@dataclass(frozen=True)
class Learner:
    """What the caller declares about columns; the rest is learnt from their values.

    Parameters
    ----------
    levels
        Levels of some columns.
    ordered
        Columns whose levels are in an order that means something.
    bins
        How to cut some columns, or all numeric columns that have more distinct values than there would be bins;
        ``"auto"`` cuts those with too many values to be levels.
    """

    levels: Mapping[str, Sequence[Hashable]] = field(default_factory=dict[str, Sequence[Hashable]])
    ordered: frozenset[str] = frozenset()
    bins: Bins | Mapping[str, Bins] | Literal["auto"] | None = None

    def check_idle(self) -> None:
        """Raise an error if the caller declares something where nothing is learnt."""
        if self.levels or self.ordered or self.bins is not None:
            raise InputError("the columns are known already, so levels, ordered and bins cannot be chosen.")

    def check_names(self, names: Sequence[str]) -> None:
        """Raise an error if the caller declares something about a column that is not there."""
        cut = self.bins if isinstance(self.bins, Mapping) else ()
        for name in (*self.levels, *self.ordered, *cut):
            if name not in names:
                raise UnknownColumnError(name, names)
        for name in cut:
            if name in self.levels:
                raise InputError(f"column {name!r} is to be cut into bins, so it cannot be given levels too.")

    def column(self, name: str, factor: Factor, weights: Floats | None = None, n_rows: int | None = None) -> Column:
        """Return the column that raw values tell about.

        Parameters
        ----------
        name
            The column's name.
        factor
            Its values; texts stand for themselves.
        weights
            (n_rows,) how much each row counts.
        n_rows
            How many rows the factor stands for, if each of its own stands for all that hold its label.
        """
        if not factor.n_observed:
            raise UnobservedColumnError(name)
        bins = self._bins(name, factor)
        if bins is not None:
            return binned_column(name, finite_numbers(name, factor), factor.mass(weights), bins)
        if name in self.levels:
            return Column(name, tuple(map(plain, self.levels[name])), name in self.ordered)
        labels = factor.labels.tolist()
        if factor.declared:
            _check_levels(name, factor, n_rows or factor.n_rows)
            return Column(name, tuple(labels), name in self.ordered or factor.ordered)
        if factor.numbers is not None:
            _check_whole(name, factor)
        _check_levels(name, factor, max(n_rows or factor.n_observed, int(factor.mass(weights).sum())) // 2)
        return Column(name, in_order(labels), name in self.ordered or _has_order(labels))

    def _bins(self, name: str, factor: Factor) -> Bins | None:
        if isinstance(self.bins, Mapping):
            return self.bins.get(name)
        if self.bins is None or name in self.levels or factor.declared or factor.numbers is None:
            return None
        if isinstance(self.bins, str) and self.bins == "auto":
            return BINS if len(factor.labels) > FEW else None
        return self.bins if len(factor.labels) > n_bins(self.bins) else None


def in_order(labels: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return labels in their natural order, or, where there is none, in one that does not depend on the rows.

    Parameters
    ----------
    labels
        Distinct labels.

    Examples
    --------
    >>> in_order([2, 10, 1.5]), in_order(["b", "a"]), in_order(["b", 10, 2])
    ((1.5, 2, 10), ('a', 'b'), (2, 10, 'b'))
    """
    if _has_order(labels) or all(isinstance(label, str | bool | np.bool_) for label in labels):
        try:
            return tuple(sorted(labels))  # type: ignore[type-var]
        except TypeError:  # dates with and without time, with and without zone
            pass
    return tuple(sorted(labels, key=_rank))


def _rank(label: Any) -> tuple[str, float, str]:
    """Numbers come first and by size, then everything else by type and spelling."""
    return ("", as_float(label), "") if is_number(label) else (type(label).__name__, 0.0, str(label))


def _has_order(labels: Sequence[Hashable]) -> bool:
    return all(map(is_number, labels)) or all(isinstance(label, date | time | timedelta) for label in labels)


def _check_whole(name: str, factor: Factor) -> None:
    numbers = finite_numbers(name, factor)
    if len(numbers) > FEW and (numbers != np.floor(numbers)).any():
        raise ContinuousColumnError(name, len(numbers), FEW)


def _check_levels(name: str, factor: Factor, most: int) -> None:
    n_levels = len(factor.labels)
    if n_levels > max(FEW, most):
        cut = f", cut it with bins={{{name!r}: 10}}" if factor.numbers is not None else ""
        hint = f"leave it out with drop=[{name!r}]{cut}, or insist with levels={{{name!r}: [...]}}."
        hint = HINT_ON_COMMAS if all(map(has_comma, factor.labels.tolist())) else hint
        raise TooManyLevelsError(name, n_levels, factor.n_observed, hint=hint)
