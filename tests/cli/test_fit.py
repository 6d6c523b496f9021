"""``tensorpmf fit`` is ``tp.fit`` of ``tp.read_table``, saved."""

from __future__ import annotations

import dataclasses
import gzip
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.cli.commands.fit import command
from tensorpmf.cli.table import read_bins
from tensorpmf.fit.contract import Status


def test_the_model_is_the_librarys(call: Callable, csv: Path, tmp_path: Path) -> None:
    done = call("fit", csv, "--bins", 3, "--seed", 4, "-o", tmp_path / "m.pmf")
    expected = tp.fit(tp.read_table(csv, bins=3), seed=4)
    saved = tp.load(tmp_path / "m.pmf")
    assert done.code == 0
    assert saved.pmf.schema == expected.pmf.schema
    np.testing.assert_array_equal(saved.posterior.weights, expected.posterior.weights)


def test_notes_are_in_options_also_in_json_and_one_pass_is_one(call: Callable, csv: Path, tmp_path: Path) -> None:
    arguments = ["fit", csv, "--bins", 3, "--max-rank", 2, "--max-iterations", 1, "-o", tmp_path / "m.pmf"]
    note = "all 2 components hold mass, so the rank may be larger; try --max-rank 4"
    assert call(*arguments, "--json").answer["notes"] == [note]
    printed = call(*arguments).out
    assert note in printed
    assert "· 1 pass, " in printed


def test_what_is_told_in_json(call: Callable, csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.pmf"
    told = call("fit", csv, "--bins", 3, "-o", path, "--json").answer
    saved = tp.load(path)
    assert told["rank"] == saved.rank
    assert told["objective"] == saved.objective
    assert told["n_passes"] == len(saved.trace)
    assert (told["n_rows"], told["n_columns"], told["outage"]) == (150, 5, 0.0)
    assert (told["status"], told["model"]) == ("converged", str(path))


def test_what_is_told_in_words(call: Callable, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(csv.parent)
    done = call("fit", "iris.csv", "--bins", 3)
    assert done.err == ""
    assert done.out.splitlines()[0] == "iris.csv: 150 rows × 5 columns, 0.0 % missing"
    assert done.out.splitlines()[-1] == "saved iris.pmf"
    assert Path("iris.pmf").exists()


@pytest.mark.parametrize(
    ("name", "model"), [("2024.01.csv", "2024.01.pmf"), ("a.b.csv.gz", "a.b.pmf"), ("A.CSV", "A.pmf")]
)
def test_the_model_is_called_like_the_data(
    call: Callable, csv: Path, monkeypatch: pytest.MonkeyPatch, name: str, model: str
) -> None:
    monkeypatch.chdir(csv.parent)
    raw = csv.read_bytes()
    Path(name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    assert call("fit", name, "--bins", 3).out.splitlines()[-1] == f"saved {model}"


def test_options_reach_the_reader(call: Callable, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id;a;b;n\n" + "1;x;none;2\n2;y;q;3\n3;x;r;1\n")
    options = ["--delimiter", ";", "--missing", "none", "--drop", "id", "--weights", "n", "--encoding", "latin-1"]
    told = call("fit", tmp_path / "t.csv", *options, "-o", tmp_path / "m.pmf", "--json").answer
    schema = tp.load(tmp_path / "m.pmf").pmf.schema
    assert schema.names == ("a", "b")
    assert schema["b"].levels == ("q", "r")
    assert told["outage"] == pytest.approx(1 / 6)


def test_a_fit_that_ran_out_of_passes_says_so_and_is_no_error(call: Callable, csv: Path, tmp_path: Path) -> None:
    done = call("fit", csv, "--bins", 3, "--max-iterations", 2, "-o", tmp_path / "m.pmf")
    assert done.code == 0
    assert "stopped at --max-iterations before converging; raise --max-iterations\n" in done.out


def test_an_interrupted_fit_is_saved_and_exits_130(
    call: Callable, csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tp.fit

    def interrupted(*arguments: object, **settings: object) -> tp.FitResult:
        return dataclasses.replace(whole(*arguments, **settings), status=Status.INTERRUPTED)

    monkeypatch.setattr(import_module("tensorpmf.fit.run"), "fit", interrupted)
    done = call("fit", csv, "--bins", 3, "-o", tmp_path / "m.pmf")
    assert done.code == 130
    assert tp.load(tmp_path / "m.pmf").status is Status.INTERRUPTED


@pytest.mark.parametrize(
    ("texts", "bins"),
    [
        ((), None),
        (("5",), 5),
        (("auto",), "auto"),
        (("width:5",), ("width", 5)),
        (("18,30.5",), [18.0, 30.5]),
        (("age=5", "income=width:3"), {"age": 5, "income": ("width", 3)}),
        (("a=b=5",), {"a=b": 5}),
    ],
)
def test_bins_as_text(texts: tuple[str, ...], bins: object) -> None:
    assert read_bins(texts) == bins


def test_defaults_are_the_librarys() -> None:
    library = {name: parameter.default for name, parameter in inspect.signature(tp.fit).parameters.items()}
    shared = [option for option in command.params if isinstance(option, click.Option) and option.name in library]
    assert {option.name for option in shared} == {"max_iterations", "n_starts", "seed"}
    assert all(option.default == library[option.name] for option in shared)
