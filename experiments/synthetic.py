"""What the three synthetic experiments share: the paper's data, and how far an estimate is from the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorpmf as tp
from experiments.methods import METHODS, Problem
from tensorpmf.data import sample_table, synthetic_pmf

FLOOR = 1e-10
"""The share of a uniform distribution mixed into an estimate that gives a cell no probability at all."""

BEYOND = 5
"""Candidate ranks go so far beyond the true one."""


def problem(config: Mapping[str, Any], seed: int) -> tuple[tp.LowRankPMF, Problem]:
    """Return the truth and rows drawn from it; ``tensor = "one"`` is the same truth for all seeds, as in the paper."""
    rank = config["rank"]
    tensor_seed = 0 if config["tensor"] == "one" else 10_000 + seed
    truth = synthetic_pmf(5, 10, rank, seed=tensor_seed)
    table, states = sample_table(truth, config["n_rows"], config["outage"], seed=seed, return_states=True)
    ranks = range(1, rank + BEYOND + 1)
    start_rank = tp.kruskal_max_rank(truth.schema.n_levels)
    return truth, Problem(table, start_rank, ranks, seed=seed, true_rank=rank, states=states)


def run(config: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Yield what one method makes of one table: how far it is from the truth, its rank, how long it took."""
    truth, given = problem(config, seed)
    for solution in METHODS[config["method"]](given):
        divergence = tp.kl_divergence(truth, solution.pmf, floor=FLOOR)
        yield {
            "method": solution.method,
            "kld": float(divergence),
            "kld_floored": int(bool(divergence.note)),
            "msre": float(tp.relative_squared_error(truth, solution.pmf)),
            "found_rank": solution.rank,
            "rank_is_right": int(solution.rank == config["rank"]),
            "seconds": solution.seconds,
        }
