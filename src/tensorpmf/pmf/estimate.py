"""Averages over all cells of a table: exact by enumeration while they are few, by Monte Carlo with its error beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod, sqrt
from typing import Self

import numpy as np

from tensorpmf.errors import TooManyCellsError
from tensorpmf.table.cells import code_type
from tensorpmf.typing import Codes, Floats

MOST_CELLS = 20_000_000
"""The most cells that are enumerated without being asked."""

_CELLS_AT_ONCE = 1 << 18


class Estimate(float):
    """A number and how sure it is; everywhere else it is just the number.

    Parameters
    ----------
    value
        The number.
    standard_error
        Zero when the number is exact; else the standard error of the Monte Carlo mean.
    note
        What a reader should know about how it was computed.

    Examples
    --------
    >>> Estimate(0.25, standard_error=0.01)
    0.25 ± 0.01
    >>> Estimate(0.25) < 0.3
    True
    """

    standard_error: float
    note: str

    def __new__(cls, value: float, standard_error: float = 0.0, note: str = "") -> Self:
        """Return the number with its standard error."""
        estimate = super().__new__(cls, value)
        estimate.standard_error = standard_error
        estimate.note = note
        return estimate

    @property
    def is_exact(self) -> bool:
        """Whether all cells were enumerated, or a closed form was used."""
        return self.standard_error == 0

    def __repr__(self) -> str:
        return float.__repr__(self) if self.is_exact else f"{float(self):.6g} ± {self.standard_error:.2g}"


def n_cells(n_levels: Sequence[int]) -> int:
    """Return how many cells the tensor of a table with these numbers of levels has."""
    return prod(int(n) for n in n_levels)


def cells(n_levels: Sequence[int], most: int = MOST_CELLS) -> Iterator[Codes]:
    """Yield the codes of every cell, the last column fastest, in blocks of shape (n_rows, n_columns).

    Parameters
    ----------
    n_levels
        How many levels each column has.
    most
        Refuse to enumerate more cells than this.
    """
    total = n_cells(n_levels)
    if total > most:
        raise TooManyCellsError(total, most)
    dtype = code_type(max(n_levels))
    for start in range(0, total, _CELLS_AT_ONCE):
        rest = np.arange(start, min(start + _CELLS_AT_ONCE, total))
        codes = np.empty((len(rest), len(n_levels)), dtype, order="F")
        for column_ix in reversed(range(len(n_levels))):
            rest, codes[:, column_ix] = np.divmod(rest, n_levels[column_ix])
        yield codes


def exact_mean(
    function: Callable[[Codes], Floats], log_prob: Callable[[Codes], Floats], n_levels: Sequence[int]
) -> Estimate:
    """Return the mean of a function over all cells; cells of probability zero are left out.

    Parameters
    ----------
    function
        From (n, n_columns) codes to (n,) values.
    log_prob
        From (n, n_columns) codes to (n,) log-probabilities.
    n_levels
        How many levels each column has.
    """
    total = 0.0
    for codes in cells(n_levels):
        prob = np.exp(log_prob(codes))
        total += float(prob[prob > 0] @ function(codes[prob > 0]))
    return Estimate(total)


def sampled_mean(values: Floats) -> Estimate:
    """Return the mean of independent draws, with its standard error.

    Parameters
    ----------
    values
        (n_draws,) what was drawn; an infinite one makes the mean infinite.
    """
    if not np.all(np.isfinite(values)):
        return Estimate(float(np.sum(values)), np.inf)
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / sqrt(len(values)))
