"""Runs are complete, resumable and the same in any number of processes; summaries say what the rows say."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

NAMES = ["classification", "convergence", "observations", "outage", "recommendation", "sensitivity", "votes"]


def quiet(_done: int, _of: int) -> None:
    pass


def test_every_experiment_is_found_and_asks_a_question(harness: Any) -> None:
    assert [each.name for each in harness.experiments()] == NAMES
    assert all(len(each.question) > 20 for each in harness.experiments())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_every_profile_has_tasks_that_differ(harness: Any, name: str, profile: str) -> None:
    keys = [task.key for task in harness.Experiment(name).tasks(profile)]
    assert len(keys) == len(set(keys)) >= 1


def test_a_grid_is_every_combination(harness: Any) -> None:
    points = list(harness.grid({"a": [1, 2], "b": ["x", "y"], "c": 3, "trials": 7}))
    assert points == [{"a": a, "b": b, "c": 3} for a in (1, 2) for b in ("x", "y")]


def test_a_summary_is_what_the_rows_say(harness: Any) -> None:
    rows = [{"method": "A", "T": 10, "seed": 1, "kld": 1.0}, {"method": "A", "T": 10, "seed": 2, "kld": 3.0}]
    rows.append({"method": "B", "T": 10, "seed": 1, "kld": 5.0})
    first, second = harness.summarised(rows, ["method"], {"T", "seed"})
    assert first == {"method": "A", "measure": "kld", "mean": "2", "sd": "1.41421", "min": "1", "max": "3", "n": 2}
    assert (second["method"], second["mean"], second["sd"], second["n"]) == ("B", "5", "0", 1)


def test_a_run_goes_on_where_it_stopped(harness: Any, tmp_path: Path) -> None:
    experiment = harness.Experiment("convergence")
    experiment.run("quick", tmp_path, 1, quiet)
    rows = tmp_path / harness.ROWS
    whole, summary = rows.read_text(), (tmp_path / harness.SUMMARY).read_bytes()
    first, _ = whole.splitlines()
    rows.write_text(first + "\n" + whole.splitlines()[1][:50] + "\n")
    told: list[tuple[int, int]] = []
    experiment.run("quick", tmp_path, 1, lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]
    assert rows.read_text().startswith(first)
    assert (tmp_path / harness.SUMMARY).read_bytes() == summary


def test_processes_make_no_difference(harness: Any, tmp_path: Path) -> None:
    experiment = harness.Experiment("convergence")
    for n_processes in (1, 2):
        experiment.run("quick", tmp_path / str(n_processes), n_processes, quiet)
    one, two = ((tmp_path / n / harness.SUMMARY).read_bytes() for n in "12")
    assert one == two


def test_a_manifest_names_no_place(harness: Any, tmp_path: Path) -> None:
    harness.Experiment("convergence").run("quick", tmp_path, 1, quiet)
    manifest = json.loads((tmp_path / harness.MANIFEST).read_text())
    assert set(manifest) == {
        "experiment", "profile", "python", "libraries", "machine", "tasks", "seeds", "seconds_of_work",
    }  # fmt: skip
    assert set(manifest["machine"]) == {"architecture", "processors"}
    assert (tmp_path / harness.PICTURE).stat().st_size > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_committed_results_draw_the_committed_figure(harness: Any, name: str, tmp_path: Path) -> None:
    results = harness.Experiment(name).folder / "results"
    with (results / harness.SUMMARY).open(newline="") as file:
        assert next(csv.reader(file))[-6:] == ["measure", "mean", "sd", "min", "max", "n"]
    (tmp_path / harness.SUMMARY).write_bytes((results / harness.SUMMARY).read_bytes())
    harness.Experiment(name).draw(tmp_path)
    assert (tmp_path / harness.PICTURE).stat().st_size > 10_000
    assert (results / harness.PICTURE).exists()
    assert json.loads((results / harness.MANIFEST).read_text())["profile"] == "paper"
