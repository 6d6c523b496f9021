"""``tensorpmf classify``: predict one column of new rows from the others."""

from __future__ import annotations

from typing import Any

import click

from tensorpmf.cli.model import load_pmf
from tensorpmf.cli.options import json_option, model_argument, output_option, rows_argument
from tensorpmf.cli.output import Computed, check_place, print_rows
from tensorpmf.cli.rows import coded


@click.command()
@model_argument
@rows_argument
@click.option("--target", "-t", required=True, metavar="COLUMN", help="The column to predict.")
@click.option("--proba", is_flag=True, help="Print the probability of every level, not the likeliest alone.")
@output_option
@json_option
def command(model: str, rows: str, target: str, proba: bool, output: str | None, as_json: bool, **reading: Any) -> None:
    """Predict one column of new rows from the others, as CSV.

    MODEL is a file written by `tensorpmf fit`; ROWS is a table file. A row may lack any cell, a file any column of the
    model's. What a row says of the column itself is not looked at.

    \b
    tensorpmf classify votes.pmf new.csv --target party
    tensorpmf classify votes.pmf new.csv -t party --proba -o parties.csv
    """
    check_place(output, model, rows)
    pmf = load_pmf(model)
    levels = pmf.schema[target].levels
    prob = pmf.conditional(target, coded(rows, pmf.schema, **reading))
    if proba:
        print_rows([str(level) for level in levels], [[*map(Computed, row)] for row in prob.tolist()], as_json, output)
        return
    best = [levels[code] for code in prob.argmax(axis=1).tolist()]
    likely = map(Computed, prob.max(axis=1).tolist())
    print_rows([target, "probability"], zip(best, likely, strict=True), as_json, output)
