"""The estimate from known hidden components, against counting by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import InputError, SettingError


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_it_counts(seed: int, weighted: bool, compressed: bool) -> None:
    rng = np.random.default_rng(seed)
    codes, states = rng.integers(-1, 3, (25, 2)), rng.integers(0, 2, 25)
    weights = rng.integers(1, 5, 25) if weighted else np.ones(25)
    table = tp.CategoricalTable.from_codes(codes, n_levels=[3, 3], weights=weights if weighted else None)
    if compressed:
        table = replace(table, cells=table.cells.compressed())
    pmf = tp.oracle_ml(table, states, rank=2)
    for r in range(2):
        assert pmf.weights[r] == pytest.approx(weights[states == r].sum() / weights.sum())
        for n in range(2):
            seen = [weights[(states == r) & (codes[:, n] == i)].sum() for i in range(3)]
            expected = np.array(seen) / sum(seen) if sum(seen) else np.full(3, 1 / 3)
            np.testing.assert_allclose(pmf.factors[n][:, r], expected)


def test_a_component_without_rows_has_no_weight_and_uniform_factors() -> None:
    pmf = tp.oracle_ml(tp.CategoricalTable.from_codes([[0, 1], [1, 0]]), [2, 0], rank=3)
    assert pmf.weights.tolist() == [0.5, 0.0, 0.5]
    assert pmf.factors[0][:, 1].tolist() == [0.5, 0.5]


def test_nobody_who_does_not_know_the_states_comes_nearer() -> None:
    truth = synthetic_pmf(seed=0)
    table, states = sample_table(truth, 10_000, seed=1, return_states=True)
    oracle = tp.oracle_ml(table, states, rank=5)
    learnt = tp.fit(table, tp.SQUAREM(tp.EM(5)), n_threads=1).pmf
    assert tp.kl_divergence(truth, oracle) < 0.6 * tp.kl_divergence(truth, learnt)


def test_the_rows_may_be_anything_that_is_read_as_a_table() -> None:
    pmf = tp.oracle_ml({"a": ["x", "y", "x"]}, [0, 0, 1], rank=2)
    assert pmf.factors[0].tolist() == [[0.5, 1.0], [0.5, 0.0]]


def test_states_are_checked() -> None:
    table = tp.CategoricalTable.from_codes([[0], [1]])
    with pytest.raises(InputError, match="states must be 2 whole numbers, one a row, got int64"):
        tp.oracle_ml(table, [0], rank=2)
    with pytest.raises(InputError, match="states must be 2 whole numbers, one a row, got float64"):
        tp.oracle_ml(table, [0.0, 1.0], rank=2)
    with pytest.raises(InputError, match="states must be 2 whole numbers, one a row, got a ragged list"):
        tp.oracle_ml(table, [[0], [1, 2]], rank=2)
    with pytest.raises(InputError, match="states must be 0 to 1, got 0 to 2"):
        tp.oracle_ml(table, [0, 2], rank=2)
    with pytest.raises(SettingError, match="rank must be a whole number >= 1"):
        tp.oracle_ml(table, [0, 0], rank=0)
