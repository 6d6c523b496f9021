"""The paper's synthetic data: a random low-rank PMF, and tables drawn from it with cells knocked out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from tensorpmf._check import positive_number, seeded, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes, Floats, Ints


def synthetic_pmf(
    n_columns: int = 5,
    n_levels: int | tuple[int, ...] | list[int] = 10,
    rank: int = 5,
    *,
    seed: int | np.random.Generator = 0,
) -> LowRankPMF:
    """Return a random low-rank PMF, drawn as the paper's Section IV does.

    Weights are U(0.3, 1) and factors U(0, 1), each then divided by its sum; no weight is so small that its component
    cannot be found.

    Parameters
    ----------
    n_columns
        How many columns there are.
    n_levels
        How many levels every column has, or one number a column.
    rank
        How many components there are.
    seed
        Where randomness comes from.

    Examples
    --------
    >>> pmf = synthetic_pmf(n_columns=3, n_levels=4, rank=2, seed=0)
    >>> pmf.rank, pmf.schema.n_levels
    (2, (4, 4, 4))
    """
    n_columns = whole_number("synthetic_pmf", "n_columns", n_columns, at_least=1)
    rank = whole_number("synthetic_pmf", "rank", rank, at_least=1)
    each = [n_levels] * n_columns if np.ndim(n_levels) == 0 else list(cast("Iterable[int]", n_levels))
    if len(each) != n_columns:
        raise SettingError("synthetic_pmf", "n_levels", f"a whole number >= 1, or {n_columns} of them", n_levels)
    levels = [whole_number("synthetic_pmf", "n_levels", n, at_least=1) for n in each]
    rng = seeded("synthetic_pmf", seed)
    weights = rng.uniform(0.3, 1.0, rank)
    factors = [rng.uniform(0.0, 1.0, (n, rank)) for n in levels]
    return LowRankPMF(Schema.from_n_levels(levels), weights / weights.sum(), [f / f.sum(axis=0) for f in factors])


@overload
def sample_table(
    pmf: LowRankPMF,
    n_rows: int,
    outage: float = ...,
    *,
    seed: int | np.random.Generator = ...,
    return_states: Literal[False] = ...,
) -> CategoricalTable: ...
@overload
def sample_table(
    pmf: LowRankPMF,
    n_rows: int,
    outage: float = ...,
    *,
    seed: int | np.random.Generator = ...,
    return_states: Literal[True],
) -> tuple[CategoricalTable, Ints]: ...
def sample_table(
    pmf: LowRankPMF,
    n_rows: int,
    outage: float = 0.0,
    *,
    seed: int | np.random.Generator = 0,
    return_states: bool = False,
) -> CategoricalTable | tuple[CategoricalTable, Ints]:
    """Return independent rows of a PMF, each cell missing with a probability of its own, whatever it holds.

    Parameters
    ----------
    pmf
        Where the rows come from.
    n_rows
        How many rows are drawn.
    outage
        The probability that a cell is missing.
    seed
        Where randomness comes from.
    return_states
        Return the hidden component of every row as well, (n_rows,).

    Examples
    --------
    >>> table = sample_table(synthetic_pmf(seed=0), 1000, outage=0.3, seed=1)
    >>> table.n_rows, table.n_columns, round(table.outage, 1)
    (1000, 5, 0.3)
    """
    n_rows = whole_number("sample_table", "n_rows", n_rows, at_least=1)
    if positive_number("sample_table", "outage", outage, zero=True) >= 1:
        raise SettingError("sample_table", "outage", "at least 0 and below 1", outage)
    rng = seeded("sample_table", seed)
    states = rng.choice(pmf.rank, size=n_rows, p=pmf.weights)
    codes = np.stack([_draw_levels(factor, states, rng) for factor in pmf.factors], axis=1)
    codes[rng.random(codes.shape) < outage] = -1
    table = CategoricalTable.from_codes(codes, schema=pmf.schema)
    return (table, states) if return_states else table


def _draw_levels(factor: Floats, states: Ints, rng: np.random.Generator) -> Codes:
    """Return one level a row, (n_rows,), from the (I, R) factor's column of its state."""
    uniform: NDArray[np.float64] = rng.random(len(states))
    codes = np.empty(len(states), dtype=np.int64)
    for state, column in enumerate(factor.T):
        here = states == state
        codes[here] = np.searchsorted(np.cumsum(column)[:-1], uniform[here], side="right")
    return codes
