"""``tensorpmf fit``: from a file of data to a file that holds its joint distribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.codes import INTERRUPTED
from tensorpmf.cli.options import json_option, seed_option
from tensorpmf.cli.output import answer, check_place, fitting, heading, progress
from tensorpmf.cli.table import size_of, table_of, table_options
from tensorpmf.cli.words import in_options
from tensorpmf.errors import counted

if TYPE_CHECKING:
    from tensorpmf.fit.result import FitResult
    from tensorpmf.table.table import CategoricalTable


@click.command()
@table_options
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="The model file.  [default: DATA with .pmf]")
@click.option("--max-rank", type=int, metavar="N", help="Components to start from.  [default: Kruskal's bound]")
@click.option("--n-starts", type=int, default=1, show_default=True, metavar="N", help="Random starting points.")
@seed_option
@click.option("--max-iterations", type=int, default=10_000, show_default=True, metavar="N", help="The most passes.")
@click.option("--threads", type=int, metavar="N", help="How many threads work.  [default: all processors]")
@json_option
def command(
    data: str,
    output: str | None,
    max_rank: int | None,
    n_starts: int,
    seed: int,
    max_iterations: int,
    threads: int | None,
    as_json: bool,
    **reading: Any,
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
    from tensorpmf.table.files import unpacked

    path = output or f"{unpacked(Path(data)).stem}.pmf"
    check_place(path, data)
    with progress(fitting) as callback:
        table = table_of(data, **reading)
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
        "notes": [in_options(note) for note in result.notes],
        "model": path,
    }


def in_words(data: str, table: CategoricalTable, result: FitResult, path: str) -> str:
    """Return what was fitted, as text."""
    passes = f"{counted(len(result.trace), 'pass')}, {result.trace.seconds[-1]:.2g} s"
    lines = [
        size_of(data, table),
        heading(f"rank {result.rank}") + f" · ELBO {result.objective:,.2f} · {passes}",
        *([] if result.converged else [in_options(result.status.value)]),
        *map(in_options, result.notes),
        f"saved {path}",
    ]
    return "\n".join(lines)
