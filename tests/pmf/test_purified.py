"""Locally purified states: cells from the definition, and what no other kind of PMF has to do."""

from __future__ import annotations

import dataclasses
import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import purified
from tests.oracles.purified import random_cores

import tensorpmf as tp
from tensorpmf.errors import ImpossibleEvidenceError, NoMixtureError, NotADistributionError
from tensorpmf.pmf.purified import compressed
from tensorpmf.testing.checks import check_pmf


@st.composite
def purified_pmfs(draw: st.DrawFn) -> tp.PurifiedPMF:
    """Draw chains of one to four columns in any order, real or complex, some with a level that never occurs."""
    n_levels = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    bonds = draw(st.lists(st.integers(1, 4), min_size=len(n_levels) - 1, max_size=len(n_levels) - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cores = random_cores(rng, n_levels, bonds, draw(st.integers(1, 3)), draw(st.booleans()))
    if n_levels[-1] > 1 and draw(st.booleans()):
        cores[-1][0] = 0.0
    sites = draw(st.permutations(range(len(n_levels))))
    schema = tp.Schema.from_n_levels([n_levels[sites.index(ix)] for ix in range(len(sites))])
    return tp.PurifiedPMF(schema, cores, sites)


def long_chain(rng: np.random.Generator, n_columns: int = 300) -> tp.PurifiedPMF:
    cores = random_cores(rng, [3] * n_columns, [4] * (n_columns - 1), 2, False)
    return tp.PurifiedPMF(tp.Schema.from_n_levels([3] * n_columns), cores)


@given(purified_pmfs())
def test_its_cells_are_what_the_definition_says(pmf: tp.PurifiedPMF) -> None:
    dense = purified.tensor(list(pmf.cores))
    expected = (dense / dense.sum()).transpose([pmf.sites.index(ix) for ix in range(len(pmf.sites))])
    np.testing.assert_allclose(pmf.to_dense(), expected, atol=1e-13)


@given(purified_pmfs())
def test_every_small_purified_pmf_keeps_the_contract(pmf: tp.PurifiedPMF) -> None:
    check_pmf(pmf)


@pytest.mark.parametrize("is_complex", [False, True])
def test_sums_compress_without_loss_and_never_grow(rng: np.random.Generator, is_complex: bool) -> None:
    """A hundred levels of hidden dimension three, summed over, need no more than D_left times D_right."""
    core = random_cores(rng, [2, 2], [3], 100, is_complex)[0]
    smaller = compressed(core)
    assert smaller.shape == (2, 1, 3, 3)

    def maps(any_core: np.ndarray) -> np.ndarray:
        return np.einsum("iacm,ibdm->iabcd", any_core, any_core.conj())

    ratio = maps(smaller) / maps(core)
    np.testing.assert_allclose(ratio, ratio.flat[0])
    assert np.log2(ratio.flat[0].real) == pytest.approx(round(np.log2(ratio.flat[0].real)))


def test_marginals_stay_as_small_as_their_bonds_allow(rng: np.random.Generator) -> None:
    pmf = long_chain(rng, 60)
    marginal = pmf.marginal(["x50", "x7", "x23"])
    assert marginal.sites == (1, 2, 0)
    assert marginal.rank == 4
    assert [core.shape for core in marginal.cores] == [(3, 1, 4, 4), (3, 4, 4, 16), (3, 4, 1, 4)]
    rows = rng.integers(-1, 3, (40, 3))
    asked = np.full((40, 60), -1)
    asked[:, [49, 6, 22]] = rows
    np.testing.assert_allclose(marginal.log_prob(rows), pmf.log_prob(asked), rtol=1e-10)


def test_columns_may_be_asked_for_in_any_order(rng: np.random.Generator) -> None:
    pmf = long_chain(rng, 4)
    dense = pmf.to_dense()
    for order in permutations(range(4)):
        asked = pmf.marginal([f"x{ix + 1}" for ix in order])
        np.testing.assert_allclose(asked.to_dense(), dense.transpose(order), atol=1e-14)
        np.testing.assert_allclose(asked.marginal(list(pmf.schema.names)).to_dense(), dense, atol=1e-14)


def test_hundreds_of_columns_neither_underflow_nor_forget(rng: np.random.Generator) -> None:
    pmf = long_chain(rng)
    drawn = pmf.sample(200, rng)
    log_prob = pmf.log_prob(drawn)
    assert np.isfinite(log_prob).all()
    assert log_prob.mean() < -200
    given_half = pmf.given({name: drawn.codes[0, ix].item() for ix, name in enumerate(pmf.schema.names) if ix % 2})
    known = np.where(np.arange(300) % 2, drawn.codes[:1], -1)
    expected = log_prob[0] - pmf.log_prob(known)[0]
    assert given_half.log_prob(drawn.codes[:1, ::2])[0] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(pmf.conditional("x8", known)[0], given_half_of(pmf, known, 7), atol=1e-12)


def given_half_of(pmf: tp.PurifiedPMF, known: np.ndarray, ix: int) -> np.ndarray:
    """Bayes' rule, one row a level."""
    asked = np.repeat(known, 3, axis=0)
    asked[:, ix] = range(3)
    prob = np.exp(pmf.log_prob(asked) - pmf.log_prob(asked).max())
    return prob / prob.sum()


def test_a_mixture_can_be_written_as_one(rng: np.random.Generator) -> None:
    """The bond carries which component it is, and the first column's hidden level keeps them from interfering."""
    mixture = tp.LowRankPMF(
        tp.Schema.from_n_levels([2, 3, 2]),
        [0.3, 0.7],
        [[[0.1, 0.6], [0.9, 0.4]], [[0.2, 0.5], [0.3, 0.5], [0.5, 0.0]], [[0.5, 0.2], [0.5, 0.8]]],
    )
    first, second, third = (np.sqrt(factor) for factor in mixture.factors)
    pure = tp.PurifiedPMF(
        mixture.schema,
        [
            (first * np.sqrt(mixture.weights))[:, None, :, None] * np.eye(2)[None, None],
            second[:, None, :, None] * np.eye(2)[None, :, :, None],
            third[:, :, None, None],
        ],
    )
    np.testing.assert_allclose(pure.to_dense(), mixture.to_dense(), atol=1e-15)
    assert tp.kl_divergence(mixture, pure) == pytest.approx(0, abs=1e-12)
    assert tp.relative_squared_error(mixture, pure) == pytest.approx(0, abs=1e-12)


def test_evidence_that_cannot_be_is_refused(rng: np.random.Generator) -> None:
    cores = random_cores(rng, [2, 2], [2], 1, False)
    cores[0][0] = 0
    pmf = tp.PurifiedPMF(tp.Schema.from_n_levels([2, 2]), cores)
    with pytest.raises(ImpossibleEvidenceError, match=r"P\(x1=0\) = 0"):
        pmf.given(x1=0)
    assert pmf.log_prob(np.array([[0, 1]])) == [-np.inf]
    assert pmf.given(x1={0, 1}) == pmf


def test_it_is_immutable_and_owns_its_arrays(rng: np.random.Generator) -> None:
    cores = random_cores(rng, [2, 3], [2], 2, False)
    pmf = tp.PurifiedPMF(tp.Schema.from_n_levels([2, 3]), cores)
    before = pmf.to_dense()
    cores[0][:] = 0
    np.testing.assert_array_equal(pmf.to_dense(), before)
    with pytest.raises(ValueError, match="read-only"):
        pmf.cores[0][0, 0, 0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        pmf.cores = ()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(pmf)) == pmf
    assert pmf != tp.PurifiedPMF(pmf.schema, [2.5 * pmf.cores[0], pmf.cores[1]])


def test_any_scale_of_cores_is_the_same_pmf(rng: np.random.Generator) -> None:
    cores = random_cores(rng, [2, 3], [2], 2, True)
    pmf = tp.PurifiedPMF(tp.Schema.from_n_levels([2, 3]), cores)
    assert tp.PurifiedPMF(pmf.schema, [2.0**-900 * cores[0], 2.0**800 * cores[1]]) == pmf
    assert tp.PurifiedPMF(pmf.schema, pmf.cores) == pmf


def test_it_tells_what_it_is_made_of(rng: np.random.Generator) -> None:
    pmf = tp.PurifiedPMF(tp.Schema.from_n_levels([2, 3]), random_cores(rng, [2, 3], [3], 2, True))
    assert (pmf.rank, pmf.purification) == (3, 2)
    assert repr(pmf).startswith("PurifiedPMF of 2 columns, bond dimension 3, purification 2, complex\n")


@pytest.mark.parametrize(
    ("shapes", "sites", "complaint"),
    [
        ([(2, 1, 2, 1)], None, "cores: there are 1 for 2 columns"),
        ([(2, 1, 2, 1), (3, 3, 1, 1)], None, r"core of 'x2': the shape is \(3, 3, 1, 1\), not \(3, 2, D_right, pur"),
        ([(2, 1, 2), (3, 2, 1, 1)], None, r"core of 'x1': the shape is \(2, 1, 2\)"),
        ([(2, 1, 2, 0), (3, 2, 1, 1)], None, "core of 'x1': the shape"),
        ([(2, 1, 2, 1), (3, 2, 2, 1)], None, "the last has D_right = 2, not 1"),
        ([(2, 1, 2, 1), (3, 2, 1, 1)], (0, 0), r"sites: \(0, 0\) is no order of 0 to 1"),
        ([(2, 1, 2, 1), (3, 2, 1, 1)], (1, 0), "core of 'x2': the shape"),
        ([(2, 1, 2, 1), (3, 2, 1, 1)], ("x1", "x2"), r"sites: \('x1', 'x2'\) is no order of 0 to 1"),
    ],
)
def test_cores_that_do_not_fit_are_refused(
    shapes: list[tuple[int, ...]], sites: tuple[int, ...] | None, complaint: str
) -> None:
    with pytest.raises(NotADistributionError, match=complaint):
        tp.PurifiedPMF(tp.Schema.from_n_levels([2, 3]), [np.ones(shape) for shape in shapes], sites)


def test_cores_without_numbers_are_refused() -> None:
    schema = tp.Schema.from_n_levels([2])
    for core in ([[[1, 2], [3]]], "half", np.full((2, 1, 1, 1), "half")):
        with pytest.raises(NotADistributionError, match="core of 'x1': it is no array of numbers"):
            tp.PurifiedPMF(schema, [core])
    with pytest.raises(NotADistributionError, match="infinite entries or NaN"):
        tp.PurifiedPMF(schema, [np.array([1, np.nan]).reshape(2, 1, 1, 1)])
    with pytest.raises(NotADistributionError, match="every cell probability zero"):
        tp.PurifiedPMF(schema, [np.zeros((2, 1, 1, 1))])


def test_a_chain_has_no_components_to_tell_rows_by(rng: np.random.Generator) -> None:
    pmf = tp.PurifiedPMF(tp.Schema.from_n_levels([2, 3]), random_cores(rng, [2, 3], [2], 2, False))
    with pytest.raises(NoMixtureError, match="a PurifiedPMF is no mixture"):
        pmf.responsibilities(np.zeros((1, 2), dtype=int))
