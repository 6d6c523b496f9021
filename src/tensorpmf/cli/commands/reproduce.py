"""``tensorpmf reproduce``: the paper's figures and tables, run again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from tensorpmf.cli.options import json_option
from tensorpmf.cli.output import answer
from tensorpmf.errors import InputError

MARK = Path("experiments", "harness.py")
"""What a checkout has and an installed package has not."""


@click.command()
@click.argument("name", required=False)
@click.option(
    "--profile", default="quick", show_default=True, metavar="quick|paper", help="Minutes, or the real thing."
)
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER", help="Where results go.")
@click.option("--processes", type=click.IntRange(min=1), default=2, show_default=True, help="Trials at once.")
@click.option("--draw", is_flag=True, help="Draw the figure again, from the summary in --into or the committed one.")
@json_option
def command(name: str | None, profile: str, into: Path | None, processes: int, draw: bool, as_json: bool) -> None:
    """Run one of the paper's experiments again; without a name, list them.

    Experiments are part of the source, not of the installed package: call this inside a checkout. Results go to
    out/experiments unless you say otherwise; a run that was interrupted goes on where it stopped.
    """
    harness = found_harness(Path.cwd(), Path(__file__))
    known = {each.name: each for each in harness.experiments()}
    if name is None:
        questions = {name: experiment.question for name, experiment in known.items()}
        width = max(map(len, questions))
        lines = [f"{name:<{width}}  {question}" for name, question in questions.items()]
        answer(as_json, questions, "\n".join([*lines, "", "tensorpmf reproduce NAME --profile quick"]))
        return
    if name not in known:
        raise InputError(f"there is no experiment {name!r}.", hint=f"one of {', '.join(known)}.")
    if profile not in harness.PROFILES:
        raise InputError(f"there is no profile {profile!r}.", hint=f"one of {', '.join(harness.PROFILES)}.")
    experiment = known[name]
    if draw:
        folder = into or experiment.folder / "results"
        experiment.draw(folder)
    else:
        folder = into or Path("out", "experiments", f"{name}-{profile}")
        with shown_progress(name) as watch:
            experiment.run(profile, folder, processes, watch)
    files = {what: str(folder / file) for what, file in harness.FILES.items()}
    answer(as_json, files, "\n".join(f"{what:<8}  {file}" for what, file in files.items()))


def found_harness(*places: Path) -> Any:
    """Return the module that runs experiments, from the first checkout that is around one of some places."""
    for place in places:
        for root in (place, *place.parents):
            if (root / MARK).is_file():
                if str(root) not in sys.path:
                    sys.path.insert(0, str(root))
                return import_module("experiments.harness")
    raise InputError(
        "experiments are part of the source of tensorpmf, not of the installed package.",
        hint="clone the repository and call this inside it.",
    )


@contextmanager
def shown_progress(name: str) -> Generator[Callable[[int, int], None]]:
    """Yield a callback that shows on stderr how many trials are done; on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
