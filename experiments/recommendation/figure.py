"""RMSE and MAE of every method."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import INK, MUTED, WARM, bars, frame, panels


def draw(summary: Summary) -> Figure:
    """Draw errors in stars, the smallest on top; of the PMF methods the absolute error of the median as well."""
    figure, axes = panels(1, 3, width=3.4, height=3.6)
    titles = {"rmse": "RMSE (stars)", "mae": "MAE of the mean", "mae_median": "MAE of the median"}
    for panel, (measure, title) in zip(axes[0], titles.items(), strict=True):
        rows = sorted(summary.where(measure=measure).rows, key=lambda row: float(row["mean"]))
        means, spreads = ([float(row[what]) for row in rows] for what in ("mean", "sd"))
        bars(panel, [row["method"] for row in rows], means, spreads, MUTED)
        for bar, row in zip(panel.patches, rows, strict=True):
            name = row["method"]
            bar.set_color(WARM if name.startswith("VB") else INK if name == "BMF" else MUTED)
        for place, mean in zip(range(len(rows) - 1, -1, -1), means, strict=True):
            panel.text(0.405, place, f"{mean:.3f}", va="center", fontsize=7.5, color="white")
        frame(panel, title, xlim=(0.4, 1.02))
    return figure
