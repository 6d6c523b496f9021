"""Small published tables and the log-likelihoods of latent class models that others found for them.

The numbers are those of the examples in the R package poLCA (D. Linzer and J. Lewis, 1.6), data sets `values`, `gss82`,
`carcinoma` and `cheating`; the tables are older than that.
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

CARCINOMA = np.zeros([2] * 7, dtype=int)
"""118 slides, each judged by seven pathologists: is it carcinoma? (Landis and Koch 1977; Agresti 2002, table 13.1)."""

VERDICTS = """
0000000 34, 0000100 2, 0100000 6, 0100001 1, 0100100 4, 0100101 5, 1000000 2, 1010101 1, 1100000 2, 1100001 1
1100100 2, 1100101 7, 1100111 1, 1101001 1, 1101101 2, 1101111 3, 1110101 13, 1110111 5, 1111101 10, 1111111 16
"""
for verdicts, n_slides in (entry.split() for entry in VERDICTS.strip().replace("\n", ",").split(",")):
    CARCINOMA[tuple(map(int, verdicts))] = int(n_slides)

CHEATING = np.array([207, 46, 7, 5, 13, 4, 1, 2, 10, 3, 1, 2, 11, 4, 1, 2])
"""319 students: lied to avoid an exam or a paper, bought a paper, copied answers (Dayton 1998)."""


def contingency_table(counts: np.ndarray, n_levels: list[int]) -> tp.CategoricalTable:
    """One weighted row a cell, the last column fastest."""
    codes = np.array(list(product(*map(range, n_levels))))
    return tp.CategoricalTable.from_codes(codes, n_levels=n_levels, weights=counts)


PUBLISHED = {
    "values": (STOUFFER_TOBY, [2, 2, 2, 2], {1: -543.6498, 2: -504.4677, 3: -503.3011}),
    "gss82": (GSS_1982, [3, 2, 2, 3], {2: -2783.268, 3: -2754.545, 4: -2746.621}),
    "carcinoma": (CARCINOMA.ravel(), [2] * 7, {2: -317.2568, 3: -293.705, 4: -289.2858}),
    "cheating": (CHEATING, [2, 2, 2, 2], {2: -440.0271}),
}
