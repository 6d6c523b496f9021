"""``tensorpmf query`` answers as the model does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.cli.model import read_given
from tensorpmf.cli.output import MOST_LINES, bars, heading


def shares(cells: list[dict[str, object]], column: str) -> dict[object, object]:
    return {cell[column]: cell["probability"] for cell in cells}


def test_a_conditional_distribution(call: Callable, model: Path, result: tp.FitResult) -> None:
    answer = call("query", model, "--given", "petal width=1.7", "--marginal", "species", "--json").answer
    expected = result.pmf.given({"petal width": 1.7}).marginal("species").to_dense()
    ((marginal),) = answer["marginals"]
    assert answer["given"] == {"petal width": ">= 1.7"}
    assert marginal["columns"] == ["species"]
    assert list(shares(marginal["cells"], "species")) == ["virginica", "versicolor", "setosa"]
    np.testing.assert_allclose(sorted(shares(marginal["cells"], "species").values()), sorted(expected), rtol=1e-12)


def test_the_same_column_twice_is_either_level(call: Callable, model: Path, result: tp.FitResult) -> None:
    either = ["-g", "species=setosa", "-g", "species=virginica"]
    answer = call("query", model, *either, "-m", "petal width", "--json").answer
    expected = result.pmf.given(species=["setosa", "virginica"]).marginal("petal width").to_dense()
    cells = answer["marginals"][0]["cells"]
    assert list(shares(cells, "petal width")) == list(result.pmf.schema["petal width"].levels)  # in their own order
    np.testing.assert_allclose(list(shares(cells, "petal width").values()), expected, rtol=1e-12)


def test_two_columns_are_asked_for_jointly_likely_cells_first(
    call: Callable, model: Path, result: tp.FitResult
) -> None:
    (marginal,) = call("query", model, "-m", "species", "-m", "petal width", "--json").answer["marginals"]
    told = [cell["probability"] for cell in marginal["cells"]]
    assert told == sorted(told, reverse=True)
    joint = result.pmf.marginal(["species", "petal width"]).prob(
        [{name: cell[name] for name in ("species", "petal width")} for cell in marginal["cells"]]
    )
    np.testing.assert_allclose(told, joint, rtol=1e-12)


def test_without_a_question_every_other_column_is_shown(call: Callable, model: Path) -> None:
    done = call("query", model, "-g", "species=setosa")
    headings = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert headings == [
        f"{name} given species=setosa" for name in ("sepal length", "sepal width", "petal length", "petal width")
    ]
    assert max(map(len, done.out.splitlines())) <= 80


def test_an_expected_value(call: Callable, model: Path, result: tp.FitResult) -> None:
    expected = result.pmf.given(species="virginica").expect("petal length")
    question = ["query", model, "-g", "species=virginica", "-e", "petal length"]
    assert call(*question, "--json").answer["expect"] == {"petal length": pytest.approx(expected, rel=1e-12)}
    assert call(*question).out == f"petal length given species=virginica: {expected:.6g} on average\n"


@pytest.mark.parametrize("kind", ["pmf", "posterior"])
def test_a_model_may_be_saved_without_its_result(
    kind: str, call: Callable, model: Path, result: tp.FitResult, tmp_path: Path
) -> None:
    tp.save(getattr(result, kind), tmp_path / "part.pmf")
    question = ["-m", "species", "--json"]
    assert call("query", tmp_path / "part.pmf", *question).answer == call("query", model, *question).answer


def test_names_and_labels_may_hold_equals_signs() -> None:
    schema = tp.Schema((tp.Column("a=b", ("x=y", "z")), tp.Column("n", (1, 2))))
    assert read_given(schema, ["a=b=x=y", "n=2"]) == {"a=b": "x=y", "n": 2}


def test_long_answers_are_cut_short_with_a_count() -> None:
    lines = bars({f"level {ix}": 1 / 100 for ix in range(100)}).splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"  … {100 - MOST_LINES} more"


def test_labels_cannot_move_the_cursor_nor_fill_the_line() -> None:
    lines = bars({"two\nlines": 0.5, "\x1b[2J": 0.25, "中文": 0.125, "long " * 20: 0.125}).splitlines()
    assert [line.split("  ")[1] for line in lines] == ["two\\nlines", "\\x1b[2J", "中文", ("long " * 20)[:35] + "…"]
    assert max(map(len, lines)) <= 80
    assert lines[2].index("█") == lines[0].index("█") - 2  # two letters that are twice as wide
    assert heading("a\x07b").count("a\\x07b") == 1


def test_one_question_at_a_time(call: Callable, model: Path) -> None:
    done = call("query", model, "--marginal", "species", "--expect", "petal width")
    assert (done.code, done.out) == (2, "")
    assert done.err == "tensorpmf: --marginal and --expect are two questions; ask one at a time.\n"


def test_what_is_given_is_no_question(call: Callable, model: Path) -> None:
    for question in ("--marginal", "--expect"):
        done = call("query", model, "--given", "petal width=1.7", question, "petal width")
        assert (done.code, done.err) == (
            2,
            "tensorpmf: column 'petal width' is given, so there is nothing left to ask about it.\n",
        )
    either = ["-g", "species=setosa", "-g", "species=virginica"]
    assert call("query", model, *either, "--marginal", "species").code == 0


def test_when_all_is_given_no_python_is_hinted_at(call: Callable, model: Path) -> None:
    schema = tp.load(model).pmf.schema
    given = [f"--given={column.name}={column.levels[0]}" for column in schema.columns]
    done = call("query", model, *given)
    assert (done.code, done.err) == (2, "tensorpmf: every column is known, so nothing is left to ask.\n")
