from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import dense

from tensorpmf.errors import (
    ImpossibleEvidenceError,
    InputError,
    SettingError,
    TooManyCellsError,
    UnknownColumnError,
    UnknownLevelError,
)
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.table.schema import Column, Schema
from tensorpmf.testing.strategies import low_rank_pmfs

SCHEMA = Schema(
    (
        Column("party", ("dem", "rep")),
        Column("age", ("18-25", "26-35", "36-"), ordered=True, edges=(26.0, 36.0), centres=(21.0, 30.0, 50.0)),
        Column("stars", (5, 1, 3)),
        Column("is it?", (frozenset({"a"}), ("b", 1))),
    )
)


@pytest.fixture
def pmf(rng: np.random.Generator) -> LowRankPMF:
    return LowRankPMF(SCHEMA, [0.5, 0.3, 0.2], [rng.dirichlet(np.ones(n), 3).T for n in SCHEMA.n_levels])


def test_a_marginal_is_a_pmf_with_the_columns_asked_for(pmf: LowRankPMF) -> None:
    two = pmf.marginal(["stars", "party"])
    assert two.schema == Schema((SCHEMA["stars"], SCHEMA["party"]))
    np.testing.assert_allclose(two.to_dense(), dense.marginal(dense.tensor(pmf), [2, 0]))
    np.testing.assert_allclose(two.marginal("party").to_dense(), pmf.marginal("party").to_dense())


@pytest.mark.parametrize("names", [[], ["age", "age"]])
def test_a_marginal_needs_columns_each_once(pmf: LowRankPMF, names: list[str]) -> None:
    with pytest.raises(InputError, match="expected one or several different column names"):
        pmf.marginal(names)
    with pytest.raises(UnknownColumnError, match="there is no column 1"):
        pmf.marginal(1)


def test_what_is_known_of_a_column_is_said_once(pmf: LowRankPMF) -> None:
    with pytest.raises(InputError, match="column 'party' is given twice") as caught:
        pmf.given({"party": "dem", "stars": 5}, party="rep")
    assert caught.value.hint == "say once what is known of it."


def test_an_unknown_column_is_named_with_the_known_ones(pmf: LowRankPMF) -> None:
    for ask in (pmf.marginal, pmf.expect, pmf.most_likely, lambda name: pmf.given({name: 1})):
        with pytest.raises(UnknownColumnError, match="there is no column 'star'") as caught:
            ask("star")
        assert caught.value.column == "star"
        assert caught.value.known == SCHEMA.names


@given(low_rank_pmfs(min_columns=2), st.data())
def test_marginals_and_evidence_commute(pmf: LowRankPMF, data: st.DataObject) -> None:
    cells = dense.tensor(pmf)
    code = data.draw(st.integers(0, cells.shape[0] - 1))
    if dense.marginal(cells, [0])[code] == 0:
        with pytest.raises(ImpossibleEvidenceError):
            pmf.given(x1=code)
        return
    last = pmf.schema.names[-1]
    np.testing.assert_allclose(
        pmf.given(x1=code).marginal(last).to_dense(), pmf.marginal(["x1", last]).given(x1=code).to_dense(), atol=1e-12
    )
    expected = dense.restricted(cells, {0: {code}}).take(code, axis=0)
    np.testing.assert_allclose(pmf.given(x1=code).to_dense(), expected, atol=1e-12)


def test_a_level_takes_its_column_away_and_a_set_restricts_it(pmf: LowRankPMF) -> None:
    cells = dense.tensor(pmf)
    level = pmf.given(party="rep")
    assert level.schema.names == ("age", "stars", "is it?")
    restricted = pmf.given(age={"18-25", "36-"})
    assert restricted.schema == SCHEMA
    np.testing.assert_allclose(restricted.to_dense(), dense.restricted(cells, {1: {0, 2}}))
    assert restricted.marginal("age").to_dense()[1] == 0
    both = pmf.given({"is it?": ("b", 1)}, age=["18-25", "36-"], party="rep")
    assert both.schema.names == ("age", "stars")
    expected = dense.restricted(cells, {0: {1}, 1: {0, 2}, 3: {1}})[1, :, :, 1]
    np.testing.assert_allclose(both.to_dense(), expected)


def test_a_set_of_all_levels_says_nothing_and_of_one_level_says_it(pmf: LowRankPMF) -> None:
    np.testing.assert_allclose(pmf.given(stars={5, 1, 3}).to_dense(), pmf.to_dense())
    one = pmf.given(stars=[1])
    assert one.marginal("stars").to_dense().tolist() == [0, 1, 0]
    np.testing.assert_allclose(one.marginal("party").to_dense(), pmf.given(stars=1).marginal("party").to_dense())


def test_evidence_chains(pmf: LowRankPMF) -> None:
    at_once = pmf.given(party="dem", stars=3)
    np.testing.assert_allclose(pmf.given(party="dem").given(stars=3).to_dense(), at_once.to_dense())
    np.testing.assert_allclose(
        pmf.given(stars={5, 1}).given(stars={1, 3}).to_dense(), pmf.given(stars=[1]).to_dense(), atol=1e-15
    )


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Index, pl.Series])
def test_levels_may_come_in_any_collection_that_is_no_level(pmf: LowRankPMF, kind: Callable[..., object]) -> None:
    assert pmf.given(stars=kind([5, 3]), party=kind(["dem"])) == pmf.given(stars={5, 3}, party={"dem"})


@pytest.mark.parametrize("known", [{5: 1}, np.array(5), (5, 3)])
def test_what_is_no_level_and_no_collection_of_levels_is_refused(pmf: LowRankPMF, known: object) -> None:
    with pytest.raises(UnknownLevelError):
        pmf.given(stars=known)


def test_a_frozenset_that_is_a_level_is_that_level(pmf: LowRankPMF) -> None:
    assert pmf.given({"is it?": frozenset({"a"})}).schema.names == ("party", "age", "stars")
    assert pmf.given(age=frozenset({"36-"})).schema == SCHEMA


def test_columns_may_be_called_what_they_like() -> None:
    schema = Schema((Column("self", (0, 1)), Column("known", ("a", "b")), Column("x", ("only",))))
    pmf = LowRankPMF(schema, [1.0], [[[0.2], [0.8]], [[0.5], [0.5]], [[1.0]]])
    assert pmf.given(self=1, known="a").schema.names == ("x",)


def test_a_number_finds_its_bin(pmf: LowRankPMF) -> None:
    assert pmf.given(age=30.5) == pmf.given(age="26-35")


def test_unknown_levels_in_evidence_are_named(pmf: LowRankPMF) -> None:
    for known in ("Green", {"rep", "Green"}):
        with pytest.raises(UnknownLevelError, match="column 'party' has no level 'Green'") as caught:
            pmf.given(party=known)
        assert (caught.value.column, caught.value.level, caught.value.known) == ("party", "Green", ("dem", "rep"))
        assert "unknown=" not in str(caught.value), "evidence has no such setting"


@pytest.mark.parametrize("query", ["prob", "conditional", "expect", "median", "most_likely"])
def test_questions_about_rows_offer_to_skip_unknown_levels_and_do(pmf: LowRankPMF, query: str) -> None:
    ask = getattr(pmf, query) if query == "prob" else partial(getattr(pmf, query), "stars")
    rows = [{"party": "Green", "age": "36-"}]
    with pytest.raises(UnknownLevelError, match='pass unknown="missing"'):
        ask(rows)
    np.testing.assert_array_equal(ask(rows, unknown="missing"), ask([{"age": "36-"}]))


def test_impossible_evidence_is_told_as_it_was_given() -> None:
    pmf = LowRankPMF(SCHEMA, [1.0], [[[1], [0]], [[0], [0.5], [0.5]], [[0], [1], [0]], [[0.5], [0.5]]])
    with pytest.raises(ImpossibleEvidenceError) as caught:
        pmf.given(party="rep", stars=[3, 5], age="36-")
    assert caught.value.evidence == "party='rep', stars in {5, 3}, age='36-'"
    told = "P(party='rep', stars in {5, 3}, age='36-') = 0 under this model, so it cannot be conditioned on."
    assert str(caught.value) == told
    with pytest.raises(ImpossibleEvidenceError, match=r"P\(party in \{\}\) = 0"):
        pmf.given(party=set())
    for ask in (pmf.responsibilities, lambda rows: pmf.complete(rows, np.random.default_rng(0))):
        with pytest.raises(ImpossibleEvidenceError, match="row 1: party='dem', stars=3"):
            ask(np.array([[0, 1, 1, 0], [0, -1, 2, -1], [1, 1, 1, 1]]))
    with pytest.raises(ImpossibleEvidenceError, match=r"row 1: party='dem', age='18-25', is it\?=\('b', 1\)\)"):
        pmf.conditional("stars", np.array([[0, 1, 2, 0], [0, 0, 2, 1]]))
    assert pmf.conditional("stars", np.array([[0, 1, 2, 0]])).tolist() == [[0, 1, 0]]


def test_impossible_rows_may_be_taken_for_unknown_ones() -> None:
    pmf = LowRankPMF(
        SCHEMA, [0.2, 0.8], [np.eye(2), [[0.5, 1], [0.5, 0], [0, 0]], np.eye(3)[:, :2], np.full((2, 2), 0.5)]
    )
    rows = np.array([[0, 0, 1, 0], [0, 0, 0, 0]])
    with pytest.raises(ImpossibleEvidenceError):
        pmf.responsibilities(rows)
    np.testing.assert_allclose(pmf.responsibilities(rows, impossible="missing"), [[0.2, 0.8], [1, 0]])
    told = pmf.conditional("age", rows, impossible="missing")
    np.testing.assert_allclose(told, [pmf.marginal("age").to_dense(), pmf.conditional("age", rows[1:])[0]])
    with pytest.raises(SettingError, match="impossible must be 'error' or 'missing', got 'ignore'"):
        pmf.conditional("age", rows, impossible="ignore")  # type: ignore[arg-type]


def test_evidence_on_every_column_leaves_nothing_to_ask(pmf: LowRankPMF) -> None:
    with pytest.raises(InputError, match="every column is known"):
        pmf.marginal("party").given(party="dem")


def test_no_evidence_changes_nothing(pmf: LowRankPMF) -> None:
    np.testing.assert_allclose(pmf.given().to_dense(), pmf.to_dense())


def test_expectations(pmf: LowRankPMF) -> None:
    stars, age = pmf.marginal("stars").to_dense(), pmf.marginal("age").to_dense()
    assert pmf.expect("stars") == pytest.approx(5 * stars[0] + stars[1] + 3 * stars[2])
    assert pmf.expect("age") == pytest.approx(age @ [21, 30, 50])
    assert pmf.expect("party", values=[0, 10]) == pytest.approx(10 * pmf.marginal("party").to_dense()[1])
    rows = np.array([[0, -1, 2, -1], [1, 0, 0, 1]])
    known = [{"party": "dem"}, {"party": "rep", "age": "18-25", "is it?": ("b", 1)}]
    expected = [pmf.given(evidence).expect("stars") for evidence in known]
    np.testing.assert_allclose(pmf.expect("stars", rows), expected)


def test_an_expectation_needs_a_number_a_level(pmf: LowRankPMF) -> None:
    with pytest.raises(InputError, match="column 'party' has levels that are not numbers"):
        pmf.expect("party")
    for wrong in ([1, 2, 3], [1, np.nan]):
        with pytest.raises(SettingError, match="party: values must be 2 finite numbers, one a level, got"):
            pmf.expect("party", values=wrong)


def test_medians_are_levels_in_the_order_of_their_values() -> None:
    pmf = LowRankPMF(SCHEMA.select(["stars", "party"]), [1.0], [[[0.3], [0.1], [0.6]], [[0.5], [0.5]]])
    assert pmf.median("stars") == 3
    assert pmf.median("stars", values=[1, 0, 2]) == 2
    assert pmf.median("party", values=[7, 8]) == 7
    assert pmf.median("stars", np.array([[-1, 0], [0, 1]])).tolist() == [3, 3]


def test_most_likely_levels(pmf: LowRankPMF) -> None:
    assert pmf.most_likely("party") == SCHEMA["party"].levels[np.argmax(pmf.marginal("party").to_dense())]
    answers = pmf.most_likely("is it?", np.array([[0, 0, 0, -1], [1, 1, 1, 0]]))
    assert answers.dtype == object
    expected = [pmf.given(party="dem", age="18-25", stars=5), pmf.given(party="rep", age="26-35", stars=1)]
    assert answers.tolist() == [p.most_likely("is it?") for p in expected]
    assert LowRankPMF(SCHEMA.select(["party"]), [1.0], [[[0.5], [0.5]]]).most_likely("party") == "dem"


def test_batch_answers_do_not_look_at_the_columns_own_cells(pmf: LowRankPMF) -> None:
    rows = np.array([[0, 1, 2, 1], [0, 1, 0, 1], [0, 1, -1, 1]])
    prob = pmf.conditional("stars", rows)
    np.testing.assert_allclose(prob, prob[[0, 0, 0]])


def test_samples_are_tables_and_a_generator_gives_the_same_ones(pmf: LowRankPMF) -> None:
    first, again = (pmf.sample(50, np.random.default_rng(1)) for _ in range(2))
    assert first.schema == SCHEMA
    assert first.codes.dtype == np.int8
    assert first.outage == 0
    np.testing.assert_array_equal(first.codes, again.codes)
    generator = np.random.default_rng(1)
    pmf.sample(50, generator)
    assert not np.array_equal(pmf.sample(50, generator).codes, first.codes)
    assert pmf.sample(0, generator).n_rows == 0
    with pytest.raises(SettingError, match="sample: n must be a whole number >= 0, got -1"):
        pmf.sample(-1, generator)


def test_many_rows_are_the_same_as_a_few_at_a_time(pmf: LowRankPMF, rng: np.random.Generator) -> None:
    codes = pmf.sample(40_000, rng).codes.copy()
    codes[rng.random(codes.shape) < 0.3] = -1
    for ask in (pmf.log_prob, pmf.responsibilities, lambda rows: pmf.conditional("age", rows)):
        whole = ask(codes)
        np.testing.assert_allclose(whole[[0, 20_000, 39_999]], ask(codes[[0, 20_000, 39_999]]), rtol=1e-12)
    completed = pmf.complete(codes, rng).codes
    np.testing.assert_array_equal(completed[codes >= 0], codes[codes >= 0])
    assert completed.min() == 0


def test_weights_of_rows_stay_with_completed_rows(pmf: LowRankPMF, rng: np.random.Generator) -> None:
    table = pmf.sample(3, rng).with_weights([0.5, 0, 2])
    assert pmf.complete(table, rng).row_weights.tolist() == [0.5, 0, 2]


def test_a_tensor_that_is_too_large_is_not_made() -> None:
    pmf = LowRankPMF(Schema.from_n_levels([10] * 400), [1.0], [np.full((10, 1), 0.1)] * 400)
    with pytest.raises(TooManyCellsError, match="more than 1e300 cells, more than 2e\\+07") as caught:
        pmf.to_dense()
    assert (caught.value.n_cells, caught.value.most) == (10**400, 20_000_000)
    with pytest.raises(TooManyCellsError, match="there are 1e\\+03 cells, more than 999"):
        pmf.marginal(["x1", "x2", "x3"]).to_dense(most_cells=999)


@given(low_rank_pmfs(min_columns=2))
def test_information_agrees_with_plain_sums(pmf: LowRankPMF) -> None:
    cells = dense.tensor(pmf)
    entropy = pmf.entropy()
    assert entropy.is_exact
    assert entropy == pytest.approx(dense.entropy(cells), abs=1e-12)
    rest = list(range(1, cells.ndim))
    first, others = dense.marginal(cells, [0]), dense.marginal(cells, rest)
    expected = dense.kl(cells, np.multiply.outer(first, others))
    assert pmf.mutual_information("x1", pmf.schema.names[1:]) == pytest.approx(expected, abs=1e-12)


def test_information_beyond_enumeration_is_sampled_with_its_error(rng: np.random.Generator) -> None:
    schema = Schema.from_n_levels([4] * 13)
    factors = [rng.dirichlet(np.ones(4), 1).T for _ in range(13)]
    pmf = LowRankPMF(schema, [1.0], factors)
    exact = sum(pmf.marginal(name).entropy() for name in schema.names)
    entropy = pmf.entropy(n_draws=20_000, rng=rng)
    assert not entropy.is_exact
    assert 0 < entropy.standard_error < 0.02
    assert abs(entropy - exact) < 5 * entropy.standard_error
    assert pmf.entropy(n_draws=100) == pmf.entropy(n_draws=100)
    assert pmf.mutual_information(schema.names[:6], schema.names[6:], n_draws=50) == pytest.approx(0, abs=1e-12)
    with pytest.raises(SettingError, match="average: n_draws must be a whole number >= 2, got 1"):
        pmf.entropy(n_draws=1)


def test_a_column_has_no_information_about_itself(pmf: LowRankPMF) -> None:
    with pytest.raises(InputError, match="different column names"):
        pmf.mutual_information("age", ["age", "party"])


def test_slips_of_the_caller_are_told_at_the_door(pmf: LowRankPMF, rng: np.random.Generator) -> None:
    wide = LowRankPMF(Schema.from_n_levels([2] * 30), [1], [[[0.5], [0.5]]] * 30)
    slips = {
        "given: what is known must be a mapping": lambda: pmf.given("rep"),
        "party: values must be 2 finite numbers": lambda: pmf.expect("party", values=["few", "many"]),
        "sample: n must be a whole number": lambda: pmf.sample(1.5, rng),
        "sample: rng must be a NumPy generator, .* got 0": lambda: pmf.sample(3, 0),
        "complete: rng must be a NumPy generator": lambda: pmf.complete([{"party": "rep"}], None),
        "average: rng must be a NumPy generator": lambda: wide.entropy(rng=7),
    }
    for told, slip in slips.items():
        with pytest.raises(SettingError, match=told):
            slip()
