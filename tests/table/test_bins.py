"""Cutting numbers: quantiles against sorted rows, widths, given edges, ties, weights, and labels one can read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorpmf as tp
from tensorpmf import CategoricalTable
from tensorpmf.errors import InputError, NonFiniteError, NotNumericError, SettingError
from tensorpmf.table.bins import binned_column, n_bins

NUMBERS = st.lists(st.integers(-1000, 1000).map(lambda n: n / 8), min_size=1, max_size=40)
TIED = st.lists(st.sampled_from([0.0, 0.5, 2.0, 3.0]), min_size=1, max_size=40)


def cut(values: object, bins: object, **options: object) -> CategoricalTable:
    return tp.read_table({"x": values}, bins={"x": bins}, **options)


@given(NUMBERS | TIED, st.integers(1, 6))
def test_quantile_bins_start_at_the_rows_that_quantiles_fall_on(values: list[float], n: int) -> None:
    """Bin k starts at the first of the sorted rows that has k/n of all rows before its value, or else at the last."""
    table = cut(values, n)
    ranked = sorted(values)
    starts = {
        next((v for v in ranked if sum(w < v for w in ranked) * n >= k * len(ranked)), ranked[-1]) for k in range(1, n)
    }
    assert set(table.schema["x"].edges) == starts - {ranked[0]}
    assert table.n_levels[0] <= n


@given(st.lists(st.integers(0, 10**6), min_size=12, max_size=40, unique=True), st.integers(1, 6))
def test_quantile_bins_without_ties_hold_about_as_many_rows(values: list[int], n: int) -> None:
    counts = np.bincount(cut(values, ("quantile", n)).codes[:, 0])
    assert len(counts) == n
    assert counts.max() - counts.min() <= 1


@given(NUMBERS | TIED, st.integers(1, 5), st.data())
def test_a_row_twice_is_a_row_of_weight_two(values: list[float], n: int, data: st.DataObject) -> None:
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(values), max_size=len(values)))
    repeated = cut(np.repeat(values, times), n).schema["x"]
    weighed = cut(values, n, weights=times).schema["x"]
    assert weighed.edges == repeated.edges
    assert weighed.centres == pytest.approx(repeated.centres)


@given(NUMBERS, st.integers(1, 6), st.sampled_from(["quantile", "width"]))
def test_bins_hold_what_their_edges_say_and_new_rows_are_cut_alike(values: list[float], n: int, how: str) -> None:
    table = cut(values, (how, n))
    column = table.schema["x"]
    edges = [-np.inf, *column.edges, np.inf]
    for value, code in zip(values, table.codes[:, 0], strict=True):
        assert edges[code] <= value < edges[code + 1]
        assert column.code(value) == code
    assert table.schema.encode({"x": values}) == table
    assert column.ordered
    for code, centre in enumerate(column.centres):
        held = [v for v, c in zip(values, table.codes[:, 0], strict=True) if c == code]
        if held:
            assert centre == pytest.approx(np.mean(held))


def test_equal_widths_are_equal() -> None:
    column = cut([0, 1, 2, 10], ("width", 4)).schema["x"]
    assert column.edges == (2.5, 5, 7.5)
    assert column.levels == ("< 2.5", "[2.5, 5)", "[5, 7.5)", ">= 7.5")
    assert column.centres == (1, 3.75, 6.25, 10)  # the middle of bins that hold nothing


def test_a_range_that_is_no_float_is_cut_too() -> None:
    column = binned_column("a", np.array([-1.5e308, 0, 1.5e308]), np.ones(3), ("width", 3))
    np.testing.assert_allclose(column.edges, [-0.5e308, 0.5e308])


def test_widths_are_rounded_to_what_one_can_read() -> None:
    assert cut([0.1, 0.2, 0.4], ("width", 3)).schema["x"].edges == (0.2, 0.3)


def test_given_edges_are_taken_as_they_are() -> None:
    table = cut([1, 50, None, 200], [20, 40, 60])
    column = table.schema["x"]
    assert column.levels == ("< 20", "[20, 40)", "[40, 60)", ">= 60")
    assert column.centres == (1, 30, 50, 200)
    assert table.codes[:, 0].tolist() == [0, 2, -1, 3]


def test_a_constant_column_has_one_bin() -> None:
    for bins in (5, ("width", 5)):
        table = cut([3.5, 3.5, 3.5], bins)
        assert (table.n_levels, table.schema["x"].levels, table.schema["x"].centres) == ((1,), ("all",), (3.5,))


@pytest.mark.parametrize("how", ["quantile", "width"])
def test_rows_that_count_nothing_are_cut_all_the_same(how: str) -> None:
    table = cut([1.0, 2.0, None], (how, 2), weights=[0, 0, 1])
    assert (table.schema["x"].levels, table.codes[:, 0].tolist()) == (("all",), [0, 0, -1])


def test_ties_make_fewer_bins() -> None:
    assert cut([0] * 60 + list(range(1, 41)), 5).schema["x"].edges == (1, 21)


@pytest.mark.parametrize(("values", "edges"), [([0] * 90 + [1, 2, 3], (1,)), ([1, 2, 3] + [9] * 90, (9,))])
def test_a_value_that_most_rows_have_is_cut_off_at_either_end(values: list[int], edges: tuple[int, ...]) -> None:
    assert cut(values, 5).schema["x"].edges == edges


@pytest.mark.parametrize("how", ["quantile", "width"])
def test_rows_of_no_weight_move_no_edge(how: str) -> None:
    weights = [1] * 20 + [0, 0]
    assert cut([1] + [2] * 19 + [3, 9], (how, 3), weights=weights).schema["x"].edges == (
        cut([1] + [2] * 19, (how, 3)).schema["x"].edges
    )


def test_long_integers_that_coincide_as_floats_are_cut_too() -> None:
    assert cut(2**60 + np.arange(100), 4).n_levels == (1,)
    assert cut(2**60 + 1000 * np.arange(100), 4).n_levels == (4,)


@pytest.mark.parametrize("how", [lambda n: n, lambda n: ("quantile", n), lambda n: ("width", n)])
def test_numbers_of_bins_may_come_from_numpy(how: Callable[[int], object]) -> None:
    values = list(range(30))
    assert cut(values, how(np.int64(3))) == cut(values, how(3))


def test_labels_have_as_many_digits_as_tell_edges_apart() -> None:
    assert cut([1.0], [0.123456789, 0.5, 12345.678]).schema["x"].levels[1:3] == ("[0.1235, 0.5)", "[0.5, 12346)")
    assert cut([1.0], [1.00001, 1.00002]).schema["x"].levels[1] == "[1.00001, 1.00002)"
    close = (0.1, np.nextafter(0.1, 1))
    assert cut([1.0], list(close)).schema["x"].levels[1] == f"[0.1, {float(close[1])!r})"
    assert cut([1.0], [-1e-9, 0, 1e20]).schema["x"].levels == ("< -1e-09", "[-1e-09, 0)", "[0, 1e+20)", ">= 1e+20")


def test_one_number_of_bins_cuts_all_numeric_columns_that_have_more_values() -> None:
    table = tp.read_table(
        {"real": np.arange(30) / 7, "whole": range(30), "few": [1, 2, 3] * 10, "text": list("abcdefghij") * 3}, bins=5
    )
    assert table.n_levels == (5, 5, 3, 10)
    assert table.schema["few"].edges is None


def test_auto_cuts_what_cannot_be_levels() -> None:
    table = tp.read_table({"real": np.arange(30) / 7, "stars": np.arange(30) % 10 / 2}, bins="auto")
    assert table.n_levels == (10, 10)
    assert [column.edges is None for column in table.schema.columns] == [False, True]


@pytest.mark.parametrize(
    "bins",
    [0, -1, True, 2.5, "quantile", ("width", 0), ("kmeans", 3), [], [2, 1], [1, 1], [np.nan], [1, np.inf], ["a"]],
)
def test_bins_that_are_none(bins: object) -> None:
    with pytest.raises(SettingError, match="bins must be a number of bins") as caught:
        cut([1.0, 2.0], bins)
    assert caught.value.got is bins


def test_edges_may_be_an_array() -> None:
    values = {"x": [1.0, 2.0, 3.0, 4.0, 5.0]}
    assert tp.read_table(values, bins=np.array([2, 4])).schema == tp.read_table(values, bins=[2, 4]).schema
    assert tp.read_table(values, bins={"x": np.array([2, 4])}).schema == tp.read_table(values, bins=[2, 4]).schema


def test_decimals_are_cut_as_floats_are() -> None:
    exact = [Decimal(n) / 4 for n in range(40)]
    for source in ({"x": [*exact, None]}, pa.table({"x": pa.array([*exact, None], pa.decimal128(6, 2))})):
        assert tp.read_table(source, bins=3) == cut([*map(float, exact), None], 3)
    assert cut(exact, 3).schema["x"].code(Decimal("9.75")) == 2


def test_a_column_is_cut_or_given_levels() -> None:
    with pytest.raises(InputError, match="column 'x' is to be cut into bins, so it cannot be given levels too"):
        cut([1, 2], 2, levels={"x": [1, 2]})


def test_only_numbers_can_be_cut() -> None:
    with pytest.raises(NotNumericError, match="column 'x' holds 'b', which is no number, so it cannot be cut"):
        cut([1, "b"], 2)
    with pytest.raises(NonFiniteError, match="column 'x' holds inf") as caught:
        cut([1.0, np.inf], 2)
    assert (caught.value.column, caught.value.value) == ("x", np.inf)


def test_how_many_bins_there_will_be() -> None:
    assert [n_bins(bins) for bins in (4, ("width", 3), [1, 2])] == [4, 3, 3]


def test_numbers_need_not_be_sorted() -> None:
    column = binned_column("x", np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), [2.5])
    assert column.centres == (5 / 3, 3)
