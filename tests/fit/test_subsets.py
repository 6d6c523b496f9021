"""Which subsets of columns are looked at: all, some that are balanced and connected, or those that are told."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorpmf.errors import MemoryLimitError, SettingError, UnconnectedColumnsError, UnknownColumnError
from tensorpmf.fit.subsets import choose_subsets, n_cells_of_all
from tensorpmf.table.schema import Schema

PLENTY = 2.0**40


def chosen(n_columns: int, order: int, choice: object, seed: int = 0) -> list[frozenset[int]]:
    subsets = choose_subsets(Schema.from_n_levels([2] * n_columns), order, choice, seed, PLENTY)  # type: ignore[arg-type]
    return [frozenset(columns) for columns in subsets.columns.tolist()]


def reached(subsets: list[frozenset[int]]) -> set[int]:
    """Columns that can be reached from column 0 by walking through subsets."""
    seen = {0}
    while any(subset & seen and not subset <= seen for subset in subsets):
        seen |= set().union(*(subset for subset in subsets if subset & seen))
    return seen


@pytest.mark.parametrize("order", [2, 3])
def test_all_means_all(order: int) -> None:
    assert set(chosen(6, order, "all")) == {frozenset(subset) for subset in combinations(range(6), order)}


@given(st.integers(3, 12), st.sampled_from([2, 3]), st.data())
def test_a_number_of_subsets_is_kept_distinct_and_connected(n_columns: int, order: int, data: st.DataObject) -> None:
    least, n_all = -(-(n_columns - 1) // (order - 1)), comb(n_columns, order)
    n_subsets = data.draw(st.integers(least, n_all))
    subsets = chosen(n_columns, order, n_subsets, seed=data.draw(st.integers(0, 99)))
    assert len(set(subsets)) == len(subsets) == n_subsets
    assert all(len(subset) == order for subset in subsets)
    assert reached(subsets) == set(range(n_columns))


@pytest.mark.parametrize("fraction", [0.02, 0.25, 0.7])
def test_columns_occur_about_equally_often(fraction: float) -> None:
    subsets = chosen(40, 3, fraction)
    assert len(subsets) == round(fraction * comb(40, 3))
    occurrences = np.bincount([column for subset in subsets for column in subset])
    at_random = np.sqrt(occurrences.mean())
    assert np.abs(occurrences - occurrences.mean()).max() < 2 * at_random
    assert occurrences.std() < 0.8 * at_random


def test_the_seed_says_which() -> None:
    assert chosen(9, 3, 20, seed=1) == chosen(9, 3, 20, seed=1)
    assert chosen(9, 3, 20, seed=1) != chosen(9, 3, 20, seed=2)


def test_subsets_can_be_told_by_names_or_positions() -> None:
    told = [("x3", "x1", "x2"), (2, np.int64(3), 4), (0, 1, 2)]
    assert set(chosen(5, 3, told)) == {frozenset({0, 1, 2}), frozenset({2, 3, 4})}


@given(st.lists(st.integers(1, 5), min_size=3, max_size=6), st.sampled_from([2, 3]))
def test_the_number_of_cells_is_known_before_any_subset_is(n_levels: list[int], order: int) -> None:
    everything = combinations(n_levels, order)
    assert n_cells_of_all(n_levels, order) == sum(int(np.prod(shape)) for shape in everything)


def test_memory_is_refused_before_it_is_taken() -> None:
    schema = Schema.from_n_levels([10] * 5000)
    with pytest.raises(
        MemoryLimitError, match=r"(?s)454.47 TiB of memory, more than max_memory \(4.00 GiB\).*triplets=178956 fit"
    ) as caught:
        choose_subsets(schema, 3, "all", 0, 4 * 2.0**30)
    assert choose_subsets(schema, 3, 178956, 0, 4 * 2.0**30).n_subsets == 178956
    assert caught.value.n_bytes == pytest.approx(24 * comb(5000, 3) * 1000)
    with pytest.raises(MemoryLimitError, match=r"\(97\.66 kiB\)"):
        choose_subsets(schema, 3, 2500, 0, 1e5)
    with pytest.raises(MemoryLimitError, match="merge levels, or raise max_memory"):
        choose_subsets(schema.select(schema.names[:3]), 3, [(0, 1, 2)], 0, 23_999)
    assert choose_subsets(schema.select(schema.names[:3]), 3, [(0, 1, 2)], 0, 24_000).n_cells == 1000


@pytest.mark.parametrize(
    "choice",
    [0, 0.0, -1, 1.5, 11, True, float("nan"), "some", None, [1, 2], [(0, 1)], [(0, 1, 1)]],
)
def test_what_is_no_choice_is_refused(choice: object) -> None:
    with pytest.raises(SettingError, match=r"^CTF: triplets must be"):
        chosen(5, 3, choice)


def test_a_choice_too_small_to_connect_says_how_many_it_takes() -> None:
    with pytest.raises(SettingError, match="at least 4 of 84, to connect 9 columns, got 3"):
        chosen(9, 3, 3)


def test_columns_that_subsets_do_not_connect_are_named() -> None:
    with pytest.raises(UnconnectedColumnsError, match=r"'x4', 'x5', 'x6' with 'x1'") as caught:
        chosen(6, 3, [(0, 1, 2), (3, 4, 5)])
    assert caught.value.columns == ("x4", "x5", "x6")
    with pytest.raises(UnconnectedColumnsError, match=r"'x4'"):
        chosen(4, 3, [(0, 1, 2)])


def test_unknown_names_and_too_few_columns_are_refused() -> None:
    for unknown in ("x9", 9, -1, 2.5):
        with pytest.raises(UnknownColumnError, match=f"there is no column {unknown!r}"):
            chosen(4, 2, [("x1", unknown)])
    with pytest.raises(SettingError, match=r'order must be at most the number of columns \(2\), or "full", got 3'):
        chosen(2, 3, "all")
