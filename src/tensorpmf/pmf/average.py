"""The average of several mixtures is a mixture too: of all their components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorpmf.errors import SchemaMismatchError, SettingError
from tensorpmf.pmf.lowrank import LowRankPMF


def average(pmfs: Sequence[LowRankPMF]) -> LowRankPMF:
    """Return the PMF that gives every row the mean of the probabilities that several PMFs give it.

    Fits from different starts err in different places, so that their average is nearly always a better density than the
    best of them, and never worse than the mean of their log-likelihoods. Its rank is the sum of theirs.

    Parameters
    ----------
    pmfs
        The PMFs, about the same columns and levels.

    Examples
    --------
    >>> from tensorpmf import Schema
    >>> schema = Schema.from_n_levels([2])
    >>> fair, loaded = LowRankPMF(schema, [1.0], [[[0.5], [0.5]]]), LowRankPMF(schema, [1.0], [[[0.9], [0.1]]])
    >>> average([fair, loaded]).prob(np.array([[0], [1]]))
    array([0.7, 0.3])
    """
    if not pmfs:
        raise SettingError("average", "pmfs", "one PMF or more", list(pmfs))
    schema = pmfs[0].schema
    if any(pmf.schema != schema for pmf in pmfs):
        raise SchemaMismatchError(None, "their schemas differ")
    weights = np.concatenate([pmf.weights for pmf in pmfs]) / len(pmfs)
    factors = [np.hstack([pmf.factors[ix] for pmf in pmfs]) for ix in range(len(schema))]
    return LowRankPMF(schema, weights, factors)
