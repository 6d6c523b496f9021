"""Empirical marginals: what a coupled factorisation is fitted to, and the tallies of rows they come from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from tensorpmf.errors import UnobservedTogetherError
from tensorpmf.kernels.estep import Counts, LogTables, accumulate
from tensorpmf.kernels.marginals import Subsets, accumulate_marginals, count_marginals
from tensorpmf.kernels.rows import Rows
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats, Ints

Weighting: TypeAlias = Literal["equal", "counts"]


@dataclass(frozen=True, eq=False)
class Unfolding:
    """All marginals with one column, that column first and all else flattened.

    Parameters
    ----------
    cells
        (I, n_rest) the marginals, side by side.
    rest
        For each further column, (n_rest,) the stacked level it has there.
    """

    cells: Floats
    rest: tuple[Ints, ...]


@dataclass(frozen=True, eq=False)
class Marginals:
    """Empirical marginals of subsets of the columns.

    Parameters
    ----------
    subsets
        The subsets.
    cells
        (n_cells,) probability of each cell times the weight of its marginal; they sum to one.
    weights
        (n_subsets,) how much each marginal counts; they sum to one.
    """

    subsets: Subsets
    cells: Floats
    weights: Floats

    @cached_property
    def negative_entropy(self) -> float:
        """The sum over all cells of ``w x log x``."""
        log_weights = np.log(self.weights, out=np.zeros_like(self.weights), where=self.weights > 0)
        entropies = 0.0
        for group in self.subsets.groups:
            cells = self.cells[group.cells]
            seen = cells[cells > 0]
            entropies += float((seen * np.log(seen)).sum())  # a product of vectors would wait for threads each time
        return entropies - float(self.weights @ log_weights)

    @cached_property
    def squared_norm(self) -> float:
        """The sum over all marginals of ``w x x``."""
        squares = [float(np.vdot(cells, cells)) for cells in self.subsets.tables(self.cells)]
        return float(np.divide(squares, self.weights, out=np.zeros_like(self.weights), where=self.weights > 0).sum())

    def accumulate(self, weights: Floats, factors: Floats) -> Counts:
        """Return the statistics of one EM pass over all cells."""
        return accumulate_marginals(self.cells, self.subsets, weights, factors)

    @cached_property
    def unfoldings(self) -> tuple[Unfolding, ...]:
        """The marginals by column of the table."""
        tables = list(self.subsets.tables(self.cells))
        return tuple(self._unfolded(column, tables) for column in range(len(self.subsets.n_levels)))

    def _unfolded(self, column: int, tables: list[Floats]) -> Unfolding:
        stacked = np.arange(self.subsets.offsets[-1], dtype=np.int64)
        cells: list[Floats] = []
        rest: list[list[Ints]] = []
        for subset, axis in np.argwhere(self.subsets.columns == column).tolist():
            cells.append(np.moveaxis(tables[subset], axis, 0).reshape(self.subsets.n_levels[column], -1))
            others = [stacked[self.subsets.span(n)] for n in self.subsets.columns[subset].tolist() if n != column]
            rest.append([levels.ravel() for levels in np.meshgrid(*others, indexing="ij")])
        return Unfolding(
            np.concatenate(cells, axis=1), tuple(np.concatenate(levels) for levels in zip(*rest, strict=True))
        )


@dataclass(frozen=True, eq=False)
class SubsetTally:
    """What some rows show of subsets of the columns, counted or still to be counted.

    A few rows are the smallest form of their counts; only when they outgrow the counts are they counted.

    Parameters
    ----------
    subsets
        The subsets.
    rows
        Rows still to be counted.
    cells
        (n_cells,) counts of the others, if any.
    """

    subsets: Subsets
    rows: tuple[Rows, ...] = ()
    cells: Floats | None = None

    @classmethod
    def of(cls, rows: Rows, subsets: Subsets) -> SubsetTally:
        """Return the tally of some rows."""
        return cls(subsets, rows=(rows,)).no_larger_than_counts()

    def __add__(self, other: SubsetTally) -> SubsetTally:
        if self.cells is None or other.cells is None:
            cells = other.cells if self.cells is None else self.cells
        else:
            cells = self.cells + other.cells
        return SubsetTally(self.subsets, self.rows + other.rows, cells).no_larger_than_counts()

    def no_larger_than_counts(self) -> SubsetTally:
        """Return the same, counted if its rows have more cells than the counts."""
        n_held = sum(_n_cells(rows) for rows in self.rows)
        return self if n_held < self.subsets.n_cells else SubsetTally(self.subsets, cells=self.counts())

    def counts(self) -> Floats:
        """(n_cells,) the weight of the rows that show each cell."""
        counts = np.zeros(self.subsets.n_cells) if self.cells is None else self.cells.copy()
        for rows in self.rows:
            count_marginals(rows, self.subsets, into=counts)
        return counts

    def target(self, schema: Schema, weighting: Weighting) -> Marginals:
        """Return each marginal divided by its sum; the marginals themselves weigh the same, or what was counted."""
        cells = self.counts()
        n_seen = np.zeros(self.subsets.n_subsets)
        for group in self.subsets.groups:
            by_level = self.subsets.matrix(cells, group).sum(axis=0)
            n_seen[group.subsets] = np.add.reduceat(by_level, group.starts)
        unseen: Ints = np.setdiff1d(np.arange(schema.n_columns), self.subsets.columns[n_seen > 0])
        if len(unseen):
            raise UnobservedTogetherError([schema.names[int(column)] for column in unseen], self.subsets.order)
        weights = n_seen if weighting == "counts" else (n_seen > 0).astype(np.float64)
        weights = weights / weights.sum()
        scale = np.divide(weights, n_seen, out=np.zeros_like(weights), where=n_seen > 0)
        for group in self.subsets.groups:
            widths = np.diff(group.starts, append=len(group.levels))
            self.subsets.matrix(cells, group)[...] *= np.repeat(scale[group.subsets], widths)
        cells.setflags(write=False)
        return Marginals(self.subsets, cells, weights)


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The empirical distribution over all columns at once, held sparse.

    Parameters
    ----------
    rows
        Distinct rows, none with a missing cell, and the probability of each as its weight.
    """

    rows: Rows

    @cached_property
    def negative_entropy(self) -> float:
        """The sum over all rows of ``x log x``."""
        x = _weights(self.rows)
        return float(x @ np.log(x, out=np.zeros_like(x), where=x > 0))

    def accumulate(self, weights: Floats, factors: Floats) -> Counts:
        """Return the statistics of one EM pass over the rows."""
        with np.errstate(divide="ignore"):
            return accumulate(self.rows, LogTables(np.log(weights), np.log(factors)))


@dataclass(frozen=True, eq=False)
class CompleteTally:
    """The complete ones among some rows.

    Parameters
    ----------
    rows
        Distinct rows, none with a missing cell, and how much each counts.
    """

    rows: Rows

    @classmethod
    def of(cls, rows: Rows) -> CompleteTally:
        """Return the complete ones among some rows."""
        return cls(rows.take((rows.dense() >= 0).all(axis=1)).merged())

    def __add__(self, other: CompleteTally) -> CompleteTally:
        codes = np.concatenate([self.rows.dense(), other.rows.dense()])
        weights = np.concatenate([_weights(self.rows), _weights(other.rows)])
        return CompleteTally(Rows.from_codes(codes, self.rows.n_levels, weights).merged())

    def target(self, schema: Schema, weighting: Weighting) -> CompleteRows:
        """Return the same rows, their weights divided by their sum; there is nothing to weigh against each other."""
        if self.rows.total_weight == 0:
            raise UnobservedTogetherError(schema.names, schema.n_columns)
        weights = _weights(self.rows) / self.rows.total_weight
        return CompleteRows(Rows.from_codes(self.rows.dense(), self.rows.n_levels, weights))


Tally: TypeAlias = SubsetTally | CompleteTally
"""What rows add up to before it is made a target."""

Target: TypeAlias = Marginals | CompleteRows
"""What a model is fitted to."""


def _n_cells(rows: Rows) -> int:
    return rows.n_rows * rows.n_columns if rows.values is None else len(rows.values)


def _weights(rows: Rows) -> Floats:
    return np.ones(rows.n_rows) if rows.weights is None else rows.weights
