"""Columns packed together, so that one gather and one scatter of the kernel do the work of several.

A *group* of columns has a *state* for each combination of their levels; a model's tables hold a row for each state of
each group. How to group is a matter of cost alone: the answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TypeAlias

from tensorpmf.kernels import _native

Groups: TypeAlias = tuple[tuple[int, ...], ...]
"""The columns of each group."""

SIZES = (1024, 4096)
"""So many states, their tables and their counts, are still near, and still not far."""

GATHER_NS = (2.8, 4.2, 8.0)
"""Time to gather and scatter a row of 24 components: of few states, of more, of many. Measured, as all that follows."""

PAIR_NS = (1.0, 3.0, 8.0)
"""The same where a row has only one state besides its prefix."""

ROW_NS = 4.0
"""Time a row takes besides."""

PREFIX_NS = 16.0
"""Time a prefix takes besides."""

STATE_NS = 6.0
"""Time to build one row of a table and to take its counts apart again."""

CAPS = (1, 16, 64, 128, 256, 512)
"""States a group of several columns may have at most: what the packer chooses from."""


@dataclass(frozen=True)
class Packing:
    """Which columns are packed together.

    Parameters
    ----------
    n_levels
        How many levels each column has.
    groups
        The columns of each group; within a state the first column runs fastest.
    missing
        Whether each column has missing cells, which are then one more level, the first.
    listed
        One group for each column, and missing cells are left out of a row: for tables that are wide or mostly empty.
    """

    n_levels: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    missing: tuple[bool, ...]
    listed: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.n_levels, self.groups, self.missing, self.listed))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def n_codes(self) -> tuple[int, ...]:
        """How many codes each column has, missing counted."""
        return tuple(n + missing for n, missing in zip(self.n_levels, self.missing, strict=True))

    @cached_property
    def n_states(self) -> tuple[int, ...]:
        """How many states each group has."""
        return tuple(prod(self.n_codes[column] for column in group) for group in self.groups)

    @cached_property
    def native(self) -> _native.Packing:
        """The packing as the compiled kernels take it."""
        groups = [list(group) for group in self.groups]
        return _native.Packing(groups, list(self.n_levels), list(self.missing), self.listed)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("native", "_hash")}


@lru_cache(maxsize=64)
def listed(n_levels: tuple[int, ...]) -> Packing:
    """Return the packing that packs nothing and leaves missing cells out.

    Parameters
    ----------
    n_levels
        How many levels each column has.
    """
    return Packing(n_levels, tuple((column,) for column in range(len(n_levels))), (False,) * len(n_levels), listed=True)


def cheapest(n_levels: tuple[int, ...], n_rows: int, n_observed: float) -> Packing:
    """Return the cheapest packing for dense rows as they come, any of whose cells may be missing.

    Parameters
    ----------
    n_levels
        How many levels each column has.
    n_rows
        How many rows there are.
    n_observed
        About how many cells of a row are observed.
    """
    groups, cost = _groups_of_all(n_levels, 1 << n_rows.bit_length())
    return (
        listed(n_levels)
        if rows_ns(n_rows, n_observed, sum(n_levels)) < cost
        else Packing(n_levels, groups, (True,) * len(n_levels))
    )


@lru_cache(maxsize=64)
def _groups_of_all(n_levels: tuple[int, ...], n_rows: int) -> tuple[Groups, float]:
    return best_groups(range(len(n_levels)), [n + 1 for n in n_levels], n_rows)


def rows_ns(n_rows: float, n_shown: float, n_states: int, *, after_prefix: bool = False) -> float:
    """Return how long a pass takes, about.

    Parameters
    ----------
    n_rows
        How many rows there are.
    n_shown
        How many states a row shows.
    n_states
        How many states there are.
    after_prefix
        Whether the rows are sorted and these are the states after their prefix.
    """
    cache = sum(n_states > size for size in SIZES)
    gather = PAIR_NS[cache] if after_prefix and n_shown == 1 else GATHER_NS[cache]
    return n_rows * (ROW_NS + n_shown * gather) + n_states * STATE_NS


def best_groups(
    columns: Sequence[int], n_codes: Sequence[int], n_rows: float, *, after_prefix: bool = False
) -> tuple[Groups, float]:
    """Return groups of columns, and the nanoseconds a pass takes, about.

    Parameters
    ----------
    columns
        Columns to group.
    n_codes
        How many codes each column of the table has.
    n_rows
        How many rows a pass takes.
    after_prefix
        Whether the rows are sorted and these are the columns after their prefix.
    """
    if not columns:
        return (), 0.0
    best: tuple[Groups, float] = ((), float("inf"))
    for cap in CAPS:
        groups = first_fit(columns, n_codes, cap)
        n_states = sum(prod(n_codes[column] for column in group) for group in groups)
        cost = rows_ns(n_rows, len(groups), n_states, after_prefix=after_prefix)
        if cost < best[1]:
            best = groups, cost
    return best


def first_fit(columns: Sequence[int], n_codes: Sequence[int], cap: int) -> Groups:
    """Return groups of at most ``cap`` states, the largest columns placed first; a column above the cap is alone.

    Parameters
    ----------
    columns
        Columns to group.
    n_codes
        How many codes each column of the table has.
    cap
        States a group of several columns may have at most.
    """
    groups: list[list[int]] = []
    states: list[int] = []
    ix, before = 0, 0
    for column in sorted(columns, key=lambda column: -n_codes[column]):
        codes = n_codes[column]
        ix = ix if codes == before else 0  # groups that had no room for as many codes have none now
        while ix < len(groups) and states[ix] * codes > cap:
            ix += 1
        if ix == len(groups):
            groups.append([])
            states.append(1)
        groups[ix].append(column)
        states[ix] *= codes
        before = codes
    return tuple(tuple(sorted(group)) for group in groups)
