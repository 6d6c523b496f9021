"""``tensorpmf impute``: fill in the missing cells of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.model import load_pmf
from tensorpmf.cli.options import json_option, model_argument, output_option, rows_argument, seed_option
from tensorpmf.cli.output import Computed, check_place, print_rows
from tensorpmf.cli.rows import cells, coded, holes, opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tensorpmf.pmf.base import PMF
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
    not looked at, but it stays.

    \b
    tensorpmf impute votes.pmf holes.csv -o whole.csv
    tensorpmf impute votes.pmf holes.csv --method sample --seed 1
    """
    check_place(output, model, rows)
    pmf = load_pmf(model)
    table = coded(rows, pmf.schema, **reading)
    source = opened(rows, reading["delimiter"], reading["encoding"])
    columns, filling = cells(source), filled(pmf, table, holes(source, reading["missing"]), method, seed)
    for name, column in zip(source.names, columns, strict=True):
        for row_ix, cell in filling.get(name, {}).items():
            column[row_ix] = cell
    print_rows(source.names, zip(*columns, strict=True), as_json, output)


def filled(
    pmf: PMF, table: CategoricalTable, missing: Mapping[str, NDArray[np.bool_]], method: str, seed: int
) -> dict[str, dict[int, Any]]:
    """Return by column and row what the missing cells are filled with: one by one, or drawn together."""
    import numpy as np

    from tensorpmf.pmf.filling import answers, best

    drawn = pmf.complete(table, np.random.default_rng(seed)).codes if method == "sample" else None
    filling: dict[str, dict[int, Any]] = {}
    for ix, column in enumerate(pmf.schema.columns):
        rows = np.flatnonzero(missing.get(column.name, ()))
        if drawn is None:
            found = best(column, pmf.conditional(column.name, table.take(rows)), expected=method == "expected")
        else:
            found = answers(column)[drawn[rows, ix]]
        is_mean = column.centres is not None or (method == "expected" and found.dtype.kind == "f")
        told: list[Any] = [Computed(mean) for mean in found.tolist()] if is_mean else found.tolist()
        filling[column.name] = dict(zip(rows.tolist(), told, strict=True))
    return filling
