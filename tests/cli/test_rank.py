"""``tensorpmf rank`` is ``tp.select_rank`` of ``SQUAREM(EM())``, its table printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.cli.commands.rank import read_ranks


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> tp.RankSelection:
    from tensorpmf.learn.iris import iris

    return tp.select_rank(tp.read_table(iris(), bins=3), tp.SQUAREM(tp.EM()), [1, 3, 4], ["bic", "aic"], seed=2)


def test_the_choice_and_its_scores_are_the_librarys(
    call: Callable, csv: Path, tmp_path: Path, selection: tp.RankSelection
) -> None:
    path = tmp_path / "m.pmf"
    arguments = ["--bins", 3, "--seed", 2, "-r", "1,3,4", "-c", "bic", "-c", "aic", "-o", path, "--json"]
    told = call("rank", csv, *arguments).answer
    assert (told["rank"], told["criterion"], told["model"]) == (selection.rank, "bic", str(path))
    for criterion in ("bic", "aic"):
        assert [tried[criterion] for tried in told["candidates"]] == selection.table()[criterion].tolist()
    np.testing.assert_array_equal(tp.load(path).pmf.weights, selection.best.pmf.weights)


def test_every_rank_gets_a_line_and_the_chosen_one_a_mark(call: Callable, csv: Path) -> None:
    done = call("rank", csv, "--bins", 3, "--ranks", "2:4")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[1].split() == ["rank", "bic", "passes", "seconds"]
    assert [line.split()[0] for line in lines[2:5]] == ["2", "3", "4"]
    assert [line.endswith("←") for line in lines[2:5]] == [False, True, False]
    assert lines[-1] == "rank 3 by bic"


@pytest.mark.parametrize(("text", "ranks"), [("1:3", [1, 2, 3]), ("2,8,4", [2, 8, 4]), ("5", [5])])
def test_ranks_are_a_span_or_a_list(text: str, ranks: list[int]) -> None:
    assert read_ranks(text) == ranks


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--ranks", "1:x"], "--ranks '1:x' is no list of ranks. Hint: 1:10 and 2,4,8 are lists."),
        (["--ranks", "4:2"], "ranks must be at least one rank"),
        (["-c", "best"], "criterion must be one of"),
        (["--threads", "0"], "tensorpmf: --threads must be a whole number >= 1, got 0."),
        (["-o", "nowhere/m.pmf"], "there is no such folder"),
    ],
)
def test_mistakes_are_told_in_a_line(call: Callable, csv: Path, arguments: list[str], complaint: str) -> None:
    done = call("rank", csv, "--bins", 3, *arguments)
    assert done.code == 2
    assert complaint in done.err
    assert done.err.count("\n") == 1
