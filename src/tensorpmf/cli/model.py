"""What commands that ask a model have in common: its file, evidence written as text, distributions as cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorpmf.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tensorpmf.pmf.base import PMF
    from tensorpmf.table.schema import Schema


def load_pmf(path: str) -> PMF:
    """Return the distribution in a model file, whether it holds a result, a posterior or the PMF itself."""
    from tensorpmf.pmf.io import load

    model = load(path)
    mean = getattr(model, "mean", None)
    pmf: PMF = mean() if mean is not None else getattr(model, "pmf", model)
    return pmf


def read_given(schema: Schema, given: Sequence[str]) -> dict[str, Hashable | list[Hashable]]:
    """Return what is known, a level or several by column name, from texts like ``party=democrat``."""
    known: dict[str, list[Hashable]] = {}
    for text in given:
        name, label = split(text, schema)
        known.setdefault(name, []).append(schema[name].parse(label))
    return {name: levels[0] if len(levels) == 1 else levels for name, levels in known.items()}


def split(text: str, schema: Schema) -> tuple[str, str]:
    """Return the two sides of ``COLUMN=LEVEL``, either of which may contain equals signs."""
    places = [ix for ix, letter in enumerate(text) if letter == "="]
    if not places:
        raise InputError(f"--given {text!r} is not of the form COLUMN=LEVEL.")
    place = next((ix for ix in places if text[:ix] in schema.names), places[0])
    return text[:place], text[place + 1 :]


def cells_of(pmf: PMF) -> list[dict[str, Any]]:
    """Return every cell with its labels and its probability; likely ones first, unless one column has an order."""
    import numpy as np

    prob = pmf.to_dense()
    order = np.argsort(-prob.ravel(), kind="stable")
    if len(pmf.schema) == 1 and pmf.schema.columns[0].ordered:
        order = np.arange(prob.size)
    codes = np.stack(np.unravel_index(order, prob.shape), axis=1)
    return [
        {column.name: column.levels[code] for column, code in zip(pmf.schema.columns, row, strict=True)}
        | {"probability": float(prob[tuple(row)])}
        for row in codes.tolist()
    ]


def shares(cells: list[dict[str, Any]]) -> dict[str, float]:
    """Return the probability of each cell by its labels, written as text."""
    return {
        " · ".join(str(level) for name, level in cell.items() if name != "probability"): cell["probability"]
        for cell in cells
    }
