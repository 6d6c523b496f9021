"""The locks, the commands of the Makefile, and what a built package says of itself."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCKS = {path.stem: path.read_text("utf-8") for path in (ROOT / "requirements").glob("*.txt")}


def pins(lock: str) -> set[tuple[str, str]]:
    """Each (name, version) that a lock holds."""
    return set(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", lock, re.MULTILINE))


def asked_for(*extras: str) -> list[Requirement]:
    """Requirements of the package with some extras, the package's own extras followed."""
    found = [Requirement(text) for text in PROJECT["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, PROJECT["optional-dependencies"][extra]):
            found += asked_for(*sorted(requirement.extras)) if requirement.name == "tensorpmf" else [requirement]
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_hashes_and_names_no_address(name: str) -> None:
    assert not re.search(r"://|--index|--find-links|--trusted", LOCKS[name])
    entries = re.split(r"\n(?=\S)", LOCKS[name].strip())
    assert all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_what_the_project_asks_for(name: str) -> None:
    held = {canonicalize_name(pinned): version for pinned, version in pins(LOCKS[name])}
    assert {
        requirement.name for requirement in asked_for(name) if canonicalize_name(requirement.name) not in held
    } == set()
    assert all(held[canonicalize_name(each.name)] in each.specifier for each in asked_for(name))


def test_locks_agree() -> None:
    assert pins(LOCKS["demo"]) <= pins(LOCKS["dev"])
    assert {name for name, _ in pins(LOCKS["bench"]) - pins(LOCKS["dev"])} == {"llvmlite", "numba"}


def test_make_help_lists_the_commands() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^  make (\w+) +\S", listed, re.MULTILINE)
    assert {"help", "demo", "test", "check", "bench", "docs", "lock"} <= set(names)
    assert max(map(len, listed.splitlines())) <= 80


def test_continuous_integration_runs_the_tests_and_fails_with_them() -> None:
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", script], check=True)
    assert "set -euo pipefail" in script.read_text("utf-8")
    assert script.read_text("utf-8").rstrip().endswith("make test")


def test_the_installed_package_says_what_it_is() -> None:
    about = metadata.metadata("tensorpmf")
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    (program,) = (entry for entry in metadata.entry_points(group="console_scripts") if entry.name == "tensorpmf")
    assert callable(program.load())
