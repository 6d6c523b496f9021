"""KLD, MSRE, rank and run time against the number of rows; one tensor above, many tensors below."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import frame, legend, lines, panels

PANELS = {"kld": "Mean KLD (nats)", "msre": "MSRE", "found_rank": "Rank found", "seconds": "Run time (processor s)"}


def draw(summary: Summary) -> Figure:
    """Draw four panels for the one tensor of the paper's way, and four for many tensors."""
    tensors = summary.values("tensor")
    figure, axes = panels(len(tensors), len(PANELS))
    for row, tensor in zip(axes, tensors, strict=True):
        for panel, (measure, title) in zip(row, PANELS.items(), strict=True):
            lines(panel, summary, "n_rows", measure, tensor=tensor)
            frame(panel, title, xscale="log", xlabel="rows T")
            if measure == "found_rank":
                panel.axhline(5, color="#333333", linewidth=0.8, linestyle=":")
                panel.set(ylim=(0, 12))
            else:
                panel.set(yscale="log")
        row[0].set_ylabel(f"{tensor} tensor{'s' * (tensor == 'many')}", fontsize=9.5)
    axes[0, 0].set(ylim=(2e-4, 3))
    if len(tensors) > 1:
        axes[1, 0].set(ylim=(2e-4, 3))
    legend(figure, axes[0, 0])
    return figure
