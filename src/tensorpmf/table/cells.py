"""The cells of a table: level codes, held dense or, when most cells are empty, as the observed ones only.

Both kinds answer the same questions, so nothing above needs to know which one it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import DenseTableError, DuplicateCellError
from tensorpmf.typing import Codes, Ints

MOST_DENSE_BYTES = 2**30
"""Writing out a mostly-empty table beyond this size is refused."""

WORTH_COMPRESSING = 2**20
"""Below this many cells nobody cares how a table is held."""


def code_type(n_levels: int) -> np.dtype[np.signedinteger[Any]]:
    """Return the smallest signed integer type that holds codes of ``n_levels`` levels."""
    return np.result_type(np.int8, np.min_scalar_type(-max(n_levels, 1)))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array nobody can write to; the array must not be shared with the caller."""
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class DenseCells:
    """All cells, written out.

    Parameters
    ----------
    dense
        (n_rows, n_columns) codes, ``-1`` is missing.
    """

    dense: Codes

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.dense)

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.dense.shape[1])

    @cached_property
    def n_observed(self) -> Ints:
        """(n_columns,) how many rows each column is observed in."""
        return frozen(np.count_nonzero(self.dense >= 0, axis=0).astype(np.int64))

    def column(self, ix: int) -> Codes:
        """Return the (n_rows,) codes of one column."""
        return self.dense[:, ix]

    def take(self, rows: slice | NDArray[Any]) -> DenseCells:
        """Return some rows."""
        return DenseCells(frozen(np.array(self.dense[rows], order="C")))

    def select(self, columns: list[int]) -> DenseCells:
        """Return some columns."""
        return DenseCells(frozen(np.ascontiguousarray(self.dense[:, columns])))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {"codes": self.dense}

    def compressed(self) -> CompressedCells:
        """Return the same cells, the observed ones only."""
        rows, columns = np.nonzero(self.dense >= 0)
        return CompressedCells.of_triples(rows, columns, self.dense[rows, columns], self.dense.shape)

    def compact(self) -> DenseCells | CompressedCells:
        """Return the same cells, compressed if they are many and that takes at most half the memory."""
        if self.dense.size < WORTH_COMPRESSING:
            return self
        n_bytes = 8 * self.n_rows + int(self.n_observed.sum()) * (4 + self.dense.itemsize)
        return self.compressed() if 2 * n_bytes <= self.dense.nbytes else self


@dataclass(frozen=True, eq=False)
class CompressedCells:
    """The observed cells only, row after row (CSR).

    Parameters
    ----------
    indptr
        (n_rows + 1,) where each row's cells begin.
    columns
        (n_observed,) the column of each cell, rising within a row.
    values
        (n_observed,) the code of each cell.
    n_columns
        How many columns there are.
    """

    indptr: Ints
    columns: NDArray[np.int32]
    values: Codes
    n_columns: int

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    @cached_property
    def n_observed(self) -> Ints:
        """(n_columns,) how many rows each column is observed in."""
        return frozen(np.bincount(self.columns, minlength=self.n_columns).astype(np.int64))

    @property
    def dense(self) -> Codes:
        """(n_rows, n_columns) all cells, written out; an error if that is too large."""
        n_bytes = self.n_rows * self.n_columns * self.values.itemsize
        if n_bytes > MOST_DENSE_BYTES:
            raise DenseTableError(self.n_rows, self.n_columns, n_bytes, MOST_DENSE_BYTES)
        codes = np.full((self.n_rows, self.n_columns), -1, dtype=self.values.dtype)
        codes[self.rows, self.columns] = self.values
        return frozen(codes)

    @property
    def rows(self) -> Ints:
        """(n_observed,) the row of each cell."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.indptr))

    @cached_property
    def _by_column(self) -> tuple[Ints, Ints, Codes]:
        """Where each column's cells begin, their rows and their codes (CSC)."""
        order = np.argsort(self.columns, kind="stable")
        return np.concatenate([[0], np.cumsum(self.n_observed)]), self.rows[order], self.values[order]

    def column(self, ix: int) -> Codes:
        """Return the (n_rows,) codes of one column."""
        indptr, rows, values = self._by_column
        cells = slice(indptr[ix], indptr[ix + 1])
        codes = np.full(self.n_rows, -1, dtype=self.values.dtype)
        codes[rows[cells]] = values[cells]
        return frozen(codes)

    def take(self, rows: slice | NDArray[Any]) -> CompressedCells:
        """Return some rows."""
        starts, lengths = self.indptr[:-1][rows], np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        cells = np.arange(int(indptr[-1])) + np.repeat(starts - indptr[:-1], lengths)
        return CompressedCells(frozen(indptr), frozen(self.columns[cells]), frozen(self.values[cells]), self.n_columns)

    def select(self, columns: list[int]) -> CompressedCells:
        """Return some columns."""
        position = np.full(self.n_columns, -1, dtype=np.int32)
        position[columns] = np.arange(len(columns))
        moved = position[self.columns]
        kept = moved >= 0
        return CompressedCells.of_triples(self.rows[kept], moved[kept], self.values[kept], (self.n_rows, len(columns)))

    @classmethod
    def of_triples(
        cls, rows: NDArray[Any], columns: NDArray[Any], values: Codes, shape: tuple[int, int]
    ) -> CompressedCells:
        """Return the cells that (row, column, code) triples in any order tell about.

        Parameters
        ----------
        rows, columns
            (n_observed,) positions; no cell twice.
        values
            (n_observed,) codes.
        shape
            How many rows and columns there are.
        """
        place = rows.astype(np.int64) * shape[1] + columns
        if (np.diff(place) <= 0).any():
            order = np.argsort(place, kind="stable")
            place, rows, columns, values = place[order], rows[order], columns[order], values[order]
        twice = np.flatnonzero(place[1:] == place[:-1])
        if twice.size:
            raise DuplicateCellError(int(rows[twice[0]]), int(columns[twice[0]]), twice.size)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(np.int64)
        return cls(frozen(indptr), frozen(columns.astype(np.int32)), frozen(np.array(values)), shape[1])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {"indptr": self.indptr, "columns": self.columns, "values": self.values}

    def compressed(self) -> CompressedCells:
        """Return itself."""
        return self


Cells: TypeAlias = DenseCells | CompressedCells
