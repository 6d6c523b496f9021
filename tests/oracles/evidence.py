"""The exact log-evidence of a tiny table: a sum over every assignment of rows to components."""

from __future__ import annotations

from itertools import product
from math import lgamma

import numpy as np


def log_dirichlet_multinomial(counts: np.ndarray, alpha: float) -> float:
    """Log-probability of a sequence with these counts under Dir(alpha), the parameters integrated out."""
    total = lgamma(alpha * len(counts)) - lgamma(alpha * len(counts) + counts.sum())
    return total + sum(lgamma(alpha + count) - lgamma(alpha) for count in counts)


def log_evidence(
    codes: np.ndarray, n_levels: list[int], rank: int, alpha_weights: float, alpha_factors: float
) -> float:
    """log p(Y) of the paper's model, by enumeration of all ``rank ** n_rows`` hidden states."""
    terms = []
    for states in product(range(rank), repeat=len(codes)):
        hidden = np.array(states)
        term = log_dirichlet_multinomial(np.bincount(hidden, minlength=rank), alpha_weights)
        for column_ix, levels in enumerate(n_levels):
            for r in range(rank):
                seen = codes[(hidden == r) & (codes[:, column_ix] >= 0), column_ix]
                term += log_dirichlet_multinomial(np.bincount(seen, minlength=levels), alpha_factors)
        terms.append(term)
    top = max(terms)
    return top + float(np.log(np.sum(np.exp(np.array(terms) - top))))
