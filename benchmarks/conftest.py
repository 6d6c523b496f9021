"""One guard for all benchmarks of a session: it has the last word on whether `make bench` passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.guard import Guard, committed
from benchmarks.record import RESULTS

PATH = RESULTS / "guard.csv"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep", action="store_true", help="commit what was measured in place of comparing with it")


@pytest.fixture(scope="session")
def guard(request: pytest.FixtureRequest) -> Iterator[Guard]:
    """Takes measures; when all are taken, fails if one of them is worse than it may be."""
    keep = bool(request.config.getoption("--keep"))
    guard = Guard({} if keep else committed(PATH))
    yield guard
    if keep:
        Guard(committed(PATH), guard.findings).keep(PATH)
    print(f"\n\n{guard.report()}\n")
    if guard.slower:
        pytest.fail("slower than what was committed: " + ", ".join(each.name for each in guard.slower), pytrace=False)
