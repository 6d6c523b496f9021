"""``tensorpmf rank``: fit maximum likelihood at several ranks, and choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.options import json_option, seed_option
from tensorpmf.cli.output import answer, check_place, heading, progress
from tensorpmf.cli.table import size_of, table_of, table_options
from tensorpmf.errors import InputError

if TYPE_CHECKING:
    from tensorpmf.rank.selection import RankSelection
    from tensorpmf.table.table import CategoricalTable


@click.command()
@table_options
@click.option("--ranks", "-r", default="1:10", show_default=True, metavar="A:B", help="From A to B, or 1,2,4,8.")
@click.option(
    "--criterion",
    "-c",
    "criteria",
    multiple=True,
    metavar="NAME",
    help="bic, aic, dnml, dnml-observed, validation, validation-error, …; the first decides, others are shown "
    "beside it.  [default: bic]",
)
@click.option("--n-starts", type=int, default=3, show_default=True, metavar="N", help="Random starting points.")
@seed_option
@click.option("--threads", type=int, metavar="N", help="How many threads work.  [default: all processors]")
@click.option("--output", "-o", type=click.Path(dir_okay=False), metavar="MODEL", help="Keep the model chosen.")
@json_option
def command(
    data: str,
    ranks: str,
    criteria: tuple[str, ...],
    n_starts: int,
    seed: int,
    threads: int | None,
    output: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Fit maximum likelihood at several ranks, and choose one.

    `tensorpmf fit` finds the rank by itself; this is the other way, candidate by candidate. Every criterion is a cost:
    lower is better.

    \b
    tensorpmf rank votes.csv --ranks 1:8
    tensorpmf rank votes.csv -c validation -c bic -o votes.pmf
    """
    from tensorpmf.fit.em import EM
    from tensorpmf.fit.squarem import SQUAREM
    from tensorpmf.pmf.io import save
    from tensorpmf.rank.search import select_rank

    tried = read_ranks(ranks)
    check_place(output, data)
    with progress(lambda candidate: f"rank {candidate.rank} fitted") as callback:
        table = table_of(data, **reading)
        selection = select_rank(
            table,
            SQUAREM(EM()),
            tried,
            criteria or "bic",
            seed=seed,
            n_starts=n_starts,
            n_jobs=threads,
            callback=callback,
        )
    if output:
        save(selection.best, output)
    answer(as_json, told(data, table, selection, output), in_words(data, table, selection, output))


def read_ranks(text: str) -> list[int]:
    """Return the ranks that a text like ``1:10`` or ``2,4,8`` stands for."""
    first, sign, last = text.partition(":")
    try:
        return list(range(int(first), int(last) + 1)) if sign else [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--ranks {text!r} is no list of ranks.", hint="1:10 and 2,4,8 are lists.") from None


def told(data: str, table: CategoricalTable, selection: RankSelection, path: str | None) -> dict[str, Any]:
    """Return what was tried and chosen, as values."""
    columns = {name: column.tolist() for name, column in selection.table().items()}
    return {
        "data": data,
        "n_rows": table.n_rows,
        "n_columns": table.n_columns,
        "criterion": selection.criterion,
        "rank": selection.rank,
        "candidates": [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)],
        "model": path,
    }


def in_words(data: str, table: CategoricalTable, selection: RankSelection, path: str | None) -> str:
    """Return what was tried and chosen, as text: one line a rank, the chosen one marked."""
    tried = [heading(line) if line.endswith("←") else line for line in selection.lines()]
    choice = heading(f"rank {selection.rank}") + f" by {selection.criterion}"
    return "\n".join([size_of(data, table), *tried, choice, *([f"saved {path}"] if path else [])])
