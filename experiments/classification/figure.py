"""Accuracy and F1 on each table, every method a bar."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import COLOURS, INK, MUTED, WARM, bars, frame, panels

ORDER = (
    "VB-PMF",
    "VB-PMF, prior 1/5, 10 runs",
    "VB-PMF by class, 10 runs",
    *(name for name in COLOURS if name != "VB-PMF"),
    "random forest",
    "random forest, same bins",
)


def draw(summary: Summary) -> Figure:
    """Draw accuracies above and the paper's F1 below, in per cent, a column for each table; equal splits."""
    tables, there = summary.values("data"), summary.where(protocol="equal")
    names = [name for name in ORDER if name in there.values("method")]
    figure, axes = panels(2, len(tables), width=2.9, height=3.0)
    for column, data in enumerate(tables):
        for panel, (measure, title) in zip(
            axes[:, column], (("accuracy", "accuracy"), ("f1_paper", "F1")), strict=True
        ):
            rows = {row["method"]: row for row in there.where(data=data, measure=measure).rows}
            shown = [name for name in names if name in rows]
            means, spreads = ([100 * float(rows[name][what]) for name in shown] for what in ("mean", "sd"))
            bars(panel, shown if column == 0 else [""] * len(shown), means, spreads, MUTED)
            for bar, name in zip(panel.patches, shown, strict=True):
                bar.set_color(WARM if name.startswith("VB") else INK if name.startswith("random") else MUTED)
            for place, mean in zip(range(len(shown) - 1, -1, -1), means, strict=True):
                panel.text(61, place, f"{mean:.1f}", va="center", fontsize=7, color="white")
            frame(panel, f"{data}: {title}", xlim=(60, 101), xlabel="per cent")
    return figure
