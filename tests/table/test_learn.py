"""What is learnt from values: levels, their order, whether it means something, and which columns teach nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorpmf as tp
from tensorpmf import Column, Schema
from tensorpmf.errors import ContinuousColumnError, InputError, NonFiniteError, TooManyLevelsError, UnknownLevelError
from tensorpmf.testing.strategies import LABELS


def learnt(values: object, **options: object) -> Column:
    return tp.read_table({"x": values}, **options).schema["x"]


@pytest.mark.parametrize(
    ("values", "levels", "ordered"),
    [
        ([3, 1, 2, 1], (1, 2, 3), True),
        ([2.5, 0.5, 1.0], (0.5, 1.0, 2.5), True),
        ([True, False], (False, True), False),
        (["b", "a", "C"], ("C", "a", "b"), False),
        ([date(2021, 1, 1), date(2020, 1, 1)], (date(2020, 1, 1), date(2021, 1, 1)), True),
        ([Decimal("2.5"), Decimal(1)], (Decimal(1), Decimal("2.5")), True),
        (["b", 2, True, "a", 1.5], (1.5, 2, True, "a", "b"), False),
        ([(2, 1), (1,), (10, 0)], ((1,), (10, 0), (2, 1)), False),
        ([7, 7, 7], (7,), True),
    ],
)
def test_levels_are_those_that_occur_in_natural_order(values: list, levels: tuple, ordered: bool) -> None:
    column = learnt(values)
    assert (column.levels, column.ordered) == (levels, ordered)
    assert column.edges is None
    assert column.centres is None


@given(st.lists(st.one_of(*LABELS.values()), min_size=1, max_size=12), st.randoms())
def test_the_order_of_rows_does_not_matter(values: list, random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert set(learnt(values).levels) == set(values)
    if len({type(value) for value in values}) == 1:
        assert learnt(shuffled) == learnt(values)


def test_dates_that_cannot_be_compared_are_ordered_by_spelling() -> None:
    mixed = [datetime(2020, 1, 1, tzinfo=UTC), datetime(2019, 1, 1)]
    assert learnt(mixed).levels == (mixed[1], mixed[0])


def test_declared_levels_are_taken_as_they_are() -> None:
    column = learnt(["M", "S"], levels={"x": ["S", "M", "L"]}, ordered="x")
    assert (column.levels, column.ordered) == (("S", "M", "L"), True)
    assert list(map(type, learnt([2, 1], levels={"x": np.array([1, 2])}).levels)) == [int, int]
    assert not learnt([1, 2], levels={"x": [2, 1]}).ordered
    with pytest.raises(UnknownLevelError, match=r"column 'x' has no level 'XL'\. Known levels: 'S', 'M'"):
        learnt(["M", "XL"], levels={"x": ["S", "M"]})


@pytest.mark.parametrize("ordered", [False, True])
def test_what_the_source_declares_is_kept(ordered: bool) -> None:
    values = pd.Categorical([2, 1, None], categories=[3, 2, 1], ordered=ordered)
    column = tp.read_table(pd.DataFrame({"x": values})).schema["x"]
    assert (column.levels, column.ordered) == ((3, 2, 1), ordered)
    assert tp.read_table(pd.DataFrame({"x": values}), ordered=["x"], bins=2).schema["x"].ordered
    assert tp.read_table(pl.DataFrame({"x": pl.Series(["b"], dtype=pl.Enum(["b", "a"]))})).schema["x"].ordered


def test_an_unobserved_category_need_not_be_known() -> None:
    values = pd.DataFrame({"x": pd.Categorical(["a", "a"], categories=["a", "gone"])})
    schema = Schema((Column("x", ("b", "a")),))
    assert schema.encode(values).codes.tolist() == [[1], [1]]
    assert tp.read_table(values, levels={"x": ["a"]}).n_levels == (1,)


def test_many_real_numbers_need_bins(rng: np.random.Generator) -> None:
    with pytest.raises(ContinuousColumnError, match="column 'x' holds 21 different real numbers") as caught:
        learnt(np.arange(210) % 21 / 2)
    assert (caught.value.column, caught.value.n_distinct, caught.value.most) == ("x", 21, 20)
    assert "bins={'x': 10}, or bins=10" in caught.value.hint
    assert learnt(np.arange(210) % 20 / 2).n_levels == 20
    assert learnt(np.arange(210) % 50 * 1.0).n_levels == 50  # whole numbers that pandas has made floats
    with pytest.raises(ContinuousColumnError):
        learnt([Decimal(n) / 8 for n in range(30)] * 3)
    with pytest.raises(ContinuousColumnError):
        learnt(rng.random(30))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_numbers_are_told(value: float) -> None:
    with pytest.raises(NonFiniteError, match=r"column 'x' holds -?inf, which is no finite number") as caught:
        learnt([1.0, value])
    assert (caught.value.column, caught.value.value) == ("x", value)
    assert learnt([1.0, value], missing=[np.inf, -np.inf]).levels == (1.0,)


def test_numpy_before_version_2_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np, "bool")
    assert learnt([2, True, False]).levels == (2, False, True)
    assert learnt(np.array([True, False])).levels == (False, True)


def test_integers_that_no_float_holds_are_told() -> None:
    for bins in (None, 2):
        with pytest.raises(NonFiniteError, match="column 'x' holds -inf, which is no finite number"):
            tp.read_table({"x": [1, -(10**400), 2]}, bins=bins)
    assert learnt([10**400, "a", 1]).levels == (1, 10**400, "a")
    with pytest.raises(UnknownLevelError):
        learnt([1, 2, 3], bins={"x": 2}).code(10**400)


@pytest.mark.parametrize("values", [range(100), [f"id{n}" for n in range(100)], [n // 2 for n in range(99)] + [99]])
def test_identifiers_are_told(values: list) -> None:
    with pytest.raises(TooManyLevelsError, match=r"column 'x' has \d+ levels for 100 rows") as caught:
        learnt(values)
    error = caught.value
    assert (error.column, error.n_levels, error.n_rows) == ("x", len(set(values)), 100)
    assert "drop=['x']" in error.hint
    assert ("bins" in error.hint) == isinstance(values[0], int)
    assert learnt(values, levels={"x": sorted(set(values))}).n_levels == error.n_levels
    assert learnt([*values, *values]).n_levels == error.n_levels
    assert learnt(values, weights=np.full(100, 2.0)).n_levels == error.n_levels


def test_few_levels_are_never_too_many() -> None:
    assert learnt(range(20)).n_levels == 20


def test_more_declared_levels_than_rows_are_told() -> None:
    frame = pl.DataFrame({"x": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b", *map(str, range(30))]))})
    with pytest.raises(TooManyLevelsError, match="column 'x' has 32 levels for 2 rows"):
        tp.read_table(frame)
    whole = tp.read_table(pl.concat([frame] * 20))
    assert tp.read_table(frame, schema=whole.schema) == whole.take([0, 1])


def test_with_a_schema_nothing_is_learnt() -> None:
    table = tp.read_table({"x": [1, 2]})
    for options in ({"bins": 2}, {"levels": {"x": [1]}}, {"ordered": "x"}):
        for source, schema in ({"x": [1]}, table.schema), (table, None):
            with pytest.raises(InputError, match="the columns are known already"):
                tp.read_table(source, schema=schema, **options)
