"""``tensorpmf impute``: fill in the missing cells of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.model import load_pmf
from tensorpmf.cli.options import json_option, model_argument, output_option, rows_argument, seed_option
from tensorpmf.cli.output import Computed, check_place, print_rows
from tensorpmf.cli.rows import cells, coded, opened

if TYPE_CHECKING:
    from tensorpmf.pmf.base import PMF
    from tensorpmf.table.schema import Column
    from tensorpmf.table.table import CategoricalTable

METHODS = ["most-likely", "expected", "sample"]


@click.command()
@model_argument
@rows_argument
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="most-likely",
    show_default=True,
    help="The likeliest level of each cell; its expected value, where levels are numbers; or levels drawn for all "
    "cells of a row together.",
)
@seed_option
@output_option
@json_option
def command(model: str, rows: str, method: str, seed: int, output: str | None, as_json: bool, **reading: Any) -> None:
    """Fill in the missing cells of rows, as CSV.

    MODEL is a file written by `tensorpmf fit`; ROWS is a table file. Cells that are there stay as they are written, and
    so do columns that the model does not have; a column of the model's that the file lacks is not added. A number that
    was cut into bins is filled in as the mean of a bin. With --unknown missing, a label that the model does not know is
    filled over.

    \b
    tensorpmf impute votes.pmf holes.csv -o whole.csv
    tensorpmf impute votes.pmf holes.csv --method sample --seed 1
    """
    check_place(output, model, rows)
    pmf = load_pmf(model)
    table = coded(rows, pmf.schema, **reading)
    source = opened(rows, reading["delimiter"], reading["encoding"])
    columns = cells(source)
    filling = drawn(pmf, table, seed) if method == "sample" else likely(pmf, table, source.names, method)
    for name, column in zip(source.names, columns, strict=True):
        for row_ix, cell in filling.get(name, {}).items():
            column[row_ix] = cell
    print_rows(source.names, zip(*columns, strict=True), as_json, output)


def drawn(pmf: PMF, table: CategoricalTable, seed: int) -> dict[str, dict[int, Any]]:
    """Return by column and row what the missing cells are filled with, drawn together."""
    import numpy as np

    codes = pmf.complete(table, np.random.default_rng(seed)).codes
    return {
        column.name: {row_ix: answer(column, codes[row_ix, ix]) for row_ix in holes(table, column.name)}
        for ix, column in enumerate(pmf.schema.columns)
    }


def likely(pmf: PMF, table: CategoricalTable, names: list[str], method: str) -> dict[str, dict[int, Any]]:
    """Return by column and row what the missing cells of some columns are filled with, one by one."""
    filling: dict[str, dict[int, Any]] = {}
    for column in (pmf.schema[name] for name in names if name in pmf.schema.names):
        prob = pmf.conditional(column.name, table.take(missing := holes(table, column.name)))
        if method == "expected" and is_numeric(column):
            found: list[Any] = [*map(Computed, prob @ column.values)]
        else:
            found = [answer(column, code) for code in prob.argmax(axis=1)]
        filling[column.name] = dict(zip(missing, found, strict=True))
    return filling


def holes(table: CategoricalTable, name: str) -> list[int]:
    """Return the rows in which a column is missing."""
    return [ix for ix, code in enumerate(table.cells.column(table.schema.ix(name)).tolist()) if code < 0]


def answer(column: Column, code: int) -> Any:
    """Return what a level of a column stands for outside: its label, or the mean of its bin."""
    return column.levels[code] if column.centres is None else Computed(column.centres[code])


def is_numeric(column: Column) -> bool:
    """Whether the levels of a column are numbers, or bins of numbers."""
    from tensorpmf.table.factor import is_number

    return column.centres is not None or all(map(is_number, column.levels))
