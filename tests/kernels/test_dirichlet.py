"""Formulas of the Dirichlet distribution against SciPy, quadrature, sampling and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tensorpmf.kernels import dirichlet, isa, reference
from tensorpmf.kernels.stacked import column_sums, offsets_of, spread, stack, unstack

every_isa = pytest.mark.parametrize("name", isa.available())


@every_isa
def test_gamma_functions_agree_with_scipy(rng: np.random.Generator, name: str) -> None:
    x = np.concatenate(
        [10.0 ** rng.uniform(-10, 12, 5_000), rng.uniform(0.5, 10, 5_000), [1e-300, 1.0, 2.0, 1e16, 1e100]]
    )
    with isa.using(name):
        np.testing.assert_allclose(dirichlet.digamma(x), special.digamma(x), rtol=2e-14, atol=2e-15)
        np.testing.assert_allclose(dirichlet.log_gamma(x), special.gammaln(x), rtol=2e-14, atol=2e-14)
        np.testing.assert_allclose(dirichlet.trigamma(x[x > 1e-100]), special.zeta(2, x[x > 1e-100]), rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 3, 4)])
def test_gamma_functions_keep_the_shape(shape: tuple[int, ...]) -> None:
    for function in (dirichlet.digamma, dirichlet.trigamma, dirichlet.log_gamma):
        assert function(np.full(shape, 2.5)).shape == shape


def test_log_beta_normalises_the_density(rng: np.random.Generator) -> None:
    alpha = rng.uniform(0.5, 4.0, 3)
    x = np.array([0.2, 0.5, 0.3])
    log_density = ((alpha - 1) * np.log(x)).sum() - dirichlet.log_beta(alpha)
    assert log_density == pytest.approx(stats.dirichlet(alpha).logpdf(x))


def test_expected_log_is_the_mean_of_the_log(rng: np.random.Generator) -> None:
    alpha = np.array([0.7, 2.0, 5.0])
    draws = np.log(rng.dirichlet(alpha, 200_000))
    np.testing.assert_allclose(dirichlet.expected_log(alpha), draws.mean(axis=0), atol=5 * draws.std() / 400)


def test_kl_of_two_levels_is_an_integral() -> None:
    q, p = np.array([2.0, 3.5]), np.array([1.2, 0.8])
    x = np.linspace(0, 1, 400_001)[1:-1]
    ratio = stats.beta(*q).logpdf(x) - stats.beta(*p).logpdf(x)
    assert dirichlet.kl(q, p) == pytest.approx(np.trapezoid(stats.beta(*q).pdf(x) * ratio, x), rel=1e-6)
    assert dirichlet.kl(q, q) == pytest.approx(0.0, abs=1e-13)


@every_isa
@given(
    seed=st.integers(0, 2**32 - 1),
    n_levels=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    rank=st.integers(1, 20),
)
def test_stacked_factors_agree_with_the_twin(name: str, seed: int, n_levels: list[int], rank: int) -> None:
    rng = np.random.default_rng(seed)
    offsets = offsets_of(n_levels)
    alpha, prior = 10.0 ** rng.uniform(-6, 6, (offsets[-1], rank)), 10.0 ** rng.uniform(-3, 2, offsets[-1])
    expected, divergence = reference.expected_log_stacked(alpha, offsets, prior)
    with isa.using(name):
        found, kl = dirichlet.expected_log_stacked(alpha, offsets, prior)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert kl == pytest.approx(divergence, rel=1e-10, abs=1e-12 * np.abs(special.gammaln(alpha)).sum())
    parts = zip(unstack(alpha, offsets), np.split(prior, offsets[1:-1]), strict=True)
    assert kl == pytest.approx(
        sum(float(dirichlet.kl(q, p[:, None], axis=0).sum()) for q, p in parts), rel=1e-9, abs=1e-6
    )


def test_a_component_that_has_learnt_nothing_diverges_by_nothing() -> None:
    prior = np.array([0.3, 2.0, 1.0, 1e-6])
    _, kl = dirichlet.expected_log_stacked(np.repeat(prior[:, None], 7, axis=1), np.array([0, 2, 4]), prior)
    assert kl == pytest.approx(0.0, abs=1e-13)


def test_concentrations_and_priors_must_fit() -> None:
    with pytest.raises(ValueError, match="an entry for each stacked level"):
        dirichlet.expected_log_stacked(np.ones((3, 2)), np.array([0, 2]), np.ones(3))


@pytest.mark.parametrize("empty", [0.0, 2.5])
def test_fisher_information_is_the_curvature_of_log_beta(rng: np.random.Generator, empty: float) -> None:
    alpha, offsets = rng.uniform(0.5, 9.0, (5, 2)), np.array([0, 3, 5])
    fisher = dirichlet.FisherStacked(alpha, offsets, empty)

    def gradient(log_alpha: np.ndarray) -> np.ndarray:  # of log B with respect to alpha, at exp(log_alpha)
        at = np.exp(log_alpha)
        totals = spread(column_sums(at, offsets) + empty, offsets)
        return special.digamma(at) - special.digamma(totals)

    direction, step = rng.normal(size=alpha.shape), 1e-6
    along = gradient(np.log(alpha) + step * direction) - gradient(np.log(alpha) - step * direction)
    np.testing.assert_allclose(fisher.times(direction), alpha * along / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(fisher.solve(fisher.times(direction)), direction, rtol=1e-8)


def test_stacking_and_taking_apart() -> None:
    parts = [np.arange(6.0).reshape(3, 2), np.arange(2.0).reshape(1, 2)]
    stacked, offsets = stack(parts), offsets_of([3, 1])
    assert offsets.tolist() == [0, 3, 4]
    for part, again in zip(parts, unstack(stacked, offsets), strict=True):
        np.testing.assert_array_equal(part, again)
    np.testing.assert_array_equal(column_sums(stacked, offsets), [[6.0, 9.0], [0.0, 1.0]])
    np.testing.assert_array_equal(spread(column_sums(stacked, offsets), offsets)[:, 1], [9.0, 9.0, 9.0, 1.0])
