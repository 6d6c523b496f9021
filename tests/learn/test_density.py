from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import NoMixtureError, SettingError
from tensorpmf.learn import PMFDensity
from tensorpmf.learn.density import mixture
from tensorpmf.typing import Floats


@pytest.fixture
def rows() -> Floats:
    codes = sample_table(synthetic_pmf(4, 5, 3, seed=1), 3000, outage=0.2, seed=2).codes
    return np.where(codes < 0, np.nan, codes)


def test_rows_are_scored_and_assigned_by_the_pmf(rows: Floats) -> None:
    density = PMFDensity().fit(rows)
    codes = np.where(np.isnan(rows), -1, rows).astype(int)
    np.testing.assert_allclose(density.score_samples(rows), density.pmf_.log_prob(codes))
    assert density.score(rows) == pytest.approx(density.score_samples(rows).mean())
    resp = density.transform(rows)
    assert resp.shape == (3000, density.pmf_.rank)
    np.testing.assert_allclose(resp.sum(axis=1), 1)
    assert len(density.get_feature_names_out()) == density.pmf_.rank


def test_the_density_is_that_of_the_rows() -> None:
    truth = synthetic_pmf(4, 5, 3, seed=1)
    density = PMFDensity().fit(sample_table(truth, 20_000, seed=3).to_pandas())
    assert float(tp.kl_divergence(truth, density.pmf_)) < 0.01


def test_several_models_give_the_mean_of_their_probabilities(rows: Floats) -> None:
    density = PMFDensity(tp.VB(max_rank=6), n_models=3, max_iterations=5).fit(rows)
    each = [result.pmf.prob(density.schema_.encode(rows)) for result in density.results_]
    np.testing.assert_allclose(np.exp(density.score_samples(rows)), np.mean(each, axis=0))
    assert density.transform(rows).shape[1] == sum(mixture(result.pmf).rank for result in density.results_)


def test_odd_rows_stand_out_whatever_cells_are_missing(rng: np.random.Generator) -> None:
    """Six copies of a coin; in an odd row they differ. A complete row is less probable than a holey one, not odder."""
    rows = np.repeat(rng.integers(0, 2, (2000, 1)), 6, axis=1).astype(float)
    rows = np.where(rng.random(rows.shape) < 0.05, 1 - rows, rows)
    density = PMFDensity().fit(rows)
    usual, odd = np.zeros(6), np.array([0.0, 1, 0, 1, 0, 1])
    hidden = np.where([True, True, False, False, False, False], np.nan, 1.0)
    scores = density.anomaly_score(np.array([usual, usual * hidden, odd, odd * hidden, np.full(6, np.nan)]))
    assert scores[:2].max() < 0.5
    assert scores[2:4].min() > 3
    assert scores[4] == 0
    assert density.score_samples([usual])[0] < density.score_samples([usual * hidden])[0]


def test_what_a_certain_model_rules_out_is_odd_beyond_measure() -> None:
    """Two columns that are always equal, half of the time 0, by maximum likelihood: both equal rows surprise alike."""
    density = PMFDensity(tp.EM(rank=2), n_starts=5).fit([[0, 0], [1, 1]] * 20)
    assert density.anomaly_score([[0, 0], [1, 1], [0, 1], [0, None]]).tolist() == [0, 0, np.inf, 0]
    with pytest.raises(SettingError, match="n_draws must be a whole number >= 2, got 1"):
        density.anomaly_score([[0, 0]], n_draws=1)


def test_scores_of_the_models_own_rows_have_mean_zero_and_deviation_one(rows: Floats) -> None:
    density = PMFDensity().fit(rows)
    scores = density.anomaly_score(density.sample(4000, random_state=5), n_draws=4000)
    assert abs(scores.mean()) < 0.1
    assert abs(scores.std() - 1) < 0.1


def test_new_rows_are_like_the_old_ones(rng: np.random.Generator) -> None:
    rows: Any = np.empty((1000, 2), dtype=object)
    rows[:, 0] = np.where(rng.random(1000) < 0.3, "rare", "often")
    rows[:, 1] = rng.normal(size=1000) + 5 * (rows[:, 0] == "rare")
    density = PMFDensity().fit(rows)
    drawn = density.sample(5000)
    assert abs(np.mean(drawn[:, 0] == "rare") - 0.3) < 0.04
    assert abs(np.mean(drawn[drawn[:, 0] == "rare", 1]) - 5) < 0.4
    assert set(drawn[:, 1].tolist()) <= set(density.schema_["x1"].centres or ())
    assert np.array_equal(drawn, density.sample(5000))
    assert not np.array_equal(drawn, density.sample(5000, random_state=1))
    assert PMFDensity().fit(rows[:, 1:]).sample(2).dtype == float


def test_only_mixtures_have_components() -> None:
    with pytest.raises(NoMixtureError, match="a object is no mixture"):
        mixture(object())  # type: ignore[arg-type]
