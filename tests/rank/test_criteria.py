"""Criteria against their definitions, in plain loops over rows."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.rank.complexity import log_complexity
from tensorpmf.rank.criteria import CRITERIA, Fitted

N_LEVELS = (2, 3, 4)


@pytest.fixture
def codes(rng: np.random.Generator) -> np.ndarray:
    codes = rng.integers(0, N_LEVELS, (40, 3))
    codes[rng.random(codes.shape) < 0.25] = -1
    return codes


@pytest.fixture
def pmf(rng: np.random.Generator) -> tp.LowRankPMF:
    factors = [rng.dirichlet(np.ones(n), 3).T for n in N_LEVELS]
    return tp.LowRankPMF(tp.Schema.from_n_levels(N_LEVELS), [0.5, 0.3, 0.2], factors)


def resp_of(row: np.ndarray, pmf: tp.LowRankPMF) -> np.ndarray:
    joint = pmf.weights.copy()
    for n, code in enumerate(row):
        if code >= 0:
            joint = joint * pmf.factors[n][code]
    return joint / joint.sum()


def code_length(codes: np.ndarray, states: np.ndarray, rank: int) -> float:
    """ALGORITHMS 3.3, term by term."""
    length = float(log_complexity(rank, len(codes)))
    for r in range(rank):
        mine = codes[states == r]
        if len(mine):
            length -= len(mine) * log(len(mine) / len(codes))
        for n, n_levels in enumerate(N_LEVELS):
            shown = mine[mine[:, n] >= 0, n]
            length += float(log_complexity(n_levels, len(shown)))
            length -= sum(count * log(count / len(shown)) for count in np.bincount(shown) if count)
    return length


def test_information_criteria(codes: np.ndarray, pmf: tp.LowRankPMF) -> None:
    log_likelihood, d, n = pmf.log_prob(codes).sum(), 2 + 3 * (1 + 2 + 3), 40
    entropy = -sum((resp * np.log(resp)).sum() for resp in (resp_of(row, pmf) for row in codes))
    fitted = Fitted(pmf, Rows.from_codes(codes, N_LEVELS))
    assert {name: CRITERIA[name](fitted) for name in ("aic", "bic", "sabic", "caic", "icl")} == pytest.approx(
        {
            "aic": -2 * log_likelihood + 2 * d,
            "bic": -2 * log_likelihood + d * log(n),
            "sabic": -2 * log_likelihood + d * log(42 / 24),
            "caic": -2 * log_likelihood + d * (log(n) + 1),
            "icl": -2 * log_likelihood + d * log(n) + 2 * entropy,
        }
    )


def test_dnml_of_the_likeliest_components(codes: np.ndarray, pmf: tp.LowRankPMF) -> None:
    states = np.array([resp_of(row, pmf).argmax() for row in codes])
    found = CRITERIA["dnml-argmax"](Fitted(pmf, Rows.from_codes(codes, N_LEVELS)))
    assert found == pytest.approx(code_length(codes, states, 3))


def test_dnml_is_the_mean_over_drawn_components(codes: np.ndarray, pmf: tp.LowRankPMF) -> None:
    rng = np.random.default_rng(5)
    resp = np.array([resp_of(row, pmf) for row in codes])
    lengths = []
    for _ in range(300):
        states = np.array([rng.choice(3, p=row) for row in resp])
        lengths.append(code_length(codes, states, 3))
    found = [CRITERIA["dnml"](Fitted(pmf, Rows.from_codes(codes, N_LEVELS), seed)) for seed in range(20)]
    error = np.std(lengths) * np.sqrt(1 / 300 + 1 / 200)
    assert abs(np.mean(found) - np.mean(lengths)) < 4.5 * error
    assert found[3] == CRITERIA["dnml"](Fitted(pmf, Rows.from_codes(codes, N_LEVELS), 3))


def test_dnml_of_rows_that_can_only_be_of_one_component() -> None:
    factors = [np.array([[1.0, 0.0], [0.0, 1.0]])] * 2
    pmf = tp.LowRankPMF(tp.Schema.from_n_levels([2, 2]), [0.4, 0.6], factors)
    fitted = Fitted(pmf, Rows.from_codes([[0, 0]] * 4 + [[1, 1]] * 6, [2, 2]))
    expected = -(4 * log(0.4) + 6 * log(0.6)) + float(log_complexity(2, 10) + 2 * log_complexity(2, [4, 6]).sum())
    for name in ("dnml", "dnml-argmax", "dnml-observed"):
        assert CRITERIA[name](fitted) == pytest.approx(expected)
    assert CRITERIA["icl"](fitted) == pytest.approx(CRITERIA["bic"](fitted))


def test_dnml_of_what_is_observed(codes: np.ndarray, pmf: tp.LowRankPMF) -> None:
    resp = np.array([resp_of(row, pmf) for row in codes])
    expected = float(log_complexity(3, 40)) - pmf.log_prob(codes).sum()
    for n, n_levels in enumerate(N_LEVELS):
        expected += log_complexity(n_levels, resp[codes[:, n] >= 0].sum(axis=0)).sum()
    assert CRITERIA["dnml-observed"](Fitted(pmf, Rows.from_codes(codes, N_LEVELS))) == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(set(CRITERIA) - {"dnml"}))
def test_a_row_of_weight_two_is_two_rows(codes: np.ndarray, pmf: tp.LowRankPMF, name: str) -> None:
    twice = Fitted(pmf, Rows.from_codes(np.concatenate([codes, codes]), N_LEVELS))
    weighted = Fitted(pmf, Rows.from_codes(codes, N_LEVELS, np.full(40, 2.0)))
    assert CRITERIA[name](twice) == pytest.approx(CRITERIA[name](weighted))


def test_the_components_of_a_heavy_row_are_drawn_one_by_one(pmf: tp.LowRankPMF) -> None:
    """Drawn together, the completed counts of one row of weight 1000.5 would be all in one component."""
    fitted = Fitted(pmf, Rows.from_codes([[0, 0, 0]], N_LEVELS, [1000.5]))
    resp = resp_of(np.zeros(3, dtype=int), pmf)
    for weights, factors in fitted.drawn_counts():
        assert weights.sum() == pytest.approx(1000.5)
        np.testing.assert_allclose(weights / 1000.5, resp, atol=0.08)
        np.testing.assert_allclose(factors[[0, 2, 5]], [weights] * 3)


def test_on_the_papers_tables_published_dnml_prefers_one_component() -> None:
    """Their hidden components say more than they explain (ALGORITHMS 3.3); the variant for densities does not mind."""
    from tensorpmf.data import sample_table, synthetic_pmf

    table = sample_table(synthetic_pmf(seed=1), 10_000, seed=2)
    fits = [tp.fit(table, tp.SQUAREM(tp.EM(rank)), n_threads=1).pmf for rank in (1, 4)]
    one, four = ([CRITERIA[name](Fitted(pmf, rows_of(table))) for name in CRITERIA] for pmf in fits)
    better = {name for name, a, b in zip(CRITERIA, one, four, strict=True) if b < a}
    assert better == {"aic", "bic", "sabic", "caic", "dnml-observed"}
