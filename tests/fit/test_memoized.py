"""Memoized variational Bayes: the bound is exact, never falls, and ends where passes over all rows end."""

from __future__ import annotations

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import SettingError
from tensorpmf.fit.memoized import Memoized
from tensorpmf.fit.reduce import LocalReducer
from tensorpmf.kernels.rows import Rows
from tensorpmf.learn.iris import iris


@pytest.fixture
def table() -> tp.CategoricalTable:
    return sample_table(synthetic_pmf(rank=3, seed=1), 4_000, outage=0.2, seed=2)


def test_the_bound_is_the_one_that_all_remembered_responsibilities_give(table: tp.CategoricalTable) -> None:
    algorithm = Memoized(tp.VB(max_rank=4), n_parts=4, n_first=3)
    reduce = LocalReducer(1, minibatch=1_000).bind(table)
    assert reduce.n_parts == 4
    state = algorithm.start(table.schema, np.random.default_rng(0))
    codes = [table.codes[part::4] for part in range(4)]
    resp: dict[int, np.ndarray] = {}
    for _ in range(9):
        part = algorithm.part(state)
        tables, kl = state.model.expectations
        log_gamma = {ix: _log_gamma(codes[ix], table.schema.offsets, tables) for ix in range(4)}
        rho = np.exp(log_gamma[part] - log_gamma[part].max(axis=1, keepdims=True))
        resp[part] = rho / rho.sum(axis=1, keepdims=True)
        literal = sum((resp[ix] * (log_gamma[ix] - np.log(np.maximum(resp[ix], 1e-300)))).sum() for ix in resp)
        state, info = algorithm.update(state, reduce(algorithm.summarise, state, part))
        assert len(state.model.weights) == 4, "nobody dies in this test, so that shapes stay"
        assert info.objective == pytest.approx((literal - kl) * 4 / len(resp), rel=1e-9)


def _log_gamma(codes: np.ndarray, offsets: np.ndarray, tables: object) -> np.ndarray:
    log_gamma = np.tile(tables.log_weights, (len(codes), 1))
    for row_ix, row in enumerate(codes):
        for column_ix, code in enumerate(row):
            if code >= 0:
                log_gamma[row_ix] += tables.log_factors[offsets[column_ix] + code]
    return log_gamma


@pytest.mark.parametrize("accelerate", [True, False])
def test_minibatches_end_where_passes_over_all_rows_end(table: tp.CategoricalTable, accelerate: bool) -> None:
    whole = tp.fit(table, tp.VB(accelerate=accelerate))
    parts = tp.fit(table, tp.VB(accelerate=accelerate), minibatch=500)
    assert parts.rank == whole.rank
    assert parts.objective == pytest.approx(whole.objective, rel=1e-4)
    seen_all = parts.trace.elbo[47:]
    assert np.diff(seen_all).min() >= -1e-9 * abs(whole.objective)


def test_a_useful_model_is_there_after_a_part_of_a_pass() -> None:
    truth = synthetic_pmf(rank=3, seed=4)
    table = sample_table(truth, 200_000, seed=5)
    result = tp.fit(table, minibatch=2_000, max_iterations=60)
    assert result.trace.passes[-1] == pytest.approx(0.6)
    independent = tp.fit(table, tp.VB(max_rank=1))
    assert tp.kl_divergence(truth, result.pmf) < 0.5 * tp.kl_divergence(truth, independent.pmf)


def test_parts_are_spread_over_the_table_and_cover_it() -> None:
    table = tp.CategoricalTable.from_codes(np.arange(12)[:, None] // 4, n_levels=[3])
    reduce = LocalReducer(1, minibatch=4).bind(table)

    def count(block: Rows, state: None) -> np.ndarray:
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        return np.bincount(block.dense()[:, 0], weights=weights, minlength=3)

    for part in range(3):
        assert reduce(count, None, part).sum() == 4
        assert (reduce(count, None, part) > 0).all()
    np.testing.assert_array_equal(reduce(count, None), [4, 4, 4])


def test_other_algorithms_do_not_take_minibatches(table: tp.CategoricalTable) -> None:
    from tensorpmf.fit.quasinewton import QuasiNewton

    with pytest.raises(SettingError, match="None for QuasiNewton, every step of which reads all rows, got 100"):
        tp.fit(table, QuasiNewton(tp.VB()), minibatch=100)


@pytest.mark.parametrize("minibatch", [2, 5, 20])
def test_parts_in_which_components_would_die_are_not_read(minibatch: int) -> None:
    irises = tp.read_table(iris(), bins=3)
    result = tp.fit(irises, minibatch=minibatch)
    whole = tp.fit(irises)
    assert result.rank == whole.rank == 3
    assert result.objective == pytest.approx(whole.objective, rel=1e-6)
    told = f"minibatch={minibatch} is too few rows for so many components and levels, so 50 were read at a time"
    assert result.notes == (told, *whole.notes)
    assert tp.fit(irises, minibatch=50).notes == whole.notes


def test_all_rows_are_read_where_no_part_has_enough() -> None:
    irises = tp.read_table(iris(), bins=3)
    result = tp.fit(irises, tp.VB(max_rank=20), minibatch=10, max_iterations=5)
    assert "150 were read at a time" in result.notes[0]
    assert result.trace.passes.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(SettingError, match="fit: minibatch must be a whole number >= 1, got 'few'"):
        tp.fit(irises, minibatch="few")  # type: ignore[arg-type]
