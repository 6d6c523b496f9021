"""Chains of positive maps against the enumeration of all cells, and their slopes against finite differences."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import purified
from tests.oracles.purified import random_cores

from tensorpmf.kernels.purified import (
    ROWS_AT_ONCE,
    Chain,
    accumulate,
    coordinates,
    core_slopes,
    from_coordinates,
    meeting,
    path,
    walk,
)

N_LEVELS, BONDS = [3, 1, 4, 2], [2, 3, 2]
kinds = pytest.mark.parametrize(("is_complex", "purification"), list(product([False, True], [1, 2])))


def random_codes(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    return np.stack([rng.integers(-1, n, n_rows) for n in N_LEVELS], axis=1).astype(np.int8)


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
def test_coordinates_keep_inner_products_and_lead_back(seed: int, dimension: int, is_complex: bool) -> None:
    rng = np.random.default_rng(seed)
    one, other = (rng.normal(size=(dimension, dimension)) for _ in range(2))
    if is_complex:
        one, other = one + 1j * rng.normal(size=one.shape), other + 1j * rng.normal(size=one.shape)
    one, other = one + one.conj().T, other + other.conj().T
    of_one, of_other = coordinates(one), coordinates(other)
    assert len(of_one) == (dimension**2 if is_complex else dimension * (dimension + 1) // 2)
    np.testing.assert_allclose(of_one.imag, 0)
    np.testing.assert_allclose((of_one * of_other).sum(), np.trace(one @ other).real)
    np.testing.assert_allclose(from_coordinates(of_one, dimension, is_complex), one)


@kinds
def test_rows_end_at_the_sum_of_their_cells(rng: np.random.Generator, is_complex: bool, purification: int) -> None:
    cores = random_cores(rng, N_LEVELS, BONDS, purification, is_complex)
    dense, codes = purified.tensor(cores), random_codes(rng, 60)
    expected = [dense[tuple(slice(None) if code < 0 else int(code) for code in row)].sum() for row in codes]
    ends, logs = walk(codes, Chain.of(cores))
    np.testing.assert_allclose(np.exp(logs), expected)
    np.testing.assert_allclose(ends, 1)


@kinds
def test_what_is_on_the_way_is_a_positive_matrix_of_trace_one(
    rng: np.random.Generator, is_complex: bool, purification: int
) -> None:
    chain, codes = Chain.of(random_cores(rng, N_LEVELS, BONDS, purification, is_complex)), random_codes(rng, 30)
    for dimension, (vectors, _) in zip(chain.bonds, path(codes, chain), strict=True):
        matrices = from_coordinates(vectors, dimension, is_complex)
        np.testing.assert_allclose(np.trace(matrices, axis1=1, axis2=2), 1)
        assert np.linalg.eigvalsh(matrices).min() > -1e-12


@kinds
def test_slopes_are_those_of_finite_differences(rng: np.random.Generator, is_complex: bool, purification: int) -> None:
    cores = random_cores(rng, N_LEVELS, BONDS, purification, is_complex)
    codes, weights, step = random_codes(rng, 25), rng.random(25), 1e-5
    chain, nothing = Chain.of(cores), np.full((1, 4), -1)
    slopes = accumulate(codes, weights, chain) + accumulate(nothing, np.array([-weights.sum()]), chain)
    assert slopes.log_likelihood == pytest.approx(purified.log_likelihood(cores, codes, weights))
    assert slopes.weight == pytest.approx(0)
    for site, core in enumerate(cores):
        found = core_slopes(core, slopes.transfers[site])
        for place in rng.permutation(list(np.ndindex(*core.shape)))[:4].tolist():
            place = tuple(place)
            for direction in (1, 1j) if is_complex else (1,):
                both = []
                for sign in (1, -1):
                    moved = [each.copy() for each in cores]
                    moved[site][place] += sign * step * direction
                    both.append(purified.log_likelihood(moved, codes, weights))
                slope = found[place].real if direction == 1 else found[place].imag
                assert slope == pytest.approx((both[0] - both[1]) / (2 * step), rel=1e-5, abs=1e-6)


def test_slopes_add_over_blocks_larger_than_what_is_done_at_once(rng: np.random.Generator) -> None:
    chain = Chain.of(random_cores(rng, N_LEVELS, BONDS, 2, True))
    codes, weights = random_codes(rng, ROWS_AT_ONCE + 100), rng.random(ROWS_AT_ONCE + 100)
    whole = accumulate(codes, weights, chain)
    halves = accumulate(codes[:777], weights[:777], chain) + accumulate(codes[777:], weights[777:], chain)
    assert whole.log_likelihood == pytest.approx(halves.log_likelihood)
    assert whole.weight == pytest.approx(weights.sum())
    for one, other in zip(whole.transfers, halves.transfers, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(one).max())


def test_no_rows_have_no_slopes(rng: np.random.Generator) -> None:
    slopes = accumulate(
        np.empty((0, 4), dtype=np.int8), np.empty(0), Chain.of(random_cores(rng, N_LEVELS, BONDS, 2, False))
    )
    assert (slopes.log_likelihood, slopes.weight) == (0.0, 0.0)
    assert not any(each.any() for each in slopes.transfers)


def test_an_impossible_row_is_finite_and_has_no_slope(rng: np.random.Generator) -> None:
    cores = random_cores(rng, N_LEVELS, BONDS, 2, False)
    cores[2][1] = 0
    codes, chain = np.array([[0, 0, 1, 0]]), Chain.of(cores)
    assert walk(codes, chain)[1][0] == -np.inf
    slopes = accumulate(codes, np.ones(1), chain)
    assert -2000 < slopes.log_likelihood < -500
    assert not any(each[:-1].any() for each in slopes.transfers[:2])


def test_hundreds_of_columns_do_not_underflow(rng: np.random.Generator) -> None:
    cores = random_cores(rng, [4] * 400, [3] * 399, 2, True)
    chain, codes = Chain.of([1e-3 * core for core in cores]), rng.integers(-1, 4, (20, 400))
    _, logs = walk(codes, chain)
    assert np.isfinite(logs).all()
    assert logs.max() < -2000
    _, backwards = walk(codes[:, ::-1], chain.reversed())
    np.testing.assert_allclose(backwards, logs, rtol=1e-12)
    slopes = accumulate(codes, np.ones(20), chain)
    assert slopes.log_likelihood == pytest.approx(logs.sum())
    assert all(np.isfinite(each).all() for each in slopes.transfers)


def test_left_and_right_meet_in_a_column(rng: np.random.Generator) -> None:
    cores = random_cores(rng, N_LEVELS, BONDS, 2, True)
    dense, codes, chain = purified.tensor(cores), random_codes(rng, 20), Chain.of(cores)
    left, _ = walk(codes[:, :2], chain[:2])
    right, _ = walk(codes[:, :2:-1], chain[3:].reversed())
    found = meeting(left, right, chain.transfers[2])
    for row, given_others in zip(codes, found / found.sum(axis=1, keepdims=True), strict=True):
        index = [slice(None) if code < 0 else slice(code, code + 1) for code in row]
        index[2] = slice(None)
        expected = dense[tuple(index)].sum(axis=(0, 1, 3))
        np.testing.assert_allclose(given_others, expected / expected.sum())


BITS = """
import numpy as np, hashlib
from tensorpmf.kernels.purified import Chain, accumulate, core_slopes
rng = np.random.default_rng(0)
digest = hashlib.sha256()
for bond, is_complex in ((3, False), (16, False), (14, True)):
    bonds = [1, bond, bond, 1]
    shapes = [(3, left, right, 2) for left, right in zip(bonds, bonds[1:])]
    cores = [rng.normal(size=shape) + is_complex * 1j * rng.normal(size=shape) for shape in shapes]
    slopes = accumulate(rng.integers(-1, 3, (3000, 3)), rng.random(3000), Chain.of(cores))
    digest.update(str(slopes.log_likelihood).encode())
    for core, each in zip(cores, slopes.transfers):
        digest.update(each.tobytes() + core_slopes(core, each).tobytes())
print(digest.hexdigest())
"""


def test_bits_do_not_depend_on_the_threads_of_a_blas() -> None:
    def bits(n_threads: str) -> str:
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, n_threads)}
        run = subprocess.run([sys.executable, "-c", BITS], env=environment, capture_output=True, text=True, check=True)
        return run.stdout

    assert bits("1") == bits("4")
