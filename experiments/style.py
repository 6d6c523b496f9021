"""The look of the figures: one colour a method, whatever the figure; quiet frames; titles that say what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.harness import Summary

INK, MUTED, WARM = "#24476b", "#8a94a0", "#d1603d"

COLOURS = {
    "VB-PMF": WARM,
    "EM at the true rank": "#24476b",
    "SQ-AIC": "#7fb1d6",
    "SQ-BIC": "#2f7fb8",
    "SQ-DNML": "#9a86c9",
    "SQ-DNML (observed)": "#5d4a9c",
    "CTF3D-ValErr": "#4f9d69",
    "CTF-Full-ValErr": "#a3c585",
    "SQ-Thresh (low)": "#c9a227",
    "SQ-Thresh (high)": "#8c6d1f",
    "TN-ValErr": "#b0527a",
    "Oracle": "#333333",
}
"""The order in which methods are drawn, and their colours."""

NO_RANK = ("TN-ValErr",)
"""A tensor network's bond dimension is no number of components."""

MARKERS = dict(zip(COLOURS, "osv^Dd<>PXh.", strict=True))


def panels(n_rows: int, n_columns: int, width: float = 3.6, height: float = 2.9) -> tuple[Figure, Any]:
    """Return a figure and its axes, (n_rows, n_columns)."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), dpi=130, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def frame(axes: Axes, title: str, **settings: Any) -> None:
    """Give axes their title and labels, and take the box away."""
    axes.set_title(title, loc="left", fontsize=9.5, fontweight="bold", color=INK)
    axes.set(**settings)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(colors="#4a5560", labelsize=8, which="both")
    axes.xaxis.label.set_fontsize(8.5)
    axes.yaxis.label.set_fontsize(8.5)


def methods(summary: Summary) -> list[str]:
    """Return the methods of a summary, in the order they are drawn."""
    there = summary.values("method")
    return [name for name in COLOURS if name in there]


def lines(axes: Axes, summary: Summary, x: str, measure: str, **where: Any) -> None:
    """Draw the mean of a measure against x, one line a method; in ranks, bars of one standard deviation."""
    names = methods(summary)
    for place, name in enumerate(names):
        xs, means, spreads = summary.line(x, measure, method=name, **where)
        if not xs or (measure == "found_rank" and name in NO_RANK):
            continue
        look: dict[str, Any] = {"color": COLOURS[name], "marker": MARKERS[name], "markersize": 4, "linewidth": 1.3}
        look |= {"label": name, "zorder": 3 if name == "VB-PMF" else 2}
        if measure == "found_rank":
            beside = 0.02 * (place - len(names) / 2)
            shown = np.multiply(xs, 1 + beside) if min(xs) > 0 else np.add(xs, 0.3 * beside * max(xs))
            axes.errorbar(shown, means, spreads, capsize=2, elinewidth=0.8, **look)
        else:
            axes.plot(xs, means, **look)


def legend(figure: Figure, axes: Axes, n_columns: int = 6) -> None:
    """Write below a figure what its colours mean."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, fontsize=8, frameon=False)


def bars(axes: Axes, labels: Sequence[str], values: Sequence[float], spreads: Sequence[float], colour: str) -> None:
    """Draw one horizontal bar a label, its value at its end; the first label on top."""
    places = np.arange(len(labels))[::-1]
    axes.barh(places, values, xerr=spreads, color=colour, height=0.7, error_kw={"elinewidth": 0.8, "ecolor": MUTED})
    axes.set_yticks(places, list(labels))
