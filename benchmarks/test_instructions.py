"""Instructions of the kernels against those committed, which hold for one version of the compiler."""

from __future__ import annotations

import pytest

from benchmarks import instructions
from benchmarks.guard import Guard

SLACK = 0.05


def test_instructions(guard: Guard) -> None:
    if reason := instructions.why_not():
        pytest.skip(f"instructions are not counted: {reason}")
    compiler = instructions.compiler()
    for name, number in instructions.count().items():
        guard(f"instructions, g++ {compiler}: {name}", lambda number=number: float(number), SLACK)  # type: ignore[misc]
