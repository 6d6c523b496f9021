"""On a command line, what is wrong and what to do about it is said in options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click import Command

from tensorpmf.cli.commands import fit
from tensorpmf.cli.words import in_options

TABLES = {
    "ids.csv": "id,a\n" + "".join(f"u{ix},{ix % 2}\n" for ix in range(60)),
    "whole.csv": "n,a\n" + "".join(f"{ix},{ix % 2}\n" for ix in range(60)),
    "real.csv": "n,a\n" + "".join(f"{ix / 7},{ix % 2}\n" for ix in range(60)),
    "infinite.csv": "n,a\ninf,1\n2.5,2\n",
    "unknown.csv": "n,a\n1,\n2,\n",
    "latin.csv": "a,b\nü,1\n",
    "comma.csv": "n;a\n" + "".join(f"{ix},5;{ix % 2}\n" for ix in range(60)),
    "ragged.csv": "a,b\nx\n",
}
HINTS = [
    (["ids.csv"], "Hint: leave it out with --drop 'id'."),
    (["whole.csv"], "Hint: leave it out with --drop 'n', cut it with --bins 'n=10'."),
    (["real.csv"], "Hint: cut it into bins: --bins 'n=10', or --bins 10 for all numeric columns."),
    (["infinite.csv"], "Hint: treat it as missing with --missing inf --missing=-inf, or replace it first."),
    (["unknown.csv"], "Hint: leave it out with --drop 'a'."),
    (["latin.csv"], "Hint: say what it is in: --encoding latin-1, utf-16 or another."),
    (["comma.csv"], "Hint: numbers have a decimal point and no comma, as 1234.5."),
    (["comma.csv", "--bins", "n=5"], "Hint: numbers have a decimal point and no comma, as 1234.5."),
    (["ragged.csv"], "say --delimiter if they are not."),
    (["ids.csv", "--encoding", "klingon"], "tensorpmf: --encoding must be the name of an encoding, got 'klingon'."),
    (["whole.csv", "--bins", "n=0"], "a number of bins, quantile:number, width:number or rising finite edges, got 0."),
    (["whole.csv", "--bins", "width:0"], "width:number or rising finite edges, got width:0."),
    (["ids.csv", "--drop", "id", "--threads", "0"], "tensorpmf: --threads must be a whole number >= 1, got 0."),
    (["ids.csv", "--drop", "id", "--max-rank", "0"], "tensorpmf: --max-rank must be a whole number >= 1, got 0."),
]


@pytest.mark.parametrize(("arguments", "hint"), HINTS, ids=lambda each: str(each))
def test_hints_can_be_typed(
    arguments: list[str], hint: str, call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in TABLES.items():
        Path(name).write_text(text, "latin-1")
    done = call("fit", *arguments)
    assert done.code == 2
    assert hint in done.err
    assert done.err.endswith(hint + "\n")


def test_notes_name_options_that_there_are() -> None:
    assert isinstance(fit.command, Command)
    there = {name for each in fit.command.params for name in each.opts}
    note = in_options("started from 100 components; VB(max_rank=...) sets another number")
    assert note == "started from 100 components; --max-rank ... sets another number"
    assert {word for _, hint in HINTS for word in hint.split() if word.startswith("--")} <= {
        *there,
        "--missing=-inf,",
    }
