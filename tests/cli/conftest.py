"""A model on disk, and a way to run one command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tensorpmf as tp
from tensorpmf.cli.app import run
from tensorpmf.learn.iris import iris


@dataclass(frozen=True)
class Done:
    """What a command line left behind."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        """The JSON that was printed."""
        return json.loads(self.out)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run ``tensorpmf`` with some arguments."""

    def one(*arguments: object) -> Done:
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return one


@pytest.fixture(scope="session")
def result() -> tp.FitResult:
    """A fit of the irises."""
    return tp.fit(tp.read_table(iris(), bins=3))


@pytest.fixture(scope="session")
def model(result: tp.FitResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same fit, in a file."""
    path = tmp_path_factory.mktemp("models") / "iris.pmf"
    tp.save(result, path)
    return path


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """The irises as a CSV file."""
    columns = iris()
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines), "utf-8")
    return path
