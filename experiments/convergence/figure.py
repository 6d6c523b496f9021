"""Left: ELBO and rank after each pass. Right: the weights at the end."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import INK, WARM, frame, panels


def draw(summary: Summary) -> Figure:
    """Draw the plain iteration of the paper, and the weights it ends with; the accelerated one as a thin line."""
    figure, ((left, right),) = panels(1, 2, width=4.4, height=3.2)
    curves, plain = summary.where(curve="pass"), summary.where(accelerate=False)
    for accelerate, width in ((False, 1.8), (True, 0.9)):
        at, elbo, _ = curves.line("at", "elbo", accelerate=accelerate)
        left.plot(
            at[1:],
            elbo[1:],
            color=INK,
            linewidth=width,
            label="accelerated" if accelerate else "plain, as in the paper",
        )
    left.legend(fontsize=8, frameon=False, loc="center left")
    frame(left, "ELBO (blue) and rank (orange)", xscale="log", xlabel="pass over the rows", ylabel="ELBO (nats)")
    ranks = left.twinx()
    at, rank, _ = curves.line("at", "found_rank", accelerate=False)
    ranks.step(at, rank, where="post", color=WARM, linewidth=1.2)
    ranks.set(ylim=(0, 24), ylabel="components that hold mass")
    ranks.yaxis.label.set(fontsize=8.5, color=WARM)
    ranks.tick_params(colors=WARM, labelsize=8)
    ranks.spines[["top"]].set_visible(False)
    component, weight, _ = plain.where(curve="component").line("at", "weight")
    right.stem(component, weight, linefmt=INK, basefmt=" ", bottom=1e-11)
    frame(right, "Weights after convergence", yscale="log", xlabel="component", ylabel="weight", ylim=(1e-11, 2))
    alpha_over_n = 1e-6 / float(summary.rows[0]["n_rows"])
    right.axhline(alpha_over_n, color=WARM, linewidth=1, linestyle="--")
    right.annotate(
        r"$\alpha_\lambda / T$",
        (len(component), alpha_over_n),
        (0, 4),
        textcoords="offset points",
        color=WARM,
        ha="right",
        fontsize=8,
    )
    return figure
