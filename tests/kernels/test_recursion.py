"""The two loops of a quasi-Newton direction against their legible twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorpmf.kernels import reference
from tensorpmf.kernels.recursion import ascend, descend


@given(st.integers(0, 6), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_the_loops_are_their_twins(n_pairs: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    moves, falls = rng.normal(size=(2, n_pairs, n))
    curvatures, gradient = rng.gamma(2.0, 1.0, n_pairs).tolist(), rng.normal(size=n)
    told = gradient.copy()
    ahead, shares = descend(list(moves), list(falls), curvatures, gradient)
    twin, shares_of_twin = reference.descend(list(moves), list(falls), curvatures, gradient)
    np.testing.assert_allclose(ahead, twin, rtol=1e-9, atol=1e-9 * np.abs(twin).max(initial=1.0))
    np.testing.assert_allclose(shares, shares_of_twin, rtol=1e-9, atol=1e-9 * np.abs(shares_of_twin).max(initial=1.0))
    back = ascend(tuple(moves), tuple(falls), curvatures, shares, ahead)
    twin = reference.ascend(list(moves), list(falls), curvatures, shares, ahead)
    np.testing.assert_allclose(back, twin, rtol=1e-9, atol=1e-9 * np.abs(twin).max(initial=1.0))
    np.testing.assert_array_equal(gradient, told)


def test_pairs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="must come in pairs as long as the vector"):
        descend([np.ones(3)], [np.ones(2)], [1.0], np.ones(3))
    with pytest.raises(ValueError, match="must come in pairs as long as the vector"):
        ascend([np.ones(3)], [np.ones(3)], [], [], np.ones(3))
