"""How good a classification is: accuracy, and F1 in the paper's variant and in scikit-learn's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scores(truth: NDArray[np.intp], guess: NDArray[np.intp], n_classes: int) -> dict[str, float]:
    """Return accuracy and both macro-averaged F1 scores; a class nobody guessed has precision 0.

    The paper takes the harmonic mean of the mean precision and the mean recall, scikit-learn the mean of each class's
    harmonic mean.

    Parameters
    ----------
    truth, guess
        (n_rows,) class codes.
    n_classes
        How many classes there are.
    """
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (truth, guess), 1)
    right = np.diag(table)
    precision = _ratio(right, table.sum(axis=0))
    recall = _ratio(right, table.sum(axis=1))
    present = (table.sum(axis=0) + table.sum(axis=1)) > 0
    mean_precision, mean_recall = precision[present].mean(), recall[present].mean()
    return {
        "accuracy": float(right.sum() / table.sum()),
        "f1_paper": float(_ratio(2 * mean_precision * mean_recall, mean_precision + mean_recall)),
        "f1_sklearn": float(_ratio(2 * precision * recall, precision + recall)[present].mean()),
    }


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(a, b, out=np.zeros_like(np.asarray(a, dtype=float)), where=np.asarray(b) > 0)
