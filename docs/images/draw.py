"""Draw the pictures of the README and the docs, from real fits: ``python docs/images/draw.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import tensorpmf as tp
from tensorpmf.learn import PMFClassifier
from tensorpmf.learn.iris import iris
from tensorpmf.show.plots import INK, MUTED, WARM, overview

HERE = Path(__file__).parent
GREEN = "#4f9d69"


def draw(folder: Path = HERE) -> None:
    """Draw every picture into a folder."""
    result = tp.fit(tp.read_table(iris(), bins=3))
    overview(result, "150 irises: weights, fit and components").savefig(folder / "iris.png", dpi=90)
    reliability().savefig(folder / "reliability.png", dpi=90)


def reliability() -> Figure:
    """Draw how often images show a digit against how probable that was said to be, out of five folds."""
    pixels, digits = load_digits(return_X_y=True)
    by_class = tp.VB(100, alpha_factors=0.2, by="class")
    models = {
        "PMFClassifier, by class, 10 models": (PMFClassifier(by_class, bins=4, n_models=10, max_iterations=50), WARM),
        "PMFClassifier": (PMFClassifier(bins=4), INK),
        "random forest": (RandomForestClassifier(random_state=0), GREEN),
        "naive Bayes": (GaussianNB(), MUTED),
    }
    figure = Figure(figsize=(6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=":")
    for name, (model, colour) in models.items():
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        prob = cross_val_predict(model, pixels, digits, cv=folds, method="predict_proba")
        true, told = (digits[:, np.newaxis] == np.arange(10)).ravel(), prob.ravel()
        bins = np.digitize(told, np.linspace(0, 1, 9)[1:-1])
        n = np.bincount(bins, minlength=8)
        mean, share = (np.bincount(bins, values, minlength=8) / n for values in (told, true))
        error = np.sqrt(share * (1 - share) / n)
        label = f"{name}: Brier score {brier_score_loss(digits, prob):.3f}"
        axes.errorbar(mean, share, error, color=colour, marker="o", markersize=4, capsize=2, label=label)
    axes.set(xlabel="probability that an image shows a digit, as told", ylabel="share of images that do")
    axes.set_title("1,797 handwritten digits, out of five folds", loc="left", fontweight="bold", color=INK)
    axes.legend(frameon=False, loc="upper left", fontsize=9)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.25), yticks=np.linspace(0, 1, 6))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    draw(*map(Path, sys.argv[1:]))
