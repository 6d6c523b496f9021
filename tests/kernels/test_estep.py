"""The pass over the rows: its twin against enumeration, and every compiled form of it against its twin."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.kernels.cases import Case, assert_same, cases, compressed, over_blocks, some_codes, some_tables

from tensorpmf.kernels import estep, isa, reference
from tensorpmf.kernels.blocks import cut
from tensorpmf.kernels.estep import Counts, LogTables
from tensorpmf.kernels.packing import Packing
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import Sorted

every_isa = pytest.mark.parametrize("name", isa.available())


def test_the_twin_agrees_with_products_of_probabilities(rng: np.random.Generator) -> None:
    weights, first, second = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2), 3).T, rng.dirichlet(np.ones(4), 3).T
    tables = LogTables(np.log(weights), np.log(np.concatenate([first, second])))
    rows = Rows.from_codes([[0, 3], [1, -1], [-1, -1]], [2, 4], [1.0, 2.0, 0.5])
    joint = np.array([weights * first[0] * second[3], weights * first[1], weights])
    resp = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(reference.responsibilities(rows, tables), resp)
    np.testing.assert_allclose(reference.log_normaliser(rows, tables), np.log(joint.sum(axis=1)), atol=1e-15)
    counts = reference.accumulate(rows, tables)
    np.testing.assert_allclose(counts.weights, resp[0] + 2.0 * resp[1] + 0.5 * resp[2])
    np.testing.assert_allclose(counts.factors, [resp[0], 2.0 * resp[1], *np.zeros((3, 3)), resp[0]])
    assert counts.log_norm == pytest.approx(np.log(joint.sum(axis=1)) @ [1.0, 2.0, 0.5])


@every_isa
@given(case=cases())
def test_every_form_of_the_rows_gives_the_counts_of_the_twin(name: str, case: Case) -> None:
    expected = reference.accumulate(case.rows, case.tables)
    with isa.using(name):
        for rows in (case.rows, compressed(case.rows), case.rows.merged(), compressed(case.rows).merged()):
            assert_same(estep.accumulate(rows, case.tables), expected, case.rows.total_weight)
        for rows in (case.rows, compressed(case.rows)):
            assert_same(over_blocks(cut(rows, 4), case.tables), expected, case.rows.total_weight)


@every_isa
@given(case=cases())
def test_single_precision_is_single_precise(name: str, case: Case) -> None:
    expected = reference.accumulate(case.rows, case.tables)
    with isa.using(name):
        for rows in ([case.rows], cut(case.rows, 2)):
            assert_same(over_blocks(rows, case.single().tables), expected, case.rows.total_weight, precision=3e-6)


@every_isa
@given(case=cases())
def test_scores_are_those_of_the_twin_and_in_the_order_of_the_rows(name: str, case: Case) -> None:
    log_norm = reference.log_normaliser(case.rows, case.tables)
    resp = reference.responsibilities(case.rows, case.tables)
    with isa.using(name):
        for rows in (case.rows, compressed(case.rows)):
            np.testing.assert_allclose(estep.log_normaliser(rows, case.tables), log_norm, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(estep.responsibilities(rows, case.tables), resp, rtol=0, atol=1e-12)
            single = case.single().tables
            np.testing.assert_allclose(estep.log_normaliser(rows, single), log_norm, rtol=3e-6, atol=3e-6)
            np.testing.assert_allclose(estep.responsibilities(rows, single), resp, rtol=0, atol=3e-6)


@every_isa
@given(case=cases(), depth=st.integers(0, 3), data=st.data())
def test_any_packing_gives_the_same(name: str, case: Case, depth: int, data: st.DataObject) -> None:
    columns = data.draw(st.permutations(range(case.rows.n_columns)))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, case.rows.n_columns - 1)))))
    groups = [group for a, b in zip([0, *cuts], [*cuts, len(columns)], strict=True) if (group := tuple(columns[a:b]))]
    packing = Packing(case.rows.n_levels, tuple(groups), (True,) * case.rows.n_columns)
    assume(sum(packing.n_states) < 5_000)
    expected = reference.accumulate(case.rows, case.tables)
    rows = by_hand(case.rows, packing, min(depth, len(groups) - 1))
    with isa.using(name):
        assert_same(estep.accumulate(rows, case.tables), expected, case.rows.total_weight)
        log_norm = reference.log_normaliser(rows, case.tables)
        np.testing.assert_allclose(estep.log_normaliser(rows, case.tables), log_norm, rtol=1e-12, atol=1e-12)


def by_hand(rows: Rows, packing: Packing, n_prefix_groups: int) -> Rows:
    """Sort rows by states that are computed cell by cell."""
    states = [[state_of(packing, group, codes) for group in packing.groups] for codes in rows.dense().tolist()]
    order = sorted(range(rows.n_rows), key=lambda row_ix: states[row_ix])
    base = np.concatenate([[0], np.cumsum(packing.n_states)])
    prefixes: list[list[int]] = []
    starts: list[int] = []
    for at, row_ix in enumerate(order):
        prefix = [int(base[g]) + states[row_ix][g] for g in range(n_prefix_groups)]
        if not prefixes or prefixes[-1] != prefix:
            prefixes.append(prefix)
            starts.append(at)
    if not prefixes:
        prefixes, starts = [[0] * n_prefix_groups], [0]
    after = base[n_prefix_groups:-1] - base[n_prefix_groups]
    suffix = np.array([states[row_ix][n_prefix_groups:] + after for row_ix in order], dtype=np.uint32)
    ready = Sorted(
        packing,
        n_prefix_groups,
        suffix.reshape(rows.n_rows, len(packing.groups) - n_prefix_groups),
        np.array(prefixes, dtype=np.uint32).reshape(len(prefixes), n_prefix_groups),
        np.array([*starts, rows.n_rows], dtype=np.uint32),
    )
    weights = None if rows.weights is None else rows.weights[order]
    return Rows(rows.n_levels, weights=weights, sorted=ready, indexed=True)


def state_of(packing: Packing, group: tuple[int, ...], codes: list[int]) -> int:
    state = 0
    for column in reversed(group):
        state = state * (packing.n_levels[column] + 1) + codes[column] + 1
    return state


@every_isa
@pytest.mark.parametrize(
    ("n_levels", "n_rows", "rank", "missing"),
    [
        ([10] * 5, 3_000, 7, 0.0),  # one state after the prefix
        ([2] * 30, 2_500, 9, 0.0),  # several, indexed
        ([2] * 30, 2_500, 9, 0.3),
        ([4] * 40, 2_500, 6, 0.7),  # missing cells left out, indexed
        ([3, 300, 2], 2_500, 3, 0.1),
        ([3000], 2_500, 3, 0.1),
    ],
)
def test_long_tables_agree_with_the_twin(
    rng: np.random.Generator, name: str, n_levels: list[int], n_rows: int, rank: int, missing: float
) -> None:
    rows = Rows.from_codes(some_codes(rng, n_levels, n_rows, missing).astype(np.int16), n_levels)
    tables = some_tables(rng, n_levels, rank)
    expected = reference.accumulate(rows, tables)
    with isa.using(name):
        assert_same(estep.accumulate(rows, tables), expected, rows.total_weight)
        assert_same(over_blocks(cut(rows, 2), tables), expected, rows.total_weight)
        assert_same(over_blocks(cut(compressed(rows), 2), tables), expected, rows.total_weight)
        single = LogTables(tables.log_weights, tables.log_factors, "single")
        assert_same(over_blocks(cut(rows, 2), single), expected, rows.total_weight, precision=1e-5)


@every_isa
@pytest.mark.parametrize("n_columns", [65, 5_000])
@pytest.mark.parametrize("missing", [0.0, 0.9])
def test_thousands_of_columns_do_not_underflow(
    rng: np.random.Generator, name: str, n_columns: int, missing: float
) -> None:
    n_levels = [3] * n_columns
    rows = Rows.from_codes(some_codes(rng, n_levels, 8, missing), n_levels)
    tables = some_tables(rng, n_levels, 4)
    expected = reference.accumulate(rows, tables)
    assert np.isfinite(expected.log_norm)
    with isa.using(name):
        for blocks in ([rows], cut(rows), [compressed(rows)]):
            assert_same(over_blocks(blocks, tables), expected, 20.0)


@every_isa
@pytest.mark.parametrize("precision", ["double", "single"])
def test_rows_too_improbable_for_a_product_are_done_in_logs(
    rng: np.random.Generator, name: str, precision: str
) -> None:
    n_levels = [2, 3, 2]
    log_factors = rng.uniform(-1000.0, 0.0, (7, 11))  # no component likes two levels at once
    tables = LogTables(rng.uniform(-1000.0, 0.0, 11), log_factors, precision)  # type: ignore[arg-type]
    rows = Rows.from_codes(some_codes(rng, n_levels, 60, 0.1), n_levels, rng.gamma(1.0, 1.0, 60))
    expected = reference.accumulate(rows, tables)
    with isa.using(name):
        for blocks in ([rows], cut(rows, 2), [compressed(rows)]):
            assert_same(over_blocks(blocks, tables), expected, 1e3, precision=1e-12 if precision == "double" else 1e-5)
        log_norm = reference.log_normaliser(rows, tables)
        np.testing.assert_allclose(estep.log_normaliser(rows, tables), log_norm, rtol=1e-6)


@every_isa
def test_an_impossible_row_belongs_to_nobody(name: str) -> None:
    tables = LogTables(np.log([0.5, 0.5]), np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, -np.inf], [-np.inf, 0.0]]))
    rows = Rows.from_codes([[0, 0], [0, 1], [1, 1]], [2, 2])
    with isa.using(name):
        np.testing.assert_allclose(estep.log_normaliser(rows, tables), [np.log(0.5), -np.inf, np.log(0.5)])
        np.testing.assert_array_equal(estep.responsibilities(rows, tables), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
        for counted in (rows, cut(rows, 1)[0]):
            counts = estep.accumulate(counted, tables)
            assert counts.log_norm == -np.inf
            np.testing.assert_array_equal(counts.factors, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        without = Rows.from_codes([[0, 0], [0, 1], [1, 1]], [2, 2], [1.0, 0.0, 1.0])
        assert estep.accumulate(without, tables).log_norm == pytest.approx(2 * np.log(0.5))


@every_isa
def test_a_level_of_probability_zero_that_nobody_shows_does_no_harm(name: str) -> None:
    tables = LogTables(np.array([0.0, -np.inf]), np.array([[0.0, -3.0], [-np.inf, -np.inf]]))
    counts = None
    with isa.using(name):
        counts = estep.accumulate(Rows.from_codes([[0], [-1]], [2]), tables)
    np.testing.assert_array_equal(counts.weights, [2.0, 0.0])
    np.testing.assert_array_equal(counts.factors, [[1.0, 0.0], [0.0, 0.0]])
    assert counts.log_norm == 0.0


def test_rows_that_show_nothing_are_shared_by_weight(rng: np.random.Generator) -> None:
    tables = some_tables(rng, [3, 2], 5)
    counts = estep.accumulate(Rows.from_codes(np.full((4, 2), -1), [3, 2]), tables)
    np.testing.assert_allclose(counts.weights, 4 * np.exp(tables.log_weights))
    np.testing.assert_array_equal(counts.factors, np.zeros((5, 5)))
    assert counts.log_norm == pytest.approx(0.0, abs=1e-14)


def test_no_rows_count_nothing(rng: np.random.Generator) -> None:
    rows, tables = Rows.from_codes(np.zeros((0, 2), dtype=np.int8), [3, 2]), some_tables(rng, [3, 2], 5)
    for block in (rows, compressed(rows), *cut(rows)):
        assert_same(estep.accumulate(block, tables), Counts(np.zeros(5), np.zeros((5, 5)), 0.0), 0.0)
    assert estep.log_normaliser(rows, tables).shape == (0,)
    assert estep.responsibilities(rows, tables).shape == (0, 5)


@given(case=cases())
def test_a_row_twice_is_a_row_of_weight_two(case: Case) -> None:
    weights = np.ones(case.rows.n_rows) if case.rows.weights is None else case.rows.weights
    twice = Rows.from_codes(np.concatenate([case.rows.dense()] * 2), case.rows.n_levels, np.tile(weights, 2))
    heavy = Rows.from_codes(case.rows.dense(), case.rows.n_levels, 2 * weights)
    expected = estep.accumulate(heavy, case.tables)
    assert_same(estep.accumulate(twice, case.tables), expected, twice.total_weight)
    assert_same(over_blocks(cut(twice, 1), case.tables), expected, twice.total_weight)


@given(case=cases())
def test_permuting_components_permutes_the_counts(case: Case) -> None:
    order = np.random.default_rng(0).permutation(case.tables.rank)
    turned = LogTables(case.tables.log_weights[order], case.tables.log_factors[:, order])
    found, expected = estep.accumulate(case.rows, turned), estep.accumulate(case.rows, case.tables)
    permuted = Counts(expected.weights[order], expected.factors[:, order], expected.log_norm)
    assert_same(found, permuted, case.rows.total_weight)


@every_isa
def test_the_same_rows_give_the_same_bits_from_any_thread(rng: np.random.Generator, name: str) -> None:
    n_levels = [4] * 12
    rows = Rows.from_codes(some_codes(rng, n_levels, 20_000, 0.2), n_levels)
    with isa.using(name):
        tables = some_tables(rng, n_levels, 11)
        blocks = cut(rows, 8)
        assert len(blocks) > 1
        alone = [estep.accumulate(block, tables) for block in blocks]
        with ThreadPoolExecutor(4) as pool:
            again = LogTables(tables.log_weights, tables.log_factors)
            together = list(pool.map(lambda block: estep.accumulate(block, again), [*blocks, *cut(rows, 8)]))
    for one, other in zip([*alone, *alone], together, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.factors, other.factors)
        assert one.log_norm == other.log_norm


def test_views_of_any_stride_are_read_where_they_lie(rng: np.random.Generator) -> None:
    codes = some_codes(rng, [3] * 8, 60, 0.3).astype(np.int8)
    tables = some_tables(rng, [3] * 4, 3)
    for view in (codes[::2, ::2], codes[::-2, 7::-2], np.asfortranarray(codes)[::2, 1::2]):
        copied = Rows.from_codes(view.copy(), [3] * 4)
        expected = estep.log_normaliser(copied, tables)
        np.testing.assert_array_equal(estep.log_normaliser(Rows.from_codes(view, [3] * 4), tables), expected)


def test_blocks_and_tables_travel_between_processes(rng: np.random.Generator) -> None:
    for n_levels, missing in (([10] * 4, 0.0), ([4] * 40, 0.7)):
        tables = some_tables(rng, n_levels, 3)
        for block in cut(Rows.from_codes(some_codes(rng, n_levels, 3_000, missing), n_levels), 2):
            here = estep.accumulate(block, tables)
            there_block, there_tables = pickle.loads(pickle.dumps((block, tables)))
            there = estep.accumulate(there_block, there_tables)
            np.testing.assert_array_equal(here.factors, there.factors)
            assert here.log_norm == there.log_norm


def test_nothing_the_caller_owns_is_changed(rng: np.random.Generator) -> None:
    codes, tables = some_codes(rng, [3, 4], 50, 0.2), some_tables(rng, [3, 4], 3)
    owned = (codes, tables.log_weights, tables.log_factors)
    before = [array.copy() for array in owned]
    for array in owned:
        array.setflags(write=False)
    rows = Rows.from_codes(codes, [3, 4])
    over_blocks(cut(rows, 2), tables)
    estep.responsibilities(rows, tables)
    for array, copy in zip(owned, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_tables_of_another_table_are_refused(rng: np.random.Generator) -> None:
    rows = Rows.from_codes([[0, 1]], [2, 2])
    with pytest.raises(ValueError, match="a row for each stacked level"):
        estep.accumulate(rows, some_tables(rng, [2, 3], 3))


def test_counts_add() -> None:
    one, two = Counts(np.array([1.0]), np.array([[2.0]]), 3.0), Counts(np.array([4.0]), np.array([[5.0]]), 6.0)
    assert_same(one + two, Counts(np.array([5.0]), np.array([[7.0]]), 9.0), 0.0)
