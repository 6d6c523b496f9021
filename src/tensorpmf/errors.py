"""Exceptions. Each is given facts and writes its own sentence, and a hint where there is one.

A caller's mistake raises a :class:`TensorPMFError`; an impossible state inside is an ``assert``.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

HINT_ON_COMMAS = "numbers have a decimal point and no comma, as 1234.5; pandas.read_csv(..., decimal=',') reads others."


class TensorPMFError(Exception):
    """Base of every error this library raises on purpose."""

    def __init__(self, sentence: str, *, hint: str | None = None) -> None:
        self.sentence, self.hint = sentence, hint
        super().__init__(sentence if hint is None else f"{sentence}\n  Hint: {hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors come back from worker processes with their facts; they are not written anew from their sentence."""
        return _came_back, (type(self), self.args, self.__dict__)


def _came_back(kind: type[TensorPMFError], told: tuple[Any, ...], facts: dict[str, Any]) -> TensorPMFError:
    maker: Any = kind.__base__  # of several bases the one that knows how an error of this kind lies in memory
    error: TensorPMFError = maker.__new__(kind)
    error.args = told
    error.__dict__.update(facts)
    return error


class InputError(TensorPMFError, ValueError):
    """What the caller handed over cannot be used as it is."""


class UnknownColumnError(InputError, KeyError):
    """A column was named that the schema does not have."""

    def __init__(self, column: Hashable, known: Sequence[str], hint: str | None = None) -> None:
        self.column, self.known = column, tuple(known)
        super().__init__(
            f"there is no column {column!r}. Known columns: {listing(known)}.",
            hint=_did_you_mean(column, known) or hint,
        )

    __str__ = Exception.__str__


class UnknownLevelError(InputError):
    """A label was used that a column does not have among its levels; ``may_skip``: where such cells may be missing."""

    def __init__(self, column: str, level: Hashable, known: Sequence[Hashable], *, may_skip: bool = False) -> None:
        self.column, self.level, self.known = column, level, tuple(known)
        offer = 'pass unknown="missing" to treat unseen levels as missing.' if may_skip else None
        super().__init__(
            f"column {column!r} has no level {level!r}. Known levels: {listing(known)}.",
            hint=" ".join(filter(None, [_did_you_mean(level, known), offer])) or None,
        )


class ImpossibleEvidenceError(InputError):
    """Evidence of probability zero cannot be conditioned on."""

    def __init__(self, evidence: str) -> None:
        self.evidence = evidence
        super().__init__(f"P({evidence}) = 0 under this model, so it cannot be conditioned on.")


class SettingError(InputError):
    """An algorithm or function was given a setting outside what it allows."""

    def __init__(self, owner: str, name: str, must: str, got: object) -> None:
        self.owner, self.name, self.must, self.got = owner, name, must, got
        super().__init__(f"{owner}: {name} must be {must}, got {_brief(got)}.")


class UnknownSettingError(InputError):
    """A setting was named that an algorithm does not have."""

    def __init__(self, owner: str, name: str, known: Sequence[str]) -> None:
        self.owner, self.name, self.known = owner, name, tuple(known)
        super().__init__(
            f"{owner} has no setting {name!r}. Its settings: {listing(known)}.", hint=_did_you_mean(name, known)
        )


class NotADistributionError(InputError):
    """An array that should hold probabilities, or Dirichlet concentrations, does not."""

    def __init__(self, what: str, problem: str) -> None:
        self.what, self.problem = what, problem
        super().__init__(f"{what}: {problem}.")


class MissingExtraError(TensorPMFError, ImportError):
    """Something was asked for that needs an optional library, and it is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"this needs {library}, which is not installed.", hint=f"pip install 'tensorpmf[{extra}]'.")


class NoRowsError(InputError):
    """A table to learn from has no rows."""

    def __init__(self, source: str = "the table") -> None:
        self.source = source
        super().__init__(f"{source} has no rows.")


class NoColumnsError(InputError):
    """A table to learn from has no columns."""

    def __init__(self, source: str = "the table") -> None:
        self.source = source
        super().__init__(f"{source} has no columns.")


class UnobservedColumnError(InputError):
    """Every cell of a column is missing, so nothing can be learnt about it."""

    def __init__(self, column: str) -> None:
        self.column = column
        super().__init__(f"column {column!r} has no observed value.", hint=f"leave it out with drop=[{column!r}].")


class DuplicateColumnError(InputError):
    """Two columns have the same name."""

    def __init__(self, column: str) -> None:
        self.column = column
        super().__init__(f"more than one column is called {column!r}.", hint="give every column a name of its own.")


class CodeRangeError(InputError):
    """A code is neither missing nor one of a column's levels."""

    def __init__(self, column: str, code: int, n_levels: int, missing: int) -> None:
        self.column, self.code, self.n_levels, self.missing = column, code, n_levels, missing
        super().__init__(
            f"column {column!r} has {n_levels} levels, so its codes are 0 to {n_levels - 1}, but a cell holds {code}.",
            hint="codes that start at 1, with 0 for missing, become these by subtracting 1."
            if missing == 0
            else f"missing cells are {missing}; for labels that are not codes use read_table.",
        )


class WeightError(InputError):
    """Row weights must be finite, not negative, one a row, and not all zero."""

    def __init__(self, problem: str, row: int | None = None) -> None:
        self.problem, self.row = problem, row
        super().__init__(f"row weights {problem}.", hint="give each row one finite weight >= 0, and some weight > 0.")


class DenseTableError(InputError):
    """A mostly-empty table is too large to be written out cell by cell."""

    def __init__(self, n_rows: int, n_columns: int, n_bytes: int, most: int) -> None:
        self.n_rows, self.n_columns, self.n_bytes, self.most = n_rows, n_columns, n_bytes, most
        super().__init__(
            f"all {n_rows} x {n_columns} cells take {n_bytes / 2**30:.1f} GiB, more than {most / 2**30:.1f}.",
            hint="use table.arrays(), the observed cells only, or some rows at a time: table.take(...).codes.",
        )


class TooManyCellsError(InputError):
    """A tensor has more cells than may be enumerated."""

    def __init__(self, n_cells: int, most: int) -> None:
        self.n_cells, self.most = n_cells, most
        super().__init__(
            f"there are {n_cells:.3g} cells, more than {most:.3g}."
            if n_cells < 10**300
            else f"there are more than 1e300 cells, more than {most:.3g}.",
            hint="take the marginal of a few columns first.",
        )


class TooManyLevelsError(InputError):
    """A column has so many levels, for so few rows, that nothing can be learnt about them."""

    def __init__(self, column: str, n_levels: int, n_rows: int, *, hint: str) -> None:
        self.column, self.n_levels, self.n_rows = column, n_levels, n_rows
        super().__init__(f"column {column!r} has {counted(n_levels, 'level')} for {counted(n_rows, 'row')}.", hint=hint)


class ContinuousColumnError(InputError):
    """A column of real numbers with many different values has to be cut into bins."""

    def __init__(self, column: str, n_distinct: int, most: int) -> None:
        self.column, self.n_distinct, self.most = column, n_distinct, most
        super().__init__(
            f"column {column!r} holds {n_distinct} different real numbers; more than {most} cannot be its levels.",
            hint=f"cut it into bins: bins={{{column!r}: 10}}, or bins=10 for all numeric columns.",
        )


class NonFiniteError(InputError):
    """A column holds an infinite number."""

    def __init__(self, column: str, value: float) -> None:
        self.column, self.value = column, value
        super().__init__(
            f"column {column!r} holds {value}, which is no finite number.",
            hint="treat it as missing with missing=[float('inf'), float('-inf')], or replace it first.",
        )


class NotNumericError(InputError):
    """Something that is not a number was to be used as one."""

    def __init__(self, column: str, value: Hashable, purpose: str) -> None:
        self.column, self.value, self.purpose = column, value, purpose
        super().__init__(
            f"column {column!r} holds {value!r}, which is no number, so it {purpose}.",
            hint=HINT_ON_COMMAS if has_comma(value) else None,
        )


class UnhashableLevelError(InputError):
    """A cell holds something that cannot be a label."""

    def __init__(self, column: str, value: object) -> None:
        self.column, self.value = column, value
        super().__init__(
            f"column {column!r} holds {value!r}, which is a {type(value).__name__} and cannot be a label.",
            hint="labels are single hashable values: texts, numbers, truth values, dates, tuples.",
        )


class LengthError(InputError):
    """Columns that belong together have different lengths."""

    def __init__(self, column: str, length: int, expected: int) -> None:
        self.column, self.length, self.expected = column, length, expected
        super().__init__(f"column {column!r} has {counted(length, 'value')}, but the others have {expected:,}.")


class DuplicateCellError(InputError):
    """Two (row, column, value) triples tell about the same cell."""

    def __init__(self, row: Hashable, column: Hashable, n_duplicates: int) -> None:
        self.row, self.column, self.n_duplicates = row, column, n_duplicates
        super().__init__(
            f"the cell in row {row!r}, column {column!r} is filled more than once "
            f"({counted(n_duplicates, 'triple')} too many).",
            hint="keep one triple for each cell, for example the last one.",
        )


class UnknownSourceError(InputError):
    """No table can be made of an object of this kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"no table can be made of an object of type {kind}.",
            hint="give the path of a file, a data frame (pandas, polars, Arrow), a NumPy array or a dict of columns.",
        )


class MissingFileError(InputError, FileNotFoundError):
    """There is no file at the path."""

    def __init__(self, path: str, nearby: Sequence[str] = ()) -> None:
        self.path, self.nearby = path, tuple(nearby)
        super().__init__(f"there is no file {path!r}.", hint=_did_you_mean(path, nearby))

    __str__ = Exception.__str__


class DirectoryError(InputError, IsADirectoryError):
    """The path is a directory, not a file."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path!r} is a directory.", hint="give the path of one file in it.")

    __str__ = Exception.__str__


class UnknownFormatError(InputError):
    """The ending of a file's name tells no format that can be read."""

    def __init__(self, path: str, known: Sequence[str]) -> None:
        self.path, self.known = path, tuple(known)
        super().__init__(f"the name of {path!r} does not tell its format. Known endings: {', '.join(known)}.")


class UnreadableFileError(InputError):
    """A file is not what the ending of its name says."""

    def __init__(self, path: str, kind: str, reason: str) -> None:
        self.path, self.kind, self.reason = path, kind, reason
        super().__init__(f"{path!r} cannot be read as {kind}: {reason}.")


class EmptyFileError(InputError):
    """A file holds nothing at all."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path!r} is empty.")


class EncodingError(InputError):
    """The bytes of a text file are not in the encoding expected."""

    def __init__(self, path: str, encoding: str) -> None:
        self.path, self.encoding = path, encoding
        super().__init__(
            f"{path!r} is not a text in {encoding}.", hint="say what it is in: encoding='latin-1', 'utf-16' or another."
        )


class RaggedLineError(InputError):
    """A line of a text file has more or fewer values than the others."""

    def __init__(self, path: str, line: int, n_values: int, n_columns: int, delimiter: str) -> None:
        self.path, self.line, self.n_values, self.n_columns = path, line, n_values, n_columns
        self.delimiter = delimiter
        super().__init__(
            f"line {line} of {path!r} has {counted(n_values, 'value')} where {counted(n_columns, 'column')} should be.",
            hint=f"values are taken to be separated by {delimiter!r}; say delimiter=... if they are not.",
        )


class SchemaMismatchError(InputError):
    """Two PMFs that should be about the same columns are not."""

    def __init__(self, column: str | None, problem: str) -> None:
        self.column, self.problem = column, problem
        where = "" if column is None else f" at {column!r}"
        super().__init__(
            f"the two PMFs are not about the same columns and levels{where}: {problem}.",
            hint="put columns in the same order with pmf.marginal([...]).",
        )


class ModelFileError(InputError):
    """A file is not a model that can be read."""

    def __init__(self, path: str, problem: str, *, hint: str | None = None) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}.", hint=hint)


class RowsFolderError(InputError):
    """A folder cannot hold the rows of a table."""

    def __init__(self, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(
            f"{path!r} cannot hold these rows: {problem}.", hint="give another folder, an empty one, or none at all."
        )


class ClusterError(TensorPMFError):
    """A cluster was lost, or cannot do what it is asked to."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the cluster does not answer: {problem}.")


class UnsavableError(InputError):
    """A value, the model itself or something in it, cannot be written to a model file."""

    def __init__(self, where: str, value: object) -> None:
        from dataclasses import is_dataclass

        self.where, self.kind = where, type(value).__qualname__
        what = f"{where}: {value!r} is a {self.kind}" if where else f"a {self.kind}"
        if where:
            hint = "labels may be texts, bytes, numbers, truth values, dates, times, timedeltas, UUIDs, intervals."
        else:
            hint = "save a fit's result, a PMF or a posterior."
        if is_dataclass(type(value)) and not type(value).__module__.startswith("tensorpmf."):
            hint = "name a class of yours to tensorpmf.pmf.document.register first; a result's pmf needs no algorithm."
        super().__init__(f"a model file cannot hold {what}.", hint=hint)


class MemoryLimitError(InputError):
    """What was asked for would take more memory than it may."""

    def __init__(self, owner: str, n_bytes: float, most: float, remedy: str) -> None:
        self.owner, self.n_bytes, self.most = owner, n_bytes, most
        super().__init__(
            f"{owner} would need {sized(n_bytes)} of memory, more than max_memory ({sized(most)}) allows.",
            hint=f"{remedy}, or raise max_memory.",
        )


class UnconnectedColumnsError(InputError):
    """Subsets of columns say nothing about how some columns hang together with the others."""

    def __init__(self, columns: Sequence[str], first: str) -> None:
        self.columns, self.first = tuple(columns), first
        super().__init__(
            f"the subsets do not connect all columns: no path through them joins {listing(columns, 5)} with {first!r}.",
            hint="every column must occur in a subset, and subsets must overlap.",
        )


class UnknownDatasetError(InputError):
    """A data set was named that there is none of."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(
            f"there is no data set {name!r}. Known data sets: {listing(known)}.", hint=_did_you_mean(name, known)
        )


class DownloadError(TensorPMFError):
    """The files of a data set could not be had."""

    def __init__(self, url: str, problem: str, name: str) -> None:
        self.url, self.problem, self.name = url, problem, name
        super().__init__(
            f"the data set {name!r} could not be read from {url}: {problem}.",
            hint=f"get the archive by other means, unpack it into <folder>/{name} and set TENSORPMF_DATA=<folder>.",
        )


class MissingCopyError(TensorPMFError):
    """There is no local copy of a file of a data set where one was said to be."""

    def __init__(self, path: str, name: str, url: str) -> None:
        self.path, self.name, self.url = path, name, url
        super().__init__(
            f"the data set {name!r} has no local copy: there is no file {path!r}.",
            hint=f"unpack {url} there, or unset TENSORPMF_DATA to have it downloaded.",
        )


class ChecksumError(TensorPMFError):
    """A file is not, byte for byte, what was published."""

    def __init__(self, path: str, expected: str, found: str) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(
            f"{path} is not the file that was published: its SHA-256 sum is {found}, not {expected}.",
            hint="delete it and try again.",
        )


class UnobservedTogetherError(InputError):
    """No row observes a column together with enough others."""

    def __init__(self, columns: Sequence[str], n_together: int) -> None:
        self.columns, self.n_together = tuple(columns), n_together
        super().__init__(
            f"no row observes {listing(columns, 5)} in any subset of {n_together} columns that is looked at.",
            hint="VB and EM use every observed cell"
            + ("; CTF of a lower order needs fewer columns observed together." if n_together > 2 else "."),
        )


class MarginalError(InputError):
    """Marginals that were handed in are none, or do not fit together."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the marginals cannot be used: {problem}.")


class NoLabelError(InputError):
    """A classifier was given rows none of which has a class."""

    def __init__(self) -> None:
        super().__init__("no row has a label, so there are no classes to learn.", hint="for rows alone use PMFDensity.")


class MixedLabelsError(InputError):
    """Some classes are texts and others are not, so they have no order."""

    def __init__(self, text: str, other: object) -> None:
        self.text, self.other = text, other
        super().__init__(
            f"classes must be all texts or all numbers, but one is {text!r} and another {other!r}.",
            hint="make texts of all: y.astype(str).",
        )


class NoMixtureError(InputError):
    """Something was asked that only a mixture can answer."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"a {kind} is no mixture, so its rows belong to no components.", hint="fit with VB, EM or CTF instead."
        )


@contextmanager
def hints_said(words: Sequence[tuple[str, str]]) -> Generator[None]:
    """Say hints in other words, for callers who do not have the arguments that these name.

    Parameters
    ----------
    words
        What is said, as a pattern, and what is said instead.

    Examples
    --------
    >>> with hints_said([("with drop=.*", "of the frame.")]):
    ...     raise UnobservedColumnError("age")
    Traceback (most recent call last):
    tensorpmf.errors.UnobservedColumnError: column 'age' has no observed value.
      Hint: leave it out of the frame.
    """
    try:
        yield
    except TensorPMFError as error:
        if error.hint is not None:
            TensorPMFError.__init__(error, error.sentence, hint=reworded(error.hint, words))
        raise


def reworded(text: str, words: Sequence[tuple[str, str]]) -> str:
    """Return a text in which patterns are replaced, one after the other."""
    for pattern, instead in words:
        text = re.sub(pattern, instead, text)
    return text


def listing(items: Iterable[Hashable], most: int = 10) -> str:
    """Return ``'a', 'b', 'c'``, cut short with a count when there are many."""
    items = list(items)
    shown = ", ".join(repr(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown}, … ({len(items)} in all)"


def counted(n: int, thing: str) -> str:
    """``1 column``, ``1,000 columns``, ``2 passes``."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}{'es' if thing.endswith('s') else 's'}"


def has_comma(label: object) -> bool:
    """Whether a label is a text that would be a number but for a comma: ``1,5`` or ``1,234.5``."""
    return isinstance(label, str) and re.fullmatch(r"[+-]?\d+(,\d+)+(\.\d*)?", label) is not None


def sized(n_bytes: float) -> str:
    """``1.50 GiB``."""
    units = (("EiB", 2**60), ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20))
    unit, size = next((each for each in units if n_bytes >= each[1]), ("kiB", 2**10))
    return f"{n_bytes / size:,.2f} {unit}"


def _brief(thing: object, most: int = 200) -> str:
    """Return how a thing is written, in one line, cut short when it is long."""
    text = " ".join(map(str.strip, repr(thing).splitlines()))
    return text if len(text) <= most else f"{text[:most]}…"


def _did_you_mean(wanted: object, known: Sequence[Hashable]) -> str | None:
    by_text = {str(item): item for item in known}
    close = get_close_matches(str(wanted), by_text, n=1)
    return f"did you mean {by_text[close[0]]!r}?" if close else None
