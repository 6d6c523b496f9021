"""``tensorpmf recommend``: what users would like best, from ratings or from a model of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tensorpmf.cli.model import load_pmf, read_given
from tensorpmf.cli.options import json_option, output_option, reading_options, seed_option
from tensorpmf.cli.output import Computed, check_place, print_rows
from tensorpmf.cli.rows import meant, opened
from tensorpmf.errors import InputError, UnknownLevelError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tensorpmf.learn import PMFRecommender
    from tensorpmf.pmf.base import PMF


@click.command()
@click.argument("ratings", type=click.Path())
@click.option("--user", "-u", "users", multiple=True, metavar="USER", help="For whom; may be repeated.")
@click.option("--given", "-g", multiple=True, metavar="ITEM=RATING", help="What somebody new likes; may be repeated.")
@click.option("-n", "n_items", type=click.IntRange(min=1), default=10, show_default=True, help="How many items.")
@click.option("--seen", is_flag=True, help="Also items that the user has rated.")
@click.option("--save", type=click.Path(dir_okay=False), metavar="MODEL", help="Keep the model that was fitted.")
@reading_options
@seed_option
@output_option
@json_option
def command(
    ratings: str,
    users: tuple[str, ...],
    given: tuple[str, ...],
    n_items: int,
    seen: bool,
    save: str | None,
    seed: int,
    output: str | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """List the items that users are expected to rate best, as CSV.

    RATINGS is a table file whose first three columns are user, item and rating, or a model file (.pmf) whose columns
    are items, which --save writes. Without --user and --given, every user of a table gets a list.

    \b
    tensorpmf recommend ratings.csv --user ann -n 3
    tensorpmf recommend ratings.csv -g Alien=5 -g Brazil=2 --save films.pmf
    tensorpmf recommend films.pmf --given Alien=1
    """
    for place in (output, save):
        check_place(place, ratings)
    if users and given:
        raise InputError("--user is for users in the table, --given for somebody new; give one of them.")
    if Path(ratings).suffix == ".pmf":
        if users or save:
            raise InputError("a model file knows no users; describe one with --given ITEM=RATING.")
        print_rows(["item", "rating"], best(load_pmf(ratings), given, n_items), as_json, output)
        return
    names, recommender = fitted(ratings, seed, reading)
    if save:
        from tensorpmf.pmf.io import save as write

        write(recommender.result_, save)
    if given:
        print_rows(["item", "rating"], best(recommender.pmf_, given, n_items), as_json, output)
        return
    chosen = [named(recommender, names[0], user) for user in users] or recommender.users_.tolist()
    lists = zip(chosen, recommender.recommend(chosen, n_items, exclude_seen=not seen), strict=True)
    rows = [(user, item, Computed(rating)) for user, items in lists for item, rating in items]
    print_rows(["user", "item", "rating"], rows, as_json, output)


def fitted(path: str, seed: int, reading: dict[str, Any]) -> tuple[list[str], PMFRecommender]:
    """Return the names of a file's columns and what was learnt from its ratings."""
    source = opened(path, reading["delimiter"], reading["encoding"])
    if len(source.names) < 3:
        raise InputError(f"{path!r} has {len(source.names)} columns, but ratings need three: user, item and rating.")
    users, items, stars, *_ = meant(source, reading["missing"])
    from tensorpmf.learn import PMFRecommender

    return source.names, PMFRecommender(random_state=seed).fit(list(zip(users, items, strict=True)), stars)


def named(recommender: PMFRecommender, column: str, text: str) -> Hashable:
    """Return the user that a text stands for."""
    users: dict[str, Hashable] = {str(user): user for user in recommender.users_.tolist()}
    if text not in users:
        raise UnknownLevelError(column, text, list(users))
    return users[text]


def best(pmf: PMF, given: Sequence[str], n_items: int) -> list[tuple[str, float]]:
    """Return the items expected to be rated best by somebody of whom some ratings are known."""
    known = read_given(pmf.schema, given)
    asked = pmf.given(known) if known else pmf
    expected = {name: asked.expect(name) for name in asked.schema.names}
    return [(name, Computed(expected[name])) for name in sorted(expected, key=lambda name: -expected[name])[:n_items]]
