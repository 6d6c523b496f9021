"""Matplotlib pictures of a fitted model: how much each component weighs, what it looks like, how the fit got there.

Each function draws on the axes it is given, or on a new figure, and touches no global state of Matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from tensorpmf.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tensorpmf.fit.result import FitResult
    from tensorpmf.pmf.lowrank import LowRankPMF
    from tensorpmf.table.schema import Schema

INK, MUTED, WARM = "#24476b", "#8a94a0", "#d1603d"
"""Dark blue for what is shown, grey for what frames it, orange for the second thing shown."""

MOST_LINES = 80
"""How many lines of profiles are drawn without being asked for by name."""

MOST_LABELLED = 12
"""How many components are labelled one by one."""


def overview(result: FitResult, title: str = "") -> Figure:
    """Draw weights, profiles and trace of a fit on one figure.

    Parameters
    ----------
    result
        A fit whose model is a :class:`LowRankPMF`.
    title
        What to write above.
    """
    pmf = cast("LowRankPMF", result.pmf)
    height = max(5.5, 1.4 + _height(pmf.schema, that_fit(pmf.schema)))
    figure = _figure(10.5, height)
    spare = [height / 8 - 1] if height > 9 else []
    grid = figure.add_gridspec(3 + len(spare), 2, width_ratios=(1, 1.35), height_ratios=[0.36, 0.36, 0.28, *spare])
    weights(pmf, figure.add_subplot(grid[0, 0]))
    elbo = figure.add_subplot(grid[1, 0])
    trace(result, elbo, figure.add_subplot(grid[2, 0], sharex=elbo))
    profiles(pmf, axes=figure.add_subplot(grid[:, 1]))
    if title:
        figure.suptitle(title, x=0.02, ha="left", fontsize=13, fontweight="bold", color=INK)
    return figure


def weights(pmf: LowRankPMF, axes: Axes | None = None) -> Axes:
    """Draw the weight of every component as a stem, heaviest first.

    Parameters
    ----------
    pmf
        The model.
    axes
        Where to draw; a new figure by default.
    """
    axes = _figure(5, 3).add_subplot() if axes is None else axes
    heights = np.sort(pmf.weights)[::-1]
    place = np.arange(1, pmf.rank + 1)
    axes.vlines(place, 0, heights, color=INK, linewidth=2.2)
    axes.plot(place, heights, "o", color=INK, markersize=7, clip_on=False)
    if pmf.rank <= MOST_LABELLED:
        for x, height in zip(place, heights, strict=True):
            axes.annotate(_percent(height), (x, height), (0, 8), textcoords="offset points", ha="center", color=INK)
    axes.set(xlim=(0.4, pmf.rank + 0.6), ylim=(0, 1.22 * heights[0]), xlabel="component")
    axes.set_xticks(place[:: max(1, pmf.rank // MOST_LABELLED)])
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(_in_percent)
    _frame(axes, f"Weights of the {pmf.rank} components" if pmf.rank > 1 else "Weight of the only component")
    return axes


def profiles(pmf: LowRankPMF, columns: Sequence[str] | None = None, axes: Axes | None = None) -> Axes:
    """Draw P(level | component) as a heat map: one line a level, one column a component, heaviest first.

    Parameters
    ----------
    pmf
        The model.
    columns
        Names of the columns to show; by default as many as can be read on one page.
    axes
        Where to draw; a new figure by default.
    """
    names = that_fit(pmf.schema) if columns is None else list(columns)
    axes = _figure(6, 1 + _height(pmf.schema, names)).add_subplot() if axes is None else axes
    order = np.argsort(-pmf.weights, kind="stable")
    top, tick_at, tick_labels = 0.0, list[float](), list[str]()
    for name in names:
        column, shown = pmf.schema[name], pmf.factors[pmf.schema.ix(name)][:, order]
        edges = top + 1 + np.arange(column.n_levels + 1)
        axes.pcolormesh(np.arange(pmf.rank + 1) + 0.5, edges, shown, cmap="Blues", vmin=0, vmax=1,
                        edgecolor="white", linewidth=0.8 if pmf.rank <= 40 else 0)  # fmt: skip
        axes.annotate(name, (0, top + 0.55), (-6, 0), xycoords=("axes fraction", "data"),
                      textcoords="offset points", ha="right", va="center", fontweight="bold", color=INK)  # fmt: skip
        tick_at.extend(edges[:-1] + 0.5)
        tick_labels.extend(str(level) for level in column.levels)
        if pmf.rank <= MOST_LABELLED:
            _write_in_cells(axes, shown, edges[:-1] + 0.5)
        top += 1 + column.n_levels
    axes.set(xlim=(0.5, pmf.rank + 0.5), ylim=(top, 0), xlabel="component")
    axes.set_xticks(np.arange(1, pmf.rank + 1)[:: max(1, pmf.rank // MOST_LABELLED)])
    axes.set_yticks(tick_at, tick_labels)
    left_out = len(pmf.schema) - len(names)
    _frame(axes, "What each component looks like" + (f" ({left_out} more columns not shown)" if left_out else ""))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return axes


def trace(result: FitResult, objective: Axes | None = None, rank: Axes | None = None) -> tuple[Axes, Axes]:
    """Draw the objective and the rank over the passes of the fit.

    Parameters
    ----------
    result
        The fit.
    objective
        Where to draw the objective; a new figure by default.
    rank
        Where to draw the rank.
    """
    if objective is None or rank is None:
        upper, lower = _figure(5, 4).subplots(2, 1, sharex=True, height_ratios=(1.7, 1))
    else:
        upper, lower = objective, rank
    passes = np.arange(1, len(result.trace) + 1)
    upper.plot(passes, result.trace.objective, color=INK, linewidth=1.8)
    upper.tick_params(labelbottom=False)
    upper.yaxis.set_major_formatter(_in_full)
    lower.step(passes, result.trace.rank, where="mid", color=WARM, linewidth=1.8)
    lower.annotate(f"{result.rank}", (passes[-1], result.rank), (6, 0), textcoords="offset points", va="center",
                   color=WARM, fontweight="bold", annotation_clip=False)  # fmt: skip
    lower.set(xlabel="pass over the rows", ylim=(0, 1.15 * result.trace.rank.max()))
    lower.locator_params(axis="x", integer=True)
    lower.locator_params(axis="y", integer=True, nbins=4)
    _frame(upper, "Evidence lower bound (nats)" if result.posterior is not None else "Objective (nats)")
    _frame(lower, "Rank")
    return upper, lower


def that_fit(schema: Schema) -> list[str]:
    """Return the names of the first columns, as many as can be read on one page.

    Parameters
    ----------
    schema
        The columns there are.
    """
    bottom = np.cumsum(schema.n_levels) + np.arange(1, len(schema) + 1)
    return list(schema.names[: max(1, int((bottom <= MOST_LINES).sum()))])


def _height(schema: Schema, names: Sequence[str]) -> float:
    """Inches that the profiles of some columns need."""
    return 0.26 * min(2 * MOST_LINES, sum(1 + schema[name].n_levels for name in names))


def _in_full(value: float, _position: float) -> str:
    return f"{value:,.10g}".replace("-", "−")


def _in_percent(value: float, _position: float) -> str:
    return f"{value:.0%}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"


def _write_in_cells(axes: Axes, shown: np.ndarray, lines: np.ndarray) -> None:
    for line, row in zip(lines, shown, strict=True):
        for component, prob in enumerate(row, start=1):
            if prob >= 0.05:
                colour = "white" if prob > 0.55 else INK
                axes.text(component, line, f"{prob:.0%}", ha="center", va="center", fontsize=8, color=colour)


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtraError("Matplotlib", "plot") from None
    return Figure(figsize=(width, height), dpi=150, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))


def _frame(axes: Axes, title: str) -> None:
    """Give axes the house look: title at the left, no box, grey scales."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(colors="#4a5560", labelsize=8.5)
    axes.xaxis.label.set_color("#4a5560")
    axes.xaxis.label.set_fontsize(9)
