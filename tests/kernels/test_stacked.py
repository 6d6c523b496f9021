"""Products in pieces are products."""

from __future__ import annotations

import numpy as np
import pytest

from tensorpmf.kernels import stacked
from tensorpmf.kernels.stacked import product


@pytest.mark.parametrize(("n", "m", "k"), [(3, 1000, 5), (10, 40_600, 20), (1, 0, 4), (300, 17, 300)])
def test_a_product_in_pieces_is_the_product(n: int, m: int, k: int, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(n, m)), rng.normal(size=(m, k))
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-12, atol=1e-9)


def test_no_piece_is_so_large_that_a_blas_would_share_it() -> None:
    sizes: list[int] = []

    class Watched(np.ndarray):
        def __matmul__(self, other: np.ndarray) -> np.ndarray:
            sizes.append(self.size * other.shape[1])
            return np.asarray(self) @ other

    product(np.ones((10, 40_600)).view(Watched), np.ones((40_600, 20)))
    assert max(sizes) <= stacked.ALONE
    assert sum(sizes) == 10 * 40_600 * 20
