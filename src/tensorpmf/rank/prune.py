"""The naive way to a rank: fit too many components and drop the light ones."""

from __future__ import annotations

import numpy as np

from tensorpmf._check import positive_number, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.pmf.lowrank import LowRankPMF, mixture
from tensorpmf.typing import Ints


def prune_below(pmf: LowRankPMF, fraction: float = 0.1) -> LowRankPMF:
    """Return a model without its light components, renormalised: those below a fraction of the heaviest weight.

    Parameters
    ----------
    pmf
        The model.
    fraction
        The share of the heaviest weight below which a component is dropped; the paper's "SQ-Thresh (Low)" is 0.1.

    Examples
    --------
    >>> import tensorpmf as tp
    >>> pmf = tp.LowRankPMF(tp.Schema.from_n_levels([2]), [0.6, 0.36, 0.04], [[[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]])
    >>> prune_below(pmf, 0.1).weights.tolist()
    [0.625, 0.375]
    """
    if not positive_number("prune_below", "fraction", fraction, zero=True) <= 1:
        raise SettingError("prune_below", "fraction", "between 0 and 1", fraction)
    return _only(pmf, np.flatnonzero(mixture(pmf).weights >= fraction * pmf.weights.max()))


def keep_largest(pmf: LowRankPMF, rank: int) -> LowRankPMF:
    """Return a model of its heaviest components, renormalised; the paper's "SQ-Thresh (High)" at the true rank.

    Parameters
    ----------
    pmf
        The model.
    rank
        How many components to keep, in the order they have; all of them if there are fewer.
    """
    whole_number("keep_largest", "rank", rank, at_least=1)
    return _only(pmf, np.sort(np.argsort(-mixture(pmf).weights, kind="stable")[:rank]))


def _only(pmf: LowRankPMF, components: Ints) -> LowRankPMF:
    weights = pmf.weights[components]
    return LowRankPMF(pmf.schema, weights / weights.sum(), [factor[:, components] for factor in pmf.factors])
