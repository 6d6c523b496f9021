"""The voting blocs: how large, how republican, and how they voted on six issues."""

from __future__ import annotations

from matplotlib.figure import Figure

from experiments.harness import Summary
from experiments.style import INK, WARM, frame, panels


def draw(summary: Summary) -> Figure:
    """Draw a bar for every bloc, a panel for every question."""
    blocs = summary.where(measure="prob")
    questions = blocs.values("question")
    figure, axes = panels(2, 4, width=3.3, height=2.3)
    for panel, question in zip(axes.flat, questions, strict=True):
        component, prob, _ = blocs.line("component", "prob", question=question)
        panel.bar(component, prob, color=INK if question == "weight" else WARM, width=0.75)
        asked = {"weight": "share of members", "party": "republican"}.get(question, f"yes: {question}")
        frame(panel, asked, ylim=(0, 1))
        panel.set_xticks(component)
        panel.title.set_fontsize(7.5)
    axes[0, 0].set(ylim=(0, None))
    return figure
