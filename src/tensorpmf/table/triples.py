"""(row, column, value) triples: ratings by users of items. Each fills one cell of a table; all others are empty."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import (
    DuplicateCellError,
    InputError,
    LengthError,
    NoRowsError,
    UnobservedColumnError,
    hints_said,
)
from tensorpmf.table.cells import Cells, CompressedCells, code_type
from tensorpmf.table.encode import Unknown, encoded
from tensorpmf.table.factor import Factor
from tensorpmf.table.learn import Learner, in_order
from tensorpmf.table.schema import Schema
from tensorpmf.table.source import factor_of
from tensorpmf.typing import Codes, Ints

SHARED = ((r"leave it out with drop=\['values'\], (or )?", ""),)
"""Hints on values that all columns share, which cannot be left out, as a pattern and what is said instead."""

_SAID = (
    *SHARED,
    (r"\{'values': (.*?)\}", r"\1"),
    (r", or bins=10 for all numeric columns", ""),
    (r"treat it as missing with .*, or replace", "replace"),
    (r"leave it out with drop=\[.*\]", "leave its triples out"),
)
"""The same for triples, of which no columns are named and none are dropped."""


def read_triples(
    rows: Any, columns: Any, values: Any, learner: Learner, schema: Schema | None, unknown: Unknown
) -> tuple[Schema, CompressedCells, tuple[Hashable, ...]]:
    """Return the schema, the cells and the labels of the rows that triples tell about.

    Parameters
    ----------
    rows, columns, values
        (n_triples,) labels.
    learner
        What the caller declares about the values.
    schema
        The columns, if they are known already.
    unknown
        What to do with labels that the schema does not have.
    """
    row_labels, row_ix = _places("rows", rows)
    column_labels, column_ix = _places("columns", columns)
    factor = factor_of("values", values)
    for name, length in (("columns", len(column_ix)), ("values", factor.n_rows)):
        if length != len(row_ix):
            raise LengthError(name, length, len(row_ix))
    names = [str(label) for label in column_labels]
    is_new = schema is None
    with hints_said(_SAID):
        schema = shared_schema(names, factor, learner) if schema is None else schema
    position = np.array([schema.ix(name) for name in names], dtype=np.int32)
    try:
        cells = cells_of_triples(schema, row_ix, position[column_ix], factor, len(row_labels), unknown)
    except DuplicateCellError as error:
        row, column = error.row, error.column
        assert isinstance(row, int), "cells know positions only"
        assert isinstance(column, int), "cells know positions only"
        raise DuplicateCellError(row_labels[row], schema.names[column], error.n_duplicates) from None
    if is_new:
        with hints_said(_SAID):
            check_observed(schema, cells)
    return schema, cells, row_labels


def check_observed(schema: Schema, cells: Cells) -> None:
    """Raise an error if some column is missing everywhere.

    Parameters
    ----------
    schema
        The columns.
    cells
        Their codes.
    """
    for name, n_observed in zip(schema.names, cells.n_observed, strict=True):
        if not n_observed:
            raise UnobservedColumnError(name)


def shared_schema(names: Sequence[str], values: Factor, learner: Learner) -> Schema:
    """Return the schema of columns that all have the levels learnt from all values.

    Parameters
    ----------
    names
        What the columns are called.
    values
        (n_triples,) the values of all columns together.
    learner
        What the caller declares.
    """
    column = learner.column("values", values)
    return Schema(tuple(replace(column, name=name) for name in names))


def cells_of_triples(
    schema: Schema, rows: NDArray[Any], columns: NDArray[Any], values: Factor, n_rows: int, unknown: Unknown
) -> CompressedCells:
    """Return the cells that triples fill; those without a value stay empty.

    Parameters
    ----------
    schema
        The columns.
    rows, columns
        (n_triples,) positions.
    values
        (n_triples,) values.
    n_rows
        How many rows there are.
    unknown
        What to do with values that a column does not have among its levels.
    """
    codes = _codes(schema, columns, values, unknown)
    kept = codes >= 0
    return CompressedCells.of_triples(rows[kept], columns[kept], codes[kept], (n_rows, schema.n_columns))


def _codes(schema: Schema, columns: NDArray[Any], values: Factor, unknown: Unknown) -> Codes:
    """(n_triples,) codes; columns that have the same levels are looked at together."""
    kinds: dict[Any, list[int]] = {}
    for ix, column in enumerate(schema.columns):
        kinds.setdefault((column.levels, column.edges), []).append(ix)
    if len(kinds) == 1:
        return encoded(schema.columns[0], values, unknown)
    kind_of = np.empty(schema.n_columns, dtype=np.int64)
    for kind, members in enumerate(kinds.values()):
        kind_of[members] = kind
    codes = np.full(values.n_rows, -1, dtype=code_type(max(schema.n_levels)))
    for kind, members in enumerate(kinds.values()):
        mine = np.flatnonzero(kind_of[columns] == kind)
        codes[mine] = encoded(schema.columns[members[0]], replace(values, positions=values.positions[mine]), unknown)
    return codes


def _places(what: str, labels: Any) -> tuple[tuple[Hashable, ...], Ints]:
    """Return distinct labels in their natural order, and which of them each triple has."""
    factor = factor_of(what, labels)
    if not factor.n_rows:
        raise NoRowsError("the list of triples")
    if factor.n_observed < factor.n_rows:
        triple = int(np.flatnonzero(factor.positions < 0)[0])
        raise InputError(f"triple {triple} does not say to which of the {what} it belongs.")
    kept = in_order(factor.labels.tolist())
    rank = {label: ix for ix, label in enumerate(kept)}
    return kept, np.array([rank[label] for label in factor.labels.tolist()], dtype=np.int64)[factor.positions]
