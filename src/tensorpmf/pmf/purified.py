"""A joint PMF as a locally purified state: a chain of positive maps, one for each level of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import NotADistributionError
from tensorpmf.kernels.purified import ROWS_AT_ONCE, TINIEST, Chain, Core, meeting, path, step, walk
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.lowrank import drawn_from, require_one_a_column
from tensorpmf.pmf.rows_of import blocks_of
from tensorpmf.table.cells import code_type
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Codes, Floats


@dataclass(frozen=True, eq=False, repr=False)
class PurifiedPMF(PMF):
    """A locally purified state, ``P(x)`` proportional to ``sum_m |B_1[x_1, :, :, m_1] ... B_N[x_N, :, :, m_N]|²``.

    Parameters
    ----------
    schema
        The columns and their levels.
    cores
        One (I_n, D_left, D_right, purification) array a column, real or complex, in the order of the chain; the first
        ``D_left`` and the last ``D_right`` are one. They are kept times powers of two: P is the same.
    sites
        (n_columns,) at which position of the schema the column of each core stands; by default in its order.

    Examples
    --------
    Two coins that are never both heads:

    >>> from tensorpmf import Column, Schema
    >>> schema = Schema((Column("left", ("head", "tail")), Column("right", ("head", "tail"))))
    >>> first, second = np.eye(2).reshape(2, 1, 2, 1), np.array([[0, 1], [1, 1]]).reshape(2, 2, 1, 1)
    >>> pmf = PurifiedPMF(schema, [first, second])
    >>> pmf
    PurifiedPMF of 2 columns, bond dimension 2, purification 1, real
      left   tail 66.7%, head 33.3%
      right  tail 66.7%, head 33.3%
    >>> pmf.given(left="tail")
    PurifiedPMF of 1 column, bond dimension 1, purification 1, real
      right  head 50%, tail 50%
    """

    schema: Schema
    cores: tuple[Core, ...]
    sites: tuple[int, ...]

    def __init__(self, schema: Schema, cores: Sequence[ArrayLike], sites: Sequence[int] | None = None) -> None:
        require_one_a_column("PurifiedPMF", schema, cores, "cores")
        order = _order(sites, len(schema))
        if sorted(order) != list(range(len(schema))):
            raise NotADistributionError("sites", f"{sites} is no order of 0 to {len(schema) - 1}")
        copies: list[Core] = []
        for ix, core in zip(order, cores, strict=True):
            column, left = schema.columns[ix], copies[-1].shape[2] if copies else 1
            copies.append(_owned(core, f"core of {column.name!r}", column.n_levels, left))
        if copies[-1].shape[2] != 1:
            raise NotADistributionError("cores", f"the last has D_right = {copies[-1].shape[2]}, not 1")
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "cores", tuple(copies))
        object.__setattr__(self, "sites", order)
        if self._log_total == -np.inf:
            raise NotADistributionError("cores", "they give every cell probability zero")

    @property
    def rank(self) -> int:
        """The largest bond dimension."""
        return max(self._chain.bonds)

    @property
    def purification(self) -> int:
        """The largest number of hidden levels of a column."""
        return max(int(core.shape[3]) for core in self.cores)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PurifiedPMF)
            and (self.schema, self.sites) == (other.schema, other.sites)
            and all(map(np.array_equal, self.cores, other.cores))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return PurifiedPMF, (self.schema, self.cores, self.sites)

    @cached_property
    def _chain(self) -> Chain:
        """The cores as the kernels take them."""
        return Chain.of(self.cores)

    @cached_property
    def _log_total(self) -> float:
        """The log of the sum over all cells, which makes probabilities of what the chain gives them."""
        return log_total(self._chain)

    # What the queries are made of.

    def _log_prob(self, rows: Rows) -> Floats:
        blocks = [self._at_sites(rows.take(block)) for block in blocks_of(rows.n_rows)]
        return np.concatenate([np.empty(0), *(walk(codes, self._chain)[1] - self._log_total for codes in blocks)])

    def _conditional(self, column_ix: int, rows: Rows) -> Floats:
        site = self.sites.index(column_ix)
        prob = np.empty((rows.n_rows, len(self.cores[site])))
        for block in blocks_of(rows.n_rows):
            codes = self._at_sites(rows.take(block))
            left, _ = walk(codes[:, :site], self._chain[:site])
            right, _ = walk(codes[:, :site:-1], self._chain[site + 1 :].reversed())
            prob[block] = meeting(left, right, self._chain.transfers[site])
        total = prob.sum(axis=1, keepdims=True)
        return prob / np.where(total > 0, total, 1.0)

    def _completed(self, rows: Rows, rng: np.random.Generator) -> Codes:
        codes = np.empty((rows.n_rows, len(self.schema)), dtype=code_type(max(self.schema.n_levels)))
        for start in range(0, rows.n_rows, ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            codes[block, self.sites] = self._completed_block(self._at_sites(rows.take(block)), rng)
        return codes

    def _completed_block(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw site after site, given all that is known or drawn to the left, and all that is known to the right."""
        drawn = codes.copy()
        _, *rights = (matrices for matrices, _ in reversed(list(path(codes[:, ::-1], self._chain.reversed()))))
        left = np.ones((len(codes), 1))
        for site, (transfer, right) in enumerate(zip(self._chain.transfers, rights, strict=True)):
            missing = codes[:, site] < 0
            prob = np.maximum(meeting(left[missing], right[missing], transfer), TINIEST)
            drawn[missing, site] = drawn_from(prob.T, rng)
            left, _ = step(left, drawn[:, site], transfer, self._chain.bonds[site + 1])
        return drawn

    def _marginal(self, column_ixs: Sequence[int]) -> PurifiedPMF:
        """Join what is summed out to the next column that stays, or behind the last one to that."""
        kept: list[Core] = []
        waiting: Core = np.ones((1, 1, 1, 1))
        for ix, core in zip(self.sites, self.cores, strict=True):
            waiting = joined(waiting, core)
            if ix in column_ixs:
                kept.append(waiting)
                waiting = np.eye(waiting.shape[2])[None, :, :, None]
            else:
                waiting = summed(waiting)
        kept[-1] = joined(kept[-1], waiting)
        schema = Schema(tuple(self.schema.columns[ix] for ix in column_ixs))
        return PurifiedPMF(schema, kept, [list(column_ixs).index(ix) for ix in self.sites if ix in column_ixs])

    def _weighed(self, likelihoods: Mapping[int, Floats]) -> PurifiedPMF | None:
        """Multiply each core by the root of its column's likelihood: it will be squared."""
        cores = list(self.cores)
        for ix, likelihood in likelihoods.items():
            site = self.sites.index(ix)
            cores[site] = np.sqrt(likelihood)[:, None, None, None] * cores[site]
        possible = log_total(Chain.of(cores)) > -np.inf
        return PurifiedPMF(self.schema, cores, self.sites) if possible else None

    def _parts(self) -> str:
        kind = "complex" if any(map(np.iscomplexobj, self.cores)) else "real"
        return f"bond dimension {self.rank}, purification {self.purification}, {kind}"

    def _at_sites(self, rows: Rows) -> Codes:
        return rows.dense()[:, self.sites]


def joined(one: Core, other: Core) -> Core:
    """Return the core of two neighbours one of which has one level; no more is hidden than matters.

    Parameters
    ----------
    one, other
        (I, D_left, D, purification) and (J, D, D_right, purification); I or J is one.
    """
    product = np.einsum("iabm,jbcn->ijacmn", one, other)
    return compressed(product.reshape(-1, one.shape[1], other.shape[2], one.shape[3] * other.shape[3]))


def summed(core: Core) -> Core:
    """Return the core of one level that stands for all levels of another.

    Parameters
    ----------
    core
        (I, D_left, D_right, purification).
    """
    levels = np.moveaxis(core, 0, -1)
    return compressed(levels.reshape(1, *levels.shape[:2], -1))


def compressed(core: Core) -> Core:
    """Return a core with the same maps and at most D_left * D_right hidden levels, times a power of two.

    A map depends on its matrices, as columns of A, by A A^H alone, and that is R^H R of A^H = Q R.

    Parameters
    ----------
    core
        (I, D_left, D_right, purification).
    """
    n_levels, left, right, hidden = core.shape
    if hidden > left * right:
        adjoint = core.reshape(n_levels, left * right, hidden).swapaxes(1, 2).conj()
        _, triangle = np.linalg.qr(adjoint)
        core = triangle.swapaxes(1, 2).conj().reshape(n_levels, left, right, -1)
    return scaled(core)


def scaled(core: Core) -> Core:
    """Return a core times a power of two, which rounds nothing, such that its largest number is about one.

    Parameters
    ----------
    core
        (I, D_left, D_right, purification).
    """
    largest = max(np.abs(core.real).max(), np.abs(core.imag).max())
    return np.asarray(np.ldexp(1.0, -np.frexp(largest)[1]) * core)


def log_total(chain: Chain) -> float:
    """Return the log of the sum over all cells of what a chain gives them.

    Parameters
    ----------
    chain
        The chain.
    """
    return float(walk(np.full((1, len(chain.transfers)), -1), chain)[1][0])


def _order(sites: Sequence[int] | None, n_columns: int) -> tuple[int, ...]:
    """Return positions as whole numbers; none where they are no such numbers."""
    try:
        return tuple(range(n_columns) if sites is None else map(index, sites))
    except TypeError:
        return ()


def _owned(core: ArrayLike, what: str, n_levels: int, left: int) -> Core:
    """Return a read-only copy of a core whose shape is checked, scaled."""
    try:
        given = np.asarray(core)
        given = given.astype(complex if np.iscomplexobj(given) else float)
    except (TypeError, ValueError):
        raise NotADistributionError(what, "it is no array of numbers") from None
    if given.ndim != 4 or given.shape[:2] != (n_levels, left) or not given.size:
        wanted = f"({n_levels}, {left}, D_right, purification)"
        raise NotADistributionError(what, f"the shape is {given.shape}, not {wanted}")
    copy = scaled(np.ascontiguousarray(given))
    if not np.isfinite(copy).all():
        raise NotADistributionError(what, "there are infinite entries or NaN")
    copy.setflags(write=False)
    return copy
