"""Rows: what they check, and their forms, which hold the same cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.cases import Case, cases, compressed

from tensorpmf.errors import InputError
from tensorpmf.kernels import merging
from tensorpmf.kernels.blocks import cut
from tensorpmf.kernels.rows import CodeOutOfRangeError, Rows


def weight_of_each(rows: Rows) -> dict[tuple[int, ...], float]:
    """Add up the weights of identical rows."""
    weights: dict[tuple[int, ...], float] = {}
    for row_ix, codes in enumerate(rows.dense().tolist()):
        weight = 1.0 if rows.weights is None else float(rows.weights[row_ix])
        weights[tuple(codes)] = weights.get(tuple(codes), 0.0) + weight
    return weights


@pytest.mark.parametrize(
    ("codes", "column_ix", "code"), [([[0, 3], [1, 1]], 1, 3), ([[0, 0], [-2, 0]], 0, -2), ([[2, -1]], 0, 2)]
)
def test_codes_out_of_range_are_told(codes: list[list[int]], column_ix: int, code: int) -> None:
    with pytest.raises(CodeOutOfRangeError) as caught:
        Rows.from_codes(codes, [2, 3])
    assert (caught.value.column_ix, caught.value.n_levels, caught.value.code) == (column_ix, [2, 3][column_ix], code)
    assert str(caught.value) == (
        f"column {column_ix} has {[2, 3][column_ix]} levels, so its codes are -1 (missing) to "
        f"{[2, 3][column_ix] - 1}, got {code}."
    )


def test_unsigned_codes_do_not_wrap_around_to_missing() -> None:
    with pytest.raises(CodeOutOfRangeError) as caught:
        Rows.from_codes(np.array([[2**64 - 1, 0]], dtype=np.uint64), [2, 3])
    assert caught.value.code == 2**64 - 1


@pytest.mark.parametrize(
    ("indptr", "columns", "values", "sentence"),
    [
        ([1, 2], [0], [0], "indptr must start at 0 and never fall"),
        ([0, 2, 1], [0], [0], "indptr must start at 0 and never fall"),
        ([], [], [], "indptr must start at 0"),
        ([0, 2], [0], [0], "indptr promises 2 cells, but there are 1 columns and 1 values"),
        ([0, 1], [2], [0], "column positions must be 0 to 1"),
        ([0, 2], [0, 1], [0, 3], "column 1 has 3 levels, so its codes are -1 .* got 3"),
        ([0, 1], [0], [-1], "column 0 has 2 levels, so its codes are -1 .* got -1"),
    ],
)
def test_compressed_rows_are_checked(indptr: list[int], columns: list[int], values: list[int], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Rows.from_csr(
            np.array(indptr, dtype=np.int64), np.array(columns, dtype=int), np.array(values, dtype=int), [2, 3]
        )


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0], r"weights must have shape \(2,\), got \(1,\)"),
        ([1.0, -1.0], "weights must be finite and not negative"),
        ([1.0, np.nan], "weights must be finite and not negative"),
        ([1.0, np.inf], "weights must be finite and not negative"),
    ],
)
def test_weights_are_checked(weights: list[float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Rows.from_codes([[0], [1]], [2], weights)
    with pytest.raises(InputError, match=sentence):
        Rows.from_csr([0, 1, 2], [0, 0], [0, 1], [2], weights)


@pytest.mark.parametrize("codes", [[0, 1], [[0, 1, 0]], [[[0, 1]]]])
def test_codes_have_a_column_for_each_number_of_levels(codes: list[object]) -> None:
    with pytest.raises(InputError, match=r"codes must have shape \(n_rows, 2\)"):
        Rows.from_codes(codes, [2, 2])


def test_unsigned_and_boolean_codes_are_taken() -> None:
    rows = Rows.from_codes(np.array([[True, False]]), [2, 2])
    np.testing.assert_array_equal(rows.dense(), [[1, 0]])
    np.testing.assert_array_equal(Rows.from_codes(np.array([[1]], dtype=np.uint8), [2]).dense(), [[1]])


def test_what_rows_know_of_themselves() -> None:
    rows = Rows.from_codes([[0, 2], [-1, 1], [1, -1], [1, 1]], [2, 3], [0.5, 1.0, 2.0, 0.0])
    assert (rows.n_rows, rows.n_columns, rows.total_weight, rows.is_sparse) == (4, 2, 3.5, False)
    assert rows.offsets.tolist() == [0, 2, 5]
    assert rows.n_observed == 1.5
    assert Rows.from_codes([[0]], [1]).total_weight == 1.0
    assert compressed(rows).is_sparse
    assert compressed(rows).n_observed == 1.5


@given(case=cases())
def test_compressed_rows_hold_the_same_cells(case: Case) -> None:
    np.testing.assert_array_equal(compressed(case.rows).dense(), case.rows.dense())


@given(case=cases(), data=st.data())
def test_some_rows_are_those_rows(case: Case, data: st.DataObject) -> None:
    n_rows = case.rows.n_rows
    ix = np.array(data.draw(st.lists(st.integers(0, n_rows - 1), max_size=9)) if n_rows else [], dtype=np.int64)
    start, step = data.draw(st.integers(0, n_rows)), data.draw(st.sampled_from([1, 2, -1]))
    mask = np.arange(n_rows) % 3 == 1
    for chosen in (ix, mask, slice(start, None, step), slice(0)):
        for rows in (case.rows, compressed(case.rows)):
            taken = rows.take(chosen)
            np.testing.assert_array_equal(taken.dense(), rows.dense()[chosen])
            if rows.weights is not None:
                np.testing.assert_array_equal(taken.weights, rows.weights[chosen])


def test_a_slice_copies_nothing() -> None:
    rows = Rows.from_codes(np.zeros((10, 2), dtype=np.int8), [2, 2])
    assert np.shares_memory(rows.take(slice(2, 5)).codes, rows.codes)
    assert np.shares_memory(compressed(rows).take(slice(2, 5)).values, compressed(rows).values) is False
    sparse = compressed(rows)
    assert np.shares_memory(sparse.take(slice(2, 5)).values, sparse.values)


@given(case=cases())
def test_merged_rows_are_distinct_and_weigh_the_same(case: Case) -> None:
    for rows in (case.rows, compressed(case.rows)):
        merged = rows.merged()
        assert merged.is_sparse == rows.is_sparse
        assert len({tuple(codes) for codes in merged.dense().tolist()}) == merged.n_rows
        assert weight_of_each(merged) == pytest.approx(weight_of_each(rows))


def test_rows_whose_hashes_collide_are_still_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "hash_rows", lambda rows: np.zeros(rows.n_rows, dtype=np.uint64))
    rows = Rows.from_codes([[0, 1], [1, 0], [0, 1], [1, 1]], [2, 2])
    merged = rows.merged()
    assert weight_of_each(merged) == {(0, 1): 2.0, (1, 0): 1.0, (1, 1): 1.0}


@given(case=cases(), n_blocks=st.sampled_from([1, 3, 8]))
def test_blocks_hold_the_rows_among_them(case: Case, n_blocks: int) -> None:
    for rows in (case.rows, compressed(case.rows)):
        blocks = cut(rows, n_blocks)
        assert len(blocks) in (1, 2, 4, 8)
        assert len(blocks) <= n_blocks
        found: dict[tuple[int, ...], float] = {}
        for block in blocks:
            assert block.n_rows == len(block.dense())
            for codes, weight in weight_of_each(block).items():
                found[codes] = found.get(codes, 0.0) + weight
        assert found == pytest.approx(weight_of_each(rows))
        assert sum(block.total_weight for block in blocks) == pytest.approx(rows.total_weight)
