"""Which subsets of columns a coupled factorisation looks at, and what their marginals need of memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from math import comb
from operator import index
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np

from tensorpmf.errors import MemoryLimitError, SettingError, UnconnectedColumnsError, UnknownColumnError
from tensorpmf.kernels.marginals import Subsets
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Ints

Choice: TypeAlias = Literal["all"] | float | int | Sequence[Sequence[Hashable]]

COPIES = 3
"""Arrays as large as all the marginals that may exist at one time while rows are counted."""


def choose_subsets(
    schema: Schema, order: int, choice: Choice, seed: int, max_memory: float, copies: int = COPIES
) -> Subsets:
    """Return subsets of the columns; those drawn are balanced (columns occur about equally often) and connected.

    Parameters
    ----------
    schema
        The columns.
    order
        How many columns a subset has.
    choice
        ``"all"``; a fraction of all; how many; or the subsets themselves, by names or positions of their columns.
    seed
        Which subsets are drawn.
    max_memory
        Bytes that their marginals may take.
    copies
        How many arrays as large as all the marginals there will be at one time.
    """
    n_columns = schema.n_columns
    if n_columns < order:
        raise SettingError("CTF", "order", f'at most the number of columns ({n_columns}), or "full"', order)
    if isinstance(choice, str):
        if choice != "all":
            raise _bad_choice(choice)
        n_subsets = comb(n_columns, order)
    elif isinstance(choice, (bool, np.bool_)):
        raise _bad_choice(choice)
    elif isinstance(choice, (float, int, np.number)):
        n_subsets = _how_many(choice, n_columns, order)
    else:
        columns = _explicit(choice, schema, order)
        check_memory(copies * cells_of(schema.n_levels, columns), len(columns), max_memory)
        return Subsets.of(columns, schema.n_levels)
    n_all = comb(n_columns, order)
    check_memory(copies * n_cells_of_all(schema.n_levels, order) * n_subsets / n_all, n_subsets, max_memory)
    columns = all_subsets(n_columns, order) if n_subsets == n_all else draw(n_columns, order, n_subsets, seed)
    return Subsets.of(columns, schema.n_levels)


def n_cells_of_all(n_levels: Sequence[int], order: int) -> int:
    """Return how many cells the marginals of all subsets have, without looking at any of them."""
    polynomial = [1] + [0] * order  # the elementary symmetric polynomials of the level counts
    for n in n_levels:
        for power in range(order, 0, -1):
            polynomial[power] += n * polynomial[power - 1]
    return polynomial[order]


def cells_of(n_levels: Sequence[int], columns: Ints) -> int:
    """Return how many cells the marginals of some subsets have."""
    return int(np.asarray(n_levels, dtype=np.int64)[columns].prod(axis=1).sum())


def check_memory(n_numbers: float, n_subsets: int, max_memory: float) -> None:
    """Refuse to take more memory than allowed, and tell about how many subsets of this size may be taken."""
    if 8 * n_numbers > max_memory:
        n_that_fit = int(n_subsets * max_memory / (8 * n_numbers))
        remedy = f"look at fewer than these {n_subsets} subsets (triplets={n_that_fit} fit)"
        raise MemoryLimitError("CTF", 8 * n_numbers, max_memory, remedy if n_that_fit else "merge levels")


def all_subsets(n_columns: int, order: int) -> Ints:
    """(n_subsets, order) all subsets, each in ascending order."""
    n_entries = comb(n_columns, order) * order
    entries = (column for subset in combinations(range(n_columns), order) for column in subset)
    return np.fromiter(entries, dtype=np.int64, count=n_entries).reshape(-1, order)


def draw(n_columns: int, order: int, n_subsets: int, seed: int) -> Ints:
    """(n_subsets, order) distinct subsets: a random chain through all columns, then rounds in which each occurs once.

    Parameters
    ----------
    n_columns, order, n_subsets
        How many columns there are, a subset has, and subsets are wanted: at least a chain.
    seed
        Which ones.
    """
    rng = np.random.default_rng(seed)
    chain = _chain(rng.permutation(n_columns), order)
    n_all = comb(n_columns, order)
    if n_subsets <= n_all // 2:
        return np.concatenate([chain, _balanced(n_columns, n_subsets - len(chain), chain, rng)])
    left_out = _balanced(n_columns, n_all - n_subsets, chain, rng)
    everything = all_subsets(n_columns, order)
    return everything[~np.isin(_number(everything, n_columns), _number(left_out, n_columns))]


def _chain(columns: Ints, order: int) -> Ints:
    """Subsets that overlap in one column each and cover all."""
    starts = np.arange(0, len(columns) - 1, order - 1, dtype=np.int64)
    chain: Ints = columns[(starts[:, None] + np.arange(order, dtype=np.int64)) % len(columns)]
    return chain


def _balanced(n_columns: int, n_subsets: int, without: Ints, rng: np.random.Generator) -> Ints:
    """Distinct subsets, none of ``without``, from random divisions of the columns into disjoint subsets."""
    order = without.shape[1]
    drawn, taken = without[:0], without
    while len(drawn) < n_subsets:
        n_rounds = 1 + (n_subsets - len(drawn)) * order // n_columns
        shuffled = rng.permuted(np.tile(np.arange(n_columns), (n_rounds, 1)), axis=1)
        fresh = shuffled[:, : n_columns // order * order].reshape(-1, order)
        numbers = _number(np.concatenate([taken, fresh]), n_columns)
        first = np.sort(np.unique(numbers, return_index=True)[1])
        fresh = fresh[first[first >= len(taken)] - len(taken)]
        drawn = np.concatenate([drawn, fresh])[:n_subsets]
        taken = np.concatenate([without, drawn])
    return drawn


def _number(columns: Ints, n_columns: int) -> Ints:
    """(n_subsets,) a number for each subset, whatever the order of its columns."""
    digits = n_columns ** np.arange(columns.shape[1], dtype=np.int64)
    numbers: Ints = (np.sort(columns, axis=1) * digits).sum(axis=1)
    return numbers


def _how_many(choice: float, n_columns: int, order: int) -> int:
    n_all, least = comb(n_columns, order), -(-(n_columns - 1) // (order - 1))
    is_fraction = isinstance(choice, (float, np.floating))
    if not (0 < choice <= (1 if is_fraction else n_all)):
        raise _bad_choice(choice)
    n_subsets = max(round(choice * n_all), 1) if is_fraction else int(choice)
    if n_subsets < least:
        raise SettingError("CTF", "triplets", f"at least {least} of {n_all}, to connect {n_columns} columns", choice)
    return n_subsets


def _explicit(choice: Any, schema: Schema, order: int) -> Ints:
    try:
        subsets = [[position(column, schema) for column in subset] for subset in choice]
    except TypeError:
        raise _bad_choice(choice) from None
    if not all(len(subset) == len(set(subset)) == order for subset in subsets):
        raise SettingError("CTF", "triplets", f"lists of {order} different columns each", choice)
    columns = np.array(sorted({tuple(sorted(subset)) for subset in subsets}), dtype=np.int64).reshape(-1, order)
    require_connected(columns, schema)
    return columns


def require_connected(columns: Ints, schema: Schema) -> None:
    """Refuse subsets that say nothing about how some columns hang together with the others.

    Parameters
    ----------
    columns
        (n_subsets, order) the columns of each subset.
    schema
        All columns.
    """
    alone = _not_connected(columns, schema.n_columns)
    if len(alone):
        raise UnconnectedColumnsError([schema.names[int(column)] for column in alone], schema.names[0])


def position(column: Any, schema: Schema) -> int:
    """Return the position of a column that is told by its name or its position.

    Parameters
    ----------
    column
        The name or the position.
    schema
        The columns.
    """
    if isinstance(column, str):
        return schema.ix(column)
    if isinstance(column, SupportsIndex) and 0 <= index(column) < schema.n_columns:
        return index(column)
    raise UnknownColumnError(column, schema.names)


def _not_connected(columns: Ints, n_columns: int) -> Ints:
    """Columns that no path through the subsets joins with the first one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, others = np.repeat(columns[:, 0], columns.shape[1] - 1), columns[:, 1:].ravel()
    graph = coo_array((np.ones(len(first)), (first, others)), shape=(n_columns, n_columns))
    part = connected_components(graph, directed=False)[1]
    return np.flatnonzero(part != part[0])


def _bad_choice(choice: object) -> SettingError:
    return SettingError(
        "CTF", "triplets", 'a fraction in (0, 1], a number of subsets, a list of them, or "all"', choice
    )
