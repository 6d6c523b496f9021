"""``tensorpmf fit``: from a file of data to a file that holds its joint distribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.codes import INTERRUPTED
from tensorpmf.cli.options import json_option, reading_options, seed_option
from tensorpmf.cli.output import answer, heading, progress
from tensorpmf.errors import InputError, counted

if TYPE_CHECKING:
    from tensorpmf.fit.result import FitResult
    from tensorpmf.table.table import CategoricalTable


@click.command()
@click.argument("data", type=click.Path())
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="The model file.  [default: DATA with .pmf]")
@click.option(
    "--bins",
    multiple=True,
    metavar="[COLUMN=]BINS",
    help="Cut numbers: 5 (as many rows in each), width:5 (equally wide), 18,30,65 (there), or auto. May be repeated.",
)
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out, an identifier for one.")
@click.option("--weights", metavar="COLUMN", help="The column that says how much each row counts.")
@reading_options
@click.option("--max-rank", type=int, metavar="N", help="Components to start from.  [default: Kruskal's bound]")
@click.option("--n-starts", type=int, default=1, show_default=True, metavar="N", help="Random starting points.")
@seed_option
@click.option("--max-iterations", type=int, default=10_000, show_default=True, metavar="N", help="The most passes.")
@click.option("--threads", type=int, metavar="N", help="How many threads work.  [default: all processors]")
@json_option
def command(
    data: str,
    output: str | None,
    bins: tuple[str, ...],
    missing: tuple[str, ...],
    drop: tuple[str, ...],
    weights: str | None,
    delimiter: str | None,
    encoding: str,
    max_rank: int | None,
    n_starts: int,
    seed: int,
    max_iterations: int,
    threads: int | None,
    as_json: bool,
) -> int:
    """Learn the joint distribution of a table, rank included.

    DATA is a CSV, Parquet, Arrow or Feather file; .gz and .zst may follow.

    \b
    tensorpmf fit votes.csv -o votes.pmf
    tensorpmf fit patients.parquet --bins age=18,30,65 --bins pay=5 --missing '?'
    """
    from tensorpmf.fit.contract import Status
    from tensorpmf.fit.run import fit
    from tensorpmf.fit.vb import VB
    from tensorpmf.pmf.io import save
    from tensorpmf.table.read import read_table

    path = output or f"{Path(data).name.split('.')[0]}.pmf"
    if not Path(path).resolve().parent.is_dir():
        raise InputError(f"the model cannot be written to {path!r}: there is no such folder.")
    with progress() as callback:
        table = read_table(
            data,
            bins=read_bins(bins),
            missing=missing or None,
            drop=drop,
            weights=weights,
            delimiter=delimiter,
            encoding=encoding,
        )
        result = fit(
            table,
            VB(max_rank=max_rank),
            seed=seed,
            n_starts=n_starts,
            max_iterations=max_iterations,
            n_threads=threads,
            callback=callback,
        )
    save(result, path)
    answer(as_json, told(data, table, result, path), in_words(data, table, result, path))
    return INTERRUPTED if result.status is Status.INTERRUPTED else 0


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


def told(data: str, table: CategoricalTable, result: FitResult, path: str) -> dict[str, Any]:
    """Return what was fitted, as values."""
    return {
        "data": data,
        "n_rows": table.n_rows,
        "n_columns": table.n_columns,
        "outage": table.outage,
        "rank": result.rank,
        "status": result.status.name.lower(),
        "objective": result.objective,
        "n_passes": len(result.trace),
        "seconds": float(result.trace.seconds[-1]),
        "notes": list(result.notes),
        "model": path,
    }


def in_words(data: str, table: CategoricalTable, result: FitResult, path: str) -> str:
    """Return what was fitted, as text."""
    size = f"{counted(table.n_rows, 'row')} × {counted(table.n_columns, 'column')}"
    passes = f"{len(result.trace)} passes, {result.trace.seconds[-1]:.2g} s"
    lines = [
        f"{data}: {size}, {100 * table.outage:.1f} % missing",
        heading(f"rank {result.rank}") + f" · ELBO {result.objective:,.2f} · {passes}",
        *([] if result.converged else [result.status.value]),
        *result.notes,
        f"saved {path}",
    ]
    return "\n".join(lines)
