"""``tensorpmf query``: ask a model for a distribution."""

from __future__ import annotations

import click

from tensorpmf.cli.model import cells_of, load_pmf, read_given, shares
from tensorpmf.cli.options import given_option, json_option, model_argument
from tensorpmf.cli.output import answer, bars, described, heading
from tensorpmf.errors import InputError


@click.command()
@model_argument
@given_option
@click.option("--marginal", "-m", multiple=True, metavar="COLUMN", help="What to ask for; two columns: jointly.")
@click.option("--expect", "-e", metavar="COLUMN", help="Ask for the expected value of a column.")
@json_option
def command(model: str, given: tuple[str, ...], marginal: tuple[str, ...], expect: str | None, as_json: bool) -> None:
    """Ask a model for a distribution.

    MODEL is a file written by `tensorpmf fit` or by tensorpmf.save.

    Without --marginal, each column is shown by itself.

    \b
    tensorpmf query votes.pmf --given crime=y --marginal party
    tensorpmf query votes.pmf -g age=18-25 -g age=26-35 -m income -m party
    """
    if marginal and expect is not None:
        raise InputError("--marginal and --expect are two questions; ask one at a time.")
    pmf = load_pmf(model)
    known = read_given(pmf.schema, given)
    asked = pmf.given(known) if known else pmf
    settled = [name for name in (*marginal, expect) if name in pmf.schema.names and name not in asked.schema.names]
    if settled:
        raise InputError(f"column {settled[0]!r} is given, so there is nothing left to ask about it.")
    condition = f" given {described(known)}" if known else ""
    if expect is not None:
        value = asked.expect(expect)
        answer(as_json, {"given": known, "expect": {expect: value}}, f"{expect}{condition}: {value:.6g} on average")
        return
    groups = [list(marginal)] if marginal else [[name] for name in asked.schema.names]
    cells = [cells_of(asked.marginal(group)) for group in groups]
    text = "\n".join(
        heading(" × ".join(group) + condition) + "\n" + bars(shares(found))
        for group, found in zip(groups, cells, strict=True)
    )
    marginals = [{"columns": group, "cells": found} for group, found in zip(groups, cells, strict=True)]
    answer(as_json, {"given": known, "marginals": marginals}, text)
