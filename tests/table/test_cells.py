"""Dense and compressed cells answer every question alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tensorpmf.errors import DenseTableError, DuplicateCellError
from tensorpmf.table.cells import CompressedCells, DenseCells, code_type

CODES = st.tuples(st.integers(0, 6), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int8, shape, elements=st.integers(-1, 2))
)


@pytest.mark.parametrize(
    ("n_levels", "name"),
    [(1, "int8"), (128, "int8"), (129, "int16"), (32_768, "int16"), (32_769, "int32"), (2**31 + 1, "int64")],
)
def test_code_type_is_the_smallest_that_holds_the_last_code(n_levels: int, name: str) -> None:
    assert code_type(n_levels) == np.dtype(name)
    assert np.iinfo(code_type(n_levels)).max >= n_levels - 1


@given(CODES, st.data())
def test_compressed_cells_are_the_dense_ones(codes: np.ndarray, data: st.DataObject) -> None:
    dense = DenseCells(codes)
    compressed = dense.compressed()
    n_rows, n_columns = codes.shape
    assert (compressed.n_rows, compressed.n_columns) == (n_rows, n_columns)
    assert np.array_equal(compressed.dense, codes)
    assert (
        dense.n_observed.tolist() == compressed.n_observed.tolist() == [int((column >= 0).sum()) for column in codes.T]
    )
    for ix in range(n_columns):
        assert np.array_equal(compressed.column(ix), codes[:, ix])
    rows = data.draw(st.lists(st.integers(0, n_rows - 1))) if n_rows else []
    taken = np.array(rows, dtype=np.int64)
    assert np.array_equal(compressed.take(taken).dense, codes[taken])
    assert np.array_equal(compressed.take(slice(1, None, 2)).dense, codes[1::2])
    columns = data.draw(st.permutations(range(n_columns)))[: data.draw(st.integers(0, n_columns))]
    assert np.array_equal(compressed.select(columns).dense, codes[:, columns])


def test_triples_fill_cells_in_any_order() -> None:
    cells = CompressedCells.of_triples(
        np.array([2, 0, 2]), np.array([1, 1, 0]), np.array([5, 6, 7], dtype=np.int8), (4, 2)
    )
    assert cells.dense.tolist() == [[-1, 6], [-1, -1], [7, 5], [-1, -1]]
    assert (cells.indptr.dtype, cells.columns.dtype, cells.values.dtype) == (np.int64, np.int32, np.int8)


def test_a_cell_is_filled_once() -> None:
    with pytest.raises(DuplicateCellError) as caught:
        CompressedCells.of_triples(np.array([1, 0, 1]), np.array([0, 0, 0]), np.zeros(3, dtype=np.int8), (2, 1))
    assert (caught.value.row, caught.value.column, caught.value.n_duplicates) == (1, 0, 1)


def test_a_huge_table_is_not_written_out() -> None:
    n_rows, n_columns = 200_000, 20_000
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    cells = CompressedCells(indptr, np.empty(0, np.int32), np.empty(0, np.int8), n_columns)
    with pytest.raises(DenseTableError, match=r"all 200000 x 20000 cells take 3\.7 GiB") as caught:
        _ = cells.dense
    assert caught.value.n_bytes == n_rows * n_columns


def test_only_large_and_mostly_empty_cells_are_compressed(rng: np.random.Generator) -> None:
    codes = np.full((2_000, 600), -1, dtype=np.int8)
    codes[rng.random(codes.shape) < 0.05] = 1
    assert isinstance(DenseCells(codes).compact(), CompressedCells)
    assert isinstance(DenseCells(codes[:20]).compact(), DenseCells)
    codes[rng.random(codes.shape) < 0.2] = 1
    assert isinstance(DenseCells(codes).compact(), DenseCells)
    assert np.array_equal(DenseCells(codes).compact().dense, codes)
