"""Ratings: (row, column, value) triples fill a table that is never written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorpmf import CategoricalTable, Column, Schema
from tensorpmf.errors import (
    ContinuousColumnError,
    DenseTableError,
    DuplicateCellError,
    InputError,
    LengthError,
    NoRowsError,
    TensorPMFError,
    UnhashableLevelError,
    UnknownColumnError,
    UnknownLevelError,
    UnobservedColumnError,
)

USERS, ITEMS, STARS = ["bob", "ann", "bob", "eve"], [31, 7, 7, 31], [5.0, 3.5, 4.0, 3.5]
KINDS = [list, tuple, np.array, pd.Series, pl.Series]


@pytest.mark.parametrize("kind", KINDS)
def test_users_items_and_ratings_keep_their_labels(kind: type) -> None:
    table = CategoricalTable.from_triples(kind(USERS), kind(ITEMS), kind(STARS))
    assert table.is_sparse
    assert table.row_labels == ("ann", "bob", "eve")
    assert table.schema.names == ("7", "31")
    assert table.to_columns() == {"7": [3.5, 4, None], "31": [None, 5, 3.5]}
    assert {column.levels for column in table.schema.columns} == {(3.5, 4, 5)}
    assert all(column.ordered for column in table.schema.columns)
    assert table.take([2, 0]).row_labels == ("eve", "ann")
    assert table.take(np.array([False, True, True])).select(["31"]).to_columns() == {"31": [5, 3.5]}
    assert table != CategoricalTable.from_triples(["zoe" if user == "eve" else user for user in USERS], ITEMS, STARS)


@given(st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 4)), st.integers(1, 5), min_size=1), st.randoms())
def test_triples_in_any_order_give_the_same_table(cells: dict[tuple[int, int], int], random: object) -> None:
    triples = [(row, column, value) for (row, column), value in cells.items()]
    table = CategoricalTable.from_triples(*zip(*triples, strict=True))
    random.shuffle(triples)
    assert CategoricalTable.from_triples(*zip(*triples, strict=True)) == table
    columns = table.to_columns()
    for row in {row for row, _ in cells}:
        for column in {column for _, column in cells}:
            assert columns[str(column)][table.row_labels.index(row)] == cells.get((row, column))


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ([f"v{ix % 30}" for ix in range(40)], "insist with levels=[...]."),
        ([ix % 30 for ix in range(40)], "cut it with bins=10, or insist with levels=[...]."),
        ([ix / 7 for ix in range(40)], "cut it into bins: bins=10."),
        ([float("inf"), *range(39)], "replace it first."),
        ([None, 1] * 20, "leave its triples out."),
    ],
)
def test_hints_name_what_from_triples_takes(values: list[object], hint: str) -> None:
    with pytest.raises(TensorPMFError) as caught:
        CategoricalTable.from_triples(range(40), [0, 1] * 20, values)
    assert caught.value.hint == hint
    assert str(caught.value).endswith(f"Hint: {hint}")


def test_levels_may_be_declared_or_cut() -> None:
    table = CategoricalTable.from_triples(USERS, ITEMS, STARS, levels=[3, 3.5, 4, 4.5, 5], ordered=True)
    assert table.n_levels == (5, 5)
    cut = CategoricalTable.from_triples(USERS, ITEMS, STARS, bins=[4])
    assert cut.to_columns() == {"7": ["< 4", ">= 4", None], "31": [None, ">= 4", "< 4"]}
    with pytest.raises(UnknownLevelError, match=r"has no level 3\.5"):
        CategoricalTable.from_triples(USERS, ITEMS, STARS, levels=[4, 5])
    assert CategoricalTable.from_triples(USERS, ITEMS, STARS, levels=[4, 5], unknown="missing").outage == 4 / 6
    with pytest.raises(ContinuousColumnError, match="column 'values' holds 30 different real numbers"):
        CategoricalTable.from_triples([1] * 30, range(30), np.arange(30) / 7)


def test_new_ratings_with_a_known_schema() -> None:
    schema = CategoricalTable.from_triples(USERS, ITEMS, STARS).schema
    assert CategoricalTable.from_triples(["zoe"], [31], [5], schema=schema).to_columns() == {"7": [None], "31": [5]}
    with pytest.raises(UnknownLevelError, match="column '7' has no level 1"):
        CategoricalTable.from_triples(["zoe"], [7], [1], schema=schema)
    with pytest.raises(UnknownColumnError, match="there is no column '8'"):
        CategoricalTable.from_triples(["zoe"], [8], [5], schema=schema)
    with pytest.raises(InputError, match="the columns are known already"):
        CategoricalTable.from_triples(["zoe"], [7], [5], schema=schema, bins=2)


def test_columns_of_a_known_schema_may_have_levels_of_their_own() -> None:
    schema = Schema((Column("a", (1, 2)), Column("b", (2, 1, 0)), Column("c", (0, 1)), Column("d", (2, 1, 0))))
    rows, columns, values = [0, 0, 1, 1, 1], ["a", "b", "b", "d", "a"], [2, 2, 0, 1, None]
    table = CategoricalTable.from_triples(rows, columns, values, schema=schema)
    assert table.codes.tolist() == [[1, 0, -1, -1], [-1, 2, -1, 1]]
    with pytest.raises(UnknownLevelError, match="column 'a' has no level 0"):
        CategoricalTable.from_triples([0], ["a"], [0], schema=schema)
    assert CategoricalTable.from_triples([0], ["a"], [0], schema=schema, unknown="missing").outage == 1


@pytest.mark.parametrize(
    ("triples", "error", "text"),
    [
        (([], [], []), NoRowsError, "the list of triples has no rows"),
        ((["u", "u"], ["i"], [1, 2]), LengthError, "column 'columns' has 1 value, but the others have 2"),
        ((["u", "u"], ["i", "j"], [1]), LengthError, "column 'values' has 1 value, but the others have 2"),
        ((["u", None], ["i", "j"], [1, 2]), InputError, "triple 1 does not say to which of the rows it belongs"),
        ((["u", "v"], ["i", np.nan], [1, 2]), InputError, "triple 1 does not say to which of the columns it belongs"),
        ((["u"], [["i"]], [1]), UnhashableLevelError, r"holds \['i'\], which is a list"),
        ((["u", "u"], ["i", "j"], [1, None]), UnobservedColumnError, "column 'j' has no observed value"),
        ((["u", "u"], [1, "1"], [1, 2]), InputError, "more than one column is called '1'"),
    ],
)
def test_triples_that_make_no_table(triples: tuple, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        CategoricalTable.from_triples(*triples)


def test_a_cell_that_is_filled_twice_is_told_by_its_labels() -> None:
    with pytest.raises(
        DuplicateCellError, match="the cell in row 'bob', column '7' is filled more than once"
    ) as caught:
        CategoricalTable.from_triples(["ann", "bob", "bob", "bob"], [7, 7, 7, 7], [1, 2, 2, 3])
    error = caught.value
    assert (error.row, error.column, error.n_duplicates) == ("bob", "7", 2)
    assert "one triple for each cell" in error.hint


def test_a_large_table_stays_compressed(rng: np.random.Generator) -> None:
    n = 40_000
    table = CategoricalTable.from_triples(np.arange(n), rng.permutation(n), rng.integers(1, 6, n))
    assert (table.n_rows, table.n_columns, sum(map(len, table.arrays().values()))) == (n, n, 3 * n + 1)
    assert table.arrays()["values"].dtype == np.int8
    with pytest.raises(DenseTableError, match=r"take 1\.5 GiB") as caught:
        _ = table.codes
    assert "table.take(...).codes" in caught.value.hint
    assert table.take([5]).codes.shape == (1, n)
    assert "held compressed" in repr(table)
