"""One column of raw values as its distinct labels and where each of them occurs.

Everything that is learnt about a column, its levels, its bins, whether its values are sensible, is learnt from the
distinct labels, which are few; only :class:`Factor` ever looks at all values.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import MissingExtraError, UnhashableLevelError
from tensorpmf.typing import Floats


@dataclass(frozen=True, eq=False)
class Factor:
    """Distinct labels and, for each row, which of them it holds.

    Parameters
    ----------
    labels
        (n_labels,) distinct labels, none of them null: an array of numbers or truth values, or of Python objects.
    positions
        (n_rows,) position of each row's label, ``-1`` where the row holds none.
    declared
        Whether the source declared the labels as levels: their order counts, and unobserved ones too.
    ordered
        Whether the source declared the order of the labels to mean something.
    is_text
        Whether the labels are texts that may stand for something else, as in a CSV file.
    """

    labels: NDArray[Any]
    positions: NDArray[np.signedinteger[Any]]
    declared: bool = False
    ordered: bool = False
    is_text: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.positions)

    @property
    def n_observed(self) -> int:
        """How many rows hold a label."""
        return int(np.count_nonzero(self.positions >= 0))

    @property
    def numbers(self) -> Floats | None:
        """(n_labels,) the labels as real numbers, or None if they are not all numbers."""
        if self.labels.dtype.kind in "iuf":
            return self.labels.astype(np.float64)
        if self.labels.dtype.kind == "O" and len(self.labels) and all(map(is_number, self.labels)):
            return np.array(list(map(as_float, self.labels)))
        return None

    def mass(self, weights: Floats | None = None) -> Floats:
        """(n_labels,) how much the rows that hold each label count."""
        mass = np.bincount(self.positions.astype(np.int64) + 1, weights, minlength=len(self.labels) + 1)
        return mass[1:].astype(np.float64)

    def spread(self, values: NDArray[Any], missing: object) -> NDArray[Any]:
        """(n_rows,) the value that belongs to each row's label, and ``missing`` where the row holds none.

        Parameters
        ----------
        values
            (n_labels,) one value a label.
        missing
            The value of rows that hold no label.
        """
        table = np.empty(len(values) + 1, dtype=values.dtype)
        table[:-1], table[-1] = values, missing
        spread: NDArray[Any] = table[self.positions]  # the position -1 is the last one
        return spread

    def relabelled(self, labels: NDArray[Any], **changes: Any) -> Factor:
        """Return the factor with other labels in place of its own; equal ones become one, nulls become missing."""
        labels, positions = _merged(labels, self.positions)
        return replace(self, labels=labels, positions=positions, **changes)

    @classmethod
    def of(
        cls, labels: NDArray[Any], positions: NDArray[Any], *, declared: bool = False, ordered: bool = False
    ) -> Factor:
        """Return the factor of labels that may repeat, or be null, and where they occur."""
        return cls(*_merged(labels, positions), declared=declared, ordered=ordered)

    def without(self, markers: Iterable[Hashable]) -> Factor:
        """Return the factor with some labels turned into missing."""
        gone = set(markers)
        if not gone or not any(label in gone for label in self.labels.tolist()):
            return self
        kept = objects([None if label in gone else label for label in self.labels.tolist()])
        return self.relabelled(kept).simplified()

    def observed(self) -> Factor:
        """Return the factor of those labels that occur."""
        occurs = self.mass() > 0
        rank = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1).astype(np.int32)
        return self if occurs.all() else replace(self, labels=self.labels[occurs], positions=rank[self.positions])

    def simplified(self) -> Factor:
        """Return the factor with its labels held as an array of numbers, when that is what they are."""
        if self.declared or self.labels.dtype.kind != "O":
            return self
        kinds: set[type[Any]] = {type(label) for label in self.labels}
        wanted = "iu" if kinds == {int} else "f" if kinds == {float} else "b" if kinds == {bool} else ""
        array = np.array(self.labels.tolist()) if wanted else self.labels
        return replace(self, labels=array) if array.dtype.kind in wanted else self  # not integers beyond 64 bits

    @classmethod
    def of_objects(cls, name: str, values: Sequence[Any]) -> Factor:
        """Return the factor of a column of Python objects.

        Parameters
        ----------
        name
            The column's name, for errors.
        values
            (n_rows,) hashable objects; None, NaN, pandas' NA and NaT are missing.
        """
        try:
            position_of = {label: ix for ix, label in enumerate(dict.fromkeys(values))}
        except TypeError:
            raise UnhashableLevelError(name, next(value for value in values if not is_hashable(value))) from None
        positions = np.fromiter(map(position_of.__getitem__, values), np.int32, len(values))
        labels = objects([plain(label) for label in position_of])
        return cls.of(labels, positions).simplified()


def objects(items: Sequence[Any]) -> NDArray[Any]:
    """Return a one-dimensional array of Python objects, whatever they are."""
    return np.fromiter(items, dtype=object, count=len(items))


def is_null(label: object) -> bool:
    """Whether a value stands for nothing: None, NaN, pandas' NA, NaT."""
    if isinstance(label, str):
        return False
    if label is None or type(label).__name__ in {"NAType", "NaTType"}:
        return True
    return bool(label != label)  # NaN of any kind: float, NumPy, Decimal


def is_hashable(label: object) -> bool:
    """Whether a value can be a label."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def is_number(label: object) -> bool:
    """Whether a label is a number; truth values are none."""
    return isinstance(label, Real | Decimal) and not isinstance(label, bool | np.bool_)


def as_float(number: Any) -> float:
    """Return a number as a float; infinity when it is larger than any."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def bounds_of(label: Any) -> tuple[Any, Any, str] | None:
    """Return the bounds of an interval of pandas, and which of them belong to it; None for anything else."""
    return (plain(label.left), plain(label.right), label.closed) if type(label).__name__ == "Interval" else None


def interval(low: Any, high: Any, closed: Any) -> Any:
    """Return the interval of pandas that has these bounds."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas") from None
    return pd.Interval(*pd.Series([low, high]), closed)  # a series makes times of pandas' own of others


def _merged(labels: NDArray[Any], positions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and positions with equal labels made one and null labels made missing."""
    if labels.dtype.kind in "iuf":
        kept, moved = np.unique(labels, return_inverse=True)
        n_kept = int(np.count_nonzero(kept == kept))  # NaN sorts last
        kept, moved = kept[:n_kept], np.where(moved < n_kept, moved, -1)
    else:
        position_of: dict[Hashable, int] = {}
        moved = np.array(
            [-1 if is_null(label) else position_of.setdefault(label, len(position_of)) for label in labels],
            dtype=np.int64,
        )
        kept = objects(list(position_of))
    if np.array_equal(moved, np.arange(len(labels))):
        return kept, positions
    return kept, np.append(moved, -1).astype(np.int32)[positions]


def plain(label: Any) -> Any:
    """Return the Python object for a scalar of NumPy or a time of pandas, anything else as it is."""
    if issubclass(type(label), np.generic) and label.dtype.kind in "biufUS":
        return label.item()
    kind = type(label).__name__
    if kind == "Timestamp" and not label.nanosecond:
        return label.to_pydatetime()
    if kind == "Timedelta" and not label.nanoseconds:
        return label.to_pytimedelta()
    return label
