"""Rows as the kernels take them: integer codes, dense or compressed, with weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tensorpmf.errors import InputError
from tensorpmf.kernels import _native
from tensorpmf.kernels.merging import merge
from tensorpmf.kernels.packing import Packing, cheapest, listed
from tensorpmf.kernels.sorting import Sorted
from tensorpmf.typing import Codes, Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class CodeOutOfRangeError(InputError):
    """A code is below -1 or not below the number of levels of its column."""

    def __init__(self, column_ix: int, n_levels: int, code: int) -> None:
        self.column_ix, self.n_levels, self.code = column_ix, n_levels, code
        super().__init__(
            f"column {column_ix} has {n_levels} levels, so its codes are -1 (missing) to {n_levels - 1}, got {code}."
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a categorical table: dense codes, or only observed cells, compressed; or sorted, by ``kernels.blocks``.

    Make one with :meth:`from_codes` or :meth:`from_csr`, which check what they are given.

    Parameters
    ----------
    n_levels
        How many levels each column has.
    codes
        (n_rows, n_columns) codes from 0, ``-1`` is missing; None when compressed.
    indptr
        (n_rows + 1,) where the cells of each row begin; None when dense.
    columns
        (n_cells,) the column of each observed cell; None when dense.
    values
        (n_cells,) the code of each observed cell; None when dense.
    weights
        (n_rows,) how much each row counts; None when all count one.
    sorted
        Sorted rows, in place of codes and of cells.
    packed_as
        How the compiled kernels pack the columns; by default what is cheapest for these rows.
    indexed
        Whether the compiled kernels also keep which rows show each state: memory for speed, over many passes.
    """

    n_levels: tuple[int, ...]
    codes: Codes | None = None
    indptr: Ints | None = None
    columns: Codes | None = None
    values: Codes | None = None
    weights: Floats | None = None
    sorted: Sorted | None = None
    packed_as: Packing | None = None
    indexed: bool = False

    @classmethod
    def from_codes(cls, codes: ArrayLike, n_levels: Sequence[int], weights: ArrayLike | None = None) -> Rows:
        """Return dense rows; the codes are not copied when they are already integers.

        Parameters
        ----------
        codes
            (n_rows, n_columns) codes from 0, ``-1`` is missing.
        n_levels
            How many levels each column has.
        weights
            (n_rows,) how much each row counts.
        """
        codes = np.asarray(codes)
        levels = tuple(int(n) for n in n_levels)
        if codes.ndim != 2 or codes.shape[1] != len(levels):
            raise InputError(f"codes must have shape (n_rows, {len(levels)}), got {codes.shape}.")
        if len(codes):
            low, high = codes.min(axis=0), codes.max(axis=0)
            _check_range(low, high, levels)
        if not np.issubdtype(codes.dtype, np.signedinteger):
            codes = codes.astype(np.int64)
        return cls(levels, codes=codes, weights=_check_weights(weights, len(codes)))

    @classmethod
    def from_csr(
        cls,
        indptr: ArrayLike,
        columns: ArrayLike,
        values: ArrayLike,
        n_levels: Sequence[int],
        weights: ArrayLike | None = None,
    ) -> Rows:
        """Return compressed rows: row ``t`` observes ``columns[indptr[t]:indptr[t+1]]``.

        Parameters
        ----------
        indptr
            (n_rows + 1,) where the cells of each row begin.
        columns
            (n_cells,) the column of each observed cell; within a row each column at most once.
        values
            (n_cells,) the code of each observed cell.
        n_levels
            How many levels each column has.
        weights
            (n_rows,) how much each row counts.
        """
        levels = tuple(int(n) for n in n_levels)
        starts = np.ascontiguousarray(indptr, dtype=np.int64)
        cols, vals = np.ascontiguousarray(columns), np.ascontiguousarray(values)
        if starts.ndim != 1 or len(starts) == 0 or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise InputError("indptr must start at 0 and never fall.")
        if not len(cols) == len(vals) == starts[-1]:
            raise InputError(
                f"indptr promises {starts[-1]} cells, but there are {len(cols)} columns and {len(vals)} values."
            )
        if len(cols):
            if cols.min() < 0 or cols.max() >= len(levels):
                raise InputError(f"column positions must be 0 to {len(levels) - 1}.")
            excess = vals - np.asarray(levels)[cols]
            bad = int(np.argmax((excess >= 0) | (vals < 0)))
            if excess[bad] >= 0 or vals[bad] < 0:
                raise CodeOutOfRangeError(int(cols[bad]), levels[int(cols[bad])], int(vals[bad]))
        return cls(levels, indptr=starts, columns=cols, values=vals, weights=_check_weights(weights, len(starts) - 1))

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.n_levels)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        if self.codes is not None:
            return len(self.codes)
        if self.sorted is not None:
            return self.sorted.n_rows
        return len(self.cells[0]) - 1

    @property
    def cells(self) -> tuple[Ints, Codes, Codes]:
        """The arrays of compressed rows: ``indptr``, ``columns`` and ``values``."""
        assert self.indptr is not None, "these rows are compressed"
        assert self.columns is not None, "these rows are compressed"
        assert self.values is not None, "these rows are compressed"
        return self.indptr, self.columns, self.values

    @property
    def is_sparse(self) -> bool:
        """Whether only the observed cells are held."""
        return self.indptr is not None

    @cached_property
    def offsets(self) -> Ints:
        """(n_columns + 1,) the stacked row at which each column's levels begin."""
        return np.concatenate([[0], np.cumsum(self.n_levels)]).astype(np.int64)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the row weights."""
        return float(self.n_rows) if self.weights is None else float(self.weights.sum())

    def dense(self) -> Codes:
        """Return (n_rows, n_columns) codes; a compressed table is expanded."""
        if self.codes is not None:
            return self.codes
        if self.sorted is not None:
            return self.sorted.dense()
        indptr, columns, values = self.cells
        kind = np.min_scalar_type(-max(self.n_levels, default=1))
        codes = np.full((self.n_rows, self.n_columns), -1, dtype=kind)
        codes[np.repeat(np.arange(self.n_rows), np.diff(indptr)), columns] = values
        return codes

    def take(self, rows: slice | ArrayLike) -> Rows:
        """Return some of the rows; a slice of step one copies nothing.

        Parameters
        ----------
        rows
            A slice, positions, or a mask.
        """
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
        weights = None if self.weights is None else self.weights[rows]
        if self.indptr is None:
            return Rows(self.n_levels, codes=self.dense()[rows], weights=weights)
        indptr, columns, values = self.cells
        ix = np.arange(self.n_rows)[rows]
        lengths = np.diff(indptr)[ix]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if len(ix) and (np.diff(ix) == 1).all():
            span = slice(int(indptr[ix[0]]), int(indptr[ix[-1] + 1]))
            columns, values = columns[span], values[span]
        else:
            chosen: Ints = np.repeat(indptr[ix] - starts[:-1], lengths) + np.arange(int(starts[-1]))
            columns, values = columns[chosen], values[chosen]
        return Rows(self.n_levels, indptr=starts, columns=columns, values=values, weights=weights)

    def merged(self) -> Rows:
        """Return rows in which identical rows became one weighted row; every statistic stays the same."""
        first, weights = merge(self)
        return self if len(first) == self.n_rows else replace(self.take(first), weights=weights)

    @cached_property
    def packing(self) -> Packing:
        """How the kernels pack the columns."""
        if self.packed_as is not None:
            return self.packed_as
        if self.sorted is not None:
            return self.sorted.packing
        if self.is_sparse:
            return listed(self.n_levels)
        return cheapest(self.n_levels, self.n_rows, self.n_observed)

    @cached_property
    def n_observed(self) -> float:
        """How many cells of a row are observed, about; dense rows are sampled."""
        if self.codes is None:
            return len(self.cells[1]) / max(1, self.n_rows) if self.is_sparse else float(self.n_columns)
        if self.n_rows == 0:
            return float(self.n_columns)
        sample = self.codes[:: max(1, self.n_rows // 1024)]
        return float(np.count_nonzero(sample >= 0)) / len(sample)

    @property
    def n_shown(self) -> float:
        """How many states of the packing a row shows, about."""
        return self.n_observed if self.packing.listed else float(len(self.packing.groups))

    @cached_property
    def native(self) -> _native.Rows:
        """The rows as the compiled kernels take them."""
        native = self._native()
        if self.indexed:
            native.index(self.packing.native)
        return native

    def _native(self) -> _native.Rows:
        if self.sorted is not None:
            ready = self.sorted
            return _native.grouped_rows(ready.codes, ready.prefix_states, ready.prefix_start, self.weights)
        if self.codes is not None:
            return _native.dense_rows(self.codes, self.weights)
        indptr, columns, values = self.cells
        return _native.compressed_rows(np.ascontiguousarray(indptr, dtype=np.int64), columns, values, self.weights)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}


def _check_range(low: Codes, high: Codes, n_levels: tuple[int, ...]) -> None:
    for column_ix, levels in enumerate(n_levels):
        for code in (low[column_ix], high[column_ix]):
            if not -1 <= code < levels:
                raise CodeOutOfRangeError(column_ix, levels, int(code))


def _check_weights(weights: ArrayLike | None, n_rows: int) -> Floats | None:
    if weights is None:
        return None
    checked = np.ascontiguousarray(weights, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise InputError(f"weights must have shape ({n_rows},), got {checked.shape}.")
    if not (np.isfinite(checked).all() and (checked >= 0).all()):
        raise InputError("weights must be finite and not negative.")
    return checked
