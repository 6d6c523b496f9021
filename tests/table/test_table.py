"""Tables of codes: what goes in comes out, nothing can be changed, every mistake has its error."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given

import tensorpmf as tp
from tensorpmf import CategoricalTable, Schema
from tensorpmf.errors import (
    CodeRangeError,
    InputError,
    NoColumnsError,
    NoRowsError,
    SettingError,
    TooManyLevelsError,
    UnknownColumnError,
    UnobservedColumnError,
    WeightError,
)
from tensorpmf.testing.strategies import tables


def test_codes_go_in_as_they_are() -> None:
    table = CategoricalTable.from_codes([[0, 2], [1, -1], [1, 0]], n_levels=[2, 4], names=["a", "b"])
    assert (table.n_rows, table.n_columns, table.n_levels, len(table)) == (3, 2, (2, 4), 3)
    assert table.schema.names == ("a", "b")
    assert table.codes.tolist() == [[0, 2], [1, -1], [1, 0]]
    assert table.codes.dtype == np.int8
    assert table.outage == pytest.approx(1 / 6)
    assert table.row_weights is None
    assert table.total_weight == 3


def test_levels_are_counted_when_not_given() -> None:
    table = CategoricalTable.from_codes(np.array([[0, 200], [3, 0]], dtype=np.uint8))
    assert table.n_levels == (4, 201)
    assert table.codes.dtype == np.int16


def test_another_number_may_mark_missing_cells() -> None:
    assert CategoricalTable.from_codes([[9, 1], [0, 9]], missing=9).codes.tolist() == [[-1, 1], [0, -1]]
    masked = np.ma.masked_array([[5, 1], [0, 0]], mask=[[1, 0], [0, 0]])
    assert CategoricalTable.from_codes(masked).codes.tolist() == [[-1, 1], [0, 0]]


def test_the_caller_s_array_is_copied_and_ours_is_read_only() -> None:
    codes, weights = np.array([[0, 1], [1, 0]], dtype=np.int8), np.array([1.0, 2.0])
    table = CategoricalTable.from_codes(codes, weights=weights)
    codes[0, 0], weights[0] = 1, 9
    assert table.codes[0, 0] == 0
    assert table.row_weights.tolist() == [1, 2]
    for array in (*table.arrays().values(), *table.compressed().arrays().values(), table.take([0]).codes):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(FrozenInstanceError):
        table.schema = None


@pytest.mark.parametrize(
    ("codes", "options", "error", "text"),
    [
        (np.empty((0, 2), int), {}, NoRowsError, "the table has no rows."),
        (np.empty((2, 0), int), {}, NoColumnsError, "the table has no columns."),
        ([[0, -1], [1, -1]], {}, UnobservedColumnError, "column 'x2' has no observed value."),
        (
            [[0, 3]],
            {"n_levels": [1, 3]},
            CodeRangeError,
            "column 'x2' has 3 levels, so its codes are 0 to 2, but a cell holds 3.",
        ),
        ([[0, -2], [0, 1]], {}, CodeRangeError, "a cell holds -2."),
        ([[0.0, np.nan]], {}, InputError, "codes must be whole numbers, got an array of float64."),
        ([0, 1], {}, InputError, r"codes must have two axes, rows and columns, got shape \(2,\)."),
        ([[0, 1]], {"n_levels": [2]}, InputError, "there are 2 columns, but 1 numbers of levels."),
        ([[0, 1]], {"names": ["a"]}, InputError, "there are 2 columns, but 1 names."),
        (
            [[0, 1]],
            {"schema": Schema.from_n_levels([2])},
            InputError,
            "the codes have 2 columns, but 1 were described.",
        ),
        ([[0]], {"n_levels": [0]}, InputError, "column 'x1' has no levels."),
        ([[0, 1]], {"n_levels": 2}, SettingError, "n_levels must be a list, one entry a column, got 2."),
        ([[0, 1]], {"names": "ab"}, SettingError, "names must be a list, one entry a column, got 'ab'."),
        ([[0, 0]], {"n_levels": [1.5, 2]}, SettingError, "n_levels must be a whole number >= 0, got 1.5"),
        ([[0, 1], [0]], {}, InputError, "codes must have two axes, but these rows differ in length."),
        ([[0, 2**40], [0, 1]], {}, TooManyLevelsError, "column 'x2' has 1,099,511,627,777 levels for 2 rows."),
    ],
)
def test_codes_that_make_no_table(codes: object, options: dict, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        CategoricalTable.from_codes(codes, **options)


def test_a_code_out_of_range_is_told_with_its_facts() -> None:
    with pytest.raises(CodeRangeError) as caught:
        CategoricalTable.from_codes([[0, 7]], n_levels=[1, 3])
    assert (caught.value.column, caught.value.code, caught.value.n_levels, caught.value.missing) == ("x2", 7, 3, -1)
    assert "read_table" in caught.value.hint


def test_codes_that_start_at_one_are_told_how_to_start_at_zero() -> None:
    with pytest.raises(CodeRangeError, match=r"but a cell holds 3\.\n  Hint: .* by subtracting 1\."):
        CategoricalTable.from_codes([[0, 3], [1, 1]], n_levels=[3, 3], missing=0)


@pytest.mark.parametrize(
    ("weights", "text", "row"),
    [
        ([1, -1], "must be finite and not negative, but row 1 has -1.0", 1),
        ([np.nan, 1], "row 0 has nan", 0),
        ([1, np.inf], "row 1 has inf", 1),
        ([0, 0], "sum to zero", None),
        ([1e308, 1e308], "sum to more than a float holds", None),
        ([1], r"have shape \(1,\), but there are 2 rows", None),
        (["a", "b"], "must be numbers", None),
    ],
)
def test_weights_that_weigh_nothing(weights: list, text: str, row: int | None) -> None:
    with pytest.raises(WeightError, match=text) as caught:
        CategoricalTable.from_codes([[0], [1]], weights=weights)
    assert caught.value.row == row
    assert "one finite weight >= 0" in caught.value.hint


def test_a_known_schema_allows_any_number_of_rows() -> None:
    empty = CategoricalTable.from_codes(np.empty((0, 2), int), schema=Schema.from_n_levels([2, 3]))
    assert (empty.n_rows, empty.outage, empty.codes.shape) == (0, 0.0, (0, 2))


def test_rows_and_columns_can_be_taken() -> None:
    table = CategoricalTable.from_codes([[0, 2], [1, -1], [1, 0]], names=["a", "b"], weights=[1, 2, 3.5])
    for rows in ([0, 2], slice(0, 3, 2), np.array([True, False, True])):
        assert table.take(rows).codes.tolist() == [[0, 2], [1, 0]]
        assert table.take(rows).row_weights.tolist() == [1, 3.5]
    for rows in ([], (), np.zeros(3, bool), slice(0)):
        assert table.take(rows).codes.shape == (0, 2)
    for wrong in ([3], [-4], [0.5], np.ones(2, bool)):
        with pytest.raises(SettingError, match="rows must be positions, or a mask, of some of the 3 rows, got"):
            table.take(wrong)
    assert table.select(["b", "a"]).codes.tolist() == [[2, 0], [-1, 1], [0, 1]]
    assert table.select(["a", "b"]) is table
    with pytest.raises(UnknownColumnError, match="there is no column 'c'"):
        table.select(["c"])
    assert table.with_weights(None).total_weight == 3
    assert table.with_weights([1, 1, 0]).total_weight == 2


@given(tables())
def test_a_table_equals_itself_however_it_is_held(table: CategoricalTable) -> None:
    again = CategoricalTable.from_codes(table.codes, schema=table.schema, weights=table.row_weights)
    assert again == table == table.compressed()
    assert table.outage == pytest.approx(again.outage)
    assert {"codes", "indptr"} & set(table.arrays())
    assert ("weights" in table.arrays()) == (table.row_weights is not None)


def test_tables_that_differ_are_not_equal() -> None:
    table = CategoricalTable.from_codes([[0, 1], [1, 0]])
    others = [
        CategoricalTable.from_codes([[0, 1], [1, 1]]),
        CategoricalTable.from_codes([[0, 1], [1, 0]], n_levels=[2, 3]),
        table.with_weights([1, 2]),
        table.take([0]),
    ]
    assert all(table != other for other in others)
    assert table == table.with_weights([1, 1])
    assert table != "a table"
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


def test_what_a_person_sees() -> None:
    schema = Schema.from_n_levels([2] * 13)
    table = CategoricalTable.from_codes(np.zeros((1, 13), int), schema=schema)
    lines = repr(table).splitlines()
    assert lines[0] == "CategoricalTable: 1 row × 13 columns, complete"
    assert lines[1] == "  x1   2 levels  0, 1"
    assert lines[-1] == "  … and 1 more column"
    assert len(lines) == 14
    weighed = table.with_weights([2.5]).select(["x1"]).compressed()
    assert repr(weighed).splitlines()[0] == "CategoricalTable: 1 row × 1 column, complete, weight 2.5, held compressed"


@pytest.mark.parametrize(
    ("n_observed", "text"), [(0, "100 %"), (1, "> 99.9 %"), (7_500, "25 %"), (9_999, "< 0.1 %"), (9_000, "10 %")]
)
def test_the_share_of_missing_cells_is_not_rounded_away(n_observed: int, text: str) -> None:
    codes = np.full((10_000, 1), -1)
    codes[:n_observed] = 0
    table = CategoricalTable.from_codes(codes, n_levels=[1])
    assert repr(table).splitlines()[0].endswith(f"column, {text} missing")


@given(tables())
def test_every_table_can_be_shown(table: CategoricalTable) -> None:
    lines = repr(table).splitlines()
    assert lines[0].startswith(f"CategoricalTable: {table.n_rows} row")
    assert len(lines) == 1 + table.n_columns
    assert max(map(len, lines[1:])) <= 80


def test_what_a_person_sees_fits_a_terminal() -> None:
    name, other = "a name that goes on and on and on", "line\nbreak"
    levels = [f"a long, long, long label {n}" for n in range(5)]
    source = {name: levels, other: [1, 2, None, 1, 2], "all": ["x" * 70, "y" * 70] * 2 + ["x" * 70]}
    assert repr(tp.read_table(source)).splitlines()[1:] == [
        "  a name that goes on and…  5 levels  'a long, l…, …, 'a long, l…",
        "  line\\nbreak               2 levels  1 < 2                        20 % missing",
        "  all                       2 levels  'xxxxxxxxx…, 'yyyyyyyyy…",
    ]
