"""Rows sorted so that those with the same first columns, their prefix, follow each other; identical rows merged.

The kernel then looks a prefix up once for all its rows, and keeps what they add up to in registers meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorpmf.kernels.packing import Packing, best_groups
from tensorpmf.typing import Codes, Floats, Ints

N_BLOCKS = 4
"""Into how many blocks rows are thought to be cut; each has its tables taken apart."""

KEY_BITS = 64


@dataclass(frozen=True, eq=False)
class Sorted:
    """Sorted rows: each is a prefix and the states of the groups after it.

    Parameters
    ----------
    packing
        The groups; those of the prefix come first.
    n_prefix_groups
        How many groups are the prefix.
    codes
        (n_rows, n_suffix_groups) state of each row in each group after the prefix, counted within the group.
    prefix_states
        (n_prefixes, n_prefix_groups) states, numbered through.
    prefix_start
        (n_prefixes + 1,) the row at which each prefix begins.
    """

    packing: Packing
    n_prefix_groups: int
    codes: NDArray[np.unsignedinteger]
    prefix_states: NDArray[np.uint32]
    prefix_start: NDArray[np.uint32]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    def dense(self) -> Codes:
        """Return (n_rows, n_columns) level codes."""
        packing = self.packing
        kind = np.min_scalar_type(-max(packing.n_levels, default=1))
        dense = np.empty((self.n_rows, len(packing.n_levels)), dtype=kind)
        base = np.concatenate([[0], np.cumsum(packing.n_states)])
        lengths = np.diff(self.prefix_start)
        for ix, group in enumerate(packing.groups):
            if ix < self.n_prefix_groups:
                states = np.repeat(self.prefix_states[:, ix] - base[ix], lengths)
            else:
                states = self.codes[:, ix - self.n_prefix_groups].astype(np.int64)
            for column in group:
                dense[:, column] = states % packing.n_codes[column] - packing.missing[column]
                states = states // packing.n_codes[column]
        return dense

    def cut(self, start: int, stop: int) -> Sorted:
        """Return some consecutive rows.

        Parameters
        ----------
        start, stop
            The first row, and the first that is out again.
        """
        first = int(np.searchsorted(self.prefix_start, start, side="right")) - 1
        last = int(np.searchsorted(self.prefix_start, stop, side="left"))
        edges = np.clip(self.prefix_start[first : last + 1].astype(np.int64), start, stop) - start
        return Sorted(
            self.packing,
            self.n_prefix_groups,
            self.codes[start:stop],
            self.prefix_states[first:last],
            edges.astype(np.uint32),
        )


@dataclass(frozen=True)
class Plan:
    """How rows are to be sorted and grouped.

    Parameters
    ----------
    packing
        The groups; those of the prefix come first.
    depth
        How many columns are the prefix.
    n_prefix_groups
        How many groups they make.
    cost_ns
        About how long one pass over the rows planned on takes, at 24 components.
    """

    packing: Packing
    depth: int
    n_prefix_groups: int
    cost_ns: float


class Sorter:
    """Decides, on the first rows it sees, how rows are to be grouped, and then sorts, merges and groups any others.

    Parameters
    ----------
    n_levels
        How many levels each column has.
    missing
        Whether each column has missing cells.
    """

    def __init__(self, n_levels: tuple[int, ...], missing: Sequence[bool]) -> None:
        self.n_levels, self.missing = n_levels, tuple(bool(m) for m in missing)
        self.n_codes = [n + m for n, m in zip(n_levels, self.missing, strict=True)]
        self.order = sorted(range(len(n_levels)), key=lambda column: -self.n_codes[column])
        bits = np.cumsum([max(1, (self.n_codes[column] - 1).bit_length()) for column in self.order])
        self.bits = bits[bits <= KEY_BITS]

    def plan(self, codes: Codes) -> Plan:
        """Return the cheapest plan.

        Parameters
        ----------
        codes
            (n_rows, n_columns) level codes: those the rows have, or a fair part.
        """
        return min(self.plans(codes), key=lambda plan: plan.cost_ns)

    def plans(self, codes: Codes) -> Iterator[Plan]:
        """Yield the cheapest plan for each depth that may be worth it.

        Parameters
        ----------
        codes
            (n_rows, n_columns) level codes: those the rows have, or a fair part.
        """
        n_distinct, n_prefixes = self._counts(np.sort(self.keys(codes)))
        for depth in range(len(self.bits) + 1):
            rest = self.order[depth:]
            if not rest or (depth and n_prefixes[depth - 1] > n_distinct / 2):
                return
            suffix, cost = best_groups(rest, self.n_codes, n_distinct / N_BLOCKS, after_prefix=depth > 0)
            prefix, prefix_cost = best_groups(self.order[:depth], self.n_codes, n_prefixes[depth - 1] / N_BLOCKS)
            packing = Packing(self.n_levels, (*prefix, *suffix), self.missing)
            yield Plan(packing, depth, len(prefix), N_BLOCKS * (cost + prefix_cost))

    def keys(self, codes: Codes) -> NDArray[np.uint64]:
        """Return (n_rows,) numbers that order rows by their leading columns, as many as 64 bits hold.

        Parameters
        ----------
        codes
            (n_rows, n_columns) level codes.
        """
        keys = np.zeros(len(codes), dtype=np.uint64)
        used = int(self.bits[-1]) if len(self.bits) else 0
        for column, bits in zip(self.order, self.bits, strict=False):
            part = (codes[:, column].astype(np.int64) + self.missing[column]).astype(np.uint64)
            keys |= part << np.uint64(used - bits)
        return keys

    def _counts(self, keys: NDArray[np.uint64]) -> tuple[int, Ints]:
        """Return how many distinct keys there are, and how many distinct beginnings of each number of columns."""
        steps = keys[1:] ^ keys[:-1]
        top = steps & ~(steps >> np.uint64(1))  # keeps the highest bit, and rounding below cannot reach it
        position = np.frexp(top.astype(np.float64))[1]  # 1 is the lowest bit, 0 no difference
        used = int(self.bits[-1]) if len(self.bits) else 0
        changed_by = np.searchsorted(self.bits, used - position[position > 0] + 1)
        n_prefixes = 1 + np.cumsum(np.bincount(changed_by, minlength=len(self.bits)))
        complete = len(self.bits) == len(self.order)
        return (int(n_prefixes[-1]) if complete else len(keys)), n_prefixes

    def sort(self, codes: Codes, weights: Floats | None, plan: Plan) -> tuple[Sorted, Floats | None]:
        """Return rows sorted, merged and grouped, and their weights.

        Parameters
        ----------
        codes
            (n_rows, n_columns) level codes.
        weights
            (n_rows,) weights, or None.
        plan
            How.
        """
        packing, depth, n_prefix_groups = plan.packing, plan.depth, plan.n_prefix_groups
        keys = self.keys(codes)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        new = np.ones(len(keys), dtype=bool)
        if len(self.bits) == len(self.order):
            np.not_equal(keys[1:], keys[:-1], out=new[1:])
        first = np.flatnonzero(new)
        weights = _merge_weights(weights, order, first)
        codes = codes[order[first]]
        used = int(self.bits[-1]) if len(self.bits) else 0
        shift = np.uint64(used - (int(self.bits[depth - 1]) if depth else 0))
        keys = keys[first]
        starts = np.zeros(1, dtype=np.int64)
        if depth:
            prefix_keys = keys >> shift
            starts = np.concatenate([starts, np.flatnonzero(prefix_keys[1:] != prefix_keys[:-1]) + 1])
        base = np.concatenate([[0], np.cumsum(packing.n_states)])
        prefix = [base[ix] + self._states(codes[starts], packing.groups[ix]) for ix in range(n_prefix_groups)]
        suffix = [self._states(codes, group) for group in packing.groups[n_prefix_groups:]]
        kind = np.min_scalar_type(max(packing.n_states[n_prefix_groups:]) - 1)
        return (
            Sorted(
                packing,
                n_prefix_groups,
                np.stack(suffix, axis=1).astype(kind),
                np.stack(prefix, axis=1).astype(np.uint32) if prefix else np.zeros((1, 0), dtype=np.uint32),
                np.append(starts, len(codes)).astype(np.uint32),
            ),
            weights,
        )

    def _states(self, codes: Codes, group: tuple[int, ...]) -> Ints:
        states, step = np.zeros(len(codes), dtype=np.int64), 1
        for column in group:
            states += step * (codes[:, column].astype(np.int64) + self.missing[column])
            step *= self.n_codes[column]
        return states


def _merge_weights(weights: Floats | None, order: Ints, first: Ints) -> Floats | None:
    if weights is not None:
        return np.add.reduceat(weights[order], first)
    if len(first) == len(order):
        return None
    return np.diff(np.append(first, len(order))).astype(np.float64)


def pieces(n_rows: int, n_pieces: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of consecutive pieces as equal as they can be.

    Parameters
    ----------
    n_rows
        How many rows there are.
    n_pieces
        How many pieces.
    """
    for ix in range(n_pieces):
        yield n_rows * ix // n_pieces, n_rows * (ix + 1) // n_pieces
