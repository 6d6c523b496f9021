from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import SettingError


def test_weights_and_factors_are_drawn_as_the_paper_says() -> None:
    pmfs = [synthetic_pmf(n_columns=2, n_levels=4, rank=3, seed=seed) for seed in range(300)]
    weights = np.array([pmf.weights for pmf in pmfs])
    assert np.allclose(weights.sum(axis=1), 1)
    # dividing by the sum leaves ratios: of two U(0, 1) variables it is below x <= 1 with probability x / 2
    ratio = np.array([pmf.factors[1][0, 2] / pmf.factors[1][3, 2] for pmf in pmfs])
    assert kstest(ratio, lambda x: np.where(x <= 1, x / 2, 1 - 1 / (2 * np.maximum(x, 1)))).pvalue > 1e-3
    assert weights.min() / weights.max() > 0.15
    assert (weights.max(axis=1) / weights.min(axis=1)).max() < 1 / 0.3


def test_columns_may_differ_in_their_numbers_of_levels() -> None:
    pmf = synthetic_pmf(n_columns=3, n_levels=[2, 5, 3], rank=4, seed=0)
    assert [factor.shape for factor in pmf.factors] == [(2, 4), (5, 4), (3, 4)]


def test_rows_follow_the_pmf(rng: np.random.Generator) -> None:
    pmf = synthetic_pmf(n_columns=3, n_levels=[2, 3, 2], rank=2, seed=5)
    table = sample_table(pmf, 20_000, seed=rng)
    seen = dict.fromkeys(product(range(2), range(3), range(2)), 0)
    for row in table.codes.tolist():
        seen[tuple(row)] += 1
    expected = [
        20_000 * sum(pmf.weights[r] * np.prod([pmf.factors[n][i, r] for n, i in enumerate(cell)]) for r in range(2))
        for cell in seen
    ]
    assert chisquare(list(seen.values()), expected).pvalue > 1e-3


def test_hidden_states_are_those_the_rows_came_from() -> None:
    pmf = synthetic_pmf(n_columns=1, n_levels=3, rank=2, seed=1)
    table, states = sample_table(pmf, 30_000, seed=2, return_states=True)
    assert np.allclose(np.bincount(states) / 30_000, pmf.weights, atol=0.02)
    for state in range(2):
        shares = np.bincount(table.codes[states == state, 0], minlength=3) / np.sum(states == state)
        assert np.allclose(shares, pmf.factors[0][:, state], atol=0.02)


def test_outage_hits_cells_alike_and_leaves_the_others_as_they_were() -> None:
    pmf = synthetic_pmf(seed=3)
    table = sample_table(pmf, 20_000, outage=0.4, seed=4)
    whole = sample_table(pmf, 20_000, seed=4)
    missing = table.codes < 0
    assert np.allclose(missing.mean(axis=0), 0.4, atol=0.02)
    assert np.array_equal(table.codes[~missing], whole.codes[~missing])
    assert not (whole.codes < 0).any()


def test_numbers_of_levels_come_from_anywhere() -> None:
    assert synthetic_pmf(2, np.int64(3)).schema.n_levels == (3, 3)  # type: ignore[arg-type]
    assert synthetic_pmf(2, np.array([3, 4])).schema.n_levels == (3, 4)  # type: ignore[arg-type]


def test_a_seed_fixes_everything_and_a_generator_moves_on(rng: np.random.Generator) -> None:
    pmf = synthetic_pmf(seed=7)
    assert np.array_equal(pmf.weights, synthetic_pmf(seed=7).weights)
    assert np.array_equal(sample_table(pmf, 50, seed=1).codes, sample_table(pmf, 50, seed=1).codes)
    assert not np.array_equal(sample_table(pmf, 50, seed=rng).codes, sample_table(pmf, 50, seed=rng).codes)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"n_columns": 0}, "n_columns"),
        ({"rank": 0}, "rank"),
        ({"n_levels": 0}, "n_levels"),
        ({"n_levels": [2, 3]}, "n_levels"),
        ({"n_levels": [2, 3, 4, 5, 0]}, "n_levels"),
        ({"n_levels": 2.5}, "n_levels"),
        ({"n_columns": 2.5}, "n_columns"),
        ({"rank": 1.5}, "rank"),
        ({"seed": "x"}, "seed"),
        ({"seed": -1}, "seed"),
    ],
)
def test_impossible_shapes_are_refused(settings: dict[str, Any], name: str) -> None:
    with pytest.raises(SettingError) as caught:
        synthetic_pmf(**settings)
    assert (caught.value.owner, caught.value.name) == ("synthetic_pmf", name)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_rows": 0},
        {"n_rows": 2.5},
        {"n_rows": 5, "seed": "x"},
        *({"n_rows": 5, "outage": outage} for outage in (1.0, -0.1, "much")),
    ],
)
def test_impossible_samples_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="sample_table"):
        sample_table(synthetic_pmf(), **settings)
