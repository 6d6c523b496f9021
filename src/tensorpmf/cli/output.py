"""How answers look: JSON for programs, aligned text for people, progress on a terminal only."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unicodedata import east_asian_width

import click

from tensorpmf.errors import InputError
from tensorpmf.table.summary import printable, shortened

if TYPE_CHECKING:
    from tensorpmf.fit.run import Progress

BAR_WIDTH = 30
MOST_LINES = 24
MOST_LETTERS = 36
SECONDS_A_REFRESH = 0.1


def check_place(output: str | None, *read: str) -> None:
    """Complain, before any work is done, if there is no place to write to, or if a file that is read is there."""
    if output is None:
        return
    place = Path(output)
    if not place.resolve().parent.is_dir():
        raise InputError(f"nothing can be written to {output!r}: there is no such folder.")
    if any(place.exists() and path.exists() and place.samefile(path) for path in map(Path, read)):
        raise InputError(f"{output!r} would be written over what is read.", hint="choose another file to write to.")


def answer(as_json: bool, document: Any, text: str) -> None:
    """Print an answer on stdout, as the caller wants it."""
    click.echo(json.dumps(document, ensure_ascii=False, default=str) if as_json else text)


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], as_json: bool, output: str | None = None) -> None:
    """Print rows as CSV or as JSON records, on stdout or into a file; of what was computed CSV shows six digits."""
    with Path(output).open("w", encoding="utf-8", newline="") if output else nullcontext(sys.stdout) as stream:
        if as_json:
            records = [dict(zip(names, row, strict=True)) for row in rows]
            stream.write(json.dumps(records, ensure_ascii=False, default=str) + "\n")
        else:
            cells = ([f"{cell:.6g}" if isinstance(cell, Computed) else cell for cell in row] for row in rows)
            csv.writer(stream, lineterminator="\n").writerows([names, *cells])


class Computed(float):
    """A number that was computed, not read: a probability, an expected value."""


def bars(shares: Mapping[str, float]) -> str:
    """Return one line a label: the label, a bar as long as its share, the share in per cent.

    Examples
    --------
    >>> print(bars({"yes": 0.75, "no": 0.25}))
      yes  ██████████████████████▌           75.0 %
      no   ███████▌                          25.0 %
    """
    labels = [shortened(printable(label), MOST_LETTERS) for label in list(shares)[:MOST_LINES]]
    label_width = max(map(_width, labels))
    lines = [
        f"  {label}{' ' * (label_width - _width(label))}  {_bar(share):<{BAR_WIDTH}}  {100 * share:5.1f} %"
        for label, share in zip(labels, shares.values(), strict=False)
    ]
    left = len(shares) - len(lines)
    return "\n".join([*lines, *([f"  … {left} more"] if left else [])])


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes; Chinese letters and emoji take two each."""
    return sum(1 + (east_asian_width(letter) in "FW") for letter in text)


def _bar(share: float) -> str:
    eighths = round(8 * BAR_WIDTH * share)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def heading(text: str) -> str:
    """Return a line that stands out on a terminal."""
    return click.style(printable(text), bold=True)


def described(known: Mapping[str, object]) -> str:
    """Return what is known as text.

    Examples
    --------
    >>> described({"party": ["left", "right"], "income": ">= 100"})
    'party=left|right, income >= 100'
    """
    return ", ".join(_clause(name, label) for name, label in known.items())


def _clause(name: str, label: object) -> str:
    text = "|".join(map(str, cast("list[object]", label))) if isinstance(label, list) else str(label)
    return f"{name} {text}" if text.startswith(("<", ">")) else f"{name}={text}"


@contextmanager
def progress(words: Callable[[Any], str]) -> Generator[Callable[[Any], None] | None]:
    """Yield a callback that shows on stderr, in words, what it is told, or None where nobody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    shown = -SECONDS_A_REFRESH
    with Console(stderr=True).status("reading …") as status:

        def show(now: Any) -> None:
            nonlocal shown
            if time.monotonic() - shown >= SECONDS_A_REFRESH:
                shown = time.monotonic()
                status.update(words(now))

        yield show


def fitting(now: Progress) -> str:
    """Return how a fit gets on."""
    start = f"start {now.start + 1} of {now.n_starts}, " if now.n_starts > 1 else ""
    told = f"objective {now.info.objective:,.1f}, {now.info.rank} components"
    return f"fitting: {start}pass {now.iteration + 1}, {told}"
