"""The regression guard: what it lets pass, what it flags, what it keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.guard import N_TRIES, Finding, Guard, committed


def taken(*values: float) -> Iterator[float]:
    """One value a call; asked once too often, it ends."""
    return iter(values)


@pytest.mark.parametrize(
    ("measured", "slower"),
    [(0.5, False), (1.0, False), (1.19, False), (1.21, True), (math.nan, True), (math.inf, True)],
)
def test_more_than_a_fifth_is_too_much(measured: float, slower: bool) -> None:
    assert Finding("pass", measured, 1.0).slower is slower


def test_a_new_measure_is_never_too_much() -> None:
    assert not Finding("pass", 1e9, None).slower


def test_how_much_may_be_said_for_each_measure() -> None:
    assert Finding("instructions", 1.06, 1.0, slack=0.05).slower


def test_a_measure_that_looks_worse_is_taken_again_and_the_best_counts() -> None:
    guard = Guard({"pass": 1.0})
    values = taken(3.0, 2.0, 1.1, 5.0)
    assert guard("pass", lambda: next(values)) == 1.1
    assert list(values) == [5.0]  # it stopped as soon as one was good enough
    assert not guard.slower


def test_a_measure_that_stays_worse_is_flagged() -> None:
    guard = Guard({"pass": 1.0, "fit": 1.0})
    values = taken(*[2.0, 1.5, 1.4, 1.6, 1.0][:N_TRIES])
    guard("pass", lambda: next(values))
    guard("fit", lambda: 0.9)
    assert [finding.name for finding in guard.slower] == ["pass"]
    report = guard.report().splitlines()
    assert report[-2].split() == ["pass", "1", "1.4", "+40.0%", "SLOWER"]
    assert report[-1].startswith("1 of 2 ")


def test_what_is_kept_is_read_back_and_what_was_not_measured_stays(tmp_path: Path) -> None:
    path = tmp_path / "guard.csv"
    assert committed(path) == {}
    first = Guard({})
    first("a, with a comma", lambda: 0.25)
    first("instructions", lambda: 1234567.0)
    first.keep(path)
    second = Guard(committed(path))
    second("a, with a comma", lambda: 0.2)
    second.keep(path)
    assert committed(path) == {"a, with a comma": 0.2, "instructions": 1234567.0}
