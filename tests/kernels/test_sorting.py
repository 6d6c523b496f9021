"""Packing, sorting and cutting rows: nothing is lost, and what is promised of the result holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.cases import some_codes

from tensorpmf.kernels import blocks as blocks_module
from tensorpmf.kernels.blocks import cut, power_of_two
from tensorpmf.kernels.packing import best_groups, cheapest, first_fit, listed
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import Sorter, pieces, radix_argsort

levels = st.lists(st.integers(1, 40), min_size=1, max_size=30)


@given(n_codes=levels, cap=st.sampled_from([1, 16, 500]))
def test_groups_hold_every_column_once_and_few_states(n_codes: list[int], cap: int) -> None:
    groups = first_fit(range(len(n_codes)), n_codes, cap)
    assert sorted(column for group in groups for column in group) == list(range(len(n_codes)))
    for group in groups:
        assert len(group) == 1 or np.prod([n_codes[column] for column in group]) <= cap


def test_binary_columns_are_packed_and_large_ones_are_not() -> None:
    groups, _ = best_groups(range(64), [2] * 64, 1e5)
    assert len(groups) <= 16
    groups, _ = best_groups(range(4), [300] * 4, 1e4)
    assert len(groups) == 4
    assert best_groups([], [], 10.0) == ((), 0.0)


def test_mostly_empty_columns_are_listed() -> None:
    assert cheapest((10,) * 100, 10_000, 5.0) is listed((10,) * 100)
    assert not cheapest((2,) * 20, 10_000, 20.0).listed


@given(keys=st.lists(st.integers(0, 2**64 - 1), max_size=40), n_bits=st.sampled_from([5, 16, 17, 40, 64]))
def test_keys_are_ordered_as_python_orders_them(keys: list[int], n_bits: int) -> None:
    keys = [key % 2**n_bits for key in keys]
    order = radix_argsort(np.array(keys, dtype=np.uint64), n_bits)
    assert order.tolist() == sorted(range(len(keys)), key=lambda ix: keys[ix])


@pytest.mark.parametrize("n_levels", [[3, 2, 5], [2] * 70, [1, 200, 1, 3], [1000] * 3])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_any_plan_keeps_the_rows(rng: np.random.Generator, n_levels: list[int], missing: float) -> None:
    codes = some_codes(rng, n_levels, 300, missing)
    codes = np.concatenate([codes, codes[:100]])
    weights = rng.gamma(1.0, 1.0, 400)
    sorter = Sorter(tuple(n_levels), codes.min(axis=0) < 0, codes)
    expected = sorted(zip(codes.tolist(), weights, strict=True))
    for plan in sorter.plans():
        rows, heavy = sorter.sort(weights, plan)
        assert heavy is not None
        assert heavy.sum() == pytest.approx(weights.sum())
        assert {tuple(row) for row in rows.dense().tolist()} == {tuple(row) for row, _ in expected}
        prefixes = [tuple(prefix) for prefix in rows.prefix_states.tolist()]
        assert rows.n_prefix_groups == 0 or len(set(prefixes)) == len(prefixes)
        assert rows.prefix_start[0] == 0
        assert rows.prefix_start[-1] == rows.n_rows
        if len(n_levels) < 10:
            assert rows.n_rows == len({tuple(row) for row in codes.tolist()})
        for start, stop in ((0, rows.n_rows), (3, 4), (10, 200)):
            np.testing.assert_array_equal(rows.cut(start, stop).dense(), rows.dense()[start:stop])


def test_the_plan_counts_distinct_beginnings(rng: np.random.Generator) -> None:
    codes = some_codes(rng, [3, 4, 2], 200, 0.1)
    sorter = Sorter((3, 4, 2), np.ones(3, dtype=bool), codes)
    plans = {plan.depth: plan for plan in sorter.plans()}
    for depth, plan in plans.items():
        rows, _ = sorter.sort(None, plan)
        leading = codes[:, sorter.by_size[:depth]]
        assert len(rows.prefix_states) == (len(np.unique(leading, axis=0)) if depth else 1)


def test_long_tables_are_sorted_in_batches(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "SORT_AT_ONCE", 3_000)
    monkeypatch.setattr(blocks_module, "BLOCK_NS", 1.0)
    monkeypatch.setattr(blocks_module, "BLOCK_STATE_NS", 1.0)
    codes = some_codes(rng, [4, 3, 5, 2], 10_000, 0.2)
    blocks = cut(Rows.from_codes(codes, [4, 3, 5, 2]), 16)
    assert len(blocks) == 16
    assert len({id(block.packing) for block in blocks}) == 1
    found = np.concatenate([block.dense() for block in blocks])
    weights = np.concatenate([block.weights for block in blocks])
    order, (rows, counts) = np.lexsort(found.T), np.unique(codes, axis=0, return_counts=True)
    np.testing.assert_array_equal(np.unique(found, axis=0), rows)
    totals = {tuple(row): 0.0 for row in rows.tolist()}
    for ix in order:
        totals[tuple(found[ix].tolist())] += weights[ix]
    assert list(totals.values()) == counts.tolist()


def test_a_table_too_large_for_an_index_goes_without(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows.from_codes(some_codes(rng, [2] * 40, 3_000, 0.0), [2] * 40)
    assert cut(rows, 1)[0].indexed
    monkeypatch.setattr(blocks_module, "INDEX_BYTES", 1_000)
    assert not cut(rows, 1)[0].indexed


@given(n_rows=st.integers(0, 100), n_pieces=st.integers(1, 12))
def test_pieces_cover_the_rows(n_rows: int, n_pieces: int) -> None:
    spans = list(pieces(n_rows, n_pieces))
    assert [ix for start, stop in spans for ix in range(start, stop)] == list(range(n_rows))
    lengths = [stop - start for start, stop in spans]
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize(("most", "power"), [(0, 1), (1, 1), (2, 2), (3, 2), (8, 8), (1000, 512)])
def test_powers_of_two(most: int, power: int) -> None:
    assert power_of_two(most) == power
