from __future__ import annotations

import numpy as np
import pytest

from tensorpmf import LowRankPMF, Schema
from tensorpmf.data import synthetic_pmf
from tensorpmf.errors import SchemaMismatchError, SettingError
from tensorpmf.pmf.average import average


def test_every_cell_has_the_mean_of_its_probabilities() -> None:
    pmfs = [synthetic_pmf(3, [2, 4, 3], rank, seed=rank) for rank in (1, 2, 5)]
    together = average(pmfs)
    assert together.rank == 8
    np.testing.assert_allclose(together.to_dense(), np.mean([pmf.to_dense() for pmf in pmfs], axis=0), rtol=1e-12)


def test_it_is_no_worse_than_the_mean_of_the_log_likelihoods(rng: np.random.Generator) -> None:
    pmfs = [synthetic_pmf(seed=seed) for seed in range(4)]
    rows = pmfs[0].sample(500, rng)
    assert average(pmfs).log_prob(rows).mean() >= np.mean([pmf.log_prob(rows).mean() for pmf in pmfs])


def test_what_has_no_average_is_refused() -> None:
    with pytest.raises(SettingError, match="one PMF or more"):
        average([])
    other = LowRankPMF(Schema.from_n_levels([2, 3]), [1.0], [[[0.5], [0.5]], [[0.2], [0.3], [0.5]]])
    with pytest.raises(SchemaMismatchError, match="schemas differ"):
        average([synthetic_pmf(2, 2, 1), other])
