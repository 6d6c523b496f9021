"""Classify rows held out, by the joint PMF of features and class, and by a random forest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.classification.scores import scores
from experiments.methods import METHODS, Clock, Problem
from tensorpmf.data import Dataset, load_dataset

TRAINING = 0.8


def run(config: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield accuracy and F1 of one method on one random split; bins, ranks and models see the training rows alone."""
    data = dataset(config["data"])
    rows = np.random.default_rng(seed).permutation(data.n_entries)
    n_training = round(TRAINING * data.n_entries)
    training, test = data.split(rows[:n_training])
    target = data.target
    assert target is not None, "a table to classify has a target"
    class_ix = training.schema.ix(target)
    if config["method"] == "random forest":
        yield {"method": "random forest", **forest(data, rows[:n_training], rows[n_training:], seed)}
        cut = on_codes(training.codes, test.codes, class_ix, seed)
        yield {"method": "random forest, same bins", **cut}
        return
    known = test.codes.copy()
    known[:, class_ix] = -1
    given = Problem(
        training,
        config["start_ranks"][config["data"]],
        range(1, config["most_ranks"] + 1),
        seed=seed,
        target=target,
        unequal=config["protocol"] == "unequal",
        settings={"max_iterations": config["max_iterations"]},
    )
    for solution in METHODS[config["method"]](given):
        found = scores(test.codes[:, class_ix], guesses(solution.pmfs, class_ix, known), training.n_levels[class_ix])
        yield {"method": solution.method, **found, "found_rank": solution.rank, "seconds": solution.seconds}


@cache
def dataset(name: str) -> Dataset:
    """Return a data set, read once a process."""
    return load_dataset(name)


def guesses(pmfs: Sequence[Any], class_ix: int, known: NDArray[Any]) -> NDArray[np.intp]:
    """Return (n_rows,) the most probable class; of rows a model thinks impossible, the most probable of all."""
    prob = np.zeros((len(known), pmfs[0].schema.columns[class_ix].n_levels))
    for pmf in pmfs:
        column = pmf.schema.columns[class_ix].name
        possible = np.isfinite(pmf.log_prob(known))
        prob[possible] += pmf.conditional(column, known[possible])
        prob[~possible] += pmf.marginal(column).to_dense()
    return prob.argmax(axis=1)


def forest(data: Dataset, training: NDArray[np.intp], test: NDArray[np.intp], seed: int) -> dict[str, float]:
    """Return what a random forest makes of the same columns before they are cut."""
    classes, codes = np.unique(data.columns[data.target or ""], return_inverse=True)
    features = indicators(data)
    return grown(features[training], codes[training], features[test], codes[test], len(classes), seed)


def on_codes(training: NDArray[Any], test: NDArray[Any], class_ix: int, seed: int) -> dict[str, float]:
    """Return what a random forest makes of the very codes that the PMF methods see."""
    known, asked = (np.delete(codes, class_ix, axis=1) for codes in (training, test))
    truth = training[:, class_ix], test[:, class_ix]
    return grown(known, truth[0], asked, truth[1], int(truth[0].max()) + 1, seed)


def grown(
    known: NDArray[Any], classes: NDArray[Any], asked: NDArray[Any], truth: NDArray[Any], n_classes: int, seed: int
) -> dict[str, float]:
    """Return the scores of scikit-learn's random forest, at its defaults."""
    from sklearn.ensemble import RandomForestClassifier

    clock = Clock()
    model = RandomForestClassifier(random_state=seed, n_jobs=1).fit(known, classes)
    seconds = clock.spent()
    return {**scores(truth, model.predict(asked), n_classes), "seconds": seconds}


def indicators(data: Dataset) -> NDArray[np.float64]:
    """Return numbers as they are and every label as a column of its own; a missing label is in none of them."""
    columns = []
    for name, values in data.columns.items():
        if name == data.target:
            continue
        if values.dtype.kind in "fi":
            columns.append(values.astype(float)[:, None])
        else:
            columns.append(np.stack([values == level for level in data.table.schema[name].levels], axis=1))
    return np.concatenate(columns, axis=1).astype(float)
