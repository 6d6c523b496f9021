"""Nulls stay missing, whatever library marks them how: one test for each way in which they are known to get lost."""

from __future__ import annotations

import io
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import tensorpmf as tp
from tensorpmf import CategoricalTable
from tensorpmf.errors import UnknownLevelError


def column(table: CategoricalTable) -> list[object]:
    (values,) = table.to_columns().values()
    return values


def test_null_among_dictionary_indices_is_no_label() -> None:
    """pyarrow's ``to_numpy`` gives the null row the last label."""
    array = pa.array(["a", None, "b"]).dictionary_encode()
    assert column(tp.read_table(pa.table({"x": array}))) == ["a", None, "b"]
    assert column(tp.read_table(pa.table({"x": pa.chunked_array([array, array[1:]])}))) == ["a", None, "b", None, "b"]


def test_null_among_dictionary_values_is_no_label() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", None, "a"]))
    table = tp.read_table(pa.table({"x": pa.chunked_array([array, array])}))
    assert table.schema["x"].levels == ("a",)
    assert column(table) == ["a", None, "a", None] * 2


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int8(), pa.int64()])
def test_indices_may_be_unsigned(kind: pa.DataType) -> None:
    """``fill_null(-1)`` on unsigned indices wraps around to the largest of them."""
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], kind), pa.array(["b", "a"]))
    assert tp.read_table(pa.table({"x": array})).codes[:, 0].tolist() == [1, -1, 0]


def test_slices_of_arrays_keep_their_own_nulls() -> None:
    array = pa.array([None, "a", None, "b", "a", None, "b", None, "a", "b", None]).dictionary_encode()
    for start in range(len(array)):
        piece = array.slice(start, 9)
        assert (
            column(tp.read_table(pa.table({"x": pa.concat_arrays([piece, array])})))[: len(piece)] == piece.to_pylist()
        )


@pytest.mark.parametrize("values", [["b", None, "a"], ["a", "c", None]])
def test_polars_nulls(values: list[str | None]) -> None:
    kinds = (pl.String, pl.Categorical, pl.Enum(["c", "b", "a"]))
    for series in [pl.Series("x", values, dtype=kind) for kind in kinds]:
        assert column(tp.read_table(series.to_frame())) == values
        assert column(tp.read_table(series)) == values


def test_declared_levels_are_kept_though_nobody_has_them() -> None:
    """Neither what polars nor what pandas declares may shrink to what occurs."""
    declared = ("never", "low", "high")
    frames = [
        pl.DataFrame({"x": pl.Series(["high", None], dtype=pl.Enum(declared))}),
        pd.DataFrame({"x": pd.Categorical(["high", None], categories=declared)}),
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([2, None]), pa.array(declared))}),
    ]
    for frame in [*frames, frames[0].to_arrow(), pa.Table.from_pandas(frames[1])]:
        table = tp.read_table(frame)
        assert table.schema["x"].levels == declared
        assert table.codes[:, 0].tolist() == [2, -1]


def test_small_indices_do_not_overflow() -> None:
    values = pd.Series(pd.Categorical([*range(128), None] * 2, categories=range(128)))
    table = tp.read_table(values.to_frame("x"))
    assert table.n_levels == (128,)
    assert table.codes[-2:, 0].tolist() == [127, -1]
    with pytest.raises(UnknownLevelError, match="column 'x' has no level 127"):
        tp.read_table(values.to_frame("x"), levels={"x": range(127)})


def test_declared_levels_survive_files(tmp_path: Path) -> None:
    enum = pl.DataFrame({"x": pl.Series(["high", None], dtype=pl.Enum(["never", "low", "high"]))})
    enum.write_parquet(tmp_path / "polars.parquet")
    enum.write_ipc(tmp_path / "polars.arrow")
    enum.to_pandas().to_parquet(tmp_path / "pandas.parquet")
    enum.to_pandas().to_feather(tmp_path / "pandas.feather")
    for path in tmp_path.iterdir():
        assert tp.read_table(path) == tp.read_table(enum), path


def test_a_dictionary_that_polars_grew_declares_nothing() -> None:
    frame = pl.DataFrame({"x": pl.Series(["b", "a", "c"], dtype=pl.Categorical)})
    for source in (frame, frame.to_arrow()):
        assert tp.read_table(source[:2]).schema["x"].levels == ("a", "b")


def test_dictionaries_of_row_groups_differ(tmp_path: Path) -> None:
    """Codes of one row group mean something else in the next; nulls are in both."""
    groups: list[list[str | None]] = [
        ["b", None, "a", "b"],
        ["c", "a", None, "a"],
        [None, None, None, None],
        ["a", "b", "c", "d"],
    ]
    for name, kind in (
        ("text", pa.string()),
        ("large", pa.large_string()),
        ("declared", pa.dictionary(pa.int8(), pa.string())),
    ):
        path = tmp_path / f"{name}.parquet"
        with parquet.ParquetWriter(path, pa.schema({"x": kind})) as writer:
            for group in groups:
                writer.write_table(pa.table({"x": pa.array(group).cast(pa.string()).cast(kind)}))
        assert parquet.ParquetFile(path).num_row_groups == 4
        assert column(tp.read_table(path)) == list(chain.from_iterable(groups))


def test_record_batches_have_dictionaries_of_their_own() -> None:
    batches = [pa.table({"x": pa.array(values).dictionary_encode()}) for values in (["b", None], ["a", "b"])]
    assert column(tp.read_table(pa.concat_tables(batches))) == ["b", None, "a", "b"]
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, batches[0].schema) as writer:
        for batch in batches:
            writer.write_table(batch)
    buffer.seek(0)
    assert column(tp.read_table(pa.ipc.open_stream(buffer))) == ["b", None, "a", "b"]


NULLS = [None, float("nan"), np.nan, np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("nan")]


@pytest.mark.parametrize("null", NULLS, ids=repr)
def test_every_kind_of_nothing_is_missing(null: object) -> None:
    values = ["a", null, ("t", 1), null]
    assert column(tp.read_table({"x": values})) == ["a", None, ("t", 1), None]
    assert column(tp.read_table(pd.DataFrame({"x": pd.Series(values, dtype=object)}))) == ["a", None, ("t", 1), None]
    assert column(tp.read_table(np.array([*values, 1], dtype=object)[:-1])) == ["a", None, ("t", 1), None]


@pytest.mark.parametrize(
    ("series", "labels"),
    [
        (pd.Series([2, None, 1], dtype="Int64"), [2, None, 1]),
        (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
        (pd.Series(["b", None, "a"], dtype="string"), ["b", None, "a"]),
        (pd.Series(["b", None, "a"], dtype=object), ["b", None, "a"]),
        (pd.Series([2.5, np.nan, 1]), [2.5, None, 1.0]),
        (pd.Series([1.0, None], dtype="float32"), [1.0, None]),
        (pd.Series(pd.to_datetime(["2020-01-02", None])), [datetime(2020, 1, 2), None]),
        (pd.Series(pd.to_timedelta([1, None], unit="s")), [pd.Timedelta(seconds=1), None]),
        (pd.Series(pd.PeriodIndex(["2020-01", None], freq="M")), [pd.Period("2020-01"), None]),
        (pd.Series(pd.arrays.SparseArray([1.0, np.nan])), [1.0, None]),
        (pd.Series([1 + 2j, np.nan]), [1 + 2j, None]),
        (pd.Series(["b", None], dtype=pd.ArrowDtype(pa.string())), ["b", None]),
        (pd.Series([date(2020, 1, 2), None], dtype=object), [date(2020, 1, 2), None]),
        (pd.cut(pd.Series([1, None]), [0, 5]), [pd.Interval(0, 5), None]),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_pandas_nulls(series: pd.Series, labels: list[object]) -> None:
    assert column(tp.read_table(series.to_frame("x"))) == labels


@pytest.mark.parametrize(
    ("array", "labels"),
    [
        (np.array([1.5, np.nan]), [1.5, None]),
        (np.array(["2020-01-02", "NaT"], dtype="M8[D]"), [date(2020, 1, 2), None]),
        (np.array(["2020", "NaT"], dtype="M8[Y]"), [date(2020, 1, 1), None]),
        (np.ma.masked_array([1, 2], mask=[False, True]), [1, None]),
        (np.ma.masked_array(["a", "b"], mask=[True, False]), [None, "b"]),
        (np.array([1 + 1j, np.nan]), [1 + 1j, None]),
        (np.array([np.float16(0.5), np.nan], dtype=np.float16), [0.5, None]),
    ],
)
def test_numpy_nulls(array: np.ndarray, labels: list[object]) -> None:
    assert column(tp.read_table(array)) == labels


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1.5, float("nan"), None]),
        pa.array([Decimal("1.5"), None, None]),
        pa.array(["a", None, None], pa.string_view()),
        pa.array([b"a", None, None]),
        pa.array([True, None, None]),
        pa.array([datetime(2020, 1, 2, 3), None, None]),
        pa.array([1, None, None], pa.timestamp("ns", "UTC")),
        pa.array([1, None, None], pa.duration("s")),
        pa.array([1, None, None], pa.time64("us")),
        pa.RunEndEncodedArray.from_arrays([1, 3], pa.array(["a", None])),
    ],
    ids=lambda array: str(array.type),
)
def test_arrow_nulls(array: pa.Array) -> None:
    table = tp.read_table(pa.table({"x": array}))
    assert table.codes[:, 0].tolist() == [0, -1, -1]
    assert table.schema["x"].levels[0] == array[0].as_py()


def test_zero_and_minus_zero_are_one_label() -> None:
    for source in ({"x": [0.0, -0.0]}, pa.table({"x": [0.0, -0.0]}), np.array([0.0, -0.0])):
        assert tp.read_table(source).n_levels == (1,)
