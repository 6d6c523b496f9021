"""Each experiment on little data; what its rows must say whatever the data."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tensorpmf.data import Dataset
from tensorpmf.data.preprocess import Ratings

SYNTHETIC = {"tensor": "one", "rank": 2, "n_rows": 800, "outage": 0.1}


def rows_of(harness: Any, name: str, **config: Any) -> list[dict[str, Any]]:
    return list(import_module(f"experiments.{name}.run").run(config, 0))


def test_a_run_is_a_function_of_its_config_and_seed(harness: Any) -> None:
    one, same = (rows_of(harness, "observations", method="EM", **SYNTHETIC) for _ in range(2))
    for row in (*one, *same):
        del row["seconds"]
    assert one == same


def test_one_tensor_is_the_same_for_all_seeds_and_many_are_not(harness: Any) -> None:
    problem = import_module("experiments.synthetic").problem
    one, again = (problem(SYNTHETIC, seed)[0] for seed in (0, 1))
    many, others = (problem({**SYNTHETIC, "tensor": "many"}, seed)[0] for seed in (0, 1))
    assert one == again
    assert many != others


def test_the_oracle_is_nearer_than_what_has_to_learn(harness: Any) -> None:
    (oracle,), (learnt,) = (rows_of(harness, "outage", method=m, **SYNTHETIC) for m in ("Oracle", "VB-PMF"))
    assert 0 < oracle["kld"] < learnt["kld"]
    assert learnt["rank_is_right"] == (learnt["found_rank"] == 2)


def test_the_paper_rule_finds_too_many_where_the_prior_is_large(harness: Any) -> None:
    config = {**SYNTHETIC, "start_rank": 8, "trace": False}
    (small,), (large,) = (rows_of(harness, "sensitivity", alpha_weights=a, **config) for a in (1e-6, 0.5))
    assert small["rank_by_paper_rule"] == small["found_rank"]
    assert large["rank_by_paper_rule"] == 8 > large["found_rank"]


def test_the_elbo_rises_and_the_dead_weigh_what_the_paper_says(harness: Any) -> None:
    rows = rows_of(harness, "convergence", alpha_weights=1e-6, accelerate=False, tolerance=1e-8, points=20, **SYNTHETIC)
    elbo = [row["elbo"] for row in rows if row["curve"] == "pass"]
    weights = [row["weight"] for row in rows if row["curve"] == "component"]
    assert np.all(np.diff(elbo) > 0)
    assert len(weights) == 23
    assert min(weights) == pytest.approx(1e-6 / 800, rel=1e-3)
    assert sum(weights) == pytest.approx(1)


def test_classification_learns_from_the_training_rows_alone(
    harness: Any, real: Callable[[str], Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = real("iris").columns
    module = import_module("experiments.classification.run")
    seen: list[Any] = []

    def spy(problem: Any) -> Any:
        seen.append(problem.table)
        return iter(())

    monkeypatch.setitem(module.METHODS, "spy", spy)
    config = {"data": "iris", "method": "spy", "protocol": "equal", "most_ranks": 3, "max_iterations": 50}
    config["start_ranks"] = {"iris": 19}
    assert rows_of(harness, "classification", **config) == []
    training = np.random.default_rng(0).permutation(150)[:120]
    for column in seen[0].schema.columns[:-1]:
        values = everything[column.name][training]
        assert column.edges == pytest.approx(np.linspace(values.min(), values.max(), 11)[1:-1])


def test_votes_tell_blocs_of_both_parties(harness: Any, real: Callable[[str], Dataset]) -> None:
    real("votes")
    rows = rows_of(harness, "votes", start_rank=17, starts=1)
    republican = [row["prob"] for row in rows if row["question"] == "party"]
    weights = [row["prob"] for row in rows if row["question"] == "weight"]
    assert min(republican) < 0.05
    assert max(republican) > 0.95
    assert sum(weights) == pytest.approx(1)


def test_every_quick_method_predicts_ratings(harness: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    taste, appeal = rng.normal(size=(90, 2)), rng.normal(size=(12, 2))
    user, movie = np.nonzero(rng.random((90, 12)) < 0.6)
    stars = (3 + np.einsum("nk,nk->n", taste[user], appeal[movie])).round().clip(1, 5)
    columns = {"user": user, "movie": movie, "rating": stars}
    module = import_module("experiments.recommendation.run")
    raw = Ratings(columns, {ix: f"film {ix}" for ix in range(12)})
    monkeypatch.setattr(module, "dataset", lambda _: Dataset("ratings", "Ratings", "", "", "", raw))
    tasks = harness.Experiment("recommendation").tasks("quick")
    rows = [{**task.point, **row} for task in tasks for row in module.run(task.point, 0)]
    rmse = {row["method"]: row["rmse"] for row in rows}
    assert len(rmse) == 6
    assert max(rmse["VB-PMF"], rmse["VB-PMF, tilted"], rmse["BMF"]) < rmse["global average"]
