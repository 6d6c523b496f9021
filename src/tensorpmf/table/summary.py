"""What a person sees of a table: how large it is, how much is missing, what its columns are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorpmf.table.schema import Column

_MOST_COLUMNS = 12
_MOST_LETTERS = 60

MOST_LETTERS_OF_A_NAME = 24
"""How much of a column's name is shown to people."""


def summary(columns: Sequence[Column], n_rows: int, n_observed: Sequence[int], notes: Sequence[str] = ()) -> str:
    """Return a few lines about a table.

    Parameters
    ----------
    columns
        Its columns.
    n_rows
        How many rows it has.
    n_observed
        How many rows each column is observed in.
    notes
        What else the first line tells.
    """
    size = f"{_counted(n_rows, 'row')} × {_counted(len(columns), 'column')}"
    first = ", ".join([f"CategoricalTable: {size}", _missing(sum(n_observed), n_rows * len(columns)), *notes])
    holes = [_missing(seen, n_rows) if seen < n_rows else "" for seen in n_observed]
    return "\n".join([first, *described(columns, holes)])


def described(columns: Sequence[Column], holes: Sequence[str] | None = None) -> list[str]:
    """Return a line about each of the first columns, and one that counts the others.

    Parameters
    ----------
    columns
        The columns.
    holes
        What else the line of each column tells.
    """
    shown = columns[:_MOST_COLUMNS]
    fields = [
        _padded([name_of(column) for column in shown]),
        _padded([_counted(column.n_levels, "level") for column in shown]),
        _padded([listed(column.levels, " < " if column.ordered else ", ") for column in shown]),
        ["" for _ in shown] if holes is None else holes[:_MOST_COLUMNS],
    ]
    lines = [f"  {'  '.join(line)}".rstrip() for line in zip(*fields, strict=True)]
    more = len(columns) - len(shown)
    return [*lines, *([f"  … and {_counted(more, 'more column')}"] if more else [])]


def listed(levels: Sequence[Hashable], separator: str) -> str:
    """Return levels as a text, the middle ones left out when there are many.

    Parameters
    ----------
    levels
        The levels.
    separator
        What stands between them.

    Examples
    --------
    >>> listed(("S", "M", "L"), " < "), listed(range(1900, 2000), " < ")
    ("'S' < 'M' < 'L'", '1900 < 1901 < 1902 < 1903 < 1904 < 1905 < 1906 < 1907 < … < 1999')
    """
    shown: list[str] = []
    room = _MOST_LETTERS
    for level in levels:
        shown.append(_short(level))
        room -= len(shown[-1]) + len(separator)
        if room < 0:
            return separator.join([*shown[:-1], "…", _short(levels[-1])])
    return separator.join(shown)


def printable(text: str) -> str:
    r"""Return a text without anything that would move the cursor, or worse.

    Parameters
    ----------
    text
        The text.

    Examples
    --------
    >>> print(printable("line\nbreak, \x1b[31mred"))
    line\nbreak, \x1b[31mred
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def shortened(text: str, most_letters: int) -> str:
    """Return a text, its end left out when it is long.

    Parameters
    ----------
    text
        The text.
    most_letters
        How long it may be.
    """
    return text if len(text) <= most_letters else text[: most_letters - 1] + "…"


def name_of(column: Column) -> str:
    """Return the name of a column as a line has room for it.

    Parameters
    ----------
    column
        The column.
    """
    return shortened(printable(column.name), MOST_LETTERS_OF_A_NAME)


def _short(level: Hashable) -> str:
    return shortened(repr(level), _MOST_LETTERS // 2)


def _padded(texts: Sequence[str]) -> list[str]:
    width = max(map(len, texts), default=0)
    return [text.ljust(width) for text in texts]


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _missing(n_observed: int, n: int) -> str:
    if n_observed == n:
        return "complete"
    percent = 100 * (1 - n_observed / n)
    rounded = "< 0.1" if percent < 0.1 else "> 99.9" if 99.9 < percent < 100 else f"{percent:.3g}"
    return f"{rounded} % missing"
