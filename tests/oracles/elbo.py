"""Equation (39) of the paper, term by term, with plain loops over rows, columns, components and levels."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln


def log_c(alpha: np.ndarray) -> float:
    """Logarithm of C(alpha), eq:dir_norm."""
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum())


def elbo_39(
    codes: np.ndarray,
    n_levels: list[int],
    alpha_weights: float,
    alpha_factors: list[np.ndarray],
    weights: np.ndarray,
    factors: list[np.ndarray],
) -> float:
    """L(q) for responsibilities that are optimal given the Dirichlet concentrations ``weights`` and ``factors``."""
    rank = len(weights)
    e_log_lambda = digamma(weights) - digamma(weights.sum())
    e_log_a = [digamma(factor) - digamma(factor.sum(axis=0)) for factor in factors]
    first = entropy = 0.0
    for row in codes:
        log_gamma = e_log_lambda.copy()
        for n, code in enumerate(row):
            if code >= 0:
                log_gamma += e_log_a[n][code]
        rho = np.exp(log_gamma - log_gamma.max())
        rho /= rho.sum()
        first += sum(rho[r] * log_gamma[r] for r in range(rank) if rho[r] > 0)
        entropy -= sum(rho[r] * np.log(rho[r]) for r in range(rank) if rho[r] > 0)
    prior_weights = np.full(rank, alpha_weights)
    total = first + entropy
    total += log_c(prior_weights) + sum((alpha_weights - 1) * e_log_lambda)
    total -= log_c(weights) + sum((weights[r] - 1) * e_log_lambda[r] for r in range(rank))
    for n in range(len(n_levels)):
        for r in range(rank):
            total += log_c(alpha_factors[n]) + ((alpha_factors[n] - 1) * e_log_a[n][:, r]).sum()
            total -= log_c(factors[n][:, r]) + ((factors[n][:, r] - 1) * e_log_a[n][:, r]).sum()
    return float(total)
