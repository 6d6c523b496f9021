"""Cutting numbers into bins: by quantiles, into equal widths, or at given edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import floor, log10
from numbers import Integral
from typing import TypeAlias

import numpy as np

from tensorpmf.errors import SettingError
from tensorpmf.table.schema import Column
from tensorpmf.typing import Floats

Bins: TypeAlias = int | tuple[str, int] | Sequence[float]
"""``5`` or ``("quantile", 5)``: five bins that hold about as many rows each, fewer where values are tied;
``("width", 5)``: five bins of equal width; ``[20, 40, 60]``: cut at these numbers."""


def n_bins(bins: Bins) -> int:
    """Return how many bins there will be at most."""
    return _understood(bins)[0]


def binned_column(name: str, numbers: Floats, mass: Floats, bins: Bins) -> Column:
    """Return the column that a numeric variable becomes when it is cut.

    Parameters
    ----------
    name
        The column's name.
    numbers
        (n_labels,) finite numbers.
    mass
        (n_labels,) how often each of them occurs.
    bins
        How to cut.

    Examples
    --------
    >>> column = binned_column("age", np.array([18.0, 25, 31, 44, 67]), np.ones(5), [20, 40])
    >>> column.levels, column.centres
    (('< 20', '[20, 40)', '>= 40'), (18.0, 28.0, 55.5))
    """
    numbers, place = np.unique(numbers, return_inverse=True)  # long integers may coincide as floats
    mass = np.bincount(place, mass).astype(np.float64)
    counts = mass > 0
    edges = _understood(bins)[1](numbers[counts], mass[counts])
    return Column(
        name,
        levels=_labels(edges),
        ordered=True,
        edges=tuple(edges.tolist()),
        centres=tuple(_centres(edges, numbers, mass).tolist()),
    )


def _understood(bins: object) -> tuple[int, Callable[[Floats, Floats], Floats]]:
    """Return how many bins are asked for, and what gives their inner edges, rising, for numbers and their mass."""
    match bins:
        case bool():
            pass
        case (Integral() as n) | ("quantile", Integral() as n) if int(n) >= 1:
            return int(n), lambda numbers, mass: _quantiles(numbers, mass, int(n))
        case ("width", Integral() as n) if int(n) >= 1:
            return int(n), lambda numbers, _mass: _equal_widths(numbers, int(n))
        case _:
            edges = _given(bins)
            if edges is not None:
                return len(edges) + 1, lambda _numbers, _mass: edges
    must = "a number of bins, ('quantile', number), ('width', number) or rising finite edges"
    raise SettingError("read_table", "bins", must, bins)


def _quantiles(numbers: Floats, mass: Floats, n_bins: int) -> Floats:
    """Cut at the values below which k/n_bins of the mass lies, or else at the last; ties give fewer bins."""
    below = np.concatenate([[0.0], np.cumsum(mass)[:-1]])
    wanted: Floats = np.arange(1, n_bins) * (mass.sum() / n_bins) * (1 - 1e-12)
    first = np.minimum(np.searchsorted(below, wanted), len(numbers) - 1)
    edges: Floats = numbers[np.unique(first[first > 0])]
    return edges


def _equal_widths(numbers: Floats, n_bins: int) -> Floats:
    """Cut the range into equal parts, at numbers rounded to a thousandth of a part."""
    if len(numbers) < 2:
        return np.empty(0)
    share = np.arange(1, n_bins) / n_bins
    edges: Floats = numbers[0] * (1 - share) + numbers[-1] * share
    width = numbers[-1] / n_bins - numbers[0] / n_bins  # the range itself may be more than a float holds
    return np.round(edges, 3 - floor(log10(width))) if 1e-290 < width < 1e290 else edges


def _given(bins: object) -> Floats | None:
    try:
        edges = np.array(bins, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    is_fine = edges.ndim == 1 and edges.size > 0 and np.isfinite(edges).all() and (np.diff(edges) > 0).all()
    return edges if is_fine else None


def _centres(edges: Floats, numbers: Floats, mass: Floats) -> Floats:
    """(n_bins,) mean of the numbers in each bin; for an empty one the middle of its edges, or its only edge."""
    bin_ix = np.searchsorted(edges, numbers, side="right")
    held = np.bincount(bin_ix, mass, minlength=len(edges) + 1)
    total = np.bincount(bin_ix, mass * numbers, minlength=len(edges) + 1)
    around = np.concatenate([edges[:1], edges, edges[-1:]])
    middle = (around[:-1] + around[1:]) / 2 if len(edges) else np.zeros(1)
    np.divide(total, held, out=middle, where=held > 0)
    return middle


def _labels(edges: Floats) -> tuple[str, ...]:
    if not len(edges):
        return ("all",)
    texts = _texts(edges.tolist())
    between = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return (f"< {texts[0]}", *between, f">= {texts[-1]}")


def _texts(edges: list[float]) -> list[str]:
    """Return the edges with as few digits, at least four, as tell them apart."""
    for n_digits in range(4, 16):
        texts = [_text(edge, n_digits) for edge in edges]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(edge) for edge in edges]


def _text(number: float, n_digits: int) -> str:
    n_decimals = n_digits - 1 - floor(log10(abs(number))) if number else 0
    return f"{round(number, max(n_decimals, 0)):.15g}"
