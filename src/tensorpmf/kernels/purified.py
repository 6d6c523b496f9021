"""Locally purified states: each row walks through a chain of maps, one a column, and ends at its probability.

What the columns so far showed is a positive matrix L, at first 1 x 1. A column that shows level i sends it on to
``sum_m B[i, :, :, m].T @ L @ B[i, :, :, m].conj()``, where B is its core; a column that shows nothing, to the sum of
this over its levels. Behind the last column L is 1 x 1 again: the row's probability, up to a constant.

A symmetric D x D matrix has D(D+1)/2 real coordinates, a Hermitian one D², and in these a core's map at a level is a
real matrix, its *transfer*. So there is one kernel for real and complex cores and any purification, and for bond
dimensions that fit into memory it does less work than products with L itself would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensorpmf.typing import Codes, Floats, Ints

Core: TypeAlias = NDArray[np.inexact[Any]]
"""(I, D_left, D_right, purification) real or complex numbers: of each level, the matrices of its map."""

TINIEST = 1e-300
"""Stands for a probability of zero where a logarithm must be finite."""

ROWS_AT_ONCE = 2048
"""Rows that walk together: what is kept of them on the way should stay in cache."""

TILE_ROWS = 16
TILE_FLOPS = 1 << 18
"""Rows of one level are multiplied a tile at a time: no product is so large that a BLAS divides it among threads, whose
number must not change the bits."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The transfers of all columns, in the order in which rows walk through them.

    Parameters
    ----------
    bonds
        (n_columns + 1,) the dimension of the matrix before each column, and behind the last.
    transfers
        One (I + 1, K_left, K_right) array a column: of each level, and last, where code -1 finds it, their sum.
    """

    bonds: tuple[int, ...]
    transfers: tuple[Floats, ...]

    @classmethod
    def of(cls, cores: Sequence[Core]) -> Chain:
        """Return the transfers of some cores."""
        return cls((cores[0].shape[1], *(core.shape[2] for core in cores)), tuple(map(transfers, cores)))

    def reversed(self) -> Chain:
        """Return the chain as it is seen from its other end."""
        return Chain(self.bonds[::-1], tuple(each.swapaxes(1, 2) for each in self.transfers[::-1]))

    def __getitem__(self, columns: slice) -> Chain:
        """Return the part of the chain that some neighbouring columns make."""
        start, stop, _ = columns.indices(len(self.transfers))
        return Chain(self.bonds[start : stop + 1], self.transfers[columns])


@dataclass(frozen=True, eq=False)
class Slopes:
    """The log-likelihood of weighted rows under a chain, and its derivatives.

    Parameters
    ----------
    log_likelihood
        The sum of weight times log of unnormalised probability.
    weight
        The sum of the weights.
    transfers
        One (I + 1, K_left, K_right) array a column: derivatives with respect to the transfers.
    """

    log_likelihood: float
    weight: float
    transfers: tuple[Floats, ...]

    def __add__(self, other: Slopes) -> Slopes:
        """Return the slopes of all rows of both."""
        return Slopes(
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            tuple(map(add, self.transfers, other.transfers)),
        )


def coordinates(matrices: Core) -> Core:
    """(…, K) coordinates of (…, D, D) matrices: the diagonal first, then what is above and below it, by halves.

    They are linear and keep inner products; those of Hermitian matrices are real.
    """
    above, below = _halves(matrices)
    parts = [np.diagonal(matrices, axis1=-2, axis2=-1), (above + below) / np.sqrt(2)]
    if np.iscomplexobj(matrices):
        parts.append((above - below) / (1j * np.sqrt(2)))
    return np.concatenate(parts, axis=-1)


def from_coordinates(vectors: Core, dimension: int, is_complex: bool) -> Core:
    """(…, D, D) matrices whose coordinates are (…, K) vectors."""
    matrices = np.zeros((*vectors.shape[:-1], dimension, dimension), dtype=complex if is_complex else float)
    row, column = _above(dimension)
    diagonal, n_pairs = np.arange(dimension), len(row)
    even = vectors[..., dimension : dimension + n_pairs] / np.sqrt(2)
    odd = vectors[..., dimension + n_pairs :] * (1j / np.sqrt(2)) if is_complex else 0.0
    matrices[..., diagonal, diagonal] = vectors[..., :dimension]
    matrices[..., row, column], matrices[..., column, row] = even + odd, even - odd
    return matrices


def transfers(core: Core) -> Floats:
    """(I + 1, K_left, K_right) matrices that send the coordinates of L on, for each level and for their sum."""
    n_levels, left, right, hidden = core.shape
    other = np.moveaxis(core.conj(), -1, 1).reshape(n_levels, 1, hidden, left * right)
    maps = (core @ other).reshape(n_levels, left, right, left, right)  # B[i, a, c, :] times B[i, b, d, :], conjugate
    of_left = coordinates(maps.transpose(0, 2, 4, 1, 3).conj()).conj()  # (I, c, d, K_left)
    each = coordinates(np.moveaxis(of_left, -1, 1)).real
    return np.concatenate([each, each.sum(axis=0, keepdims=True)])


def core_slopes(core: Core, slopes: Floats) -> Core:
    """Return derivatives with respect to a core.

    Parameters
    ----------
    core
        (I, D_left, D_right, purification) the core.
    slopes
        (I + 1, K_left, K_right) derivatives with respect to its transfers.

    Returns
    -------
    Shaped as the core. Of a complex one: with respect to the real parts, and as imaginary parts the imaginary parts.
    """
    is_complex = np.iscomplexobj(core)
    n_levels, left, right, hidden = core.shape
    each = slopes[:-1] + slopes[-1]
    of_right = from_coordinates(each, right, is_complex)  # (I, K_left, c, d)
    maps = from_coordinates(np.moveaxis(of_right.conj(), 1, -1), left, is_complex)  # (I, c, d, a, b)
    maps = maps.transpose(0, 4, 2, 3, 1).reshape(n_levels, left, right, left * right)  # (I, b, d, a and c)
    return np.asarray(2 * (maps @ core.reshape(n_levels, 1, left * right, hidden)))


def step(matrices: Floats, column: Codes, transfers: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Send the matrices of rows through one column.

    Parameters
    ----------
    matrices
        (n, K_left) coordinates.
    column
        (n,) codes; -1 is missing.
    transfers
        (I + 1, K_left, K_right) the column's transfers.
    dimension
        Of the matrices behind the column.

    Returns
    -------
    (n, K_right) coordinates of matrices of trace one, or of zero for what is impossible, and (n,) what their traces
    would have been.
    """
    return _rescaled(_Tiles.of(column, transfers).sent(matrices, transfers), dimension)


def path(codes: Codes, chain: Chain) -> Iterator[tuple[Floats, Floats]]:
    """Yield, before the first column and behind each, (n, K) coordinates of trace one and (n,) logs of lost factors.

    Parameters
    ----------
    codes
        (n, n_columns) codes; -1 is missing.
    chain
        The chain; it begins with a 1 x 1 matrix.
    """
    matrices, logs = np.ones((len(codes), 1)), np.zeros(len(codes))
    yield matrices, logs
    for column, each, dimension in zip(codes.T, chain.transfers, chain.bonds[1:], strict=True):
        matrices, traces = step(matrices, column, each, dimension)
        with np.errstate(divide="ignore"):
            logs = logs + np.log(traces)
        yield matrices, logs


def walk(codes: Codes, chain: Chain) -> tuple[Floats, Floats]:
    """Return where rows come out of a chain: what :func:`path` yields last.

    Parameters
    ----------
    codes
        (n, n_columns) codes; -1 is missing.
    chain
        The chain; it begins with a 1 x 1 matrix.
    """
    end = np.ones((len(codes), 1)), np.zeros(len(codes))
    for end in path(codes, chain):  # noqa: B007 (only the last is kept)
        pass
    return end


def meeting(lefts: Floats, rights: Floats, transfers: Floats) -> Floats:
    """(n, I) what each level of a column gives, up to a factor a row, between what is to its left and to its right.

    Parameters
    ----------
    lefts, rights
        (n, K_left) and (n, K_right) coordinates.
    transfers
        (I + 1, K_left, K_right) the column's transfers.
    """
    given = [((lefts @ each) * rights).sum(axis=1) for each in transfers[:-1]]
    return np.asarray(np.maximum(np.stack(given, axis=1), 0.0))


def accumulate(codes: Codes, weights: Floats, chain: Chain) -> Slopes:
    """Return the log-likelihood of rows and its derivatives.

    Parameters
    ----------
    codes
        (n, n_columns) codes; -1 is missing.
    weights
        (n,) how much each row counts.
    chain
        The chain; it begins and ends with a 1 x 1 matrix.
    """
    starts = range(0, max(len(codes), 1), ROWS_AT_ONCE)
    blocks = [slice(start, start + ROWS_AT_ONCE) for start in starts]
    return reduce(add, (_accumulate(codes[block], weights[block], chain) for block in blocks))


def _accumulate(codes: Codes, weights: Floats, chain: Chain) -> Slopes:
    """Forth, keeping L before every column; then back with R, so that the derivative there is the sum of L R.T / p."""
    lefts, log_likelihood = [np.ones((len(codes), 1))], 0.0
    tiles, traces = list[_Tiles](), list[Floats]()
    for column, each, dimension in zip(codes.T, chain.transfers, chain.bonds[1:], strict=True):
        tiles.append(_Tiles.of(column, each))
        left, trace = _rescaled(tiles[-1].sent(lefts[-1], each), dimension)
        lefts.append(left)
        traces.append(trace)
        log_likelihood += float((weights * np.log(np.maximum(trace, TINIEST))).sum())
    right = lefts.pop()  # 1 where the row is possible
    slopes: list[Floats] = []
    for tile, trace, each in zip(reversed(tiles), reversed(traces), reversed(chain.transfers), strict=True):
        right = right / np.where(trace > 0, trace, 1.0)[:, None]
        slopes.append(tile.products(lefts.pop() * weights[:, None], right, len(each)))
        right = tile.sent(right, each.swapaxes(1, 2))
    return Slopes(log_likelihood, float(weights.sum()), tuple(reversed(slopes)))


@dataclass(frozen=True, eq=False)
class _Tiles:
    """Rows sorted by what they show of one column and cut into tiles, within which all show the same.

    Parameters
    ----------
    rows
        (n_tiles, n_rows_a_tile) positions of rows; where a tile is not full, one beyond the last row.
    levels
        (n_tiles,) what the rows of each tile show, rising; what is missing counts as one level more.
    """

    rows: Ints
    levels: Ints

    @classmethod
    def of(cls, column: Codes, transfers: Floats) -> _Tiles:
        """Return the tiles of one column of codes."""
        n_levels, left, right = transfers.shape
        size = max(1, min(TILE_ROWS, TILE_FLOPS // (left * right)))
        shown = column.astype(np.int64) % n_levels
        order = np.argsort(shown, kind="stable")
        counts = np.bincount(shown, minlength=n_levels)
        n_tiles = -(-counts // size)
        begin, first = np.cumsum(counts) - counts, (np.cumsum(n_tiles) - n_tiles) * size
        rows = np.full(int(n_tiles.sum()) * size, len(column))
        ordered = shown[order]
        rows[first[ordered] + np.arange(len(column)) - begin[ordered]] = order
        return cls(rows.reshape(-1, size), np.repeat(np.arange(len(transfers)), n_tiles))

    def sent(self, vectors: Floats, transfers: Floats) -> Floats:
        """(n, K_right) vectors, each times the transfer of its level."""
        after = np.empty((len(vectors) + 1, transfers.shape[2]))
        after[self.rows] = self._gathered(vectors) @ transfers[self.levels]
        return after[:-1]

    def products(self, lefts: Floats, rights: Floats, n_levels: int) -> Floats:
        """(n_levels, K_left, K_right) sums over the rows of each level of the outer products of two vectors."""
        each = self._gathered(lefts).swapaxes(1, 2) @ self._gathered(rights)
        sums = np.zeros((n_levels, *each.shape[1:]))
        if len(each):
            first = np.flatnonzero(np.diff(self.levels, prepend=-1))
            sums[self.levels[first]] = np.add.reduceat(each, first, axis=0)
        return sums

    def _gathered(self, vectors: Floats) -> Floats:
        return np.concatenate([vectors, np.zeros((1, vectors.shape[1]))])[self.rows]


def _rescaled(matrices: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Coordinates divided by their traces, and the traces; what rounding left below zero is zero."""
    traces = np.maximum(matrices[:, :dimension].sum(axis=1), 0.0)
    possible = traces > 0
    return np.where(possible[:, None], matrices, 0.0) / np.where(possible, traces, 1.0)[:, None], traces


def _halves(matrices: Core) -> tuple[Core, Core]:
    row, column = _above(matrices.shape[-1])
    return matrices[..., row, column], matrices[..., column, row]


@cache
def _above(dimension: int) -> tuple[Ints, Ints]:
    """Return where the entries above the diagonal are."""
    row, column = np.triu_indices(dimension, 1)
    return row.astype(np.int64), column.astype(np.int64)
