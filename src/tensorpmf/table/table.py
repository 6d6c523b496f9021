"""A categorical table with holes: rows of level codes, a schema that knows the labels, optional row weights."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorpmf._check import whole_number
from tensorpmf.errors import (
    CodeRangeError,
    InputError,
    NoColumnsError,
    NoRowsError,
    SettingError,
    TooManyLevelsError,
    UnobservedColumnError,
    WeightError,
)
from tensorpmf.table import decode
from tensorpmf.table.bins import Bins
from tensorpmf.table.cells import Cells, DenseCells, code_type, frozen
from tensorpmf.table.encode import Unknown
from tensorpmf.table.learn import Learner
from tensorpmf.table.schema import Schema, default_names
from tensorpmf.table.summary import summary
from tensorpmf.table.triples import read_triples
from tensorpmf.typing import Codes, Floats

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


MANY = 1000
"""Up to so many levels are believed of codes alone, however few rows there are."""


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalTable:
    """A table of categorical variables, some cells missing, that cannot be changed.

    Build one with :func:`tensorpmf.read_table`, :meth:`from_codes` or :meth:`from_triples`.

    Parameters
    ----------
    schema
        What the columns are.
    cells
        The codes, dense or compressed; owned by the table.
    row_weights
        (n_rows,) how much each row counts, or None when all count one; owned by the table.
    row_labels
        (n_rows,) what the rows are called, when the source says so, as ratings say which user they are by.
    """

    schema: Schema
    cells: Cells
    row_weights: Floats | None = None
    row_labels: tuple[Hashable, ...] | None = None

    @classmethod
    def from_codes(
        cls,
        codes: ArrayLike,
        n_levels: Sequence[int] | None = None,
        missing: int = -1,
        names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        *,
        schema: Schema | None = None,
    ) -> CategoricalTable:
        """Return a table of integer codes.

        Parameters
        ----------
        codes
            (n_rows, n_columns) whole numbers from 0.
        n_levels
            How many levels each column has; one more than its largest code when not given.
        missing
            The number that marks a missing cell.
        names
            Column names; ``x1``, ``x2``, … when not given.
        weights
            (n_rows,) how much each row counts.
        schema
            The columns, if they are known already; then ``n_levels`` and ``names`` are not needed.

        Examples
        --------
        >>> table = CategoricalTable.from_codes([[0, 2], [1, -1], [1, 0]])
        >>> table.n_levels
        (2, 3)
        >>> float(table.outage).__round__(3)
        0.167
        """
        array = _whole_numbers(codes, missing)
        if schema is None:
            schema = _schema_of_codes(array, n_levels, names)
        if array.shape[1] != schema.n_columns:
            raise InputError(f"the codes have {array.shape[1]} columns, but {schema.n_columns} were described.")
        _check_range(array, schema, missing)
        owned = np.array(array, dtype=code_type(max(schema.n_levels, default=1)), order="C", copy=True)
        return cls(schema, DenseCells(frozen(owned)).compact(), checked_weights(weights, array.shape[0]))

    @classmethod
    def from_triples(
        cls,
        rows: Any,
        columns: Any,
        values: Any,
        *,
        levels: Sequence[Hashable] | None = None,
        ordered: bool = False,
        bins: Bins | None = None,
        schema: Schema | None = None,
        unknown: Unknown = "error",
    ) -> CategoricalTable:
        """Return a mostly-empty table of which each triple fills one cell: ratings by users of items.

        Parameters
        ----------
        rows, columns
            (n_triples,) labels of any kind: lists, arrays or series. Rows are sorted by label and keep it in
            ``row_labels``; columns are sorted by label too, and their names are the labels as texts.
        values
            (n_triples,) labels; all columns have the same levels.
        levels
            Those levels, in order; otherwise the values that occur, sorted.
        ordered
            Whether their order means something; numbers are ordered anyway.
        bins
            How to cut the values, if they are real numbers, as in :func:`tensorpmf.read_table`.
        schema
            The columns, if they are known already; nothing is learnt then.
        unknown
            What to do with values that a known column does not have: ``"error"``, or ``"missing"``.

        Examples
        --------
        >>> users, items, stars = ["ann", "bob", "ann"], [31, 7, 7], [5, 3, 4]
        >>> ratings = CategoricalTable.from_triples(users, items, stars, levels=[1, 2, 3, 4, 5], ordered=True)
        >>> ratings.row_labels, ratings.to_columns()
        (('ann', 'bob'), {'7': [4, 3], '31': [5, None]})
        """
        learner = Learner({} if levels is None else {"values": levels}, frozenset(["values"] if ordered else []), bins)
        if schema is not None:
            learner.check_idle()
        schema, cells, row_labels = read_triples(rows, columns, values, learner, schema, unknown)
        return cls(schema, cells, row_labels=row_labels)

    @classmethod
    def from_any(cls, source: Any, **options: Any) -> CategoricalTable:
        """Return the table that :func:`tensorpmf.read_table` reads; the same function under another name."""
        from tensorpmf.table.read import read_table

        return read_table(source, **options)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.cells.n_rows

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return self.cells.n_columns

    @property
    def n_levels(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return self.schema.n_levels

    @property
    def codes(self) -> Codes:
        """(n_rows, n_columns) level codes, ``-1`` is missing, in the smallest signed integer type; read-only.

        A compressed table is written out anew at every call, and refuses when that would take too much memory.
        """
        return self.cells.dense

    @property
    def is_sparse(self) -> bool:
        """Whether only the observed cells are held."""
        return not isinstance(self.cells, DenseCells)

    @property
    def outage(self) -> float:
        """The fraction of cells that are missing."""
        n_cells = self.n_rows * self.n_columns
        return (n_cells - int(self.cells.n_observed.sum())) / n_cells if n_cells else 0.0

    @property
    def total_weight(self) -> float:
        """What all rows together count."""
        return float(self.n_rows if self.row_weights is None else self.row_weights.sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name: ``codes``, or ``indptr``, ``columns``, ``values``; and ``weights``, if any."""
        weights = {} if self.row_weights is None else {"weights": self.row_weights}
        return self.cells.arrays() | weights

    def take(self, rows: slice | ArrayLike) -> CategoricalTable:
        """Return some rows: a slice, positions, or a mask of (n_rows,) truth values."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows) if np.size(rows) else slice(0)  # an empty list has no integers
        try:
            ix = np.arange(self.n_rows)[rows]
        except IndexError:
            raise SettingError(
                "take", "rows", f"positions, or a mask, of some of the {self.n_rows} rows", rows
            ) from None
        weights = None if self.row_weights is None else frozen(self.row_weights[ix])
        labels = None if self.row_labels is None else tuple(self.row_labels[row] for row in ix)
        return replace(self, cells=self.cells.take(ix), row_weights=weights, row_labels=labels)

    def select(self, names: Iterable[str]) -> CategoricalTable:
        """Return some columns, in the order given."""
        schema = self.schema.select(names)
        if schema.names == self.schema.names:
            return self
        return replace(self, schema=schema, cells=self.cells.select([self.schema.ix(name) for name in schema.names]))

    def with_weights(self, weights: ArrayLike | None) -> CategoricalTable:
        """Return the same rows with other weights, or with none."""
        return replace(self, row_weights=checked_weights(weights, self.n_rows))

    def compressed(self) -> CategoricalTable:
        """Return the same table with only the observed cells held; it answers all questions alike."""
        return replace(self, cells=self.cells.compressed())

    def to_columns(self) -> dict[str, list[Hashable | None]]:
        """Return a list of labels for each column; None is missing."""
        return decode.to_columns(self.schema, self.cells)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas data frame of categorical columns."""
        return decode.to_pandas(self.schema, self.cells)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars data frame: an Enum for each column of texts, the values themselves for others."""
        return decode.to_polars(self.schema, self.cells)

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table of dictionary columns."""
        return decode.to_arrow(self.schema, self.cells)

    def __len__(self) -> int:
        return self.n_rows

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same columns, cells, weights and row labels, however its cells are held."""
        if not isinstance(other, CategoricalTable):
            return NotImplemented
        mine, others = self.cells.compressed(), other.cells.compressed()
        return (
            self.schema == other.schema
            and self.row_labels == other.row_labels
            and np.array_equal(mine.indptr, others.indptr)
            and np.array_equal(mine.columns, others.columns)
            and np.array_equal(mine.values, others.values)
            and np.array_equal(_weights_or_ones(self), _weights_or_ones(other))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        weight = [] if self.row_weights is None else [f"weight {self.total_weight:,.6g}"]
        held = ["held compressed"] if self.is_sparse else []
        return summary(self.schema.columns, self.n_rows, self.cells.n_observed.tolist(), weight + held)


def checked_weights(weights: ArrayLike | None, n_rows: int, *, is_part: bool = False) -> Floats | None:
    """Return a private copy of row weights, or say what is wrong with them.

    Parameters
    ----------
    weights
        (n_rows,) how much each row counts.
    n_rows
        How many rows there are.
    is_part
        Whether these are only some rows of a table, so that all of them may count nothing.
    """
    if weights is None:
        return None
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise WeightError("must be numbers") from None
    if array.shape != (n_rows,):
        raise WeightError(f"have shape {array.shape}, but there are {n_rows} rows")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if wrong.size:
        raise WeightError(f"must be finite and not negative, but row {wrong[0]} has {array[wrong[0]]}", int(wrong[0]))
    if n_rows and not is_part and not array.any():
        raise WeightError("sum to zero")
    with np.errstate(over="ignore"):
        if np.isinf(array.sum()):
            raise WeightError("sum to more than a float holds")
    return frozen(array)


def _weights_or_ones(table: CategoricalTable) -> Floats:
    return np.ones(table.n_rows) if table.row_weights is None else table.row_weights


def _whole_numbers(codes: ArrayLike, missing: int) -> NDArray[np.integer[Any]]:
    """Return codes as an array in which ``-1`` is missing."""
    try:
        array: NDArray[Any] = np.asarray(np.ma.filled(codes, missing))  # pyright: ignore[reportUnknownArgumentType]
    except ValueError:
        raise InputError("codes must have two axes, but these rows differ in length.") from None
    if array.ndim != 2:
        raise InputError(f"codes must have two axes, rows and columns, got shape {array.shape}.")
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(
            f"codes must be whole numbers, got an array of {array.dtype}.",
            hint=f"mark missing cells with {missing}; for labels use read_table.",
        )
    return array if missing == -1 else np.where(array == missing, -1, array.astype(np.int64))


def _schema_of_codes(codes: NDArray[Any], n_levels: Sequence[int] | None, names: Sequence[str] | None) -> Schema:
    n_rows, n_columns = codes.shape
    if n_columns == 0:
        raise NoColumnsError()
    if n_rows == 0:
        raise NoRowsError()
    names = default_names(n_columns) if names is None else names
    for setting, what, given in (("names", "names", names), ("n_levels", "numbers of levels", n_levels)):
        if np.ndim(given if given is not None else []) != 1:
            raise SettingError("from_codes", setting, "a list, one entry a column", given)
        if given is not None and len(given) != n_columns:
            raise InputError(f"there are {n_columns} columns, but {len(given)} {what}.")
    if n_levels is not None:
        counts = [whole_number("from_codes", "n_levels", n, at_least=0) for n in n_levels]
    else:
        counts = [int(largest) + 1 for largest in codes.max(axis=0)]
        for name, n in zip(names, counts, strict=True):
            if n < 1:
                raise UnobservedColumnError(name)
            if n > max(MANY, n_rows):
                hint = "if that is right, say so with n_levels=[...]; for labels that are not codes use read_table."
                raise TooManyLevelsError(name, n, n_rows, hint=hint)
    return Schema.from_n_levels(counts, names)


def _check_range(codes: NDArray[Any], schema: Schema, missing: int) -> None:
    if codes.size == 0:
        return
    smallest, largest = codes.min(axis=0), codes.max(axis=0)
    for column, low, high in zip(schema.columns, smallest.tolist(), largest.tolist(), strict=True):
        if low < -1 or high >= column.n_levels:
            raise CodeRangeError(column.name, high if low >= -1 else low, column.n_levels, missing)
