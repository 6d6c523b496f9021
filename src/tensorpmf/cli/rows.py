"""What commands that take a file of rows have in common: its cells as they are written, and as a model codes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorpmf.errors import UnknownColumnError

if TYPE_CHECKING:
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


def cells(source: Source, *, missing: Iterable[str] | None = None) -> list[list[Any]]:
    """Return the cells of each column as they are written; where there is nothing, None.

    Parameters
    ----------
    source
        The columns.
    missing
        What marks a missing cell of a text file, beside nothing at all. Then texts also become the numbers they stand
        for; without, they stay as they are.
    """
    from tensorpmf.table.factor import objects
    from tensorpmf.table.text import markers, typed

    _, factors = source.load(range(len(source.names)))
    if missing is not None:
        marks = tuple(missing) or None
        factors = (typed(factor.without(markers(factor, marks)) if factor.is_text else factor) for factor in factors)
    return [factor.spread(objects(factor.labels.tolist()), None).tolist() for factor in factors]
