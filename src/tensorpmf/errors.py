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


def listing(items: Iterable[Hashable], most: int = 10) -> str:
    """``'a', 'b', 'c'``, cut short with a count when there are many."""
    items = list(items)
    shown = ", ".join(repr(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown}, … ({len(items)} in all)"


def _did_you_mean(wanted: Hashable, known: Sequence[Hashable]) -> str | None:
    by_text = {str(item): item for item in known}
    close = get_close_matches(str(wanted), by_text, n=1)
    return f"did you mean {by_text[close[0]]!r}?" if close else None
