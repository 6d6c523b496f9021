"""From codes back to labels: Python lists, or a data frame of whichever library the caller likes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorpmf.errors import InputError, MissingExtraError
from tensorpmf.table.cells import Cells
from tensorpmf.table.factor import objects
from tensorpmf.table.schema import Column, Schema
from tensorpmf.typing import Codes

if TYPE_CHECKING:
    import pandas
    import polars


def to_columns(schema: Schema, cells: Cells) -> dict[str, list[Hashable | None]]:
    """Return a list of labels for each column; None is missing.

    Parameters
    ----------
    schema
        The columns.
    cells
        Their codes.
    """
    return {column.name: objects([*column.levels, None])[codes].tolist() for column, codes in _each(schema, cells)}


def to_arrow(schema: Schema, cells: Cells) -> Any:
    """Return an Arrow table of dictionary columns.

    Parameters
    ----------
    schema
        The columns.
    cells
        Their codes.
    """
    import pyarrow as pa

    def array(column: Column, codes: Codes) -> Any:
        indices = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, _arrow_levels(column), ordered=column.ordered)

    return pa.table({column.name: array(column, codes) for column, codes in _each(schema, cells)})


def to_pandas(schema: Schema, cells: Cells) -> pandas.DataFrame:
    """Return a pandas data frame of categorical columns.

    Parameters
    ----------
    schema
        The columns.
    cells
        Their codes.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas") from None

    def categorical(column: Column, codes: Codes) -> pandas.Categorical:
        categories = pd.Index(list(column.levels), tupleize_cols=False)
        return pd.Categorical.from_codes(codes, categories, ordered=column.ordered)

    return pd.DataFrame({column.name: categorical(column, codes) for column, codes in _each(schema, cells)})


def to_polars(schema: Schema, cells: Cells) -> polars.DataFrame:
    """Return a polars data frame; columns of texts become Enum columns, others columns of their values.

    Parameters
    ----------
    schema
        The columns.
    cells
        Their codes.
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "polars") from None

    def series(column: Column, codes: Codes) -> polars.Series:
        places = pl.Series(column.name, np.where(codes < 0, 0, codes).astype(np.uint32)).set(pl.Series(codes < 0), None)
        if all(isinstance(label, str) for label in column.levels):
            return pl.Series(column.name, column.levels, dtype=pl.Enum(list(map(str, column.levels)))).gather(places)
        levels = pl.Series(column.name, _arrow_levels(column))
        if levels.to_list() != list(column.levels):
            raise _no_type(column, "polars")
        return levels.gather(places)

    return pl.DataFrame([series(column, codes) for column, codes in _each(schema, cells)])


def _each(schema: Schema, cells: Cells) -> Iterator[tuple[Column, Codes]]:
    return ((column, cells.column(ix)) for ix, column in enumerate(schema.columns))


def _arrow_levels(column: Column) -> Any:
    """Return the levels as an Arrow array, if Arrow has a type that holds them all as they are."""
    import pyarrow as pa

    levels = list(column.levels)
    try:
        array = pa.array(levels)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        array = None
    if array is None or array.to_pylist() != levels:
        raise _no_type(column, "Arrow")
    return array


def _no_type(column: Column, library: str) -> InputError:
    return InputError(
        f"the levels of column {column.name!r} are of no single type that {library} knows.",
        hint="use to_columns() or to_pandas().",
    )
