from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import dense
from tests.oracles.tensor_pmf import TensorPMF

from tensorpmf.errors import SchemaMismatchError, SettingError
from tensorpmf.pmf.compare import align, kl_divergence, relative_squared_error
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Column, Schema
from tensorpmf.testing.strategies import low_rank_pmfs


def random_pmf(n_levels: list[int], rank: int, rng: np.random.Generator) -> LowRankPMF:
    factors = [rng.dirichlet(np.ones(n), rank).T for n in n_levels]
    return LowRankPMF(Schema.from_n_levels(n_levels), rng.dirichlet(np.ones(rank)), factors)


@given(low_rank_pmfs(), st.integers(0, 2**32))
def test_divergences_are_sums_over_cells(p: LowRankPMF, seed: int) -> None:
    q = random_pmf(list(p.schema.n_levels), 2, np.random.default_rng(seed))
    of_p, of_q = dense.tensor(p), dense.tensor(q)
    assert kl_divergence(p, q).is_exact
    assert kl_divergence(p, q) == pytest.approx(dense.kl(of_p, of_q), rel=1e-9, abs=1e-12)
    expected = sum((a - b) ** 2 for a, b in zip(of_p.ravel(), of_q.ravel(), strict=True)) / sum(of_p.ravel() ** 2)
    assert relative_squared_error(p, q) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(low_rank_pmfs())
def test_a_pmf_is_no_distance_from_itself(p: LowRankPMF) -> None:
    assert kl_divergence(p, p) == 0
    assert relative_squared_error(p, p) < 1e-14
    assert kl_divergence(p, p).note == ""


def test_the_closed_form_of_the_squared_error_is_the_enumeration(rng: np.random.Generator) -> None:
    p, q = random_pmf([3, 4, 2], 3, rng), random_pmf([3, 4, 2], 2, rng)
    by_cells = relative_squared_error(TensorPMF(p.schema, p.to_dense()), q)
    assert relative_squared_error(p, q) == pytest.approx(float(by_cells), rel=1e-12)


def test_the_squared_error_of_wide_tables_does_not_underflow(rng: np.random.Generator) -> None:
    one, two = random_pmf([4], 2, rng), random_pmf([4], 2, rng)
    schema = Schema.from_n_levels([4] * 2_000)
    p = LowRankPMF(schema, one.weights, list(one.factors) * 2_000)
    assert relative_squared_error(p, p) < 1e-9
    assert relative_squared_error(p, LowRankPMF(schema, two.weights, list(two.factors) * 2_000)) >= 1 - 1e-9


def test_a_divergence_too_large_for_a_float_is_infinite() -> None:
    schema = Schema.from_n_levels([10] * 500)
    flat = LowRankPMF(schema, [1.0], [np.full((10, 1), 0.1)] * 500)
    sharp = LowRankPMF(schema, [1.0], [np.eye(10)[:, :1]] * 500)
    assert relative_squared_error(flat, sharp) == np.inf
    assert relative_squared_error(sharp, flat) == pytest.approx(1)


def test_cells_that_q_rules_out_are_floored_and_said_to_be() -> None:
    schema = Schema.from_n_levels([2, 2])
    p = LowRankPMF(schema, [1.0], [[[0.5], [0.5]]] * 2)
    q = LowRankPMF(schema, [1.0], [[[1.0], [0.0]], [[0.5], [0.5]]])
    floored = 0.9 * q.to_dense() + 0.1 / 4
    divergence = kl_divergence(p, q, floor=0.1)
    assert divergence == pytest.approx(dense.kl(p.to_dense(), floored))
    assert divergence.note == "q has cells of probability zero, so it was floored with 0.1"
    assert kl_divergence(p, q, floor=0) == np.inf
    assert kl_divergence(q, p, floor=0.1) == pytest.approx(np.log(2))
    assert kl_divergence(q, p, floor=0.1).note == ""
    for floor in (-0.1, 1.0, np.nan):
        with pytest.raises(SettingError, match="kl_divergence: floor must be at least 0 and below 1"):
            kl_divergence(p, q, floor=floor)


def test_beyond_enumeration_it_is_sampled_with_its_error(rng: np.random.Generator) -> None:
    one, two = random_pmf([4], 1, rng), random_pmf([4], 1, rng)
    schema = Schema.from_n_levels([4] * 13)
    p, q = (LowRankPMF(schema, [1.0], list(pmf.factors) * 13) for pmf in (one, two))
    exact = 13 * kl_divergence(one, two)
    sampled = kl_divergence(p, q, n_draws=20_000, rng=rng)
    assert 0 < sampled.standard_error < 0.1 * exact
    assert abs(sampled - exact) < 5 * sampled.standard_error
    assert kl_divergence(p, q, n_draws=100) == kl_divergence(p, q, n_draws=100)
    holes = LowRankPMF(schema, [1.0], [np.eye(4)[:, :1]] * 13)
    floored = kl_divergence(p, holes, n_draws=100)
    assert np.isfinite(floored)
    assert "floored with 1e-10" in floored.note
    assert kl_divergence(p, holes, n_draws=100, floor=0) == np.inf


def test_pmfs_must_be_about_the_same_columns(rng: np.random.Generator) -> None:
    p = random_pmf([2, 3], 1, rng)
    other = LowRankPMF(Schema((p.schema.columns[0], Column("x2", ("a", "b", "c")))), p.weights, p.factors)
    for compare in (kl_divergence, relative_squared_error, align):
        with pytest.raises(SchemaMismatchError, match="at 'x2': the other has 'x2' with 3 levels") as caught:
            compare(p, other)
        assert caught.value.column == "x2"
        with pytest.raises(SchemaMismatchError, match="levels: one has 2 columns, the other 1"):
            compare(p, p.marginal("x1"))
        with pytest.raises(SchemaMismatchError, match="at 'x1': the other has 'x2'"):
            compare(p, p.marginal(["x2", "x1"]))


@pytest.mark.parametrize("compare", [kl_divergence, relative_squared_error])
def test_only_pmfs_are_compared(compare: Any, rng: np.random.Generator) -> None:
    p = random_pmf([2, 2], 2, rng)
    with pytest.raises(SettingError, match=r"q must be a PMF, such as result\.pmf"):
        compare(p, p.weights)


def test_components_find_their_partners(rng: np.random.Generator) -> None:
    p = random_pmf([4, 5, 3], 4, rng)
    order = rng.permutation(4)
    shuffled = p.reordered(order)
    assert shuffled.reordered(align(p, shuffled)) == p
    q = LowRankPMF(p.schema, shuffled.weights, [0.9 * f + 0.1 / len(f) for f in shuffled.factors])
    np.testing.assert_array_equal(align(p, q), align(p, shuffled))


def test_components_without_a_partner_are_told(rng: np.random.Generator) -> None:
    p = random_pmf([6, 6], 3, rng)
    q = LowRankPMF(p.schema, p.weights[[2, 0]] / p.weights[[2, 0]].sum(), [f[:, [2, 0]] for f in p.factors])
    assert align(p, q).tolist() == [1, -1, 0]
    assert align(q, p).tolist() == [2, 0]


def test_equal_components_are_told_apart_by_their_weights() -> None:
    schema = Schema.from_n_levels([2])
    p = LowRankPMF(schema, [0.1, 0.9], [np.full((2, 2), 0.5)])
    assert align(p, p.reordered([1, 0])).tolist() == [1, 0]
