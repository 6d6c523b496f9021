"""Small published tables and the log-likelihoods of latent class models that others found for them.

The numbers are those of the examples in the R package poLCA (D. Linzer and J. Lewis, 1.6), data sets `values` and
`gss82`; both tables are older than that.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import tensorpmf as tp

STOUFFER_TOBY = np.array([42, 23, 6, 25, 6, 24, 7, 38, 1, 4, 1, 6, 2, 9, 2, 20])
"""216 respondents, four role conflicts, universalistic or particularistic (Stouffer and Toby 1951; Goodman 1974)."""

GSS_1982 = np.array(
    [
        *(419, 35, 2, 71, 25, 5, 270, 25, 4, 42, 16, 5),  # purpose good; mostly true, not true; good, fair or poor
        *(23, 4, 1, 6, 2, 0, 43, 9, 2, 9, 3, 2),  # purpose depends
        *(26, 3, 0, 1, 2, 0, 85, 23, 6, 13, 12, 8),  # waste of time
    ]
)
"""1202 respondents: purpose (3), accuracy (2), understanding (2), cooperation (3) (McCutcheon 1987)."""


def contingency_table(counts: np.ndarray, n_levels: list[int]) -> tp.CategoricalTable:
    """One weighted row a cell, the last column fastest."""
    codes = np.array(list(product(*map(range, n_levels))))
    return tp.CategoricalTable.from_codes(codes, n_levels=n_levels, weights=counts)


PUBLISHED = {
    "values": (STOUFFER_TOBY, [2, 2, 2, 2], {1: -543.6498, 2: -504.4677, 3: -503.3011}),
    "gss82": (GSS_1982, [3, 2, 2, 3], {2: -2783.268, 3: -2754.545, 4: -2746.621}),
}
