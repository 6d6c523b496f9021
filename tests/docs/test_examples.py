"""What the README and the docs show is what happens: Python examples and console sessions are run."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tensorpmf.cli.app import app
from tensorpmf.learn.iris import iris

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page that are in one language."""
    return [code for found, code in FENCED.findall(page.read_text("utf-8")) if found == language]


def named(page: Path) -> str:
    """How a page is called in a test's name."""
    return str(page.relative_to(ROOT))


def steps(session: str) -> Iterator[tuple[str, str]]:
    """Each command of a console session, and what it prints."""
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, printed = step.partition("\n")
        yield command, printed


@pytest.fixture(autouse=True)
def in_a_folder_with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = iris()
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "iris.csv").write_text("\n".join(lines), "utf-8")
    (tmp_path / "flowers.csv").write_text("flower,petal width,species\nyours,1.7,\nmine,,setosa\n", "utf-8")
    tastes = {"ann": [5, 4, 1, 2], "bob": [1, 2, 5, 4]}
    ratings = [
        f"{user}{number or ''},{film},{stars}"
        for number in range(30)
        for user, ratings in tastes.items()
        for film, stars in zip(["Alien", "Brazil", "Casablanca", "Dracula"], ratings, strict=True)
        if number or film in ("Alien", "Casablanca")
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,film,stars", *ratings]), "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_python_examples(page: Path) -> None:
    text = "\n".join(blocks(page, "python"))
    examples = doctest.DocTestParser().get_doctest(text, {}, named(page), str(page), 0)
    assert examples.examples
    told: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=named)
def test_console_sessions(page: Path) -> None:
    checker = doctest.OutputChecker()
    for session in blocks(page, "console"):
        for command, expected in steps(session):
            program, *arguments = shlex.split(command)
            assert program == "tensorpmf"
            done = CliRunner().invoke(app, arguments, prog_name=program, catch_exceptions=False)
            assert checker.check_output(expected, done.output, FLAGS), f"$ {command}\n{done.output}"


def test_pages_have_both_kinds_of_examples() -> None:
    assert blocks(ROOT / "README.md", "python")
    assert blocks(ROOT / "docs/guide/command-line.md", "console")
