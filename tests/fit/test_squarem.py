"""Squared extrapolation: where it jumps, what it refuses, and that it ends where plain steps do, sooner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.published import STOUFFER_TOBY, contingency_table

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.fit.simplexes import project_columns
from tensorpmf.fit.squarem import FLOOR, MOST_GROWTH, SquaremState, step_length

SCHEMA = tp.Schema.from_n_levels([2])
SCHEMES = ["s1", "s2", "s3"]


@dataclass(frozen=True)
class Slow(Algorithm[float, Any]):
    """A fixed-point step towards zero in one coordinate, ``x -> contraction x``; the objective is what it is told."""

    contraction: float
    worth: Callable[[float], float] = field(default=lambda x: -abs(x))

    def start(self, schema: tp.Schema, rng: np.random.Generator) -> float:
        return 1.0

    def summarise(self, block: Any, state: float) -> Any: ...

    def update(self, state: float, stats: Any) -> tuple[float, Info]:
        return self.contraction * state, Info(self.worth(state), rank=1)

    def finish(self, state: float) -> Any:
        return state

    def to_vector(self, state: float) -> np.ndarray:
        return np.array([state])

    def from_vector(self, vector: np.ndarray, state: float) -> float:
        return float(vector[0])


@pytest.mark.parametrize("scheme", SCHEMES)
@given(contraction=st.floats(0.3, 0.99))
def test_a_jump_lands_on_the_fixed_point_of_a_linear_step(scheme: Any, contraction: float) -> None:
    squarem = tp.SQUAREM(Slow(contraction), scheme=scheme)
    state = SquaremState(1.0, longest=1e6)
    for _ in range(2):
        state, _ = squarem.update(state, None)
    assert state.jump == pytest.approx(1 / (1 - contraction))
    assert state.point == pytest.approx(0.0, abs=1e-9)


def test_the_three_lengths_are_those_of_varadhan_and_roland() -> None:
    step, bend, one = np.array([3.0, 1.0]), np.array([-1.0, 0.5]), np.ones(2)  # r.r = 10, r.v = -2.5, v.v = 1.25
    assert step_length("s1", step, bend, one) == pytest.approx(2.5 / 1.25)
    assert step_length("s2", step, bend, one) == pytest.approx(10 / 2.5)
    assert step_length("s3", step, bend, one) == pytest.approx(np.sqrt(10 / 1.25))
    weights = np.array([2.0, 0.0])  # only the first coordinate counts
    assert [step_length(scheme, step, bend, weights) for scheme in ("s1", "s2", "s3")] == pytest.approx([3.0] * 3)


@pytest.mark.parametrize("scheme", ["s1", "s2"])
def test_steps_that_grow_ask_for_the_longest_jump(scheme: Any) -> None:
    assert step_length(scheme, np.array([1.0]), np.array([0.5]), np.ones(1)) == np.inf


@pytest.mark.parametrize("scheme", SCHEMES)
def test_where_nothing_moves_there_is_no_jump(scheme: Any) -> None:
    assert step_length(scheme, np.zeros(3), np.zeros(3), np.ones(3)) == 1.0


def test_a_refused_jump_is_told_costs_one_pass_and_goes_on_from_the_plain_steps() -> None:
    squarem = tp.SQUAREM(Slow(0.9, worth=lambda x: x))  # downhill is up: towards zero the objective falls
    state = SquaremState(0.9, before=1.0, longest=100.0)
    jumped, info = squarem.update(state, None)
    assert (info.objective, info.rejected) == (0.9, False)
    assert jumped.point == pytest.approx(0.0, abs=1e-12)
    assert squarem.finish(jumped) == pytest.approx(0.81)  # nobody has looked at the jump yet
    back, refusal = squarem.update(jumped, None)
    assert refusal == replace(info, rejected=True)
    assert back == SquaremState(jumped.fallback, longest=jumped.jump / 2)
    assert back.point == pytest.approx(0.81)


def test_an_objective_that_is_no_number_is_refused() -> None:
    jumped = SquaremState(5.0, fallback=0.5, seen=Info(-1.0, 1), jump=8.0, longest=16.0)
    back, refusal = tp.SQUAREM(Slow(0.9, worth=lambda x: np.nan)).update(jumped, None)
    assert refusal.rejected
    assert back.point == 0.5


def test_the_longest_jump_grows_only_where_it_was_reached() -> None:
    squarem = tp.SQUAREM(Slow(0.9))
    for jump, longest in ((4.0, 16.0), (3.0, 4.0)):
        jumped = SquaremState(0.1, fallback=0.5, seen=Info(-0.9, 1), jump=jump, longest=4.0)
        assert squarem.update(jumped, None)[0].longest == longest


def test_a_fit_goes_on_after_refusals() -> None:
    """Passes that were refused gained nothing; the fit must end at the optimum all the same."""
    table = contingency_table(STOUFFER_TOBY, [2, 2, 2, 2])
    infos: list[Info] = []
    fast = tp.fit(
        table, tp.SQUAREM(tp.EM(3), scheme="s3"), tolerance=1e-12, callback=lambda seen: infos.append(seen.info)
    )
    refused = [at for at, info in enumerate(infos) if info.rejected]
    assert refused
    assert all(infos[at].objective == infos[at - 1].objective for at in refused)
    assert refused[0] < len(infos) - 10
    assert fast.objective == pytest.approx(-503.3011, abs=5e-5)


@pytest.mark.parametrize(("sign", "limit"), [(-1, np.log(FLOOR)), (1, 22.5 + np.log(MOST_GROWTH))])
def test_no_jump_goes_absurdly_far(sign: int, limit: float) -> None:
    squarem = tp.SQUAREM(Slow(1.5), scheme="s3")  # logarithms 10, 15, 22.5, and a jump to 40
    jumped, _ = squarem.update(SquaremState(15.0 * sign, before=10.0 * sign, longest=50.0), None)
    assert jumped.jump == pytest.approx(2.0)
    assert jumped.point == pytest.approx(limit)


@pytest.mark.parametrize("coordinates", ["log", "simplex"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_optimum_is_that_of_plain_em(scheme: Any, coordinates: Any) -> None:
    table = contingency_table(STOUFFER_TOBY, [2, 2, 2, 2])
    plain = tp.fit(table, tp.EM(2), tolerance=1e-13, seed=1)
    fast = tp.fit(table, tp.SQUAREM(tp.EM(2), scheme=scheme, coordinates=coordinates), tolerance=1e-13, seed=1)
    assert fast.objective == pytest.approx(plain.objective, rel=1e-9)
    assert tp.kl_divergence(plain.pmf, fast.pmf) < 1e-6
    assert np.diff(fast.trace.objective).min() >= -1e-12 * abs(fast.objective)
    assert len(fast.trace) < len(plain.trace)


def passes_to(objective: np.ndarray, target: float) -> int:
    return int(np.argmax(objective >= target)) + 1


def test_it_needs_a_third_of_the_passes_on_the_papers_tables() -> None:
    ratios = []
    for seed in range(5):
        table = sample_table(synthetic_pmf(seed=seed), 10_000, seed=100 + seed)
        plain = tp.fit(table, tp.EM(5), seed=seed, max_iterations=3000, tolerance=1e-10, n_threads=1).trace.objective
        fast = tp.fit(table, tp.SQUAREM(tp.EM(5)), seed=seed, tolerance=1e-10, n_threads=1).trace.objective
        target = (1 + 1e-6) * min(plain[-1], fast[-1])  # objectives are negative
        ratios.append(passes_to(fast, target) / passes_to(plain, target))
    assert np.median(ratios) <= 1 / 3


def test_components_may_die_under_it() -> None:
    table = sample_table(synthetic_pmf(4, 3, rank=2, seed=0), 500, seed=1)
    trace = tp.fit(table, tp.SQUAREM(tp.VB(max_rank=8)), tolerance=1e-10).trace
    assert trace.rank[-1] < trace.rank[0]
    assert np.diff(trace.objective).min() >= -1e-9 * abs(trace.objective[-1])


def test_coupled_factorisation_is_accelerated_too() -> None:
    table = sample_table(synthetic_pmf(4, 3, rank=2, seed=3), 2000, outage=0.1, seed=1)
    plain = tp.fit(table, tp.CTF(rank=2), tolerance=1e-10, max_iterations=20_000)
    fast = tp.fit(table, tp.SQUAREM(tp.CTF(rank=2)), tolerance=1e-10)
    assert len(fast.trace) < len(plain.trace) / 2
    assert fast.objective >= plain.objective - 1e-6


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_the_projection_is_nearer_than_any_other_point_of_the_simplex(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    block = rng.normal(0.3, 1.0, (n, 3))
    projected = project_columns(block)
    assert projected.min() >= 0
    np.testing.assert_allclose(projected.sum(axis=0), 1.0)
    others = rng.dirichlet(np.full(n, 0.5), (200, 3)).transpose(0, 2, 1)
    nearest = ((block - others) ** 2).sum(axis=1).min(axis=0)
    assert np.all(((block - projected) ** 2).sum(axis=0) <= nearest + 1e-12)
    np.testing.assert_allclose(project_columns(projected), projected, atol=1e-12)


@given(st.integers(0, 2**32))
def test_a_state_survives_its_logarithms(seed: int) -> None:
    schema = tp.Schema.from_n_levels([2, 3])
    state = tp.EM(3).start(schema, np.random.default_rng(seed))
    again = tp.EM(3).from_vector(tp.EM(3).to_vector(state) + 3.7, state)  # constants do not matter
    np.testing.assert_allclose(again.weights, state.weights)
    np.testing.assert_allclose(again.factors, state.factors)


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match='scheme must be "s1", "s2" or "s3"'):
        tp.SQUAREM(tp.EM(2), scheme="s4")
    with pytest.raises(SettingError, match='coordinates must be "log" or "simplex"'):
        tp.SQUAREM(tp.EM(2), coordinates="sqrt")
    with pytest.raises(SettingError, match='coordinates must be "log" for VB'):
        tp.SQUAREM(tp.VB(), coordinates="simplex")
    with pytest.raises(SettingError, match="one that repeats a fixed-point step, as EM does"):
        tp.SQUAREM(tp.SQUAREM(tp.EM(2)))
    with pytest.raises(SettingError, match="one that repeats a fixed-point step, as EM does, got <class"):
        tp.SQUAREM(tp.EM)


def test_a_wrapper_hands_on_rank_start_and_notes() -> None:
    squarem = tp.SQUAREM(tp.EM(), scheme="s3")
    assert squarem.with_rank(4) == tp.SQUAREM(tp.EM(4), scheme="s3")
    assert tp.SQUAREM(tp.VB()).notes(tp.Schema.from_n_levels([9] * 99), 5) == tp.VB().notes(
        tp.Schema.from_n_levels([9] * 99), 5
    )
    state = tp.EM(2).start(SCHEMA, np.random.default_rng(0))
    resumed = squarem.resume(state)
    assert resumed.point is state
    assert squarem.resume(resumed) is resumed
