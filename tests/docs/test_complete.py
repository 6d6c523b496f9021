"""Nothing public is undocumented: names, commands, links, pictures, versions."""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import FunctionType

import click
import pytest

import tensorpmf as tp
from tensorpmf.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
API = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
COMMANDS = {name: app.get_command(click.Context(app), name) for name in app.list_commands(click.Context(app))}
ROOMS = ["data", "learn", "scale"]
"""Rooms whose own names are public too."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]


@pytest.mark.parametrize("name", tp.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"^\.\. auto(?:class|function|exception):: (?:tensorpmf\.)?{name}$", API, re.MULTILINE)


@pytest.mark.parametrize("name", [*tp.__all__, *COMMANDS])
def test_every_public_name_and_command_is_in_the_changelog(name: str) -> None:
    assert re.search(rf"`(tensorpmf )?{name}[`(]", (ROOT / "CHANGELOG.md").read_text("utf-8"))


@pytest.mark.parametrize("name", tp.__all__)
def test_every_public_name_has_a_docstring_that_begins_with_one_sentence(name: str) -> None:
    doc = inspect.getdoc(getattr(tp, name))
    assert doc
    assert re.search(r"[.:`]$", doc.splitlines()[0])


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_of_a_room_is_in_the_reference(room: str) -> None:
    inside = vars(import_module(f"tensorpmf.{room}")).items()
    names = {name for name, thing in inside if isinstance(thing, type | FunctionType) and not name.startswith("_")}
    found = re.findall(r"^\.\. auto(?:class|function):: (?:[\w.]+\.)?(\w+)$", API, re.MULTILINE)
    assert names - set(found) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_json_and_a_section(name: str) -> None:
    command = COMMANDS[name]
    assert command is not None
    assert command.help
    assert any("--json" in parameter.opts for parameter in command.params)
    assert all(option.help for option in command.params if isinstance(option, click.Option))
    assert f"\n## {name}\n" in (DOCS / "guide/command-line.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\nversion: {project}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert tp.__version__ == project


def test_every_dependency_has_its_line_in_the_decisions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[<>=]", requirement)[0] for requirement in asked} - {"tensorpmf"}
    told = (DOCS / "decisions/0001-dependencies.md").read_text("utf-8")
    assert {name for name in names if not re.search(rf"\b{name.removeprefix('dask')}\b", told)} == set()
