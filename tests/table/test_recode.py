"""A table in the words of another schema."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorpmf import CategoricalTable, Column, Schema
from tensorpmf.errors import CodeRangeError, UnknownColumnError, UnknownLevelError
from tensorpmf.table.recode import recoded
from tensorpmf.testing.strategies import tables


@given(tables(), st.data())
def test_labels_keep_their_meaning(table: CategoricalTable, data: st.DataObject) -> None:
    """Columns and levels in another order, more of both."""
    columns = []
    for column in data.draw(st.permutations(table.schema.columns)):
        levels = data.draw(st.permutations([*column.levels, ("no", "such", "label")]))
        columns.append(Column(column.name, tuple(levels)))
    schema = Schema((*columns, Column("another", (1, 2))))
    new = recoded(table, schema)
    expected = table.to_columns()
    assert new.to_columns() == {**{name: expected[name] for name in schema.names[:-1]}, "another": [None] * len(table)}
    assert new == recoded(table.compressed(), schema)
    assert new.is_sparse == table.is_sparse
    assert np.array_equal(new.with_weights(None).codes, schema.encode(expected).codes)
    if table.row_weights is not None:
        assert np.array_equal(new.row_weights, table.row_weights)
    assert recoded(new.select(table.schema.names), table.schema) == table


@pytest.mark.parametrize("held", [CategoricalTable.compressed, lambda table: table])
def test_labels_that_the_schema_does_not_have(held: object) -> None:
    schema = Schema((Column("a", ("x", "y", "z")), Column("b", (1, 2))))
    table = held(CategoricalTable.from_codes([[0, 1], [1, 0], [-1, 0]], schema=schema))
    fewer = Schema((Column("a", ("x",)), Column("b", (2, 1))))
    with pytest.raises(UnknownLevelError, match="column 'a' has no level 'y'") as caught:
        recoded(table, fewer)
    assert (caught.value.level, caught.value.known) == ("y", ("x",))
    assert recoded(table, fewer, "missing").codes.tolist() == [[0, 0], [-1, 1], [-1, 1]]
    assert recoded(table.take([0]), fewer).codes.tolist() == [[0, 0]]
    with pytest.raises(UnknownColumnError, match="there is no column 'b'"):
        recoded(table, fewer.select(["a"]))


def test_numbers_are_cut_when_the_other_schema_cuts_them() -> None:
    cut = CategoricalTable.from_any({"x": [1.5, 30, 80]}, bins={"x": [20, 40]})
    assert recoded(CategoricalTable.from_any({"x": [10, 20, 99]}), cut.schema).codes.tolist() == [[0], [1], [2]]


def test_integer_arrays_are_labels_where_labels_are_numbers_and_codes_elsewhere() -> None:
    table = CategoricalTable.from_any(
        {"word": ["a", "b", "c"], "stars": [3, 4, 5], "age": [1.5, 30, 80], "sold": [True, False, True]},
        bins={"age": [20, 40]},
    )
    rows = np.array([[2, 5, 25, 1], [-1, -1, 99, 0]])
    assert table.schema.encode(rows).to_columns() == {
        "word": ["c", None],
        "stars": [5, None],
        "age": ["[20, 40)", ">= 40"],
        "sold": [True, False],
    }
    codes = CategoricalTable.from_codes([[0, 1], [1, 0]])
    assert np.array_equal(codes.schema.encode(np.array([[1, -1]])).codes, [[1, -1]])
    with pytest.raises(CodeRangeError, match="column 'word' has 3 levels") as caught:
        table.schema.encode(np.array([[3, 5, 25, 1]]))
    assert caught.value.code == 3
    with pytest.raises(UnknownLevelError, match="column 'stars' has no level 0"):
        table.schema.encode(np.array([[2, 0, 25, 1]]))
    signed = CategoricalTable.from_any({"x": [-1, 0, 1]})
    assert signed.schema.encode(np.array([[-1]])).to_columns() == {"x": [-1]}
