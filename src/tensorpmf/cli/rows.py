"""What commands that take a file of rows have in common: its cells as they are written, and as a model codes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorpmf.errors import UnknownColumnError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tensorpmf.table.factor import Factor
    from tensorpmf.table.schema import Schema
    from tensorpmf.table.source import Source
    from tensorpmf.table.table import CategoricalTable


def coded(path: str, schema: Schema, *, missing: Iterable[str], **reading: Any) -> CategoricalTable:
    """Return the rows of a file as a model codes them; columns that it does not have are passed over."""
    from tensorpmf.table.read import read_table

    names = opened(path, reading["delimiter"], reading["encoding"]).names
    known = [name for name in names if name in schema.names]
    if not known:
        raise UnknownColumnError(names[0], schema.names)
    return read_table(path, schema=schema, columns=known, missing=tuple(missing) or None, **reading)


def opened(path: str, delimiter: str | None, encoding: str) -> Source:
    """Return the columns of a file, not looked at yet."""
    from tensorpmf.table.files import source_of_file
    from tensorpmf.table.schema import check_names

    source = source_of_file(Path(path).expanduser(), None, delimiter, encoding)
    check_names(source.names)
    return source


def cells(source: Source) -> list[list[Any]]:
    """Return the cells of each column as they are written; where there is nothing, None."""
    return [_cells(factor) for factor in _factors(source)]


def meant(source: Source, missing: Iterable[str]) -> list[list[Any]]:
    """Return what the cells of each column mean: texts of a text file may be numbers; None is missing.

    Parameters
    ----------
    source
        The columns.
    missing
        What marks a missing cell, beside nothing at all.
    """
    from tensorpmf.table.text import typed

    return [_cells(typed(factor)) for factor in _observed(source, missing)]


def holes(source: Source, missing: Iterable[str]) -> dict[str, NDArray[np.bool_]]:
    """Return by column (n_rows,) where it holds nothing, or what marks a missing cell."""
    return dict(zip(source.names, (factor.positions < 0 for factor in _observed(source, missing)), strict=True))


def _factors(source: Source) -> Iterator[Factor]:
    return source.load(range(len(source.names)))[1]


def _observed(source: Source, missing: Iterable[str]) -> Iterator[Factor]:
    from tensorpmf.table.text import markers

    marks = tuple(missing) or None
    return (factor.without(markers(factor, marks)) for factor in _factors(source))


def _cells(factor: Factor) -> list[Any]:
    from tensorpmf.table.factor import objects

    values: list[Any] = factor.spread(objects(factor.labels.tolist()), None).tolist()
    return values
