"""Whatever holds a table in memory: one and the same table, however it is handed over."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import tensorpmf as tp
from tensorpmf import CategoricalTable
from tensorpmf.errors import (
    DuplicateCellError,
    DuplicateColumnError,
    InputError,
    LengthError,
    NoColumnsError,
    NoRowsError,
    SettingError,
    UnhashableLevelError,
    UnknownColumnError,
    UnknownLevelError,
    UnknownSourceError,
    UnobservedColumnError,
    WeightError,
)

COLUMNS = {"size": ["S", "L", None, "S"], "stars": [3, 1, 2, None], "sold": [True, None, False, True]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


class Speaks:
    """A library nobody has heard of, but it speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


SOURCES = {
    "dict": COLUMNS,
    "dict of tuples": {name: tuple(values) for name, values in COLUMNS.items()},
    "dict of object arrays": {name: np.array(values, dtype=object) for name, values in COLUMNS.items()},
    "dict of pandas series": {name: pd.Series(values, dtype=object) for name, values in COLUMNS.items()},
    "dict of polars series": {name: pl.Series(values) for name, values in COLUMNS.items()},
    "dict of Arrow arrays": {name: pa.array(values) for name, values in COLUMNS.items()},
    "dict of generators": {name: dict(enumerate(values)).values() for name, values in COLUMNS.items()},
    "rows": ROWS,
    "rows without what is missing": [{k: v for k, v in row.items() if v is not None} for row in ROWS],
    "pandas": pd.DataFrame(COLUMNS),
    "pandas with nullable types": pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas with Arrow types": pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(COLUMNS),
    "lazy polars": pl.LazyFrame(COLUMNS),
    "Arrow table": pa.table(COLUMNS),
    "Arrow record batch": pa.record_batch(COLUMNS),
    "polars with objects": pl.DataFrame(COLUMNS).with_columns(pl.Series("size", COLUMNS["size"], dtype=pl.Object)),
    "Arrow reader": pa.RecordBatchReader.from_batches(pa.table(COLUMNS).schema, pa.table(COLUMNS).to_batches()),
    "whatever speaks Arrow": Speaks(),
    "itself": tp.read_table(COLUMNS),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_table(kind: str) -> None:
    table = tp.read_table(SOURCES[kind])
    assert table == tp.read_table(COLUMNS)
    assert table.to_columns() == COLUMNS
    assert [column.levels for column in table.schema.columns] == [("L", "S"), (1, 2, 3), (False, True)]
    assert [column.ordered for column in table.schema.columns] == [False, True, False]
    assert table.codes.dtype == np.int8


def test_nothing_of_the_caller_s_is_changed() -> None:
    frame, array = pd.DataFrame({"a": [3.0, np.nan, 1.0], "b": ["x", None, "y"]}), np.array([[2, 1], [1, 2]])
    frame_before, array_before = frame.copy(deep=True), array.copy()
    table, again = tp.read_table(frame, bins=2), tp.read_table(array)
    pd.testing.assert_frame_equal(frame, frame_before)
    assert np.array_equal(array, array_before)
    array[:] = 1
    frame.loc[:, "b"] = "x"
    assert again.to_columns() == {"x1": [2, 1], "x2": [1, 2]}
    assert table.to_columns()["b"] == ["x", None, "y"]


@pytest.mark.parametrize(
    ("array", "columns"),
    [
        (np.array([["b", "x"], ["a", "x"]]), {"x1": ["b", "a"], "x2": ["x", "x"]}),
        (np.array([[3, 1], [2, 1]], dtype=np.uint16), {"x1": [3, 2], "x2": [1, 1]}),
        (np.array([[0.5, 1], [np.nan, 2]]), {"x1": [0.5, None], "x2": [1, 2]}),
        (np.array([[True, False], [True, True]]), {"x1": [True, True], "x2": [False, True]}),
        (np.array([[b"a"], [b"b"]]), {"x1": [b"a", b"b"]}),
        (np.array([["a", 1], [None, (1, 2)]], dtype=object), {"x1": ["a", None], "x2": [1, (1, 2)]}),
        (np.array(["2020-01-02"], dtype="M8[D]"), {"x1": [date(2020, 1, 2)]}),
        (np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("t", "U1")]), {"n": [1, 2], "t": ["a", "b"]}),
        (np.asfortranarray([[1, 2], [3, 4]])[::-1], {"x1": [3, 1], "x2": [4, 2]}),
    ],
)
def test_numpy_arrays(array: np.ndarray, columns: dict) -> None:
    assert tp.read_table(array).to_columns() == columns


def test_names_for_what_has_none() -> None:
    assert tp.read_table(np.array([[1, 2]]), names=["a", "b"]).schema.names == ("a", "b")
    assert tp.read_table([["x", 1], ["y", None]], names=["a", "b"]).to_columns() == {"a": ["x", "y"], "b": [1, None]}
    assert tp.read_table([("x", 1)]).schema.names == ("x1", "x2")
    assert tp.read_table(pd.DataFrame([[1, 2]])).schema.names == ("0", "1")
    assert tp.read_table(pl.Series("s", [1, 2])).schema.names == ("s",)
    with pytest.raises(InputError, match="there are 2 columns, but 1 names"):
        tp.read_table([["x", 1]], names=["a"])


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_an_array() -> None:
    matrix = np.asmatrix([[1, 2], [2, 1]])
    assert tp.read_table(matrix).to_columns() == {"x1": [1, 2], "x2": [2, 1]}


def test_an_array_of_one_axis_is_one_column() -> None:
    for values in (np.array(["x", "y"]), pa.array(["x", "y"]), pa.chunked_array([["x"], ["y"]])):
        assert tp.read_table(values).to_columns() == {"x1": ["x", "y"]}


def test_labels_of_any_hashable_kind() -> None:
    labels = ["x", 1, (1, 2), None, 2.5, frozenset([1]), b"x", date(2020, 1, 1)]
    table = tp.read_table({"a": labels})
    assert table.to_columns() == {"a": labels}
    assert table.schema["a"].levels[:2] == (1, 2.5)  # numbers first, the rest by kind and spelling
    assert tp.read_table({"a": labels[::-1]}).schema == table.schema


def test_integers_of_any_size_stay_what_they_are() -> None:
    labels = [2**63, -1, 2**70]
    assert tp.read_table({"a": labels}).to_columns() == {"a": labels}
    assert tp.read_table({"a": labels[:2]}).schema["a"].levels == (-1, 2**63)


def test_integers_of_128_bits_come_from_polars_too() -> None:
    frame = pl.DataFrame({"a": pl.Series([2**100, None, 1], dtype=pl.Int128), "b": ["x", "y", None]})
    assert tp.read_table(frame).to_columns() == {"a": [2**100, None, 1], "b": ["x", "y", None]}


def test_numpy_scalars_become_python_objects() -> None:
    table = tp.read_table({"a": [np.int64(1), np.int64(2)], "b": [np.str_("x"), np.bool_(True)]})
    kinds = [type(label) for column in table.schema.columns for label in column.levels]
    assert kinds == [int, int, bool, str]


def test_one_row_by_its_labels() -> None:
    assert tp.read_table({"a": "xyz", "b": 3}).to_columns() == {"a": ["xyz"], "b": [3]}


@pytest.mark.parametrize(
    ("source", "error", "text"),
    [
        (3, UnknownSourceError, "no table can be made of an object of type int"),
        (["a", "b"], UnknownSourceError, "no table can be made of an object of type list of str"),
        ([{"a": 1}, ["b"]], UnknownSourceError, "no table can be made of an object of type list of dict and list"),
        (None, UnknownSourceError, "NoneType"),
        ([], NoColumnsError, "the table has no columns"),
        ({}, NoColumnsError, "the table has no columns"),
        (pd.DataFrame(), NoColumnsError, "the table has no columns"),
        (pd.DataFrame({"a": []}), NoRowsError, "the table has no rows"),
        (np.empty((0, 2)), NoRowsError, "the table has no rows"),
        (np.empty((2, 0)), NoColumnsError, "the table has no columns"),
        (np.zeros((2, 2, 2)), InputError, r"an array must have two axes, rows and columns, got shape \(2, 2, 2\)"),
        ({"a": np.zeros((2, 2))}, InputError, r"column 'a' must have one axis, got shape \(2, 2\)"),
        ({"a": [1, 2], "b": [1]}, LengthError, "column 'b' has 1 value, but the others have 2"),
        ([["a", 1], ["b"]], InputError, "row 1 has 1 value, but the first has 2"),
        ({"a": [1, 2], "b": [None, None]}, UnobservedColumnError, "column 'b' has no observed value"),
        (pl.DataFrame({"a": [1], "b": [None]}), UnobservedColumnError, "column 'b' has no observed value"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), DuplicateColumnError, "more than one column is called 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), DuplicateColumnError, "more than one column is called '1'"),
        (pa.table([pa.array([1])] * 2, names=["a", "a"]), DuplicateColumnError, "more than one column is called 'a'"),
        ({"a": [1, [1], [2]]}, UnhashableLevelError, r"column 'a' holds \[1\], which is a list and cannot be a label"),
        (pl.DataFrame({"a": [[1], [2]]}), UnhashableLevelError, "which is a list and cannot be a label"),
        (pl.DataFrame({"a": [{"b": 1}]}), UnhashableLevelError, "which is a dict and cannot be a label"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_no_table_can_be_made_of(source: object, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        tp.read_table(source)


def test_columns_are_chosen_and_left_out() -> None:
    assert tp.read_table(COLUMNS, columns=["sold", "size"]).schema.names == ("sold", "size")
    assert tp.read_table(COLUMNS, columns="sold").schema.names == ("sold",)
    assert tp.read_table(COLUMNS, drop="size").schema.names == ("stars", "sold")
    assert tp.read_table(SOURCES["itself"], drop=["size"]).schema.names == ("stars", "sold")
    for options in ({"columns": ["price"]}, {"drop": ["price"]}, {"levels": {"price": [1]}}, {"ordered": "price"}):
        with pytest.raises(UnknownColumnError, match="there is no column 'price'") as caught:
            tp.read_table(COLUMNS, **options)
        assert caught.value.known == ("size", "stars", "sold")
    with pytest.raises(NoColumnsError):
        tp.read_table(COLUMNS, columns=[])


def test_markers_of_missing_cells() -> None:
    source = {"a": ["x", "?", "NA"], "b": [1, -9, 2]}
    assert tp.read_table(source).n_levels == (3, 3)
    table = tp.read_table(source, missing=["?", -9])
    assert table.to_columns() == {"a": ["x", None, "NA"], "b": [1, None, 2]}
    assert tp.read_table(source, missing="NA").to_columns()["a"] == ["x", "?", None]
    declared = pd.DataFrame({"a": pd.Categorical(["x", "?"], categories=["?", "x", "y"])})
    assert tp.read_table(declared, missing=["?"]).schema["a"].levels == ("x", "y")


def test_one_marker_needs_no_list_and_is_a_label() -> None:
    assert tp.read_table({"a": [1, -9, 2]}, missing=-9).to_columns() == {"a": [1, None, 2]}
    with pytest.raises(SettingError, match=r"missing must be a label or several, got \[\[-9\]\]"):
        tp.read_table({"a": [1, -9, 2]}, missing=[[-9]])


@pytest.mark.parametrize("levels", [["S", "L"], {"size": 3}])
def test_levels_are_given_by_column(levels: object) -> None:
    with pytest.raises(SettingError, match="levels must be a mapping from column names to their levels, got"):
        tp.read_table(COLUMNS, levels=levels)


@pytest.mark.parametrize("schema", [tp.read_table(COLUMNS), {"size": ["S", "L"]}])
def test_a_schema_is_a_schema(schema: object) -> None:
    with pytest.raises(SettingError, match=r"schema must be a Schema, such as table\.schema, got '(Categ|dict)"):
        tp.read_table(COLUMNS, schema=schema)


def test_unknown_is_one_of_two_words() -> None:
    with pytest.raises(SettingError, match='unknown must be "error" or "missing"'):
        tp.read_table(COLUMNS, unknown="ignore")


RATINGS = np.array([[0, 5, 0], [3, 0, 4], [0, 4, 0]])


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix])
def test_stored_entries_of_scipy_arrays_are_labels(kind: type) -> None:
    table = tp.read_table(kind(RATINGS))
    assert table.is_sparse
    assert table.to_columns() == {"x1": [None, 3, None], "x2": [5, None, 4], "x3": [None, 4, None]}
    assert [column.levels for column in table.schema.columns] == [(3, 4, 5)] * 3
    assert tp.read_table(kind(RATINGS), schema=table.schema, columns=["x2", "x1"]) == table.select(["x2", "x1"])
    assert tp.read_table(kind(RATINGS), names=["a", "b", "c"], missing=[4], drop="c").outage == pytest.approx(4 / 6)


def test_scipy_arrays_that_make_no_table() -> None:
    with pytest.raises(UnobservedColumnError, match="column 'x2' has no observed value"):
        tp.read_table(sparse.csr_array(np.array([[1, 0]])))
    with pytest.raises(DuplicateCellError, match=r"row 0, column 1 is filled more than once \(1 triple too many\)"):
        tp.read_table(sparse.coo_array(([1, 2, 3], ([0, 0, 0], [1, 1, 0])), shape=(1, 2)))
    with pytest.raises(NoRowsError):
        tp.read_table(sparse.csr_array((0, 2)))


def test_row_weights_come_from_a_column_or_an_array() -> None:
    weighed = {**COLUMNS, "n": [1, 2.5, 0, 1]}
    table = tp.read_table(weighed, weights="n")
    assert table.schema.names == ("size", "stars", "sold")
    assert table.row_weights.tolist() == [1, 2.5, 0, 1]
    for weights in ([1, 2.5, 0, 1], pd.Series([1, 2.5, 0, 1]), pl.Series([1.0, 2.5, 0.0, 1.0])):
        assert tp.read_table(COLUMNS, weights=weights) == table
    assert tp.read_table(table, weights=[1, 1, 1, 1]).total_weight == 4
    with pytest.raises(WeightError, match="row weights cannot come from column 'stars' of what has been coded already"):
        tp.read_table(table, weights="stars")


def test_new_rows_may_lack_columns_but_not_have_others() -> None:
    schema = tp.read_table(COLUMNS).schema
    assert schema.encode({"stars": [2]}).codes.tolist() == [[-1, 1, -1]]
    assert schema.encode([{}, {"sold": True}]).codes.tolist() == [[-1, -1, -1], [-1, -1, 1]]
    assert schema.encode([]).codes.shape == (0, 3)
    assert schema.encode([["L", 3, None]]).codes.tolist() == [[0, 2, -1]]
    assert schema.encode(tp.read_table(COLUMNS)) == tp.read_table(COLUMNS)
    assert schema.encode({"stars": [2], "price": [9]}, columns=["stars"]).n_columns == 3
    with pytest.raises(UnknownColumnError, match="there is no column 'price'") as caught:
        schema.encode({"stars": [2], "price": [9]})
    assert caught.value.hint == "leave it out with drop=['price'], in read_table or schema.encode."
    with pytest.raises(UnknownLevelError) as unknown:
        schema.encode({"stars": [2, 7]})
    assert (unknown.value.column, unknown.value.level, unknown.value.known) == ("stars", 7, (1, 2, 3))
    assert schema.encode({"stars": [2, 7]}, unknown="missing").codes[:, 1].tolist() == [1, -1]


def test_a_large_mostly_empty_frame_is_held_compressed(rng: np.random.Generator) -> None:
    values = np.where(rng.random((3_000, 400)) < 0.04, rng.integers(1, 4, (3_000, 400)), np.nan)
    table = tp.read_table(values)
    assert table.is_sparse
    assert CategoricalTable.from_codes(np.nan_to_num(values).astype(int) - 1, n_levels=[3] * 400).is_sparse
    assert np.array_equal(table.codes, np.nan_to_num(values).astype(int) - 1)
