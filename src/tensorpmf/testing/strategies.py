"""Hypothesis strategies: small models with everything that small models may have."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Schema
from tensorpmf.typing import Floats


@st.composite
def low_rank_pmfs(
    draw: st.DrawFn, *, min_columns: int = 1, max_columns: int = 4, max_levels: int = 4, max_rank: int = 3
) -> LowRankPMF:
    """Draw low-rank PMFs of unequal columns, some with one level, some with cells or weights of probability zero.

    Parameters
    ----------
    draw
        Given by Hypothesis.
    min_columns, max_columns
        How many columns.
    max_levels
        How many levels a column has at most.
    max_rank
        How many components at most.
    """
    n_levels = draw(st.lists(st.integers(1, max_levels), min_size=min_columns, max_size=max_columns))
    rank = draw(st.integers(1, max_rank))
    weights = draw(_distributions(rank, 1))[:, 0]
    return LowRankPMF(Schema.from_n_levels(n_levels), weights, [draw(_distributions(n, rank)) for n in n_levels])


def _distributions(n_levels: int, rank: int) -> st.SearchStrategy[Floats]:
    """Ratios of small whole numbers, (n_levels, rank); where all are zero the first level takes all."""

    def normalised(counts: Any) -> Floats:
        filled = counts.astype(np.float64)
        filled[0, filled.sum(axis=0) == 0] = 1.0
        return np.asarray(filled / filled.sum(axis=0))

    return arrays(np.int64, (n_levels, rank), elements=st.integers(0, 5)).map(normalised)
