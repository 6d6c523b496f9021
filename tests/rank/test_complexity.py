"""Multinomial complexity against its definition: a sum over all data sets."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, xlogy

from tensorpmf.errors import SettingError
from tensorpmf.rank.complexity import log_complexity


def by_brute_force(n_levels: int, n: int) -> float:
    """The maximised likelihood of every sequence, summed."""
    total = 0.0
    for sequence in product(range(n_levels), repeat=n):
        shares = np.bincount(sequence, minlength=n_levels) / max(n, 1)
        total += float(np.prod(shares[list(sequence)]))
    return total


@pytest.mark.parametrize("n_levels", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 6])
def test_it_is_the_sum_over_all_sequences(n_levels: int, n: int) -> None:
    assert np.exp(log_complexity(n_levels, n)) == pytest.approx(by_brute_force(n_levels, n), rel=1e-12)


@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 5))
def test_levels_can_be_split_into_two_groups(n: int, first: int, second: int) -> None:
    """C(K1 + K2, n) is a convolution; the code never uses that."""
    whole = sum(
        comb(n, h)
        * (h / n) ** h
        * ((n - h) / n) ** (n - h)
        * np.exp(log_complexity(first, h) + log_complexity(second, n - h))
        for h in range(n + 1)
    )
    assert log_complexity(first + second, n) == pytest.approx(np.log(whole), rel=1e-10)


@pytest.mark.parametrize("n", [1_000, 99_999, 100_000])
def test_two_levels_and_many_rows(n: int) -> None:
    h = np.arange(n + 1)
    binomial = gammaln(n + 1) - gammaln(h + 1) - gammaln(n - h + 1)
    terms = binomial + xlogy(h, h / n) + xlogy(n - h, (n - h) / n)
    assert np.exp(log_complexity(2, n)) == pytest.approx(np.exp(terms).sum(), rel=1e-9)


def test_many_rows_approach_rissanens_asymptote() -> None:
    n, n_levels = 10**7, 10
    asymptote = (n_levels - 1) / 2 * np.log(n / (2 * np.pi)) + n_levels / 2 * np.log(np.pi) - gammaln(n_levels / 2)
    assert log_complexity(n_levels, n) == pytest.approx(asymptote, abs=0.01)


def test_between_whole_numbers_it_is_interpolated() -> None:
    low, high = log_complexity(3, [7, 8])
    assert log_complexity(3, 7.25) == pytest.approx(0.75 * low + 0.25 * high)
    assert log_complexity(3, np.ones((2, 2))).shape == (2, 2)


def test_arguments_are_checked() -> None:
    with pytest.raises(SettingError, match="n_levels must be a whole number >= 1"):
        log_complexity(0, 3)
    with pytest.raises(SettingError, match="n must be finite and >= 0"):
        log_complexity(2, [1.0, -1.0])
