"""``tensorpmf reproduce``: lists, runs, draws, and says what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensorpmf.cli.app import run
from tensorpmf.cli.commands.reproduce import found_harness
from tensorpmf.errors import InputError


def test_without_a_name_it_lists_the_experiments(harness: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {each.name: each.question for each in harness.experiments()}
    assert run(["reproduce"]) == 0
    assert "convergence" in capsys.readouterr().out


def test_a_run_leaves_a_summary_a_manifest_and_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "convergence", "--into", str(tmp_path), "--processes", "1", "--json"]
    assert run(command) == 0
    files = json.loads(capsys.readouterr().out)
    assert set(files) == {"summary", "manifest", "figure"}
    assert all(Path(file).is_file() for file in files.values())
    Path(files["figure"]).unlink()
    assert run([*command, "--draw"]) == 0
    assert Path(files["figure"]).is_file()


@pytest.mark.parametrize("arguments", [["conversion"], ["convergence", "--profile", "slow"]])
def test_what_is_not_there_is_named_with_what_is(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", *arguments]) == 2
    told = capsys.readouterr().err
    assert arguments[-1] in told
    assert "quick" in told or "convergence" in told


def test_outside_a_checkout_it_says_where_experiments_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not of the installed package"):
        found_harness(tmp_path)
