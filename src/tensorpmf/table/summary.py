"""What a person sees of a table: how large it is, how much is missing, what its columns are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorpmf.table.schema import Column

_MOST_COLUMNS = 12
_TERMINAL = 80

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
    """Return a line about each of the first columns, and one that counts the others; each fits a terminal.

    Parameters
    ----------
    columns
        The columns.
    holes
        What else the line of each column tells.
    """
    shown = columns[:_MOST_COLUMNS]
    names = _padded([name_of(column) for column in shown])
    counts = _padded([_counted(column.n_levels, "level") for column in shown])
    holes = _padded(["" for _ in shown] if holes is None else holes[:_MOST_COLUMNS])
    taken = [len(fields[0]) + 2 for fields in (names, counts, holes) if shown and fields[0]]
    levels = _padded([_levels(column, _TERMINAL - 2 - sum(taken)) for column in shown])
    lines = [f"  {'  '.join(line)}".rstrip() for line in zip(names, counts, levels, holes, strict=True)]
    more = len(columns) - len(shown)
    return [*lines, *([f"  … and {_counted(more, 'more column')}"] if more else [])]


def _levels(column: Column, room: int) -> str:
    return listed(column.levels, " < " if column.ordered else ", ", room)


def listed(levels: Sequence[Hashable], separator: str, room: int) -> str:
    """Return levels as a text, the middle ones left out, and long ones cut, where there is no room for them.

    Parameters
    ----------
    levels
        The levels.
    separator
        What stands between them.
    room
        How many letters there is room for.

    Examples
    --------
    >>> listed(("S", "M", "L"), " < ", 40), listed(range(1900, 2000), " < ", 40)
    ("'S' < 'M' < 'L'", '1900 < 1901 < 1902 < 1903 < … < 1999')
    """
    most = (room - 1) // 2 - len(separator)
    texts = [shortened(repr(level), most) for level in levels[:room]]
    if len(texts) == len(levels) and len(separator.join(texts)) <= room:
        return separator.join(texts)
    last = shortened(repr(levels[-1]), most)
    del texts[len(levels) - 2 :]  # something is left out
    while len(separator.join([*texts, "…", last])) > room:
        texts.pop()
    return separator.join([*texts, "…", last])


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
