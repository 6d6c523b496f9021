"""Up to which rank a low-rank PMF has only one decomposition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorpmf.errors import SettingError
from tensorpmf.typing import Ints


def kruskal_max_rank(n_levels: Sequence[int]) -> int:
    """Return the largest rank R whose decomposition Kruskal's condition makes unique.

    The condition is ``sum_n min(I_n, R) >= 2 R + N - 1`` (Sidiropoulos and Bro 2000). It is sufficient, not necessary:
    a true rank may lie above it. Where it allows no rank (one or two columns, say) the answer is 1.

    Parameters
    ----------
    n_levels
        How many levels each column has.

    Examples
    --------
    >>> kruskal_max_rank([10] * 5)
    23
    >>> kruskal_max_rank([2, 2])
    1
    """
    levels: Ints = np.asarray(n_levels)
    if levels.ndim != 1 or not levels.size or levels.dtype.kind not in "iu" or levels.min() < 1:
        raise SettingError("kruskal_max_rank", "n_levels", "whole numbers >= 1, one a column", n_levels)
    n_at_least = len(levels) - np.cumsum(np.bincount(levels))[:-1]  # columns with at least 1, 2, … levels
    total = int(levels.sum())
    ranks = np.arange(1, total // 2 + 1)
    sums = np.full(len(ranks), total)  # sum_n min(I_n, R); from the largest I_n on it grows no more
    sums[: len(n_at_least)] = np.cumsum(n_at_least)[: len(ranks)]
    unique = sums >= 2 * ranks + len(levels) - 1
    return int(ranks[unique].max(initial=1))
