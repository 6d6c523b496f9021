"""``tensorpmf classify`` and ``impute`` answer about rows of a file as the model does."""

from __future__ import annotations

import csv as files
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tensorpmf as tp

HOLES = """flower,petal width,sepal length,species,petal length
007,1.7,,,
008,,5.10,?,1.40
009,0.2,4.9,setosa,
"""
KNOWN = [{"petal width": 1.7}, {"sepal length": 5.1, "petal length": 1.4}, {"petal width": 0.2, "sepal length": 4.9}]


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    """Flowers with holes, their columns in an order of their own, one of them not the model's."""
    path = tmp_path / "holes.csv"
    path.write_text(HOLES)
    return path


def records(printed: str) -> list[dict[str, str]]:
    return list(files.DictReader(io.StringIO(printed)))


def test_the_likeliest_level_of_each_row(call: Callable, model: Path, holes: Path, result: tp.FitResult) -> None:
    expected = result.pmf.conditional("species", KNOWN)
    answer = call("classify", model, holes, "--target", "species", "--json").answer
    assert [row["species"] for row in answer] == ["virginica", "setosa", "setosa"]
    np.testing.assert_allclose([row["probability"] for row in answer], expected.max(axis=1), rtol=1e-12)
    printed = records(call("classify", model, holes, "--target", "species").out)
    assert [row["species"] for row in printed] == [row["species"] for row in answer]
    assert [row["probability"] for row in printed] == [f"{row['probability']:.6g}" for row in answer]


def test_the_probability_of_every_level(call: Callable, model: Path, holes: Path, result: tp.FitResult) -> None:
    table = call("classify", model, holes, "-t", "species", "--proba", "--json").answer
    assert [list(row) for row in table] == [["setosa", "versicolor", "virginica"]] * 3
    np.testing.assert_allclose([[*row.values()] for row in table], result.pmf.conditional("species", KNOWN), rtol=1e-12)


def test_rows_come_from_any_file_and_answers_go_to_any(
    call: Callable, model: Path, holes: Path, tmp_path: Path
) -> None:
    printed = call("classify", model, holes, "-t", "species").out
    pl.read_csv(holes, null_values="?", schema_overrides={"sepal length": float}).write_parquet(tmp_path / "h.parquet")
    assert call("classify", model, tmp_path / "h.parquet", "-t", "species").out == printed
    done = call("classify", model, holes, "-t", "species", "-o", tmp_path / "out.csv")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "out.csv").read_text("utf-8") == printed
    holes.write_text(HOLES.replace(",", ";").replace("?", "none"))
    assert call("classify", model, holes, "-t", "species", "--missing", "", "--missing", "none").out == printed


def test_unknown_labels_may_be_missing(call: Callable, model: Path, holes: Path) -> None:
    expected = call("classify", model, holes, "-t", "petal width").out
    holes.write_text(HOLES.replace("?", "rose"))
    assert call("classify", model, holes, "-t", "petal width").code == 2
    assert call("classify", model, holes, "-t", "petal width", "--unknown", "missing").out == expected


@pytest.mark.parametrize("method", ["most-likely", "expected", "sample"])
def test_a_label_that_is_not_known_is_no_hole(method: str, call: Callable, model: Path, holes: Path) -> None:
    asked = ("impute", model, holes, "--method", method, "--unknown", "missing")
    expected = records(call(*asked).out)
    holes.write_text(HOLES.replace(",setosa,", ",rose,"))
    assert [row["species"] for row in records(call(*asked).out)] == [*(row["species"] for row in expected[:2]), "rose"]


def filled(result: tp.FitResult, value: Callable[[tp.Column, Any], object]) -> dict[tuple[str, str], object]:
    """What stands in the holes, by flower and column, asked of the model cell by cell."""
    asked = {"007": ["sepal length", "species", "petal length"], "008": ["petal width", "species"]}
    asked["009"] = ["petal length"]
    known = {"007": KNOWN[0], "008": KNOWN[1], "009": KNOWN[2] | {"species": "setosa"}}
    schema = result.pmf.schema
    return {
        (flower, name): value(schema[name], result.pmf.given(known[flower]).marginal(name))
        for flower, names in asked.items()
        for name in names
    }


def mode(column: tp.Column, pmf: tp.PMF) -> object:
    level = pmf.most_likely(column.name)
    return level if column.centres is None else f"{column.centres[column.code(level)]:.6g}"


def mean(column: tp.Column, pmf: tp.PMF) -> object:
    return mode(column, pmf) if column.centres is None else f"{pmf.expect(column.name):.6g}"


@pytest.mark.parametrize(("method", "value"), [("most-likely", mode), ("expected", mean)])
def test_holes_are_filled_and_nothing_else(
    method: str, value: Any, call: Callable, model: Path, holes: Path, result: tp.FitResult
) -> None:
    before, after = records(HOLES), records(call("impute", model, holes, "--method", method).out)
    expected = filled(result, value)
    for old, new in zip(before, after, strict=True):
        assert list(new) == list(old)
        for name in old:
            assert new[name] == expected.get((old["flower"], name), old[name])


@pytest.mark.parametrize("method", ["most-likely", "expected", "sample"])
def test_a_file_without_holes_stays_as_it_is(method: str, call: Callable, model: Path, csv: Path) -> None:
    assert call("impute", model, csv, "--method", method).out == csv.read_text("utf-8") + "\n"


def test_drawn_cells_of_a_row_hang_together(call: Callable, model: Path, tmp_path: Path, result: tp.FitResult) -> None:
    (tmp_path / "empty.csv").write_text("species,petal width\n" + "?,?\n" * 4000)
    drawn = records(call("impute", model, tmp_path / "empty.csv", "--method", "sample", "--seed", 1).out)
    widths = [f"{centre:.6g}" for centre in result.pmf.schema["petal width"].centres or ()]
    pairs = [(row["species"], row["petal width"]) for row in drawn]
    told = [[pairs.count((s, w)) / 4000 for w in widths] for s in result.pmf.schema["species"].levels]
    np.testing.assert_allclose(told, result.pmf.marginal(["species", "petal width"]).to_dense(), atol=0.04)
    again = call("impute", model, tmp_path / "empty.csv", "--method", "sample", "--seed", 1).out
    assert records(again) == drawn
    assert records(call("impute", model, tmp_path / "empty.csv", "--method", "sample").out) != drawn
