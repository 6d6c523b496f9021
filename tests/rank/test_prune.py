"""Dropping light components."""

from __future__ import annotations

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.errors import NoMixtureError, SettingError
from tensorpmf.rank.prune import keep_largest, prune_below


@pytest.fixture
def pmf(rng: np.random.Generator) -> tp.LowRankPMF:
    schema = tp.Schema.from_n_levels([2, 3])
    return tp.LowRankPMF(schema, [0.05, 0.5, 0.4, 0.05], [rng.dirichlet(np.ones(n), 4).T for n in (2, 3)])


@pytest.mark.parametrize("pruned", [lambda pmf: prune_below(pmf, 0.2), lambda pmf: keep_largest(pmf, 2)])
def test_what_is_left_is_renormalised_and_keeps_its_order(pmf: tp.LowRankPMF, pruned: object) -> None:
    left = pruned(pmf)
    np.testing.assert_allclose(left.weights, [5 / 9, 4 / 9])
    for whole, part in zip(pmf.factors, left.factors, strict=True):
        np.testing.assert_array_equal(part, whole[:, 1:3])


def test_a_tenth_of_the_heaviest_is_kept(pmf: tp.LowRankPMF) -> None:
    assert prune_below(pmf).rank == 4
    assert prune_below(pmf, 0.1 + 1e-12).rank == 2
    assert prune_below(pmf, 1.0).rank == 1


def test_no_more_can_be_kept_than_there_are(pmf: tp.LowRankPMF) -> None:
    assert keep_largest(pmf, 9) == pmf
    assert keep_largest(pmf, 3).rank == 3


def test_settings_are_checked(pmf: tp.LowRankPMF) -> None:
    with pytest.raises(SettingError, match="fraction must be between 0 and 1"):
        prune_below(pmf, 1.5)
    with pytest.raises(SettingError, match="fraction must be a finite number >= 0, got 'a'"):
        prune_below(pmf, "a")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="rank must be a whole number >= 1"):
        keep_largest(pmf, 0)


def test_what_has_no_components_cannot_be_pruned() -> None:
    chain = tp.PurifiedPMF(tp.Schema.from_n_levels([2]), [np.ones((2, 1, 1, 1))])
    for prune in (prune_below, lambda pmf: keep_largest(pmf, 1)):
        with pytest.raises(NoMixtureError):
            prune(chain)
