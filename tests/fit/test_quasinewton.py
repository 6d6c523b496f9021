"""Quasi-Newton jumps: the gradient is the objective's, the first direction is the plain step, nothing goes down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import polygamma

import tensorpmf as tp
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Info
from tensorpmf.fit.quasinewton import Accepted, Pair, QuasiNewton, QuasiNewtonState, direction
from tensorpmf.fit.vb import VB, VBState
from tensorpmf.kernels.dirichlet import FisherStacked, trigamma
from tensorpmf.kernels.rows import Rows
from tensorpmf.table.schema import Schema

N_LEVELS = [2, 1, 4]


@pytest.fixture
def rows(rng: np.random.Generator) -> Rows:
    return Rows.from_codes(np.stack([rng.integers(-1, n, 40) for n in N_LEVELS], axis=1), N_LEVELS)


@pytest.fixture
def state(rng: np.random.Generator) -> VBState:
    schema = Schema.from_n_levels(N_LEVELS)
    return VBState(schema, rng.gamma(3.0, 2.0, 3), rng.gamma(3.0, 1.0, (7, 3)), 1e-6, np.full(7, 0.1), n_empty=2)


def elbo(rows: Rows, state: VBState) -> float:
    return VB().update(state, VB().summarise(rows, state))[1].objective


def test_the_gradient_is_that_of_the_bound_by_finite_differences(rows: Rows, state: VBState) -> None:
    algorithm = VB()
    after, _ = algorithm.update(state, algorithm.summarise(rows, state))
    gradient = algorithm.gradient(state, after)
    at = algorithm.to_vector(state)
    for ix in range(len(at)):
        step = np.zeros_like(at)
        step[ix] = 1e-5
        up, down = (elbo(rows, algorithm.from_vector(at + sign * step, state)) for sign in (1, -1))
        assert gradient[ix] == pytest.approx((up - down) / 2e-5, abs=2e-5 * np.abs(gradient).max())


def test_preconditioning_the_gradient_gives_the_plain_step(rows: Rows, state: VBState) -> None:
    algorithm = VB()
    after, _ = algorithm.update(state, algorithm.summarise(rows, state))
    step = algorithm.precondition(state, algorithm.gradient(state, after))
    n_live = len(state.weights)
    plain = after.factors / state.factors - 1.0
    plain[2] = 0.0  # the column of one level has nowhere to go
    np.testing.assert_allclose(step[:n_live], after.weights / state.weights - 1.0, rtol=1e-6)
    np.testing.assert_allclose(step[n_live:].reshape(-1, n_live), plain, rtol=1e-6, atol=1e-12)


def test_the_fisher_information_is_the_dense_matrix(rng: np.random.Generator) -> None:
    alpha = rng.gamma(2.0, 1.0, (5, 1))
    dense = np.diag(polygamma(1, alpha[:, 0])) - polygamma(1, alpha.sum() + 0.3)
    dense = alpha * dense * alpha.T
    fisher = FisherStacked(alpha, np.array([0, 5]), empty=0.3)
    vector = rng.normal(size=(5, 1))
    np.testing.assert_allclose(fisher.times(vector), dense @ vector, rtol=1e-8)
    np.testing.assert_allclose(fisher.solve(vector), np.linalg.solve(dense, vector), rtol=1e-7)


def test_trigamma_has_ten_digits() -> None:
    x = np.logspace(-7, 7, 400)
    np.testing.assert_allclose(trigamma(x), polygamma(1, x), rtol=1e-10)


@pytest.mark.parametrize(("asked", "scale"), [(0.1, 0.5), (1.3, 1.3), (30.0, 2.0)])
def test_the_two_loop_recursion_is_the_bfgs_matrix(rng: np.random.Generator, asked: float, scale: float) -> None:
    n = 6
    root = rng.normal(size=(n, n))
    curvature = root @ root.T + np.eye(n)
    inverse = np.diag(rng.gamma(2.0, 1.0, n))
    memory = [Pair.of(move, curvature @ move) for move in rng.normal(size=(3, n))]
    move, fall, _ = memory[-1]
    inverse *= move @ fall / (fall @ inverse @ fall) / asked
    expected = scale * inverse
    for move, fall, _ in memory:
        rho = 1 / (move @ fall)
        left = np.eye(n) - rho * np.outer(move, fall)
        expected = left @ expected @ left.T + rho * np.outer(move, move)
    gradient = rng.normal(size=n)
    np.testing.assert_allclose(direction(memory, gradient, lambda v: inverse @ v), expected @ gradient)


def test_a_jump_that_goes_down_is_tried_shorter_then_refused_for_the_plain_step(rows: Rows, state: VBState) -> None:
    algorithm = QuasiNewton(VB())
    after, info = VB().update(state, VB().summarise(rows, state))
    vector = VB().to_vector(state)
    away = -5.0 * VB().gradient(state, after)
    accepted = Accepted(after, info, vector, -away)
    trial = QuasiNewtonState(VB().from_vector(vector + away, state), accepted=accepted, jump=away)
    shorter, said = algorithm.update(trial, algorithm.summarise(rows, trial))
    assert said == replace(info, rejected=True)
    np.testing.assert_allclose(shorter.jump, 0.25 * away)
    plain, said = algorithm.update(shorter, algorithm.summarise(rows, shorter))
    assert said.rejected
    assert plain == QuasiNewtonState(after)


def test_a_bound_that_is_not_a_number_is_refused(state: VBState) -> None:
    class Broken(VB):
        def update(self, state: VBState, stats: object) -> tuple[VBState, Info]:
            return state, Info(np.nan, rank=3)

    vector = VB().to_vector(state)
    accepted = Accepted(state, Info(-1.0, rank=3), vector, np.zeros_like(vector))
    _, info = QuasiNewton(Broken()).update(QuasiNewtonState(state, accepted=accepted), None)
    assert info == Info(-1.0, rank=3, rejected=True)


def test_switched_off_the_algorithm_is_the_papers_own() -> None:
    assert tp.VB(accelerate=False).runner() == tp.VB(accelerate=False)
    assert tp.VB().runner() == QuasiNewton(tp.VB())


@pytest.mark.parametrize("wrong", [{"memory": 0}, {"n_plain": -1}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingError, match=next(iter(wrong))):
        QuasiNewton(VB(), **wrong)
