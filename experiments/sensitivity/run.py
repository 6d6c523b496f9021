"""VB-PMF alone, with other priors on the weights and other initial ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import tensorpmf as tp
from experiments.synthetic import FLOOR, problem

PASSES = (1, 2, 5, 10, 20, 50, 100)
"""The ELBO is reported after so many passes of the paper's plain iteration."""


def run(config: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the fit with one prior from one initial rank; with ``trace``, the ELBO of the plain iteration as well."""
    truth, given = problem(config, seed)
    algorithm = tp.VB(config["start_rank"], alpha_weights=config["alpha_weights"])
    if config["trace"]:
        yield from trace(given.table, algorithm, seed)
        return
    result = tp.fit(given.table, algorithm, seed=seed, tolerance=1e-8, n_threads=1)
    posterior = result.posterior
    assert posterior is not None, "variational Bayes has a posterior"
    yield {
        "elbo": result.objective,
        "found_rank": result.rank,
        "rank_is_right": int(result.rank == config["rank"]),
        "rank_by_paper_rule": posterior.rank_by_paper_rule(given.table.n_rows),
        "kld": float(tp.kl_divergence(truth, result.pmf, floor=FLOOR)),
        "msre": float(tp.relative_squared_error(truth, result.pmf)),
        "seconds": float(result.trace.seconds[-1]),
    }


def trace(table: tp.CategoricalTable, algorithm: tp.VB, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the ELBO a row, after some passes of plain coordinate ascent."""
    plain = tp.VB(algorithm.max_rank, algorithm.alpha_weights, accelerate=False)
    elbo = tp.fit(table, plain, seed=seed, max_iterations=max(PASSES) + 1, tolerance=0, n_threads=1).trace.elbo
    for n_passes in PASSES:
        yield {"passes": n_passes, "elbo_a_row": float(elbo[np.minimum(n_passes, len(elbo) - 1)] / table.n_rows)}
