"""Multinomial complexity: what normalised maximum likelihood charges for a distribution learnt from n rows.

Source: P. Kontkanen and P. Myllymäki, "A linear-time algorithm for computing the multinomial stochastic complexity",
Inf. Process. Lett., 2007; T. Mononen and P. Myllymäki, "Computing the multinomial stochastic complexity in sub-linear
time", PGM 2008.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf._check import whole_number
from tensorpmf.errors import SettingError
from tensorpmf.typing import Floats

NEGLIGIBLE = 40.0
"""Terms of the sum over two levels fall like exp(-k²/2n); beyond this exponent they are below rounding."""


def log_complexity(n_levels: int, n: ArrayLike) -> Floats:
    """Return log C(n_levels, n), exact to rounding for whole numbers of rows; between them it is interpolated.

    Parameters
    ----------
    n_levels
        How many levels the distribution has.
    n
        How many rows it was learnt from, not negative; any shape.

    Examples
    --------
    >>> float(np.exp(log_complexity(2, 1)))  # a single row is one level or the other
    2.0
    """
    whole_number("log_complexity", "n_levels", n_levels, at_least=1)
    rows = np.asarray(n, dtype=np.float64)
    if not np.all(np.isfinite(rows) & (rows >= 0)):
        raise SettingError("log_complexity", "n", "finite and >= 0", n)
    below = np.floor(rows)
    share = rows - below
    exact = np.vectorize(_log_complexity, otypes=[np.float64])
    levels = int(n_levels)
    return np.asarray((1 - share) * exact(levels, below) + share * exact(levels, np.ceil(rows)))


@lru_cache(maxsize=1 << 16)
def _log_complexity(n_levels: int, n: float) -> float:
    """C(K, n) = C(K-1, n) + n / (K-2) C(K-2, n), from C(1, n) = 1 and C(2, n) upwards, in logarithms."""
    if n_levels == 1 or n == 0:
        return 0.0
    lower, upper = 0.0, float(np.log(_two_levels(n)))
    for k in range(3, n_levels + 1):
        lower, upper = upper, float(np.logaddexp(upper, lower + np.log(n / (k - 2))))
    return upper


def _two_levels(n: float) -> float:
    """C(2, n) = sum over k of n! / ((n-k)! n^k), a sum of positive terms of which some 9 sqrt(n) are not negligible."""
    n_terms = int(min(n, np.sqrt(2 * NEGLIGIBLE * n) + 1))
    ratios = 1.0 - np.arange(n_terms) / n
    return 1.0 + float(np.cumprod(ratios).sum())
