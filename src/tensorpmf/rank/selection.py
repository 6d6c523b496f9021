"""What trying several ranks gives: every candidate, its scores, and the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import MissingExtraError, SettingError
from tensorpmf.fit.result import FitResult

if TYPE_CHECKING:
    import pandas as pd

_TERMINAL = 80
_MARK = "  ←"


@dataclass(frozen=True)
class Candidate:
    """One rank that was tried.

    Parameters
    ----------
    rank
        The rank.
    result
        The best fit of it.
    scores
        Its scores by criterion; lower is better.
    seconds
        How long its fits took.
    """

    rank: int
    result: FitResult
    scores: Mapping[str, float]
    seconds: float


@dataclass(frozen=True)
class RankSelection:
    """The ranks that were tried, and the one with the lowest score.

    Parameters
    ----------
    candidates
        Every rank that was tried, rising.
    criterion
        What decides.
    refitted
        The chosen rank fitted to all rows, if rows had been held out.
    """

    candidates: tuple[Candidate, ...]
    criterion: str
    refitted: FitResult | None = None

    @property
    def chosen(self) -> Candidate:
        """The candidate with the lowest score; of equals the simplest."""
        return min(self.candidates, key=lambda candidate: (candidate.scores[self.criterion], candidate.rank))

    @property
    def rank(self) -> int:
        """The chosen rank."""
        return self.chosen.rank

    @property
    def best(self) -> FitResult:
        """The fit of the chosen rank, to all rows if it was refitted."""
        return self.chosen.result if self.refitted is None else self.refitted

    def by(self, criterion: str) -> RankSelection:
        """Return what another of the criteria computed would have chosen; nothing is fitted again.

        Parameters
        ----------
        criterion
            One of those that :func:`select_rank` was given.
        """
        known = list(self.candidates[0].scores)
        if criterion not in known:
            raise SettingError("RankSelection", "criterion", f"one of {known}, which were computed", criterion)
        other = replace(self, criterion=criterion)
        return other if other.rank == self.rank else replace(other, refitted=None)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return one array a column, one entry a candidate: rank, scores, objective, converged, passes, seconds."""
        tried = self.candidates
        return {
            "rank": np.array([each.rank for each in tried]),
            **{name: np.array([each.scores[name] for each in tried]) for name in tried[0].scores},
            "objective": np.array([each.result.objective for each in tried]),
            "converged": np.array([each.result.converged for each in tried]),
            "passes": np.array([each.result.trace.passes[-1] for each in tried]),
            "seconds": np.array([each.seconds for each in tried]),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "pandas") from None
        return pd.DataFrame(self.table())

    def lines(self) -> list[str]:
        """Return titles and a line a candidate, the chosen one marked; columns beyond a terminal's follow below."""
        tried = self.candidates
        ranks = _aligned("rank", [str(each.rank) for each in tried])
        columns = [
            *(_aligned(name, [f"{each.scores[name]:,.7g}" for each in tried]) for name in tried[0].scores),
            _aligned("passes", [f"{each.result.trace.passes[-1]:,.4g}" for each in tried]),
            _aligned("seconds", [f"{each.seconds:,.2f}" for each in tried]),
        ]
        blocks = [ranks]
        for column in columns:
            if len(blocks[-1][0] + column[0] + _MARK) > _TERMINAL:
                blocks.append(ranks)
            blocks[-1] = [left + right for left, right in zip(blocks[-1], column, strict=True)]
        marks = ["", *(_MARK if each is self.chosen else "" for each in tried)]
        return [line + mark for block in blocks for line, mark in zip(block, marks, strict=True)]

    def __repr__(self) -> str:
        return "\n".join([f"RankSelection: rank {self.rank} by {self.criterion} (lower is better)", *self.lines()])


def _aligned(title: str, cells: Sequence[str]) -> list[str]:
    """Return a title and what stands below it, all as wide."""
    width = 2 + max(map(len, (title, *cells)))
    return [f"{cell:>{width}}" for cell in (title, *cells)]
