"""From what a caller has, a table or a data frame or records or codes, to the rows that the kernels take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, TypeGuard, cast

import numpy as np

from tensorpmf.errors import CodeRangeError, SettingError
from tensorpmf.kernels.rows import CodeOutOfRangeError, Rows
from tensorpmf.table.schema import Schema
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes

RowsLike: TypeAlias = Any
"""A :class:`CategoricalTable`, a data frame, a list of mappings from names to labels, or an integer array of codes.

In a query whole numbers in an array are codes, whatever the labels are, so that ``table.codes`` means ``table``. An
array of labels becomes a table by ``schema.encode(array)``.
"""

Unknown: TypeAlias = Literal["error", "missing"]
"""What to do with a label that the schema does not have."""

Impossible: TypeAlias = Literal["error", "missing"]
"""What to do with the cells of a row that have probability zero together."""

_ROWS_AT_ONCE = 1 << 14


def rows_of(table: CategoricalTable) -> Rows:
    """Return the rows of a table; nothing is copied.

    Parameters
    ----------
    table
        The table.
    """
    arrays, n_levels, weights = table.arrays(), table.n_levels, table.row_weights
    if table.is_sparse:
        return Rows.from_csr(arrays["indptr"], arrays["columns"], arrays["values"], n_levels, weights)
    return Rows.from_codes(arrays["codes"], n_levels, weights)


def blocks_of(n_rows: int) -> Iterator[slice]:
    """Yield slices that cut rows into blocks of a few thousand.

    Parameters
    ----------
    n_rows
        How many rows there are.
    """
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        yield slice(start, min(start + _ROWS_AT_ONCE, n_rows))


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
        raise SettingError("a query", "unknown", "'error' or 'missing'", unknown)
    if not is_codes(rows):
        return rows_of(schema.encode(rows, unknown=unknown))
    try:
        return Rows.from_codes(rows, schema.n_levels)
    except CodeOutOfRangeError as wrong:
        raise CodeRangeError(schema.names[wrong.column_ix], wrong.code, wrong.n_levels, missing=-1) from None


def is_codes(rows: RowsLike) -> TypeGuard[Codes]:
    """Tell whether rows are level codes already."""
    return isinstance(rows, np.ndarray) and cast("Codes", rows).dtype.kind in "iu"
