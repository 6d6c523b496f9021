"""What the prior on the weights and the initial rank do."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import INK, MUTED, WARM, frame, panels

SHADES = dict(zip(("5", "10", "15"), (WARM, INK, "#4f9d69"), strict=True))


def draw(summary: Summary) -> Figure:
    """Draw the ELBO of all priors, the rank by two rules against the prior, and the fit against the initial rank."""
    figure, ((elbo, rank), (start, start_rank)) = panels(2, 2, width=4.6, height=3.1)
    traces = summary.where(measure="elbo_a_row")
    few_rows = min(summary.values("n_rows"), key=float)
    many_rows = max(summary.values("n_rows"), key=float)
    for true_rank in traces.values("rank"):
        passes = sorted({float(x) for x in traces.values("passes")})
        means = [traces.where(rank=true_rank, passes=int(p)).numbers("mean") for p in passes]
        middle, spread = np.array([np.mean(m) for m in means]), np.array([np.std(m) for m in means])
        elbo.plot(passes, middle, color=SHADES[true_rank], label=f"R = {true_rank}")
        elbo.fill_between(passes, middle - spread, middle + spread, color=SHADES[true_rank], alpha=0.25, linewidth=0)
    frame(
        elbo,
        "ELBO a row: mean over " r"$\alpha_\lambda$, ± 1 sd",
        xscale="log",
        xlabel="pass (plain iteration)",
        ylabel="nats",
    )
    elbo.legend(fontsize=8, frameon=False)
    swept = summary.where(tensor="one", start_rank=23, n_rows=many_rows)
    for true_rank in swept.values("rank"):
        for measure, style in (("found_rank", "-"), ("rank_by_paper_rule", ":")):
            xs, means, _ = swept.line("alpha_weights", measure, rank=true_rank)
            rank.plot(xs, means, style, color=SHADES[true_rank], marker="o", markersize=3)
    frame(
        rank,
        "Rank: more than half a row (—), paper's rule (··)",
        xscale="log",
        xlabel=r"$\alpha_\lambda$",
        ylim=(0, 24.5),
    )
    for tensor, colour in (("one", WARM), ("many", INK)):
        for measure, style in (("kld", "-"), ("msre", "--")):
            xs, means, _ = summary.where(n_rows=few_rows, alpha_weights="1e-06").line(
                "start_rank", measure, tensor=tensor
            )
            start.plot(xs, means, style, color=colour, marker="o", markersize=3, label=f"{measure.upper()}, {tensor}")
        xs, means, _ = summary.where(n_rows=few_rows, alpha_weights="1e-06").line(
            "start_rank", "found_rank", tensor=tensor
        )
        start_rank.plot(xs, means, color=colour, marker="o", markersize=3, label=tensor)
    frame(start, f"KLD and MSRE, R = 5, T = {int(few_rows):,}", xlabel="initial rank", ylim=(0, None))
    start.legend(fontsize=8, frameon=False)
    frame(start_rank, "Rank found", xlabel="initial rank", ylim=(0, 6))
    start_rank.axhline(5, color=MUTED, linewidth=0.8, linestyle=":")
    start_rank.legend(fontsize=8, frameon=False, title="tensors", title_fontsize=8)
    return figure
