"""Which kernels are used: the best there are, those asked for, or their twins."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tensorpmf.errors import SettingError
from tensorpmf.kernels import dirichlet, estep, isa, reference
from tensorpmf.kernels.estep import LogTables
from tensorpmf.kernels.rows import Rows

SHOW = "from tensorpmf.kernels import isa; print(isa.current())"


def python(code: str, asked: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TENSORPMF_ISA": asked}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_the_baseline_runs_everywhere_and_the_best_comes_first() -> None:
    assert isa.available()[-1] == "baseline"
    assert list(isa.available()) == [name for name in ("avx512", "avx2", "baseline") if name in isa.available()]


@pytest.mark.parametrize("name", [*isa.available(), "reference"])
def test_the_environment_chooses(name: str) -> None:
    assert python(SHOW, name).stdout.strip() == name


def test_an_instruction_set_that_is_not_there_is_refused() -> None:
    asked = python(SHOW, "sse9")
    assert asked.returncode != 0
    assert "TENSORPMF_ISA: the instruction set must be one this machine has (" in asked.stderr
    with pytest.raises(SettingError, match="got 'sse9'"), isa.using("sse9"):
        pass


def test_a_choice_lasts_as_long_as_it_is_asked_for() -> None:
    before = isa.current()
    with isa.using("baseline"):
        assert isa.current() == "baseline"
        with isa.using("reference"):
            assert isa.current() == "reference"
        assert isa.current() == "baseline"
    assert isa.current() == before


def test_twins_stand_in_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, tables = Rows.from_codes([[0]], [2]), LogTables(np.zeros(1), np.log([[0.25], [0.75]]))
    alpha, offsets, prior = np.ones((2, 1)), np.array([0, 2]), np.ones(2)
    for module, name, arguments in (
        (estep, "accumulate", (rows, tables)),
        (estep, "log_normaliser", (rows, tables)),
        (estep, "responsibilities", (rows, tables)),
        (dirichlet, "expected_log_stacked", (alpha, offsets, prior)),
    ):
        monkeypatch.setattr(reference, name, lambda *_, name=name: f"the twin of {name}")
        assert getattr(module, name)(*arguments) != f"the twin of {name}"
        with isa.using("reference"):
            assert getattr(module, name)(*arguments) == f"the twin of {name}"
