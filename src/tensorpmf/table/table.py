"""A categorical table with holes: rows of level codes, a schema that knows the labels, optional row weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorpmf.errors import (
    CodeRangeError,
    InputError,
    NoColumnsError,
    NoRowsError,
    UnobservedColumnError,
    WeightError,
)
from tensorpmf.table.cells import Cells, DenseCells, code_type, frozen
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Codes, Floats


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
    """

    schema: Schema
    cells: Cells
    row_weights: Floats | None = None

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
        return 1 - int(self.cells.n_observed.sum()) / n_cells if n_cells else 0.0

    @property
    def total_weight(self) -> float:
        """What all rows together count."""
        return float(self.n_rows if self.row_weights is None else self.row_weights.sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name: ``codes``, or ``indptr``, ``columns``, ``values``; ``weights`` when there are any."""
        weights = {} if self.row_weights is None else {"weights": self.row_weights}
        return self.cells.arrays() | weights

    def take(self, rows: slice | ArrayLike) -> CategoricalTable:
        """Return some rows: a slice, positions, or a mask of (n_rows,) truth values."""
        ix = rows if isinstance(rows, slice) else np.asarray(rows)
        weights = None if self.row_weights is None else frozen(np.array(self.row_weights[ix]))
        return replace(self, cells=self.cells.take(ix), row_weights=weights)

    def select(self, names: Iterable[str]) -> CategoricalTable:
        """Return some columns, in the order given."""
        schema = self.schema.select(names)
        return replace(self, schema=schema, cells=self.cells.select([self.schema.ix(name) for name in schema.names]))

    def with_weights(self, weights: ArrayLike | None) -> CategoricalTable:
        """Return the same rows with other weights, or with none."""
        return replace(self, row_weights=checked_weights(weights, self.n_rows))

    def __len__(self) -> int:
        return self.n_rows


def checked_weights(weights: ArrayLike | None, n_rows: int) -> Floats | None:
    """Return a private copy of row weights, or say what is wrong with them."""
    if weights is None:
        return None
    array = np.array(weights, dtype=np.float64)
    if array.shape != (n_rows,):
        raise WeightError(f"have shape {array.shape}, but there are {n_rows} rows")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if wrong.size:
        raise WeightError(f"must be finite and not negative, but row {wrong[0]} has {array[wrong[0]]}", int(wrong[0]))
    if n_rows and not array.any():
        raise WeightError("sum to zero")
    return frozen(array)


def _whole_numbers(codes: ArrayLike, missing: int) -> NDArray[np.integer[Any]]:
    array = codes.filled(missing) if isinstance(codes, np.ma.MaskedArray) else np.asarray(codes)
    if array.ndim != 2:
        raise InputError(f"codes must have two axes, rows and columns, got shape {array.shape}.")
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(
            f"codes must be whole numbers, got an array of {array.dtype}.",
            hint=f"mark missing cells with {missing}; for labels use read_table.",
        )
    if missing == -1:
        return array.astype(np.int64, copy=False) if array.dtype.kind not in "iu" else array
    return np.where(array == missing, -1, array.astype(np.int64))


def _schema_of_codes(codes: NDArray[Any], n_levels: Sequence[int] | None, names: Sequence[str] | None) -> Schema:
    if codes.shape[1] == 0:
        raise NoColumnsError()
    if codes.shape[0] == 0:
        raise NoRowsError()
    if names is not None and len(names) != codes.shape[1]:
        raise InputError(f"there are {codes.shape[1]} columns, but {len(names)} names.")
    if n_levels is not None:
        return Schema.from_n_levels([int(n) for n in n_levels], names)
    schema = Schema.from_n_levels([max(int(top) + 1, 0) for top in codes.max(axis=0)], names)
    for column in schema.columns:
        if column.n_levels == 0:
            raise UnobservedColumnError(column.name)
    return schema


def _check_range(codes: NDArray[Any], schema: Schema, missing: int) -> None:
    if codes.size == 0:
        return
    low, high = codes.min(axis=0), codes.max(axis=0)
    for column, least, most in zip(schema.columns, low.tolist(), high.tolist(), strict=True):
        if least < -1 or most >= column.n_levels:
            raise CodeRangeError(column.name, most if least >= -1 else least, column.n_levels, missing)
