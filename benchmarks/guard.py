"""The regression guard: what was measured against what was committed. Lower is better, in everything it is shown.

It compares ratios of one run, which mean the same on every machine of a kind, and counts of instructions and passes,
which do not depend on the neighbours at all; never seconds. ``make bench BENCH=--keep`` commits what it measured.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SLACK = 0.20
"""A measure may be worse by this fraction."""

N_TRIES = 4
"""A measure that looks worse is taken again so often, because a busy neighbour looks just like a slower kernel."""


@dataclass(frozen=True)
class Finding:
    """One measure, and what it was when it was committed (``None`` when it is new)."""

    name: str
    measured: float
    committed: float | None
    slack: float = SLACK

    @property
    def change(self) -> float:
        """By which fraction the measure grew."""
        return self.measured / self.committed - 1.0 if self.committed else 0.0

    @property
    def slower(self) -> bool:
        """Whether it grew by more than it may; a measure that is not a number has grown."""
        return not self.change <= self.slack

    def __str__(self) -> str:
        committed = "new" if self.committed is None else f"{self.committed:.4g}"
        verdict = "SLOWER" if self.slower else ""
        return f"{self.name:72s} {committed:>10s} {self.measured:10.4g} {self.change:+8.1%}  {verdict}".rstrip()


@dataclass
class Guard:
    """Takes measures and compares them with those committed."""

    committed: Mapping[str, float]
    findings: list[Finding] = field(default_factory=list)

    def __call__(self, name: str, measure: Callable[[], float], slack: float = SLACK) -> float:
        """Take a measure, again if it looks worse than what was committed; return the best and remember it."""
        finding = Finding(name, measure(), self.committed.get(name), slack)
        for _ in range(N_TRIES - 1):
            if not finding.slower:
                break
            finding = min(finding, Finding(name, measure(), finding.committed, slack), key=lambda each: each.measured)
        self.findings.append(finding)
        return finding.measured

    @property
    def slower(self) -> list[Finding]:
        """What is worse than it may be."""
        return [finding for finding in self.findings if finding.slower]

    def report(self) -> str:
        """Return a table of everything measured, what is worse last."""
        lines = [f"{'measure (lower is better)':72s} {'committed':>10s} {'now':>10s} {'change':>8s}"]
        lines += [str(finding) for finding in sorted(self.findings, key=lambda finding: finding.slower)]
        return "\n".join([*lines, f"{len(self.slower)} of {len(self.findings)} measures are worse than they may be"])

    def keep(self, path: Path) -> None:
        """Commit what was measured; measures that were not taken stay as they were."""
        kept = {**self.committed, **{finding.name: finding.measured for finding in self.findings}}
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["measure", "value"])
            out.writerows([name, f"{value:.4g}" if value < 1e4 else f"{value:.0f}"] for name, value in kept.items())


def committed(path: Path) -> dict[str, float]:
    """Return the measures that were committed, none where there are none yet."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["measure"]: float(row["value"]) for row in csv.DictReader(file)}
