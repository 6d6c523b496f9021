"""``tensorpmf demo`` does the main job, and what it says is so."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest


def test_the_demo_finds_the_species_and_draws_a_picture(call: Callable, tmp_path: Path) -> None:
    told = call("demo", "-o", tmp_path / "iris.png", "--json").answer
    assert told["rank"] == 3
    assert told["n_right"] / told["n_held_out"] > 0.85
    assert (tmp_path / "iris.png").read_bytes().startswith(b"\x89PNG")
    for answer in told["answers"]:
        assert sum(cell["probability"] for cell in answer["cells"]) == pytest.approx(1)


def test_the_demo_in_words_fits_80_columns(call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("demo")
    assert done.code == 0
    assert "irises it has not seen" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert Path("iris.png").exists()


def test_without_matplotlib_only_the_picture_is_missing(call: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = call("demo")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "picture: none, for want of Matplotlib; pip install 'tensorpmf[plot]' brings it"
    assert call("demo", "--json").answer["picture"] is None
