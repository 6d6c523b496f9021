"""Files too long for memory: read batch by batch, their levels learnt in a pass of its own."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from tensorpmf.errors import TooManyLevelsError
from tensorpmf.table.bins import Bins
from tensorpmf.table.encode import Unknown
from tensorpmf.table.factor import Factor, objects
from tensorpmf.table.files import source_of_file
from tensorpmf.table.learn import Learner
from tensorpmf.table.read import (
    check_some,
    chosen_names,
    encoded_columns,
    marks_of,
    several,
    stacked,
    weights_of,
)
from tensorpmf.table.schema import Column, Schema, check_names
from tensorpmf.table.table import CategoricalTable, checked_weights
from tensorpmf.table.text import markers, typed
from tensorpmf.typing import Floats

MOST_LABELS = 1 << 17
"""Distinct values of a column of which account is kept."""


def read_in_batches(
    path: str | os.PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    missing: Iterable[Hashable] | None = None,
    levels: Mapping[str, Sequence[Hashable]] | None = None,
    ordered: Iterable[str] = (),
    bins: Bins | Mapping[str, Bins] | Literal["auto"] | None = None,
    weights: str | None = None,
    schema: Schema | None = None,
    unknown: Unknown = "error",
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Schema, Iterator[CategoricalTable]]:
    """Return the schema of a file, and its rows batch by batch; what a parameter means :func:`read_table` tells.

    Without a schema the file is read twice, and account is kept of the distinct values of each column. Where these are
    too many, columns are cut as those of a sample are: ``schema=read_table(sample, bins=...).schema``.

    Parameters
    ----------
    path
        The path of the file.
    columns, drop, missing, levels, ordered, bins, schema, unknown, names, delimiter, encoding
        As for :func:`read_table`.
    weights
        The name of a column that tells how much each row counts.
    """
    learner = Learner(dict(levels or {}), frozenset(several(ordered)), bins)
    if schema is not None:
        learner.check_idle()
    source = source_of_file(Path(os.fspath(path)).expanduser(), names, delimiter, encoding)
    check_names(source.names)
    chosen = chosen_names(source.names, columns, [*several(drop), *([] if weights is None else [weights])])
    learner.check_names(chosen)
    wanted = [source.names.index(name) for name in ([] if weights is None else [weights]) + chosen]
    marks = marks_of(missing)

    def batches() -> Iterator[tuple[int, Floats | None, dict[str, Factor]]]:
        """Yield how many rows each batch has, their weights, and their columns."""
        for batch in source.batches(wanted):
            n_rows, loaded = batch.load(range(len(wanted)))
            factors = [factor.without(markers(factor, marks)) for factor in loaded]
            weigher = None if weights is None else weights_of(weights, factors.pop(0))
            yield (
                n_rows,
                checked_weights(weigher, n_rows, is_part=True),
                dict(zip(chosen, factors, strict=True)),
            )

    def tables(schema: Schema) -> Iterator[CategoricalTable]:
        for n_rows, row_weights, factors in batches():
            codes = encoded_columns(schema, factors.items(), unknown)
            yield CategoricalTable(schema, stacked(schema, codes, n_rows), row_weights)

    if schema is None:
        tallies = {name: Tally(name) for name in chosen}
        n_all = 0
        for n_rows, row_weights, factors in batches():
            n_all += n_rows
            for name, factor in factors.items():
                tallies[name].add(factor, row_weights)
        check_some(n_all, chosen, source.what)
        schema = Schema(tuple(tally.column(learner, n_all) for tally in tallies.values()))
    return schema, tables(schema)


@dataclass
class Tally:
    """How often each label of a column occurred so far, and what the rows that hold it weigh."""

    name: str
    seen: dict[Hashable, tuple[int, float]] = field(default_factory=dict[Hashable, tuple[int, float]])
    like: Factor | None = None

    def add(self, factor: Factor, weights: Floats | None) -> None:
        """Count the rows of a batch.

        Parameters
        ----------
        factor
            The column.
        weights
            (n_rows,) how much each row counts.
        """
        self.like = factor
        counts, mass = factor.mass().astype(np.int64).tolist(), factor.mass(weights).tolist()
        for label, n, heavy in zip(factor.labels.tolist(), counts, mass, strict=True):
            n_before, before = self.seen.get(label, (0, 0.0))
            self.seen[label] = n_before + n, before + heavy
        if len(self.seen) > MOST_LABELS:
            n_rows = sum(n for n, _ in self.seen.values())
            hint = "cut it as a sample of the rows is cut, schema=read_table(sample, bins=...).schema, or leave it out."
            raise TooManyLevelsError(self.name, len(self.seen), n_rows, hint=hint)

    def column(self, learner: Learner, n_rows: int) -> Column:
        """Return the column that all batches tell about.

        Parameters
        ----------
        learner
            What the caller declares about it.
        n_rows
            How many rows there were.
        """
        assert self.like is not None, "there was a batch"
        like = self.like
        n_seen = np.array([n for n, _ in self.seen.values()], dtype=np.int64)
        mass = np.array([heavy for _, heavy in self.seen.values()], dtype=np.float64)
        held = np.flatnonzero(n_seen)
        factor = Factor(objects(list(self.seen)), held, like.declared, like.ordered, like.is_text).simplified()
        stands_for = n_rows if like.declared else int(n_seen.sum())
        return learner.column(
            self.name, factor if self.name in learner.levels else typed(factor), mass[held], n_rows=stands_for
        )
