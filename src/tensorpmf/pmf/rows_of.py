"""From what a caller has, a table or a data frame or records or codes, to the rows that the kernels take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, TypeGuard, cast

import numpy as np

from tensorpmf.errors import SettingError, UnknownLevelError
from tensorpmf.kernels.rows import Rows
from tensorpmf.table.schema import Column, Schema
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes, Ints

RowsLike: TypeAlias = Any
"""A :class:`CategoricalTable`, a data frame, a list of mappings from names to labels, or an integer array of codes."""

Unknown: TypeAlias = Literal["error", "missing"]
"""What to do with a label that the schema does not have."""

_ROWS_AT_ONCE = 1 << 14


def rows_of(table: CategoricalTable) -> Rows:
    """Return the rows of a table; nothing is copied.

    Parameters
    ----------
    table
        The table.
    """
    return Rows(table.n_levels, **table.arrays())


def blocks_of(rows: Rows) -> Iterator[Rows]:
    """Yield rows a few thousand at a time.

    Parameters
    ----------
    rows
        The rows.
    """
    for start in range(0, rows.n_rows, _ROWS_AT_ONCE):
        yield rows.take(slice(start, min(start + _ROWS_AT_ONCE, rows.n_rows)))


def read_rows(rows: RowsLike, schema: Schema, unknown: Unknown = "error") -> Rows:
    """Return rows coded by a schema; its columns that are not there are missing.

    Parameters
    ----------
    rows
        A table, a data frame, a list of mappings from names to labels, or a (n_rows, n_columns) integer array of codes.
    schema
        The columns and levels to translate to.
    unknown
        What to do with labels that the schema does not have.
    """
    if unknown not in ("error", "missing"):
        raise SettingError("rows", "unknown", "'error' or 'missing'", unknown)
    if is_codes(rows):
        return Rows.from_codes(rows, schema.n_levels)
    table = rows if isinstance(rows, CategoricalTable) else schema.encode(rows, unknown=unknown)
    return rows_of(table) if table.schema == schema else recoded(table, schema, unknown)


def is_codes(rows: RowsLike) -> TypeGuard[Codes]:
    """Tell whether rows are level codes already."""
    return isinstance(rows, np.ndarray) and cast("Codes", rows).dtype.kind in "iu"


def recoded(table: CategoricalTable, schema: Schema, unknown: Unknown) -> Rows:
    """Return the rows of a table whose columns, or levels, are others or ordered otherwise.

    Parameters
    ----------
    table
        The table; each of its columns is one of the schema's.
    schema
        The columns and levels to translate to.
    unknown
        What to do with labels that the schema does not have.
    """
    position = np.array([schema.ix(name) for name in table.schema.names])
    translation = np.concatenate([_codes_in(schema[column.name], column) for column in table.schema.columns])
    cells = table.cells.compressed()
    codes = translation[table.schema.offsets[cells.columns] + cells.values]
    known = codes >= 0
    if unknown == "error" and not known.all():
        first = int(np.argmin(known))
        column = table.schema.columns[int(cells.columns[first])]
        raise UnknownLevelError(column.name, column.levels[cells.values[first]], schema[column.name].levels)
    row_ix = np.repeat(np.arange(table.n_rows), np.diff(cells.indptr))[known]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row_ix, minlength=table.n_rows))])
    sparse = Rows.from_csr(indptr, position[cells.columns[known]], codes[known], schema.n_levels, table.row_weights)
    return sparse if table.is_sparse else Rows(schema.n_levels, codes=sparse.dense(), weights=sparse.weights)


def _codes_in(target: Column, column: Column) -> Ints:
    """(I,) the code in ``target`` of each level of ``column``, -1 if it has none."""
    code_of = {label: code for code, label in enumerate(target.levels)}
    return np.array([code_of.get(label, -1) for label in column.levels], dtype=np.int64)
