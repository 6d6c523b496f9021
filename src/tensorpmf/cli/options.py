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
