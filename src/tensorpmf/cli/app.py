"""The door: finds the commands, and turns whatever goes wrong into one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click

from tensorpmf.cli import commands
from tensorpmf.cli.codes import CLOSED, INTERRUPTED, MISTAKE, TERMINATED
from tensorpmf.cli.words import told
from tensorpmf.errors import TensorPMFError


class Found(click.Group):
    """A group whose commands are the files of a folder; only the one that is called is loaded."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the files."""
        return sorted(module.name for module in iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return what a file calls ``command``."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"{commands.__name__}.{cmd_name}").command
        assert isinstance(command, click.Command), "each file of the folder holds one command"
        return command


def print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        from tensorpmf import __version__

        click.echo(f"tensorpmf {__version__}")
        ctx.exit()


@click.group(cls=Found, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Print the version."
)
def app() -> None:
    """Learn the joint distribution of a categorical table, rank included, and ask it anything.

    \b
    tensorpmf fit votes.csv -o votes.pmf
    tensorpmf query votes.pmf --given crime=y --marginal party
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        code = app.main(list(arguments) or ["--help"], prog_name="tensorpmf", standalone_mode=False)
        sys.stdout.flush()
    except click.Abort:
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click makes the one the other
        return CLOSED
    except click.ClickException as mistake:
        return complain(mistake.format_message())
    except TensorPMFError as mistake:
        return complain(told(mistake))
    except MemoryError as mistake:
        return complain(f"there is not enough memory. {mistake}")
    except OSError as mistake:
        problem = mistake.strerror or str(mistake)
        return complain(f"{mistake.filename}: {problem}." if mistake.filename else f"{problem}.")
    return code if isinstance(code, int) else 0


def complain(message: str) -> int:
    """Say in one line what is wrong, and return the exit code for a mistake."""
    click.echo("tensorpmf: " + " ".join(message.split()), err=True)
    return MISTAKE


def main() -> None:
    """Run the command line of this process; where its stdout was closed, answers go nowhere. SIGTERM is like Ctrl-C."""
    asked_to_end = False

    def end(*_: object) -> None:
        nonlocal asked_to_end
        asked_to_end = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    with Path(os.devnull).open("w") as nowhere:
        sys.stdout = sys.stdout or nowhere
        code = run(sys.argv[1:])
        if code == CLOSED:  # what is left in its buffer has no reader either
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(TERMINATED if asked_to_end and code == INTERRUPTED else code)
