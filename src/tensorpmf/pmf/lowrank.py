"""A joint PMF as a mixture of product distributions: the canonical polyadic form of the probability tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import NoMixtureError, NotADistributionError, SettingError
from tensorpmf.kernels.estep import LogTables, log_normaliser, responsibilities
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.stacked import stack
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.rows_of import Impossible, RowsLike, Unknown, blocks_of, read_rows
from tensorpmf.table.cells import code_type
from tensorpmf.table.schema import Schema, require_schema
from tensorpmf.typing import Codes, Floats, Ints

TOLERANCE = 1e-6
"""How far from one a distribution handed in may sum before it is refused; within it, it is divided by its sum."""

MOST_LETTERS = 50
"""How much is told of what a PMF is made of, so that its headline fits a terminal."""


@dataclass(frozen=True, eq=False, repr=False)
class LowRankPMF(PMF):
    """A mixture of product distributions, ``P(x) = sum_r weights[r] * prod_n factors[n][x_n, r]``.

    Parameters
    ----------
    schema
        The columns and their levels.
    weights
        (R,) mixing weights; they sum to one.
    factors
        One (I_n, R) array a column; each of its columns sums to one.

    Examples
    --------
    Two blocs of voters, of 60% and 40%:

    >>> from tensorpmf import Column, Schema
    >>> schema = Schema((Column("party", ("dem", "rep")), Column("crime", ("yes", "no"))))
    >>> pmf = LowRankPMF(schema, [0.6, 0.4], [[[0.9, 0.2], [0.1, 0.8]], [[0.3, 0.9], [0.7, 0.1]]])
    >>> pmf
    LowRankPMF of 2 columns, rank 2, weights 0.6 0.4
      party  dem 62%, rep 38%
      crime  yes 54%, no 46%
    >>> pmf.given(crime="yes")
    LowRankPMF of 1 column, rank 2, weights 0.67 0.33
      party  rep 56.7%, dem 43.3%
    >>> pmf.conditional("party", [{"crime": "yes"}, {"crime": "no"}]).round(3)
    array([[0.433, 0.567],
           [0.839, 0.161]])
    """

    schema: Schema
    weights: Floats
    factors: tuple[Floats, ...]

    def __init__(self, schema: Schema, weights: ArrayLike, factors: Sequence[ArrayLike]) -> None:
        require_one_a_column("LowRankPMF", schema, factors, "factors")
        weights = distribution(weights, "weights")
        stacked = np.empty((sum(schema.n_levels), len(weights)))
        for column, start, factor in zip(schema.columns, schema.offsets, factors, strict=False):
            shape = (column.n_levels, len(weights))
            stacked[start : start + column.n_levels] = distribution(factor, f"factor of {column.name!r}", shape)
        stacked.setflags(write=False)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "factors", tuple(np.split(stacked, schema.offsets[1:-1])))

    @property
    def rank(self) -> int:
        """How many components there are."""
        return len(self.weights)

    def responsibilities(
        self, rows: RowsLike, *, unknown: Unknown = "error", impossible: Impossible = "error"
    ) -> Floats:
        """Return (n_rows, R) the probability that each component made each row; missing cells are summed out.

        Parameters
        ----------
        rows
            The rows.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        impossible
            What to do with a row of probability zero: ``"error"``, or take all of its cells as ``"missing"``, so that
            the answer is the weights.
        """
        known = read_rows(rows, self.schema, unknown)
        resp = responsibilities(known, self.log_tables)
        odd = resp.sum(axis=1) == 0
        self._refuse(known, odd, impossible)
        resp[odd] = self.weights
        return resp

    def reordered(self, components: ArrayLike) -> LowRankPMF:
        """Return the same PMF with its components in another order.

        Parameters
        ----------
        components
            (R,) which component comes first, second, …
        """
        order = np.asarray(components)
        if not np.array_equal(np.sort(order), np.arange(self.rank)):
            raise SettingError("reordered", "components", f"an order of 0 to {self.rank - 1}", components)
        return LowRankPMF(self.schema, self.weights[order], [factor[:, order] for factor in self.factors])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LowRankPMF)
            and self.schema == other.schema
            and np.array_equal(self.weights, other.weights)
            and all(map(np.array_equal, self.factors, other.factors))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return LowRankPMF, (self.schema, self.weights, self.factors)

    @cached_property
    def log_tables(self) -> LogTables:
        """Logarithms of the weights and of the factors, as the kernels take them."""
        with np.errstate(divide="ignore"):
            log_weights, log_factors = np.log(self.weights), np.log(stack(self.factors))
        for array in (log_weights, log_factors):
            array.setflags(write=False)
        return LogTables(log_weights, log_factors)

    # What the queries are made of.

    def _log_prob(self, rows: Rows) -> Floats:
        return log_normaliser(rows, self.log_tables)

    def _conditional(self, column_ix: int, rows: Rows) -> Floats:
        """Mix the column's factor by responsibilities that do not look at it: its log-factor is zero there."""
        log_factors = self.log_tables.log_factors.copy()
        start, stop = self.schema.offsets[column_ix : column_ix + 2]
        log_factors[start:stop] = 0.0
        blind = LogTables(self.log_tables.log_weights, log_factors)
        factor = self.factors[column_ix]
        mixed = np.empty((rows.n_rows, len(factor)))
        for block in blocks_of(rows.n_rows):
            np.matmul(responsibilities(rows.take(block), blind), factor.T, out=mixed[block])
        return mixed

    def _marginal(self, column_ixs: Sequence[int]) -> LowRankPMF:
        columns = tuple(self.schema.columns[ix] for ix in column_ixs)
        return LowRankPMF(Schema(columns), self.weights, [self.factors[ix] for ix in column_ixs])

    def _weighed(self, likelihoods: Mapping[int, Floats]) -> LowRankPMF | None:
        """Each component's weight takes up its likelihood, and its factors are weighed and normalised."""
        log_weights, factors = self.log_tables.log_weights.copy(), list(self.factors)
        for ix, likelihood in likelihoods.items():
            weighed = likelihood[:, None] * self.factors[ix]
            mass = weighed.sum(axis=0)
            with np.errstate(divide="ignore"):
                log_weights += np.log(mass)
            factors[ix] = np.where(mass > 0, weighed, self.factors[ix]) / np.where(mass > 0, mass, 1.0)
        top = log_weights.max()
        if top == -np.inf:
            return None
        weights = np.exp(log_weights - top)
        return LowRankPMF(self.schema, weights / weights.sum(), factors)

    def _completed(self, rows: Rows, rng: np.random.Generator) -> Codes:
        """Draw each row's component, then each missing cell from that component."""
        codes = np.empty((rows.n_rows, len(self.schema)), dtype=code_type(max(self.schema.n_levels)))
        for block in blocks_of(rows.n_rows):
            codes[block] = self._completed_block(rows.take(block), rng)
        return codes

    def _completed_block(self, rows: Rows, rng: np.random.Generator) -> Codes:
        codes = np.array(rows.dense(), dtype=code_type(max(self.schema.n_levels)))
        if (codes >= 0).any():
            component = drawn_from(responsibilities(rows, self.log_tables).T, rng)
        else:
            component = rng.choice(self.rank, len(codes), p=self.weights)
        for ix, factor in enumerate(self.factors):
            missing = codes[:, ix] < 0
            codes[missing, ix] = drawn_from(factor[:, component[missing]], rng)
        return codes

    def _parts(self) -> str:
        told = f"rank {self.rank}, weights"
        for n_told, weight in enumerate(np.sort(self.weights)[:-9:-1]):
            if n_told and len(f"{told} {weight:.2g} …") > MOST_LETTERS:
                return f"{told} …"
            told += f" {weight:.2g}"
        return f"{told}{' …' * (self.rank > 8)}"


def drawn_from(prob: Floats, rng: np.random.Generator) -> Ints:
    """Draw one position from each of several distributions.

    Parameters
    ----------
    prob
        (n_positions, n_draws) one distribution a column.
    rng
        Where randomness comes from.
    """
    cumulated = np.cumsum(prob, axis=0)
    return np.asarray((rng.random(prob.shape[1]) * cumulated[-1] >= cumulated).sum(axis=0), dtype=np.int64)


def mixture(pmf: PMF) -> LowRankPMF:
    """Return a PMF that is a mixture, or an error if it is none.

    Parameters
    ----------
    pmf
        The PMF.
    """
    if not isinstance(pmf, LowRankPMF):
        raise NoMixtureError(type(pmf).__name__)
    return pmf


def require_one_a_column(owner: str, schema: object, parts: object, what: str) -> None:
    """Refuse what is no schema, and anything but one part for each of its columns.

    Parameters
    ----------
    owner
        What is to be made of them.
    schema
        The columns.
    parts
        The parts.
    what
        How to call them in an error.
    """
    n_parts, n_columns = len(parts) if isinstance(parts, Sized) else 0, len(require_schema(owner, schema))
    if n_parts != n_columns:
        raise NotADistributionError(what, f"there are {n_parts} for {n_columns} columns")


def distribution(values: ArrayLike, what: str, shape: tuple[int, ...] | None = None) -> Floats:
    """Return a read-only copy whose columns are checked to be, and then are, distributions.

    Parameters
    ----------
    values
        (I,) or (I, R); nothing negative, and a sum of one along the first axis.
    what
        How to call it in an error.
    shape
        The shape it must have; any (R,) when not given.
    """
    copy = owned(values, what, shape)
    if not np.all(copy >= 0):
        raise NotADistributionError(what, "there are negative entries or NaN")
    total = copy.sum(axis=0)
    if not np.all(np.abs(total - 1) <= TOLERANCE):
        raise NotADistributionError(what, f"it sums to {np.ravel(total)[np.argmax(np.abs(total - 1))]:g}, not to 1")
    if np.all(np.abs(total - 1) <= 1e-12):  # stays as it is, so that a loaded model is the saved one to the bit
        return copy
    normalised: Floats = copy / total
    normalised.setflags(write=False)
    return normalised


def owned(values: ArrayLike, what: str, shape: tuple[int, ...] | None) -> Floats:
    """Return a read-only copy of an array whose shape is checked.

    Parameters
    ----------
    values
        The array.
    what
        How to call it in an error.
    shape
        The shape it must have; any (R,) when not given.
    """
    try:
        copy = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise NotADistributionError(what, "it is no array of numbers") from None
    if not copy.size or (copy.ndim != 1 if shape is None else copy.shape != shape):
        raise NotADistributionError(what, f"the shape is {copy.shape}, not {shape or '(R,)'}")
    copy.setflags(write=False)
    return copy
