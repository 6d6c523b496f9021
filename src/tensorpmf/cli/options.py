"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Give a command the flag ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def seed_option(command: Command) -> Command:
    """Give a command the option ``--seed``."""
    kind, words = click.IntRange(min=0), "Where randomness comes from.  [default: 0]"
    return click.option("--seed", type=kind, default=0, metavar="N", help=words)(command)


def model_argument(command: Command) -> Command:
    """Give a command the argument MODEL."""
    return click.argument("model", type=click.Path())(command)


def given_option(command: Command) -> Command:
    """Give a command the option ``--given``."""
    words = "What is known; may be repeated. The same column twice means: one level or the other."
    return click.option("--given", "-g", multiple=True, metavar="COLUMN=LEVEL", help=words)(command)


def rows_argument(command: Command) -> Command:
    """Give a command the argument ROWS, a file, and the option that says what to do with labels it alone has."""
    words = "What to do with a label that the model does not know.  [default: error]"
    option = click.option("--unknown", type=click.Choice(["error", "missing"]), default="error", help=words)
    return click.argument("rows", type=click.Path())(option(reading_options(command)))


def reading_options(command: Command) -> Command:
    """Give a command the options that say how a text file is read."""
    options = [
        click.option("--missing", multiple=True, metavar="TEXT", help="What marks a missing cell, such as '?'."),
        click.option("--delimiter", metavar="TEXT", help="What separates values in a text file.  [default: guessed]"),
        click.option(
            "--encoding", default="utf-8", show_default=True, metavar="NAME", help="How a text file is encoded."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def output_option(command: Command) -> Command:
    """Give a command the option ``--output``."""
    words = "Write to a file instead of stdout."
    return click.option("--output", "-o", type=click.Path(dir_okay=False), help=words)(command)
