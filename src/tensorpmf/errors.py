"""Exceptions. Each is given facts and writes its own sentence, and a hint where there is one.

A caller's mistake raises a :class:`TensorPMFError`; an impossible state inside is an ``assert``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches


class TensorPMFError(Exception):
    """Base of every error this library raises on purpose."""

    def __init__(self, sentence: str, *, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(sentence if hint is None else f"{sentence}\n  Hint: {hint}")


class InputError(TensorPMFError, ValueError):
    """What the caller handed over cannot be used as it is."""


class UnknownColumnError(InputError, KeyError):
    """A column was named that the schema does not have."""

    def __init__(self, column: Hashable, known: Sequence[str]) -> None:
        self.column, self.known = column, tuple(known)
        super().__init__(
            f"there is no column {column!r}. Known columns: {listing(known)}.",
            hint=_did_you_mean(column, known),
        )

    __str__ = Exception.__str__


class UnknownLevelError(InputError):
    """A label was used that a column does not have among its levels."""

    def __init__(self, column: str, level: Hashable, known: Sequence[Hashable]) -> None:
        self.column, self.level, self.known = column, level, tuple(known)
        super().__init__(
            f"column {column!r} has no level {level!r}. Known levels: {listing(known)}.",
            hint=_did_you_mean(level, known)
            or 'pass unknown="missing" to treat unseen levels as missing.',
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
        super().__init__(f"{owner}: {name} must be {must}, got {got!r}.")


class NotADistributionError(InputError):
    """An array that should hold probabilities, or Dirichlet concentrations, does not."""

    def __init__(self, what: str, problem: str) -> None:
        self.what, self.problem = what, problem
        super().__init__(f"{what}: {problem}.")


class MissingExtraError(TensorPMFError, ImportError):
    """Something was asked for that needs an optional library, and it is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(
            f"this needs {library}, which is not installed.", hint=f"pip install 'tensorpmf[{extra}]'."
        )


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
        super().__init__(
            f"column {column!r} has no observed value.", hint=f"leave it out with drop=[{column!r}]."
        )


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
            f"column {column!r} has {n_levels} levels, so its codes run from 0 to {n_levels - 1}, but a cell holds {code}.",
            hint=f"missing cells are {missing}; for labels that are not codes use read_table.",
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
            f"writing out all {n_rows} x {n_columns} cells takes {n_bytes / 2**30:.1f} GiB, more than {most / 2**30:.1f}.",
            hint="use table.arrays(), which holds the observed cells only, or take some rows first: table.take(...).codes.",
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


def listing(items: Iterable[Hashable], most: int = 10) -> str:
    """``'a', 'b', 'c'``, cut short with a count when there are many."""
    items = list(items)
    shown = ", ".join(repr(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown}, … ({len(items)} in all)"


def _did_you_mean(wanted: Hashable, known: Sequence[Hashable]) -> str | None:
    by_text = {str(item): item for item in known}
    close = get_close_matches(str(wanted), by_text, n=1)
    return f"did you mean {by_text[close[0]]!r}?" if close else None
