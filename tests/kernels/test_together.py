"""Which columns rows connect, against merging sets one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorpmf.kernels import together
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.together import connected_groups


def groups_by_merging(codes: np.ndarray, weights: np.ndarray) -> set[frozenset[int]]:
    groups: set[frozenset[int]] = set()
    for row in codes[weights > 0]:
        here = frozenset(np.flatnonzero(row >= 0).tolist())
        touched = {group for group in groups if group & here}
        groups = (groups - touched) | {here.union(*touched)}
    return groups - {frozenset()}


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 9), st.floats(0.5, 1), st.integers(1, 40))
def test_groups_are_those_of_merging_row_by_row(
    seed: int, n_rows: int, n_columns: int, outage: float, n_at_once: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random((n_rows, n_columns)) < outage, -1, 0)
    weights = rng.integers(0, 3, n_rows).astype(float)
    seen, columns = codes >= 0, np.nonzero(codes >= 0)[1]
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    dense = Rows.from_codes(codes, [2] * n_columns, weights)
    sparse = Rows.from_csr(indptr, columns, np.zeros(len(columns), dtype=int), [2] * n_columns, weights)
    expected = groups_by_merging(codes, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "FIRST_CELLS", n_at_once)
        patch.setattr(together, "MOST_CELLS", n_at_once)
        for rows in (dense, sparse):
            groups, unseen = connected_groups(rows)
            assert {frozenset(group.tolist()) for group in groups} == expected
            assert sorted([*np.concatenate([*groups, unseen]).tolist()]) == list(range(n_columns))


def test_a_long_chain_of_columns_is_one_group() -> None:
    n, order = 2_000, np.random.default_rng(0).permutation(2_000)
    pairs = np.stack([order[:-1], order[1:]], axis=1).ravel()
    rows = Rows.from_csr(np.arange(0, 2 * n - 1, 2), pairs, np.zeros(len(pairs), dtype=int), [2] * n)
    groups, unseen = connected_groups(rows)
    assert [len(group) for group in groups] == [n]
    assert not len(unseen)
