"""Rows sorted so that those with the same first columns, their prefix, follow each other; identical rows merged.

The kernel then looks a prefix up once for all its rows, and keeps what they add up to in registers meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensorpmf.kernels.packing import PREFIX_NS, Packing, best_groups
from tensorpmf.typing import Codes, Floats, Ints

N_BLOCKS = 4
"""Into how many blocks rows are thought to be cut; each has its tables taken apart."""

KEY_BITS = 64

WORTH_MERGING = 0.9
"""Identical rows are merged where no more than this fraction is left: every row that is left gets a weight to carry."""


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
        (n_rows, n_suffix_groups) state of each row in each group after the prefix, the first of these states being 0.
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
                states = (
                    self.codes[:, ix - self.n_prefix_groups].astype(np.int64) + base[self.n_prefix_groups] - base[ix]
                )
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
    """Decides how rows are to be grouped, on the rows it is made of, and sorts, merges and groups them.

    Parameters
    ----------
    n_levels
        How many levels each column has.
    missing
        Whether each column has missing cells.
    codes
        (n_rows, n_columns) level codes.
    """

    def __init__(self, n_levels: tuple[int, ...], missing: NDArray[np.bool_], codes: Codes) -> None:
        self.n_levels, self.missing = n_levels, tuple(bool(m) for m in missing)
        self.n_codes = [n + m for n, m in zip(n_levels, self.missing, strict=True)]
        self.columns = np.ascontiguousarray(codes.T)
        self.by_size = sorted(range(len(n_levels)), key=lambda column: -self.n_codes[column])
        bits = np.cumsum([max(1, (self.n_codes[column] - 1).bit_length()) for column in self.by_size])
        self.bits = bits[bits <= KEY_BITS]
        self.n_bits = int(self.bits[-1]) if len(self.bits) else 0
        keys = self._keys()
        self.order = radix_argsort(keys, self.n_bits)
        self.keys = keys[self.order]

    def plan(self) -> Plan:
        """Return the cheapest plan."""
        return min(self.plans(), key=lambda plan: plan.cost_ns)

    def plans(self) -> Iterator[Plan]:
        """Yield the cheapest plan for each depth that may be worth it."""
        n_distinct, n_prefixes = self._counts()
        for depth in range(len(self.bits) + 1):
            rest = self.by_size[depth:]
            if not rest or (depth and n_prefixes[depth - 1] > n_distinct / 2):
                return
            suffix, cost = best_groups(rest, self.n_codes, n_distinct / N_BLOCKS, after_prefix=depth > 0)
            prefix, prefix_cost = best_groups(self.by_size[:depth], self.n_codes, n_prefixes[depth - 1] / N_BLOCKS)
            packing = Packing(self.n_levels, (*prefix, *suffix), self.missing)
            cost_of_prefixes = N_BLOCKS * prefix_cost + PREFIX_NS * float(n_prefixes[depth - 1]) if depth else 0.0
            yield Plan(packing, depth, len(prefix), N_BLOCKS * cost + cost_of_prefixes)

    def sort(self, weights: Floats | None, plan: Plan) -> tuple[Sorted, Floats | None]:
        """Return the rows sorted, merged and grouped, and their weights.

        Parameters
        ----------
        weights
            (n_rows,) weights, or None.
        plan
            How.
        """
        packing, n_prefix_groups = plan.packing, plan.n_prefix_groups
        first = self._first_of_each()
        shift = np.uint64(self.n_bits - (int(self.bits[plan.depth - 1]) if plan.depth else 0))
        starts = np.zeros(1, dtype=np.int64)
        if plan.depth:
            prefixes = self.keys[first] >> shift
            starts = np.append(0, np.flatnonzero(prefixes[1:] != prefixes[:-1]) + 1)
        rows = self.order[first]
        base = np.concatenate([[0], np.cumsum(packing.n_states)])
        prefix = [
            base[ix] + self._states(group, rows[starts]) for ix, group in enumerate(packing.groups[:n_prefix_groups])
        ]
        kind = np.min_scalar_type(int(base[-1] - base[n_prefix_groups]) - 1)
        suffix = np.empty((len(rows), len(packing.groups) - n_prefix_groups), dtype=kind)
        for ix, group in enumerate(packing.groups[n_prefix_groups:]):
            suffix[:, ix] = self._states(group, rows) + np.uint32(base[n_prefix_groups + ix] - base[n_prefix_groups])
        return (
            Sorted(
                packing,
                n_prefix_groups,
                suffix,
                np.stack(prefix, axis=1).astype(np.uint32) if prefix else np.zeros((1, 0), dtype=np.uint32),
                np.append(starts, len(rows)).astype(np.uint32),
            ),
            _merge_weights(weights, self.order, first),
        )

    def _keys(self) -> NDArray[np.uint64]:
        """(n_rows,) numbers that order rows by their leading columns, as many as 64 bits hold."""
        keys = np.zeros(self.columns.shape[1], dtype=np.uint64)
        for column, bits in zip(self.by_size, self.bits, strict=False):
            part = self.columns[column].astype(np.int64) + self.missing[column]
            keys |= part.view(np.uint64) << np.uint64(self.n_bits - bits)
        return keys

    def _counts(self) -> tuple[int, Ints]:
        """Return how many distinct rows there are, and how many distinct beginnings of each number of columns."""
        steps = self.keys[1:] ^ self.keys[:-1]
        top = steps & ~(steps >> np.uint64(1))  # keeps the highest bit, and rounding below cannot reach it
        bit = np.bincount(np.frexp(top.astype(np.float64))[1], minlength=KEY_BITS + 1)  # 1 is the lowest, 0 none
        n_prefixes = 1 + np.array([bit[self.n_bits - bits + 1 :].sum() for bits in self.bits], dtype=np.int64)
        return (int(n_prefixes[-1]) if self._complete else len(self.keys)), n_prefixes

    @property
    def _complete(self) -> bool:
        """Whether the keys tell all rows apart."""
        return len(self.bits) == len(self.by_size)

    def _first_of_each(self) -> Ints:
        """Positions, in order, of the first of each run of identical rows; of all rows where merging does not pay."""
        if self._complete:
            first = np.append(0, np.flatnonzero(self.keys[1:] != self.keys[:-1]) + 1)
            if len(first) <= WORTH_MERGING * len(self.keys):
                return first
        return np.arange(len(self.keys))

    def _states(self, group: tuple[int, ...], rows: Ints) -> NDArray[np.uint32]:
        states, step = np.zeros(len(rows), dtype=np.uint32), 1
        for column in group:
            code = self.columns[column][rows].astype(np.int32) + self.missing[column]
            states += np.uint32(step) * code.view(np.uint32)
            step *= self.n_codes[column]
        return states


def radix_argsort(keys: NDArray[np.uint64], n_bits: int) -> Ints:
    """Return the stable order of keys that have so many bits.

    Parameters
    ----------
    keys
        (n_rows,) keys.
    n_bits
        How many of their bits are used.
    """
    order = np.argsort((keys & np.uint64(0xFFFF)).astype(np.uint16), kind="stable")
    for shift in range(16, n_bits, 16):
        digit = (keys >> np.uint64(shift)).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


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
