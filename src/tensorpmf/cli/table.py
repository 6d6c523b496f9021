"""What commands that learn from a file of data have in common: the options that say how it is read, and the reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tensorpmf.cli.options import reading_options
from tensorpmf.errors import InputError, counted

if TYPE_CHECKING:
    from tensorpmf.table.table import CategoricalTable

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.argument("data", type=click.Path()),
    click.option(
        "--bins",
        multiple=True,
        metavar="[COLUMN=]BINS",
        help="Cut numbers: 5 (as many rows in each), width:5 (equally wide), 18,30,65 (there), or auto. "
        "May be repeated.",
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out, an identifier for one."),
    click.option("--weights", metavar="COLUMN", help="The column that says how much each row counts."),
    reading_options,
)


def table_options(command: Command) -> Command:
    """Give a command the argument DATA, a file, and the options that say how it is read."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def table_of(data: str, *, bins: tuple[str, ...], missing: tuple[str, ...], **reading: Any) -> CategoricalTable:
    """Return the table in a file."""
    from tensorpmf.table.read import read_table

    return read_table(data, bins=read_bins(bins), missing=missing or None, **reading)


def size_of(data: str, table: CategoricalTable) -> str:
    """Return what was read, as text."""
    size = f"{counted(table.n_rows, 'row')} × {counted(table.n_columns, 'column')}"
    return f"{data}: {size}, {100 * table.outage:.1f} % missing"


def read_bins(texts: tuple[str, ...]) -> Any:
    """Return the ``bins=`` that texts like ``5``, ``age=18,30,65`` or ``income=width:10`` stand for."""
    named = {name: _rule(rule) for name, sign, rule in (text.rpartition("=") for text in texts) if sign}
    everywhere = [_rule(text) for text in texts if "=" not in text]
    if len(everywhere) > 1 or (everywhere and named):
        raise InputError("--bins takes one rule for all columns, or one for each named column, but not both.")
    return everywhere[0] if everywhere else named or None


def _rule(text: str) -> int | tuple[str, int] | list[float] | str:
    if text == "auto":
        return text
    kind, sign, number = text.partition(":")
    try:
        if sign:
            return kind, int(number)
        return int(text) if "," not in text else [float(edge) for edge in text.split(",")]
    except ValueError:
        raise InputError(
            f"--bins {text!r} is no rule.", hint="5, width:5, quantile:5, 18,30,65 and auto are rules."
        ) from None
