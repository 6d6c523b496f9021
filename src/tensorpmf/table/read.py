"""The door through which tables come in: a file, a data frame, an array or a Python collection becomes a table."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from numbers import Number
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import (
    CodeRangeError,
    NoColumnsError,
    NoRowsError,
    NotNumericError,
    SettingError,
    UnknownColumnError,
    WeightError,
    hints_said,
)
from tensorpmf.table.bins import Bins
from tensorpmf.table.cells import DenseCells, code_type, frozen
from tensorpmf.table.encode import Unknown, encoded
from tensorpmf.table.factor import Factor, is_hashable, objects
from tensorpmf.table.files import source_of_file
from tensorpmf.table.learn import Learner
from tensorpmf.table.recode import recoded
from tensorpmf.table.schema import Column, Schema, check_names, default_names
from tensorpmf.table.source import Source, factor_of, source_of, source_of_arrow
from tensorpmf.table.table import CategoricalTable, checked_weights
from tensorpmf.table.text import markers, no_number, typed
from tensorpmf.table.triples import SHARED, cells_of_triples, check_observed, shared_schema
from tensorpmf.typing import Codes, Floats

Item = TypeVar("Item")


def read_table(
    source: Any,
    *,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    missing: Iterable[Hashable] | None = None,
    levels: Mapping[str, Sequence[Hashable]] | None = None,
    ordered: Iterable[str] = (),
    bins: Bins | Mapping[str, Bins] | Literal["auto"] | None = None,
    weights: str | ArrayLike | None = None,
    schema: Schema | None = None,
    unknown: Unknown = "error",
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> CategoricalTable:
    """Read a table of categorical variables from wherever it is.

    Parameters
    ----------
    source
        The path of a file (``.csv``, ``.tsv``, ``.txt``, ``.data``, ``.parquet``, ``.arrow``, ``.feather``; also with
        ``.gz``, ``.zst``, ``.bz2`` or ``.lz4`` behind), a data frame or series (pandas, polars, Arrow, or whatever
        speaks Arrow), a NumPy or SciPy sparse array, a dict of columns, a list of rows (dicts or sequences), a table.
    columns
        Take these columns, in this order.
    drop
        Leave these out.
    missing
        What marks a missing cell, beside null, NaN and, in a text file, nothing at all. In text files these do when not
        given: ``NA``, ``N/A``, ``NaN``, ``NULL``, ``?`` and some other spellings of them. A number marks cells of a
        text file however they are written: -9 also marks ``-9.0``.
    levels
        The levels of some columns, in order. Otherwise they are those that the source declares (categories of pandas,
        Enum of polars, dictionaries of Arrow), or else those that occur, in their natural order.
    ordered
        Columns in which the order of the levels means something; numbers, dates and bins are ordered anyway.
    bins
        How to cut numbers into bins. For one column, ``{"age": 5}`` or ``{"age": ("quantile", 5)}`` makes five bins of
        about as many rows each, ``{"age": ("width", 5)}`` five of equal width, ``{"age": [20, 40, 60]}`` cuts at these
        numbers. Without a name, ``bins=5`` cuts every numeric column of more than five distinct values, and ``"auto"``
        cuts every one of more than 20 into ten.
    weights
        How much each row counts: the name of a column, which then is no variable, or (n_rows,) numbers.
    schema
        The columns, when they are known already; those that the source lacks are missing. Nothing is learnt then.
    unknown
        What to do with labels that a known column does not have: ``"error"``, or ``"missing"``.
    names
        What the columns are called in a source without names: an array, rows, a text file that has no header line.
    delimiter
        What separates the values in a text file; guessed from its first line when not given, a tab in ``.tsv``.
    encoding
        How a text file is encoded.

    Notes
    -----
    More than 20 distinct real numbers cannot be levels: such a column has to be cut into bins. More than 20 levels that
    occur less than twice on average tell nothing: such a column, mostly an identifier, has to be left out or cut, or
    its levels given. A table is held compressed when most of its cells are missing; nothing else depends on that.

    Examples
    --------
    >>> import tensorpmf as tp
    >>> table = tp.read_table({"size": ["S", "L", None, "L"], "price": [3.5, 9.0, 7.2, 8.1]}, bins={"price": [5, 8]})
    >>> table
    CategoricalTable: 4 rows × 2 columns, 12.5 % missing
      size   2 levels  'L', 'S'                        25 % missing
      price  3 levels  '< 5' < '[5, 8)' < '>= 8'
    >>> tp.read_table([{"price": 6}, {"size": "XL"}], schema=table.schema, unknown="missing").to_columns()
    {'size': [None, None], 'price': ['[5, 8)', None]}
    """
    if not isinstance(cast("object", schema), Schema | None):
        raise SettingError("read_table", "schema", "a Schema, such as table.schema", type(schema).__name__)
    learner = Learner(_levels(levels), frozenset(several(ordered)), bins)
    if schema is not None or isinstance(source, CategoricalTable):
        learner.check_idle()
    if unknown not in ("error", "missing"):
        raise SettingError("read_table", "unknown", '"error" or "missing"', unknown)
    if isinstance(source, CategoricalTable):
        return _of_table(source, columns, drop, weights, schema, unknown)
    marks = marks_of(missing)
    if hasattr(source, "tocoo"):
        table = _of_sparse(source, names, marks, learner, schema, unknown)
        table = _of_table(table, columns, drop, weights, None, unknown)
        if schema is None:
            check_observed(table.schema, table.cells)
        return table
    raw = _opened(source, names, schema, delimiter, encoding)
    check_names(raw.names)
    weigher = [weights] if isinstance(weights, str) else []
    chosen = chosen_names(raw.names, columns, [*several(drop), *weigher])
    learner.check_names(chosen)
    position_of = {name: ix for ix, name in enumerate(raw.names)}
    n_rows, raw_factors = raw.load([position_of[name] for name in (*weigher, *chosen)])
    factors = (factor.without(markers(factor, marks)) for factor in raw_factors)
    row_weights = checked_weights(weights_of(weigher[0], next(factors)) if weigher else weights, n_rows)
    if schema is None:
        check_some(n_rows, chosen, raw.what)
        schema, codes = _learnt(learner, zip(chosen, factors, strict=True), row_weights, unknown)
    else:
        takes_codes = isinstance(source, np.ndarray) and source.dtype.kind in "iu"
        codes = encoded_columns(schema, zip(chosen, factors, strict=True), unknown, takes_codes=takes_codes)
    return CategoricalTable(schema, stacked(schema, codes, n_rows).compact(), row_weights)


def encode_batches(
    batches: Iterable[Any],
    schema: Schema,
    *,
    weights: str | None = None,
    missing: Iterable[Hashable] | None = None,
    unknown: Unknown = "error",
) -> Iterator[CategoricalTable]:
    """Yield Arrow record batches as tables with a known schema, one by one.

    Parameters
    ----------
    batches
        Record batches, as Parquet and Arrow files yield them; their dictionaries may differ.
    schema
        The columns.
    weights
        The column that tells how much each row counts; in one batch, all rows may count nothing.
    missing
        What marks a missing cell, beside null and NaN.
    unknown
        What to do with labels that the schema does not have.
    """
    marks = marks_of(missing)
    for batch in batches:
        raw = source_of_arrow(batch)
        n_rows, factors = raw.load(range(len(raw.names)))
        factor_of_name = {name: f.without(markers(f, marks)) for name, f in zip(raw.names, factors, strict=True)}
        weigher = None if weights is None else weights_of(weights, factor_of_name.pop(weights))
        codes = encoded_columns(schema, factor_of_name.items(), unknown)
        yield CategoricalTable(schema, stacked(schema, codes, n_rows), checked_weights(weigher, n_rows, is_part=True))


def stacked(schema: Schema, codes: Mapping[str, Codes], n_rows: int) -> DenseCells:
    """Return the cells of a table from the (n_rows,) codes of its columns; those that are not there are missing.

    Parameters
    ----------
    schema
        The columns.
    codes
        The codes of some of them, by name.
    n_rows
        How many rows there are.
    """
    dense = np.full((n_rows, schema.n_columns), -1, dtype=code_type(max(schema.n_levels, default=1)))
    for name, column in codes.items():
        dense[:, schema.ix(name)] = column
    return DenseCells(frozen(dense))


def _opened(
    source: Any, names: Sequence[str] | None, schema: Schema | None, delimiter: str | None, encoding: str
) -> Source:
    if isinstance(source, str | os.PathLike):
        return source_of_file(Path(os.fspath(source)).expanduser(), names, delimiter, encoding)
    return source_of(source, names if schema is None or names is not None else schema.names)


def _learnt(
    learner: Learner, named: Iterable[tuple[str, Factor]], weights: Floats | None, unknown: Unknown
) -> tuple[Schema, dict[str, Codes]]:
    columns: list[Column] = []
    codes: dict[str, Codes] = {}
    for name, factor in named:
        factor = factor if name in learner.levels else typed(factor)
        columns.append(learner.column(name, factor, weights))
        codes[name] = encoded(columns[-1], factor, unknown)
    return Schema(tuple(columns)), codes


def encoded_columns(
    schema: Schema, named: Iterable[tuple[str, Factor]], unknown: Unknown, *, takes_codes: bool = False
) -> dict[str, Codes]:
    """Return the codes of columns that a schema has, by name."""
    codes: dict[str, Codes] = {}
    for name, factor in named:
        column = _column(schema, name)
        codes[name] = encoded(column, _labels_for_codes(column, factor) if takes_codes else factor, unknown)
    return codes


def _column(schema: Schema, name: str) -> Column:
    try:
        return schema[name]
    except UnknownColumnError:
        hint = f"leave it out with drop=[{name!r}], in read_table or schema.encode."
        raise UnknownColumnError(name, schema.names, hint=hint) from None


def _labels_for_codes(column: Column, factor: Factor) -> Factor:
    """Return what an integer array means: labels if the column's labels are numbers, codes otherwise; -1 is missing."""
    if column.edges is None and not any(isinstance(label, Number) for label in column.levels):
        for code in factor.labels.tolist():
            if not -1 <= code < column.n_levels:
                raise CodeRangeError(column.name, code, column.n_levels, -1)
        return factor.relabelled(objects([*column.levels, None])[factor.labels.astype(np.int64)])
    return factor if column.edges is not None or -1 in column.levels else factor.without([-1])


def _of_table(
    table: CategoricalTable,
    columns: Iterable[str] | None,
    drop: Iterable[str],
    weights: str | ArrayLike | None,
    schema: Schema | None,
    unknown: Unknown,
) -> CategoricalTable:
    if isinstance(weights, str):
        raise WeightError(f"cannot come from column {weights!r} of what has been coded already")
    table = table.select(chosen_names(table.schema.names, columns, drop))
    table = table if schema is None else recoded(table, schema, unknown)
    return table if weights is None else table.with_weights(weights)


def _of_sparse(
    array: Any,
    names: Sequence[str] | None,
    marks: Sequence[Hashable] | None,
    learner: Learner,
    schema: Schema | None,
    unknown: Unknown,
) -> CategoricalTable:
    """Return the table whose labels are the stored entries, zeros too; all columns have the same levels."""
    entries = array.tocoo()
    n_rows, n_columns = entries.shape
    values = factor_of("values", entries.data).without(marks or ())
    if schema is None:
        check_some(n_rows, range(n_columns), "the array")
        with hints_said(SHARED):
            schema = shared_schema(names or default_names(n_columns), values, learner)
    return CategoricalTable(schema, cells_of_triples(schema, entries.row, entries.col, values, n_rows, unknown))


def chosen_names(names: Sequence[str], columns: Iterable[str] | None, drop: Iterable[str]) -> list[str]:
    """Return the names of the columns to take, in order."""
    gone, known = set(several(drop)), set(names)
    wanted = list(names) if columns is None else several(columns)
    for name in (*wanted, *gone):
        if name not in known:
            raise UnknownColumnError(name, names)
    return [name for name in wanted if name not in gone]


def several(items: Iterable[Item]) -> list[Item]:
    """Return names or labels as a list; a single one may come without a list around it."""
    is_single = isinstance(items, str | bytes) or not hasattr(items, "__iter__")
    return cast("list[Item]", [items] if is_single else list(items))


def _levels(levels: Mapping[str, Sequence[Hashable]] | None) -> dict[str, Sequence[Hashable]]:
    """Return the levels that the caller says some columns have."""
    try:
        return {name: tuple(of_one) for name, of_one in (levels or {}).items()}
    except (AttributeError, TypeError):
        raise SettingError("read_table", "levels", "a mapping from column names to their levels", levels) from None


def marks_of(missing: Iterable[Hashable] | None) -> list[Hashable] | None:
    """Return what the caller says marks a missing cell."""
    marks = None if missing is None else several(missing)
    if marks is not None and not all(map(is_hashable, marks)):
        raise SettingError("read_table", "missing", "a label or several", missing)
    return marks


def check_some(n_rows: int, columns: Sized, what: str) -> None:
    """Raise an error if there is nothing to learn from."""
    if not columns:
        raise NoColumnsError(what)
    if not n_rows:
        raise NoRowsError(what)


def weights_of(name: str, factor: Factor) -> Floats:
    """Return the (n_rows,) numbers of a column of weights, NaN where one is missing."""
    factor = typed(factor)
    numbers = factor.numbers
    if numbers is None:
        if factor.n_observed:
            raise NotNumericError(name, no_number(factor.labels.tolist()), "cannot weigh rows")
        numbers = np.empty(0)
    return factor.spread(numbers, np.nan)
