"""Voting blocs: what the components of the Congressional Voting Records look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import tensorpmf as tp
from tensorpmf.data import load_dataset

ISSUES = (
    "physician-fee-freeze",
    "el-salvador-aid",
    "aid-to-nicaraguan-contras",
    "anti-satellite-test-ban",
    "adoption-of-the-budget-resolution",
    "crime",
)
"""The paper's (a) to (f)."""


def run(config: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield for every component its weight, P(republican) and P(yes) on six issues; the best of some starts."""
    table = load_dataset("votes").table
    algorithm = tp.VB(config["start_rank"])
    result = tp.fit(table, algorithm, seed=seed, n_starts=config["starts"], n_threads=1)
    pmf = result.pmf
    assert isinstance(pmf, tp.LowRankPMF), "variational Bayes gives a mixture"
    order = np.argsort(-pmf.weights)
    asked = {"party": "republican", **dict.fromkeys(ISSUES, "y")}
    factors = {
        name: pmf.factors[table.schema.ix(name)][table.schema[name].levels.index(level)]
        for name, level in asked.items()
    }
    for place, component in enumerate(order.tolist(), start=1):
        yield {"component": place, "question": "weight", "prob": float(pmf.weights[component])}
        for name, factor in factors.items():
            yield {"component": place, "question": name, "prob": float(factor[component])}
    yield {"component": 0, "question": "fit", "found_rank": result.rank, "elbo": result.objective}
    ranks = [tp.fit(table, algorithm, seed=other, n_threads=1).rank for other in range(config["starts"])]
    yield {"component": 0, "question": "single starts", "mean_rank": float(np.mean(ranks)), "least_rank": min(ranks)}
