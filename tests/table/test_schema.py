"""Columns and schemas: labels and codes, what texts stand for, names that must differ."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given

from tensorpmf import Column, Schema
from tensorpmf.errors import (
    DuplicateColumnError,
    InputError,
    UnhashableLevelError,
    UnknownColumnError,
    UnknownLevelError,
)
from tensorpmf.testing.strategies import schemas

AGE = Column("age", ("< 20", "[20, 40)", ">= 40"), ordered=True, edges=(20.0, 40.0), centres=(12.0, 31.0, 55.0))


@given(schemas())
def test_labels_and_codes_are_inverse(schema: Schema) -> None:
    for column in schema.columns:
        assert [column.code(label) for label in column.levels] == list(range(column.n_levels))
    assert schema.n_levels == tuple(map(len, (column.levels for column in schema.columns)))
    assert schema.offsets.tolist() == [sum(schema.n_levels[:ix]) for ix in range(len(schema) + 1)]
    assert [schema.ix(name) for name in schema.names] == list(range(schema.n_columns))
    assert schema.select(schema.names[::-1]).columns == schema.columns[::-1]


@pytest.mark.parametrize(
    ("number", "code"), [(19.99, 0), (20, 1), (39.9, 1), (40, 2), (1e9, 2), (-1e9, 0), (np.int64(20), 1)]
)
def test_numbers_are_cut_beyond_the_training_range_too(number: float, code: int) -> None:
    assert AGE.code(number) == code


@pytest.mark.parametrize("label", ["30", None, float("nan"), float("inf"), [20]])
def test_what_is_neither_label_nor_number_is_unknown(label: object) -> None:
    with pytest.raises(UnknownLevelError):
        AGE.code(label)


@pytest.mark.parametrize(
    ("levels", "text", "label"),
    [
        ((1, 2, 3), "2", 2),
        ((1, 2, 3), "2.0", 2),
        ((1.0, 2.5), "1", 1.0),
        (("1", "2"), "1", "1"),
        ((False, True), "true", True),
        ((False, True), "FALSE", False),
        ((False, True), "True", True),
        ((date(2020, 1, 2),), "2020-01-02", date(2020, 1, 2)),
    ],
)
def test_texts_stand_for_labels(levels: tuple, text: str, label: object) -> None:
    parsed = Column("a", levels).parse(text)
    assert parsed == label
    assert type(parsed) is type(label)


def test_texts_of_numbers_are_cut() -> None:
    assert AGE.parse("33.5") == "[20, 40)"
    assert AGE.parse(">= 40") == ">= 40"


@pytest.mark.parametrize("text", ["3", "x", "nan", ""])
def test_texts_that_stand_for_no_label(text: str) -> None:
    with pytest.raises(UnknownLevelError) as caught:
        Column("a", (1, 2)).parse(text)
    assert (caught.value.column, caught.value.level, caught.value.known) == ("a", text, (1, 2))


def test_an_unknown_level_is_told_with_what_to_try() -> None:
    with pytest.raises(UnknownLevelError, match="column 'party' has no level 'democrats'") as caught:
        Column("party", ("democrat", "republican")).code("democrats")
    assert caught.value.hint == "did you mean 'democrat'?"
    with pytest.raises(UnknownLevelError) as caught:
        Column("party", ("democrat", "republican")).code("green")
    assert caught.value.hint is None


def test_an_unknown_column_is_told_with_what_to_try() -> None:
    with pytest.raises(UnknownColumnError, match=r"there is no column 'ages'\. Known columns: 'age'") as caught:
        Schema((AGE,)).ix("ages")
    assert caught.value.hint == "did you mean 'age'?"
    assert isinstance(caught.value, KeyError)


def test_names_differ() -> None:
    with pytest.raises(DuplicateColumnError, match="more than one column is called 'b'") as caught:
        Schema((Column("a", (1,)), Column("b", (1,)), Column("b", (2,))))
    assert caught.value.column == "b"


def test_levels_differ_and_there_are_some() -> None:
    with pytest.raises(InputError, match="column 'a' has no levels"):
        Column("a", ())
    with pytest.raises(InputError, match="column 'a' has the level 1 more than once"):
        Column("a", (1, 2, 1.0))
    for null in (None, float("nan")):
        with pytest.raises(InputError, match=r"column 'a' has the level (None|nan), but that is what is missing"):
            Column("a", ("x", null))
    with pytest.raises(UnhashableLevelError, match=r"column 'a' holds \[1\], which is a list and cannot be a label"):
        Column("a", ("x", [1]))


def test_numbers_that_levels_stand_for() -> None:
    assert AGE.values.tolist() == [12, 31, 55]
    assert Column("a", (1, 2.5)).values.tolist() == [1, 2.5]
    with pytest.raises(InputError, match="column 'a' has levels that are not numbers"):
        _ = Column("a", ("x",)).values


def test_schema_of_codes() -> None:
    schema = Schema.from_n_levels([2, 1])
    assert (schema.names, schema.columns[0].levels) == (("x1", "x2"), (0, 1))
