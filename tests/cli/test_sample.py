"""``tensorpmf sample`` draws as the model does."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tensorpmf as tp


def test_rows_are_the_librarys_as_csv(call: Callable, model: Path, result: tp.FitResult) -> None:
    done = call("sample", model, "-n", 20, "--seed", 3)
    drawn = result.pmf.sample(20, np.random.default_rng(3)).to_columns()
    header, *rows = csv.reader(io.StringIO(done.out))
    assert header == list(result.pmf.schema.names)
    assert dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)) == drawn


def test_what_is_given_holds_in_every_row(call: Callable, model: Path) -> None:
    evidence = ["-g", "species=setosa", "-g", "petal width=0.2", "-g", "petal width=1.2"]
    rows = call("sample", model, "-n", 50, *evidence, "--json").answer
    assert len(rows) == 50
    assert {row["species"] for row in rows} == {"setosa"}
    assert {row["petal width"] for row in rows} <= {"< 1", "[1, 1.7)"}
    assert list(rows[0]) == ["sepal length", "sepal width", "petal length", "petal width", "species"]


def test_no_rows_is_a_header_alone(call: Callable, model: Path) -> None:
    assert call("sample", model, "-n", 0).out.count("\n") == 1
