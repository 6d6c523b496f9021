"""A table's rows in the codes of another schema: other columns, other levels, or the same ones in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorpmf.errors import UnknownLevelError
from tensorpmf.table.cells import Cells, CompressedCells, DenseCells, code_type, frozen
from tensorpmf.table.encode import Unknown, codes_of
from tensorpmf.table.schema import Schema
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Ints


def recoded(table: CategoricalTable, schema: Schema, unknown: Unknown = "error") -> CategoricalTable:
    """Return the rows of a table coded by another schema; columns that are not there are missing.

    Parameters
    ----------
    table
        The table; each of its columns is one of the schema's.
    schema
        The columns and levels to translate to.
    unknown
        What to do with labels that the schema does not have.
    """
    if table.schema == schema:
        return table
    translations = [codes_of(schema[column.name], column.levels) for column in table.schema.columns]
    if unknown == "error":
        _check_known(table, schema, translations)
    return replace(table, schema=schema, cells=_translated(table, schema, translations))


def _check_known(table: CategoricalTable, schema: Schema, translations: list[Ints]) -> None:
    for ix, translation in enumerate(translations):
        if (translation < 0).any():
            codes = table.cells.column(ix)
            lost = np.flatnonzero((codes >= 0) & (translation[codes] < 0))
            if lost.size:
                column = table.schema.columns[ix]
                label, known = column.levels[codes[lost[0]]], schema[column.name].levels
                raise UnknownLevelError(column.name, label, known, may_skip=True)


def _translated(table: CategoricalTable, schema: Schema, translations: list[Ints]) -> Cells:
    dtype = code_type(max(schema.n_levels, default=1))
    position = np.array([schema.ix(name) for name in table.schema.names], dtype=np.int32)
    if isinstance(table.cells, DenseCells):
        dense = np.full((table.n_rows, schema.n_columns), -1, dtype=dtype)
        for ix, translation in enumerate(translations):
            dense[:, position[ix]] = np.append(translation, -1)[table.cells.column(ix)]
        return DenseCells(frozen(dense))
    cells, stacked = table.cells, np.concatenate(translations)
    values = stacked[table.schema.offsets[cells.columns] + cells.values].astype(dtype)
    known = values >= 0
    return CompressedCells.of_triples(
        cells.rows[known], position[cells.columns[known]], values[known], (table.n_rows, schema.n_columns)
    )
