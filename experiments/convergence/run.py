"""How the ELBO and the rank get where they get, and what the weights are then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import tensorpmf as tp
from experiments.synthetic import problem


def run(config: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield ELBO and rank after each pass, and the weight of every component, dead or alive, after the last."""
    _, given = problem(config, seed)
    algorithm = tp.VB(given.start_rank, alpha_weights=config["alpha_weights"], accelerate=config["accelerate"])
    result = tp.fit(given.table, algorithm, seed=seed, tolerance=config["tolerance"], n_threads=1)
    shown = np.unique(np.geomspace(1, len(result.trace), config["points"]).astype(int))
    for n_passes in shown.tolist():
        yield {
            "curve": "pass",
            "at": n_passes,
            "elbo": float(result.trace.elbo[n_passes - 1]),
            "found_rank": int(result.trace.rank[n_passes - 1]),
        }
    posterior = result.posterior
    assert posterior is not None, "variational Bayes has a posterior"
    dead = np.full(posterior.n_empty, posterior.alpha_weights)
    concentrations = np.concatenate([np.sort(posterior.weights)[::-1], dead])
    for component, weight in enumerate((concentrations / concentrations.sum()).tolist(), start=1):
        yield {"curve": "component", "at": component, "weight": weight}
    falls = np.diff(result.trace.elbo)
    yield {
        "curve": "fit",
        "at": 0,
        "passes": len(result.trace),
        "final_elbo": result.objective,
        "largest_fall": float(max(0.0, -falls.min())),
        "final_rank": result.rank,
    }
