from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import dense

from tensorpmf.errors import ImpossibleEvidenceError, NotADistributionError, SettingError
from tensorpmf.pmf.lowrank import LowRankPMF, drawn_from
from tensorpmf.pmf.posterior import DirichletPosterior
from tensorpmf.pmf.purified import PurifiedPMF
from tensorpmf.table.schema import Column, Schema
from tensorpmf.testing.strategies import low_rank_pmfs

SCHEMA = Schema.from_n_levels([2, 3])
FACTORS = [np.array([[0.5, 0.2], [0.5, 0.8]]), np.array([[0.1, 0.3], [0.2, 0.3], [0.7, 0.4]])]


def small() -> LowRankPMF:
    return LowRankPMF(SCHEMA, [0.25, 0.75], FACTORS)


@given(low_rank_pmfs())
def test_its_cells_are_what_the_definition_says(pmf: LowRankPMF) -> None:
    np.testing.assert_allclose(pmf.to_dense(), dense.tensor(pmf), atol=1e-14)


@given(low_rank_pmfs(), st.randoms(use_true_random=False))
def test_queries_of_rows_agree_with_plain_sums_over_cells(pmf: LowRankPMF, random: object) -> None:
    cells = dense.tensor(pmf)
    rows = np.array([[random.randrange(-1, n) for n in cells.shape] for _ in range(4)])  # type: ignore[attr-defined]
    np.testing.assert_allclose(pmf.prob(rows), [dense.prob(cells, row) for row in rows], atol=1e-14)
    for ix, name in enumerate(pmf.schema.names):
        for row in rows:
            known = np.array(row)
            known[ix] = -1
            if dense.prob(cells, known) > 0:
                expected = dense.conditional(cells, ix, row)
                np.testing.assert_allclose(pmf.conditional(name, row[None])[0], expected, atol=1e-12)
            else:
                with pytest.raises(ImpossibleEvidenceError):
                    pmf.conditional(name, row[None])


@given(low_rank_pmfs(max_rank=4))
def test_responsibilities_are_bayes_rule_over_components(pmf: LowRankPMF) -> None:
    row = dense.tensor(pmf)
    row = np.array(np.unravel_index(np.argmax(row), row.shape))
    row[0] = -1
    joint = [
        pmf.weights[r] * np.prod([f[code, r] for f, code in zip(pmf.factors, row, strict=True) if code >= 0])
        for r in range(pmf.rank)
    ]
    np.testing.assert_allclose(pmf.responsibilities(row[None])[0], np.array(joint) / sum(joint), atol=1e-12)


@given(low_rank_pmfs(max_rank=4), st.randoms(use_true_random=False))
def test_the_order_of_components_does_not_matter(pmf: LowRankPMF, random: object) -> None:
    order = list(range(pmf.rank))
    random.shuffle(order)  # type: ignore[attr-defined]
    other = pmf.reordered(order)
    np.testing.assert_array_equal(other.weights, pmf.weights[order])
    np.testing.assert_allclose(other.to_dense(), pmf.to_dense(), atol=1e-14)
    rows = np.full((1, len(pmf.schema)), -1)
    np.testing.assert_allclose(other.responsibilities(rows), pmf.responsibilities(rows)[:, order], atol=1e-12)


@given(low_rank_pmfs(max_rank=1))
def test_rank_one_is_the_product_of_the_marginals(pmf: LowRankPMF) -> None:
    product = np.ones(())
    for name in pmf.schema.names:
        product = np.multiply.outer(product, pmf.marginal(name).to_dense())
    np.testing.assert_allclose(pmf.to_dense(), product, atol=1e-14)
    assert len(pmf.schema) == 1 or abs(pmf.mutual_information(pmf.schema.names[0], pmf.schema.names[1:])) < 1e-12


def test_evidence_moves_the_weights_to_the_responsibilities() -> None:
    posterior = small().given(x1=1)
    np.testing.assert_allclose(posterior.weights, small().responsibilities(np.array([[1, -1]]))[0])
    assert posterior.schema.names == ("x2",)


def test_a_component_that_evidence_rules_out_keeps_its_place_with_weight_zero() -> None:
    pmf = LowRankPMF(SCHEMA, [0.25, 0.75], [np.array([[1.0, 0.0], [0.0, 1.0]]), FACTORS[1]])
    assert pmf.given(x1=[0]).weights.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(pmf.given(x1=[0]).to_dense(), [FACTORS[1][:, 0], [0, 0, 0]])


def test_five_thousand_columns_do_not_underflow(rng: np.random.Generator) -> None:
    n_columns, rank = 5_000, 3
    schema = Schema.from_n_levels([4] * n_columns)
    factors = [rng.dirichlet(np.ones(4), rank).T for _ in range(n_columns)]
    pmf = LowRankPMF(schema, [0.2, 0.3, 0.5], factors)
    rows = pmf.sample(3, rng)
    by_component = np.log(pmf.weights) + np.array(
        [sum(np.log(factor[code]) for factor, code in zip(factors, row, strict=True)) for row in rows.codes]
    )
    expected = [np.logaddexp.reduce(terms) for terms in by_component]
    assert max(expected) < -5_000
    np.testing.assert_allclose(pmf.log_prob(rows), expected, rtol=1e-12)
    assert pmf.prob(rows).tolist() == [0, 0, 0]
    known = {name: int(code) for name, code in zip(schema.names[1:], rows.codes[0, 1:], strict=True)}
    ((winner,),) = np.nonzero(pmf.given(known).weights > 0.999)
    np.testing.assert_allclose(pmf.given(known).to_dense(), factors[0][:, winner])
    np.testing.assert_allclose(pmf.conditional("x1", rows)[0], factors[0][:, winner])
    assert pmf.entropy(n_draws=5).standard_error > 0


def test_it_owns_its_arrays_and_nobody_can_change_them() -> None:
    weights, factors = np.array([0.25, 0.75]), [f.copy() for f in FACTORS]
    pmf = LowRankPMF(SCHEMA, weights, factors)
    weights[0], factors[0][0, 0] = 9, 9
    assert pmf == small()
    assert weights.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        pmf.weights[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        pmf.factors[0][0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        pmf.log_tables.log_weights[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        pmf.log_tables.log_factors[0, 0] = 1
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        pmf.factors[0].setflags(write=True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        pmf.weights = weights  # type: ignore[misc]


def test_what_nearly_sums_to_one_is_normalised_and_stays_as_it_is_when_made_again() -> None:
    pmf = LowRankPMF(SCHEMA, np.array([0.25, 0.75]) * (1 + 5e-7), FACTORS)
    assert pmf.weights.sum() == pytest.approx(1, abs=1e-15)
    thirds = LowRankPMF(SCHEMA, np.full(3, 1 / 3), [np.full((2, 3), 0.5), np.full((3, 3), 1 / 3)])
    for one in (pmf, thirds):
        assert LowRankPMF(one.schema, one.weights, one.factors) == one


@pytest.mark.parametrize(
    ("weights", "factors", "what", "problem"),
    [
        ([0.5, 0.6], FACTORS, "weights", "it sums to 1.1, not to 1"),
        ([-0.5, 1.5], FACTORS, "weights", "there are negative entries or NaN"),
        ([np.nan, 1], FACTORS, "weights", "there are negative entries or NaN"),
        ([np.inf, 1], FACTORS, "weights", "it sums to inf, not to 1"),
        ([[0.5, 0.5]], FACTORS, "weights", "the shape is (1, 2), not (R,)"),
        ([], FACTORS, "weights", "the shape is (0,), not (R,)"),
        ("half", FACTORS, "weights", "it is no array of numbers"),
        ([[0.5], [0.25, 0.25]], FACTORS, "weights", "it is no array of numbers"),
        ([0.5, 0.5], FACTORS[:1], "factors", "there are 1 for 2 columns"),
        ([0.5, 0.5], None, "factors", "there are 0 for 2 columns"),
        ([0.5, 0.5], FACTORS[::-1], "factor of 'x1'", "the shape is (3, 2), not (2, 2)"),
        ([0.5, 0.5], [FACTORS[0], FACTORS[1] * 1.01], "factor of 'x2'", "it sums to 1.01, not to 1"),
    ],
)
def test_what_is_no_distribution_is_refused(weights: object, factors: object, what: str, problem: str) -> None:
    with pytest.raises(NotADistributionError) as caught:
        LowRankPMF(SCHEMA, weights, factors)  # type: ignore[arg-type]
    assert (caught.value.what, caught.value.problem) == (what, problem)
    assert str(caught.value) == f"{what}: {problem}."


@pytest.mark.parametrize("kind", [LowRankPMF, PurifiedPMF, partial(DirichletPosterior, alpha_weights=1.0)])
def test_what_is_no_schema_is_refused(kind: Callable[..., object]) -> None:
    parts = ["x", [np.ones((1, 1, 1, 1))]] if kind is PurifiedPMF else ["x", [1.0], [[[1.0]]]]
    with pytest.raises(SettingError, match="schema must be a Schema, got 'x'"):
        kind(*parts)


def test_an_order_of_components_must_name_each_once() -> None:
    with pytest.raises(SettingError, match=r"components must be an order of 0 to 1, got \[0, 0\]"):
        small().reordered([0, 0])


def test_equality_is_of_columns_and_numbers() -> None:
    other = Schema((SCHEMA.columns[0], Column("x2", ("a", "b", "c"))))
    assert small() == small()
    assert small() != LowRankPMF(other, [0.25, 0.75], FACTORS)
    assert small() != LowRankPMF(SCHEMA, [0.75, 0.25], FACTORS)
    assert small() != LowRankPMF(SCHEMA, [0.25, 0.75], [FACTORS[0], FACTORS[1][::-1]])
    assert small() != LowRankPMF(SCHEMA, [1.0], [f[:, :1] for f in FACTORS])
    assert small() != "small"


def test_it_can_be_pickled_and_copied() -> None:
    copy = pickle.loads(pickle.dumps(small()))
    assert copy == small()
    np.testing.assert_array_equal(copy.to_dense(), small().to_dense())
    assert not copy.weights.flags.writeable


def test_it_shows_what_a_person_wants_to_see() -> None:
    assert repr(small()).splitlines() == [
        "LowRankPMF of 2 columns, rank 2, weights 0.75 0.25",
        "  x1  1 72.5%, 0 27.5%",
        "  x2  2 47.5%, 1 27.5%, 0 25%",
    ]
    wide = LowRankPMF(Schema.from_n_levels([6] * 20), np.full(10, 0.1), [np.full((6, 10), 1 / 6)] * 20)
    lines = repr(wide).splitlines()
    assert lines[0] == "LowRankPMF of 20 columns, rank 10, weights " + "0.1 " * 8 + "…"
    assert lines[1] == "  x1  0 16.7%, 1 16.7%, 2 16.7%, 3 16.7%, …"
    assert lines[-1] == "  … 12 more columns"
    assert len(lines) == 10


def test_what_it_shows_fits_a_terminal_whatever_names_and_labels_are() -> None:
    levels = tuple(f"\x1b[31mlabel {ix}\nthat goes on and on" for ix in range(5))
    schema = Schema((Column("a name\t" + 30 * "long ", levels), Column("short", ("y", "n"))))
    shown = repr(LowRankPMF(schema, [1.0], [np.full((5, 1), 0.2), [[0.75], [0.25]]]))
    assert shown.splitlines()[1:] == [
        r"  a name\tlong long long …  \x1b[31mlabel 0\nthat g… 20%, …",
        "  short                     y 75%, n 25%",
    ]
    assert max(map(len, shown.splitlines())) <= 80


def test_its_headline_fits_a_terminal_however_many_columns_and_weights(rng: np.random.Generator) -> None:
    weights = np.sort(rng.dirichlet(np.full(100, 0.05)))[::-1]
    shown = repr(LowRankPMF(Schema.from_n_levels([1] * 1_234), weights, [np.ones((1, 100))] * 1_234)).splitlines()[0]
    assert 70 < len(shown) <= 80
    assert shown.startswith(f"LowRankPMF of 1,234 columns, rank 100, weights {weights[0]:.2g} {weights[1]:.2g} ")
    assert shown.endswith(" …")


class Fixed:
    """A generator that draws one number, whatever is asked."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self, n: int) -> np.ndarray:
        return np.full(n, self.number)


@pytest.mark.parametrize(
    ("number", "prob", "drawn"),
    [
        (0.0, [0.0, 0.5, 0.5], 1),  # the smallest draw does not hit what cannot happen
        (1 - 2**-53, [0.1] * 10, 9),  # the largest draw stays inside, though ten times 0.1 is less than one
        (1 - 2**-53, [0.5, 0.5, 0.0], 1),
        (0.5, [0.5, 0.5], 1),
        (0.49, [0.5, 0.5], 0),
    ],
)
def test_the_ends_of_the_unit_interval_draw_what_can_happen(number: float, prob: list[float], drawn: int) -> None:
    assert drawn_from(np.array([prob]).T, Fixed(number)).tolist() == [drawn]  # type: ignore[arg-type]
