"""Hypothesis strategies: small tables and models with everything that small ones may have."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Column, Schema
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Floats

LABELS: dict[str, st.SearchStrategy[Hashable]] = {
    "text": st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=5),
    "integer": st.integers(-(2**53), 2**53),
    "real": st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
    "truth": st.booleans(),
    "date": st.dates(date(1900, 1, 1), date(2100, 1, 1)),
}
"""Labels of one kind each, such as the columns of a data frame hold."""


@st.composite
def schemas(
    draw: st.DrawFn, *, min_columns: int = 1, max_columns: int = 4, max_levels: int = 5, mixed: bool = True
) -> Schema:
    """Draw schemas of columns with texts, numbers, truth values or dates as labels, in any order.

    Parameters
    ----------
    draw
        Given by Hypothesis.
    min_columns, max_columns
        How many columns.
    max_levels
        How many levels a column has at most.
    mixed
        Whether a column may have labels of several kinds, and tuples.
    """
    names = draw(st.lists(st.text("abcdefgh", min_size=1), min_size=min_columns, max_size=max_columns, unique=True))
    kinds = st.sampled_from(list(LABELS.values()))
    if mixed:
        kinds |= st.just(st.one_of(*LABELS.values(), st.tuples(st.integers(), st.text(max_size=2))))
    columns: list[Column] = []
    for name in names:
        levels = draw(st.lists(draw(kinds), min_size=1, max_size=max_levels, unique=True))
        columns.append(Column(name, tuple(levels), ordered=draw(st.booleans())))
    return Schema(tuple(columns))


@st.composite
def tables(
    draw: st.DrawFn, schema: Schema | None = None, *, max_rows: int = 8, weighted: bool | None = None
) -> CategoricalTable:
    """Draw tables with holes, some with row weights, some compressed, some without rows.

    Parameters
    ----------
    draw
        Given by Hypothesis.
    schema
        The columns; drawn as well when not given.
    max_rows
        How many rows at most.
    weighted
        Whether rows have weights; None for both.
    """
    schema = draw(schemas()) if schema is None else schema
    n_rows = draw(st.integers(0, max_rows))
    rows = st.tuples(*(st.integers(-1, n - 1) for n in schema.n_levels))
    codes = draw(st.lists(rows, min_size=n_rows, max_size=n_rows))
    table = CategoricalTable.from_codes(
        np.array(codes, dtype=np.int64).reshape(n_rows, schema.n_columns), schema=schema
    )
    if draw(st.booleans()) if weighted is None else weighted:
        weights = draw(st.lists(st.floats(0, 9, width=16), min_size=n_rows, max_size=n_rows))
        table = table.with_weights(np.array(weights) + (0 if any(weights) else 1))
    return table.compressed() if draw(st.booleans()) else table


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
