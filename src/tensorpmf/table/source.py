"""Where raw values come from: data frames, arrays and Python collections, all as named columns of factors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import DuplicateColumnError, InputError, LengthError, UnknownSourceError, counted
from tensorpmf.table.arrow import declares, factor_of_arrow, factor_of_texts
from tensorpmf.table.factor import Factor, objects, plain
from tensorpmf.table.schema import default_names


@dataclass(frozen=True)
class Source:
    """Named columns of raw values that have not been looked at yet.

    Parameters
    ----------
    names
        (n_columns,) what they are called.
    load
        Given the positions of some columns, returns the number of rows and, one after the other, the columns' factors.
    what
        How the source is called in an error.
    batches
        For a file: given the positions of some columns, yields them, some rows at a time.
    """

    names: list[str]
    load: Callable[[Sequence[int]], tuple[int, Iterator[Factor]]]
    what: str = "the table"
    batches: Callable[[Sequence[int]], Iterator[Source]] = field(default=lambda _: iter(()))

    @classmethod
    def each(
        cls, names: Iterable[object], factor: Callable[[int], Factor], n_rows: int, what: str = "the table"
    ) -> Source:
        """Return the source whose columns' factors are made one by one."""
        return cls([str(name) for name in names], lambda positions: (n_rows, map(factor, positions)), what)


def source_of(obj: Any, names: Sequence[str] | None = None) -> Source:
    """Return the columns of a data frame, an array, or a Python collection of columns or rows.

    Parameters
    ----------
    obj
        The object.
    names
        What its columns are called, if it does not say so itself.
    """
    kind = obj.__class__
    if issubclass(kind, np.ndarray):
        return _of_array(obj, names)
    if issubclass(kind, Mapping):
        return _of_columns(obj)
    if issubclass(kind, list | tuple):
        return _of_records(obj, names)
    return _of_frame(obj)


def factor_of(name: str, values: Any) -> Factor:
    """Return the factor of one column: a list, an array, a series, anything to iterate over, or a single value.

    Parameters
    ----------
    name
        The column's name, for errors.
    values
        The column.
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    kind = values.__class__
    if issubclass(kind, np.ndarray):
        return _factor_of_array(name, values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return factor_of_arrow(name, values)
    series = nw.from_native(values, pass_through=True, series_only=True)
    if isinstance(series, nw.Series):
        _, factors = _of_narwhals(series.to_frame()).load([0])
        return next(factors)
    is_single = issubclass(kind, str | bytes | frozenset) or not issubclass(kind, Iterable)
    return Factor.of_objects(name, [values] if is_single else list(values))


def _of_columns(columns: Mapping[Any, Any]) -> Source:
    factors = [factor_of(str(name), values) for name, values in columns.items()]
    for name, factor in zip(columns, factors, strict=True):
        if factor.n_rows != factors[0].n_rows:
            raise LengthError(str(name), factor.n_rows, factors[0].n_rows)
    return Source.each(columns, factors.__getitem__, factors[0].n_rows if factors else 0)


def _of_records(rows: Sequence[Any], names: Sequence[str] | None) -> Source:
    """Rows are mappings from names to values, whose absent names are missing, or sequences of one length."""
    if all(isinstance(row, Mapping) for row in rows):
        keys = list(dict.fromkeys(chain.from_iterable(rows)))
        return Source.each(
            keys, lambda ix: Factor.of_objects(str(keys[ix]), [row.get(keys[ix]) for row in rows]), len(rows)
        )
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        kinds = dict.fromkeys(type(row).__name__ for row in rows)
        raise UnknownSourceError(f"{type(rows).__name__} of {' and '.join(kinds)}")
    n_columns = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != n_columns:
            raise InputError(f"row {number} has {counted(len(row), 'value')}, but the first has {n_columns:,}.")
    names = _names(names, n_columns)
    return Source.each(names, lambda ix: Factor.of_objects(names[ix], [row[ix] for row in rows]), len(rows))


def _of_array(array: NDArray[Any], names: Sequence[str] | None) -> Source:
    if not isinstance(array, np.ma.MaskedArray):
        array = np.asarray(array)  # columns of a matrix have two axes
    if array.dtype.names:
        fields = array.dtype.names
        return Source.each(fields, lambda ix: _factor_of_array(fields[ix], array[fields[ix]]), len(array))
    if array.ndim not in (1, 2):
        raise InputError(f"an array must have two axes, rows and columns, got shape {array.shape}.")
    table = array if array.ndim == 2 else array[:, np.newaxis]
    names = _names(names, table.shape[1])
    return Source.each(names, lambda ix: _factor_of_array(names[ix], table[:, ix]), len(table))


def _names(names: Sequence[str] | None, n_columns: int) -> Sequence[str]:
    names = default_names(n_columns) if names is None else names
    if len(names) != n_columns:
        raise InputError(f"there are {n_columns} columns, but {len(names)} names.")
    return names


def _factor_of_array(name: str, values: NDArray[Any]) -> Factor:
    import pyarrow as pa

    if values.ndim != 1:
        raise InputError(f"column {name!r} must have one axis, got shape {values.shape}.")
    if isinstance(values, np.ma.MaskedArray):
        return Factor.of_objects(name, values.tolist())  # in which masked values are None
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in {"Y", "M", "W"}:
        values = values.astype("M8[D]")
    values = np.ascontiguousarray(values)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if -(2**15) <= low <= high < 2**15:
            return Factor(np.arange(low, high + 1), values.astype(np.int32) - low).observed()
    if values.dtype.kind != "O":
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):  # a type that Arrow does not know
            return factor_of_arrow(name, pa.array(values, from_pandas=True))
    return Factor.of_objects(name, values.tolist())


def _of_frame(frame: Any) -> Source:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
    from narwhals.exceptions import DuplicateError

    if isinstance(frame, pa.Array | pa.ChunkedArray):
        frame = pa.table([frame], names=default_names(1))
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return source_of_arrow(frame)
    try:
        known = nw.from_native(frame, pass_through=True, allow_series=True)
    except DuplicateError:
        names = [str(name) for name in frame.columns]
        raise DuplicateColumnError(next(name for name in names if names.count(name) > 1)) from None
    if isinstance(known, nw.LazyFrame):
        known = known.collect()
    if isinstance(known, nw.Series):
        known = known.to_frame()
    if isinstance(known, nw.DataFrame):
        return _of_narwhals(known)
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        return source_of_arrow(pa.table(frame))
    raise UnknownSourceError(type(frame).__name__)


def _of_narwhals(frame: Any) -> Source:
    """Return the columns of a frame; those of pandas one by one, because Arrow does not take them all.

    Nor does it take all those of polars: it has no integers of 128 bits, and of objects it would get the addresses.
    """
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    if frame.implementation.is_pandas_like():
        columns = frame.to_pandas()
        names = [str(name) for name in columns.columns]
        return Source.each(names, lambda ix: _factor_of_pandas(names[ix], columns.iloc[:, ix]), len(columns))
    strange = {nw.Object, nw.Int128, nw.UInt128}
    if not strange.isdisjoint(frame.schema.values()):
        series = [frame.get_column(name) for name in frame.columns]
        columns = [each.to_list() if each.dtype in strange else each.to_native() for each in series]
        return Source.each(frame.columns, lambda ix: factor_of(frame.columns[ix], columns[ix]), len(frame))
    return source_of_arrow(pa.table(frame.to_native()))


def _factor_of_pandas(name: str, series: Any) -> Factor:
    import pyarrow as pa

    if series.dtype == "category":
        labels = objects([plain(label) for label in series.cat.categories.tolist()])
        return Factor.of(labels, series.cat.codes.to_numpy(), declared=True, ordered=series.cat.ordered)
    if series.dtype != object:
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError):  # a type that Arrow does not know
            array = pa.array(series, from_pandas=True)
            if not isinstance(array.type, pa.BaseExtensionType):
                return factor_of_arrow(name, array)
    return Factor.of_objects(name, series.tolist())


def source_of_arrow(table: Any, what: str = "the table", ours: frozenset[str] = frozenset()) -> Source:
    """Return the columns of an Arrow table or record batch.

    Parameters
    ----------
    table
        The table.
    what
        How the source is called in an error.
    ours
        Names of columns whose dictionaries are our own doing.
    """
    fields = [(ix, field) for ix, field in enumerate(table.schema) if not is_row_label(field.name)]

    def factor(position: int) -> Factor:
        ix, field = fields[position]
        return factor_of_arrow(field.name, table.column(ix), declared=field.name not in ours and declares(field))

    return Source.each([field.name for _, field in fields], factor, table.num_rows, what)


def is_row_label(name: str) -> bool:
    """Whether pandas has written the labels of rows, which are no variable, in a column of this name."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


def source_of_texts(names: Sequence[str], batch: Any) -> Source:
    """Return the columns of an Arrow record batch of dictionaries of texts.

    Parameters
    ----------
    names
        What the columns are called.
    batch
        The batch.
    """
    import pyarrow as pa

    return Source.each(names, lambda ix: factor_of_texts(pa.chunked_array([batch.column(ix)])), batch.num_rows)
