"""Counting marginals, and the EM pass over their cells, against plain loops and against the whole tensor."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import dense

from tensorpmf.kernels import isa, marginals, reference
from tensorpmf.kernels.marginals import Subsets, accumulate_marginals, count_marginals
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema


def some_rows(rng: np.random.Generator, n_levels: list[int], n_rows: int, weighted: bool = False) -> Rows:
    codes = np.stack([rng.integers(-1, n, n_rows) for n in n_levels], axis=1)
    return Rows.from_codes(codes, n_levels, rng.gamma(1.0, 1.0, n_rows) if weighted else None)


def some_subsets(rng: np.random.Generator, n_levels: list[int], order: int) -> Subsets:
    everything = list(combinations(range(len(n_levels)), order))
    chosen = rng.permutation(len(everything))[: int(rng.integers(1, len(everything) + 1))]
    return Subsets.of([rng.permutation(everything[ix]) for ix in chosen], tuple(n_levels))


def some_model(rng: np.random.Generator, n_levels: list[int], rank: int) -> tuple[np.ndarray, list[np.ndarray]]:
    return rng.dirichlet(np.ones(rank)), [rng.dirichlet(np.ones(n), size=rank).T for n in n_levels]


def compressed(rows: Rows) -> Rows:
    row_ix, columns = np.nonzero(rows.codes >= 0)
    indptr = np.searchsorted(row_ix, np.arange(rows.n_rows + 1))
    return Rows.from_csr(indptr, columns, rows.codes[row_ix, columns], rows.n_levels, rows.weights)


tables = st.tuples(
    st.integers(0, 2**32), st.lists(st.integers(1, 4), min_size=3, max_size=7), st.integers(2, 3), st.booleans()
)


@given(tables, st.sampled_from([0, 1, 9, 60, 400]))
def test_counts_equal_their_legible_twin(table: tuple[int, list[int], int, bool], n_rows: int) -> None:
    seed, n_levels, order, weighted = table
    rng = np.random.default_rng(seed)
    rows, subsets = some_rows(rng, n_levels, n_rows, weighted), some_subsets(rng, n_levels, order)
    expected = reference.count_marginals(rows, subsets)
    np.testing.assert_allclose(count_marginals(rows, subsets), expected, rtol=1e-12)
    np.testing.assert_allclose(count_marginals(compressed(rows), subsets), expected, rtol=1e-12)


def test_counts_of_parts_add_up_whatever_the_piece_of_rows_taken_at_once(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_levels = [3, 2, 4, 2, 3]
    rows, subsets = some_rows(rng, n_levels, 50), some_subsets(rng, n_levels, 3)
    whole = count_marginals(rows, subsets)
    monkeypatch.setattr(marginals, "ROWS_AT_ONCE", 7)
    counts = count_marginals(rows.take(slice(0, 20)), subsets)
    assert count_marginals(rows.take(slice(20, 50)), subsets, into=counts) is counts
    np.testing.assert_array_equal(counts, whole)


def test_subsets_keep_together_what_shares_a_lead(rng: np.random.Generator) -> None:
    n_levels = (2, 3, 2, 5, 3, 2, 4)
    chosen = [tuple(rng.permutation(subset)) for subset in combinations(range(7), 3)]
    subsets = Subsets.of(chosen, n_levels)
    assert {frozenset(c) for c in subsets.columns.tolist()} == {frozenset(c) for c in chosen}
    assert all(first % 2 == second % 2 for first, second, _ in subsets.columns)
    assert len(subsets.groups) == len({group.lead for group in subsets.groups}) == 9
    assert sum(len(group.starts) for group in subsets.groups) == subsets.n_subsets == 35
    cells = np.arange(float(subsets.n_cells))
    views = list(subsets.tables(cells))
    assert [view.shape for view in views] == [tuple(n_levels[c] for c in row) for row in subsets.columns]
    np.testing.assert_array_equal(np.sort(np.concatenate([view.ravel() for view in views])), cells)


@pytest.mark.parametrize("instructions", isa.available())
@given(tables, st.sampled_from([1, 2, 7, 9, 33]))
def test_the_pass_over_cells_equals_its_legible_twin(
    instructions: str, table: tuple[int, list[int], int, bool], rank: int
) -> None:
    seed, n_levels, order, _ = table
    rng = np.random.default_rng(seed)
    subsets = some_subsets(rng, n_levels, order)
    weights, factors = some_model(rng, n_levels, rank)
    cells = rng.gamma(1.0, 1.0, subsets.n_cells) * (rng.random(subsets.n_cells) < 0.7)
    with isa.using(instructions):
        got = accumulate_marginals(cells, subsets, weights, np.concatenate(factors))
    expected = reference.accumulate_marginals(cells, subsets, weights, np.concatenate(factors))
    np.testing.assert_allclose(got.weights, expected.weights, rtol=1e-10)
    np.testing.assert_allclose(got.factors, expected.factors, rtol=1e-10, atol=1e-14)
    assert got.log_norm == pytest.approx(expected.log_norm, rel=1e-12)


@pytest.mark.parametrize("order", [2, 3])
def test_cells_are_compared_with_the_marginals_of_the_model(rng: np.random.Generator, order: int) -> None:
    n_levels = [3, 2, 4, 2]
    weights, factors = some_model(rng, n_levels, 3)
    tensor = dense.tensor(LowRankPMF(Schema.from_n_levels(n_levels), weights, factors))
    subsets = Subsets.of(list(combinations(range(4), order)), tuple(n_levels))
    cells = rng.random(subsets.n_cells)
    pairs = zip(subsets.tables(cells), subsets.columns.tolist(), strict=True)
    expected = sum((table * np.log(dense.marginal(tensor, columns))).sum() for table, columns in pairs)
    got = accumulate_marginals(cells, subsets, weights, np.concatenate(factors))
    assert got.log_norm == pytest.approx(expected, rel=1e-12)


def test_a_level_of_probability_zero_that_nobody_shows_does_no_harm(rng: np.random.Generator) -> None:
    n_levels = [3, 2, 4]
    weights, factors = some_model(rng, n_levels, 2)
    factors[0] = np.array([[0.0, 0.0], [0.5, 0.1], [0.5, 0.9]])
    subsets = Subsets.of([(0, 1, 2)], tuple(n_levels))
    cells = np.zeros(subsets.n_cells)
    next(subsets.tables(cells)).swapaxes(0, int(np.flatnonzero(subsets.columns[0] == 0)[0]))[1:] = 1.0
    got = accumulate_marginals(cells, subsets, weights, np.concatenate(factors))
    assert np.isfinite(got.log_norm)
    np.testing.assert_array_equal(got.factors[0], 0.0)
    assert got.weights.sum() == pytest.approx(cells.sum())


def test_the_pass_has_the_same_bits_on_any_number_of_threads(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_levels = [7] * 14
    subsets = Subsets.of(list(combinations(range(14), 3)), tuple(n_levels))
    weights, factors = some_model(rng, n_levels, 40)
    cells = rng.random(subsets.n_cells)
    passes = []
    for n_threads in ("1", "2", "5"):
        monkeypatch.setenv("TENSORPMF_THREADS", n_threads)
        passes.append(accumulate_marginals(cells, subsets, weights, np.concatenate(factors)))
    for other in passes[1:]:
        np.testing.assert_array_equal(other.factors, passes[0].factors)
        np.testing.assert_array_equal(other.weights, passes[0].weights)
        assert other.log_norm == passes[0].log_norm
