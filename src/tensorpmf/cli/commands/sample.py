"""``tensorpmf sample``: draw new rows from a model."""

from __future__ import annotations

from typing import Any

import click

from tensorpmf.cli.model import load_pmf, read_given
from tensorpmf.cli.options import given_option, json_option, model_argument, seed_option
from tensorpmf.cli.output import print_rows


@click.command()
@model_argument
@click.option("-n", "n_rows", type=click.IntRange(min=0), default=10, show_default=True, help="How many rows.")
@given_option
@seed_option
@json_option
def command(model: str, n_rows: int, given: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Draw new rows from a model, as CSV.

    \b
    tensorpmf sample votes.pmf -n 1000 > more-votes.csv
    tensorpmf sample votes.pmf -n 5 --given party=democrat --json
    """
    import numpy as np

    pmf = load_pmf(model)
    known = read_given(pmf.schema, given)
    drawn = (pmf.given(known) if known else pmf).sample(n_rows, np.random.default_rng(seed)).to_columns()
    columns: list[Any] = [drawn[name] if name in drawn else [known[name]] * n_rows for name in pmf.schema.names]
    print_rows(pmf.schema.names, zip(*columns, strict=True), as_json)
