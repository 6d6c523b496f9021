"""``tensorpmf demo``: the whole story on 150 irises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.model import cells_of, shares
from tensorpmf.cli.options import json_option, seed_option
from tensorpmf.cli.output import answer, bars, described, heading
from tensorpmf.errors import MissingExtraError

if TYPE_CHECKING:
    from tensorpmf.fit.result import FitResult

N_TRAINING, N_BINS = 100, 3
NO_PICTURE = "none, for want of Matplotlib; pip install 'tensorpmf[plot]' brings it"
QUESTIONS: Sequence[tuple[str, Mapping[str, float | str]]] = [
    ("species", {"petal width": 1.7}),
    ("petal length", {"species": "versicolor"}),
]
"""What is asked for, and what is known."""


@click.command()
@click.option("--output", "-o", default="iris.png", show_default=True, type=click.Path(), help="The picture.")
@seed_option
@json_option
def command(output: str, seed: int, as_json: bool) -> None:
    """Learn from 100 irises, ask the model, classify 50 more.

    The data come with scikit-learn; the picture needs Matplotlib, which the extra "plot" brings.
    """
    import numpy as np

    from tensorpmf.fit.run import fit
    from tensorpmf.learn.iris import iris
    from tensorpmf.table.read import read_table

    flowers = iris()
    order = np.random.default_rng(seed).permutation(len(flowers["species"])).tolist()
    seen, unseen = (
        {name: [values[ix] for ix in part] for name, values in flowers.items()}
        for part in (order[:N_TRAINING], order[N_TRAINING:])
    )
    table = read_table(seen, bins=N_BINS)
    result = fit(table, seed=seed)
    guesses = result.pmf.most_likely("species", read_table(unseen, schema=table.schema))
    n_right = int((guesses == np.array(unseen["species"])).sum())
    answers = [cells_of(result.pmf.given(known).marginal(asked)) for asked, known in QUESTIONS]
    picture = draw(result, output)
    document = {
        "rank": result.rank,
        "objective": result.objective,
        "answers": [
            {"given": known, "columns": [asked], "cells": cells}
            for (asked, known), cells in zip(QUESTIONS, answers, strict=True)
        ],
        "n_held_out": len(guesses),
        "n_right": n_right,
        "picture": picture,
    }
    answer(as_json, document, in_words(result, answers, len(guesses), n_right, picture))


def draw(result: FitResult, path: str) -> str | None:
    """Draw a fit, and return where; None without Matplotlib, since all else works without it."""
    from tensorpmf.show.plots import overview

    try:
        overview(result, f"What {N_TRAINING} irises have in common").savefig(path)
    except MissingExtraError:
        return None
    return path


def in_words(
    result: FitResult, answers: list[list[dict[str, Any]]], n_held_out: int, n_right: int, picture: str | None
) -> str:
    """Return the story as text."""
    lines = [
        f"{N_TRAINING} irises: four measurements, cut into {N_BINS} bins each, and the species.",
        f"{heading(f'rank {result.rank}')} · ELBO {result.objective:,.2f} · {len(result.trace)} passes",
    ]
    for (asked, known), cells in zip(QUESTIONS, answers, strict=True):
        lines += ["", heading(f"{asked} given {described(known)}"), bars(shares(cells))]
    lines += [
        "",
        f"{n_held_out} irises it has not seen: the species of {n_right} is right ({n_right / n_held_out:.0%}).",
        f"picture: {picture or NO_PICTURE}",
    ]
    return "\n".join(lines)
