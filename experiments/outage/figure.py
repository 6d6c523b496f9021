"""Rank and KLD against the outage probability, for three true ranks."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import frame, legend, lines, panels


def draw(summary: Summary) -> Figure:
    """Draw ranks and divergences: for each kind of tensor two rows, for each true rank a column."""
    tensors, ranks = summary.values("tensor"), summary.values("rank")
    figure, axes = panels(2 * len(tensors), len(ranks))
    for place, tensor in enumerate(tensors):
        told = f"{tensor} tensor{'s' * (tensor == 'many')}"
        for column, rank in enumerate(ranks):
            upper, lower = axes[2 * place, column], axes[2 * place + 1, column]
            lines(upper, summary, "outage", "found_rank", tensor=tensor, rank=rank)
            upper.axhline(float(rank), color="#333333", linewidth=0.8, linestyle=":")
            frame(upper, f"R = {rank}: rank found, {told}", ylim=(0, float(rank) + 6), xlabel="outage p")
            lines(lower, summary, "outage", "kld", tensor=tensor, rank=rank)
            frame(lower, f"R = {rank}: mean KLD, {told}", yscale="log", xlabel="outage p")
    legend(figure, axes[1, 0])
    return figure
