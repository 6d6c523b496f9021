"""The missing cells of rows as scikit-learn's users have them, and filling them in without touching the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.learn.base import is_frame
from tensorpmf.table.factor import is_number, objects
from tensorpmf.table.source import source_of


def holes_of(rows: Any) -> NDArray[np.bool_]:
    """Return (n_rows, n_columns) where a data frame or an array holds nothing.

    Parameters
    ----------
    rows
        The data frame, or an array of two axes.
    """
    _, factors = source_of(rows).load(range(rows.shape[1]))
    return np.column_stack([factor.positions < 0 for factor in factors])


def filled(rows: Any, holes: NDArray[np.bool_], filling: Callable[[int, NDArray[np.bool_]], NDArray[Any]]) -> Any:
    """Return a copy of rows whose holes hold something; it is of the same kind, and so are its columns if possible.

    Parameters
    ----------
    rows
        The data frame or array.
    holes
        (n_rows, n_columns) where it holds nothing.
    filling
        Tells, from the position of a column and its (n_rows,) holes, what these are filled with, from top to bottom.
    """
    fillings = {ix: filling(ix, holes[:, ix]) for ix in np.flatnonzero(holes.any(axis=0)).tolist()}
    if not is_frame(rows):
        kinds = {values.dtype for values in fillings.values()}
        if rows.dtype.kind == "f":  # numbers of any precision go into it
            kinds = {kind for kind in kinds if kind.kind not in "iuf"}
        whole = rows.astype(np.result_type(rows.dtype, *kinds))
        for ix, values in fillings.items():
            whole[holes[:, ix], ix] = values
        return whole
    import narwhals.stable.v2 as nw

    frame = nw.from_native(rows, eager_only=True)
    columns = [_refilled(frame[:, ix], holes[:, ix], values) for ix, values in fillings.items()]
    whole = nw.maybe_reset_index(frame).with_columns(*columns).to_native()
    if (labels := nw.maybe_get_index(frame)) is not None:
        whole.index = labels
    return whole


def wrappable(rows: Any) -> Any:
    """Return rows as something that scikit-learn's ``set_output`` takes: a frame of pandas or polars, or an array."""
    if not is_frame(rows):
        return rows
    import narwhals.stable.v2 as nw

    frame = nw.from_native(rows, eager_only=True)
    if frame.implementation.is_pandas_like() or frame.implementation.is_polars():
        return rows
    return np.column_stack([objects(series.to_list()) for series in frame.iter_columns()])


def _refilled(series: Any, holes: NDArray[np.bool_], filling: NDArray[Any]) -> Any:
    """Return a narwhals series without holes, of its own type unless its type is too narrow for the filling."""
    import narwhals.stable.v2 as nw

    values, told, dtype = objects(series.to_list()), set(filling.tolist()), None
    values[holes] = filling
    if _holds(series, told):
        dtype = series.dtype
    elif all(map(is_number, set(values.tolist()))):
        dtype = nw.Float64()
    if dtype is None or not series.implementation.is_pandas_like():
        return nw.new_series(series.name, values.tolist(), dtype, backend=series.implementation)
    whole = nw.new_series(series.name, values, backend=series.implementation).to_native()
    kind = series.to_native().dtype if dtype == series.dtype else "Float64"  # of pandas there are several of each type
    return nw.from_native(whole.astype(kind), series_only=True)


def _holds(series: Any, told: set[Any]) -> bool:
    """Whether the type of a narwhals series has room for what it is to be filled with."""
    import narwhals.stable.v2 as nw

    kind, is_pandas = series.dtype, series.implementation.is_pandas_like()
    if kind.is_numeric():
        return all(is_number(value) and (not kind.is_integer() or value == int(value)) for value in told)
    if kind == nw.Enum or (kind == nw.Categorical and is_pandas):
        return told <= set(series.to_native().cat.categories if is_pandas else kind.categories)
    return bool(kind != nw.Unknown)
