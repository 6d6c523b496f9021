"""Trying several ranks: the choice, the same whatever the threads, and judging by rows that were held out."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import InputError, MissingExtraError, SettingError, WeightError
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.rank.criteria import CRITERIA, Fitted
from tensorpmf.rank.heldout import FLOOR, Questions, log_loss, split_rows
from tensorpmf.rank.search import Judge
from tensorpmf.rank.selection import Candidate

SQUAREM = tp.SQUAREM(tp.EM())


@pytest.fixture(scope="module")
def table() -> tp.CategoricalTable:
    """Two groups that differ in six columns."""
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 2, 800)
    codes = np.stack([(hidden + (rng.random(800) < 0.15)) % 2 for _ in range(6)], axis=1)
    codes[rng.random(codes.shape) < 0.1] = -1
    return tp.CategoricalTable.from_codes(codes, n_levels=[2] * 6)


@pytest.mark.parametrize("criterion", ["bic", "caic", "icl", "dnml", "dnml-argmax", "dnml-observed", "validation"])
def test_two_groups_are_found(table: tp.CategoricalTable, criterion: str) -> None:
    selection = tp.select_rank(table, SQUAREM, range(1, 5), criterion)
    assert selection.rank == 2
    assert selection.best.pmf.rank == 2


def test_scores_are_those_of_the_criteria(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, SQUAREM, [3, 1], tuple(CRITERIA), seed=5)
    assert [candidate.rank for candidate in selection.candidates] == [1, 3]
    for candidate in selection.candidates:
        fitted = Fitted(candidate.result.pmf, rows_of(table), seed=5)
        expected = {name: score(fitted) for name, score in CRITERIA.items() if name != "dnml"}
        assert {name: candidate.scores[name] for name in expected} == pytest.approx(expected)
        assert candidate.scores["aic"] == pytest.approx(  # the first candidate's objective is its log-likelihood
            -2 * candidate.result.objective + 2 * fitted.n_parameters, rel=1e-6
        )


def test_the_choice_does_not_depend_on_how_many_work(table: tp.CategoricalTable) -> None:
    one, four = (
        tp.select_rank(table, SQUAREM, range(1, 5), ("dnml", "validation-error"), seed=2, n_jobs=n) for n in (1, 4)
    )
    assert [each.scores for each in one.candidates] == [each.scores for each in four.candidates]
    assert one.best.pmf == four.best.pmf
    assert one.best.starts == four.best.starts


def test_the_order_of_the_ranks_does_not_matter(table: tp.CategoricalTable) -> None:
    rising, mixed = (tp.select_rank(table, SQUAREM, ranks, "bic") for ranks in ([1, 2, 3], [3, 1, 2, 2]))
    assert [each.scores for each in rising.candidates] == [each.scores for each in mixed.candidates]


def test_several_criteria_share_the_fits(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, SQUAREM, range(1, 6), ("bic", "aic"))
    by_aic = selection.by("aic")
    aic = selection.table()["aic"]
    assert by_aic.rank == 1 + int(np.argmin(aic))
    assert by_aic.candidates is selection.candidates
    with pytest.raises(SettingError, match=r"criterion must be one of \['bic', 'aic'\], which were computed"):
        selection.by("icl")


def test_warm_starts_are_worth_more_than_random_ones() -> None:
    table = sample_table(synthetic_pmf(20, 2, 6, seed=3), 1500, seed=5)
    cold, warm = (
        tp.select_rank(table, SQUAREM, range(1, 8), n_starts=1, warm_start=on).table()["objective"]
        for on in (False, True)
    )
    assert np.all(warm >= cold)
    assert warm.sum() > cold.sum() + 5


def test_held_out_rows_are_not_learnt_from(table: tp.CategoricalTable) -> None:
    learnt, unseen = split_rows(table, 1 / 8, seed=4)
    assert (learnt.n_rows, unseen.n_rows) == (700, 100)
    both = np.concatenate([learnt.codes, unseen.codes])
    assert sorted(map(tuple, both)) == sorted(map(tuple, table.codes))
    selection = tp.select_rank(table, SQUAREM, [1, 2], "validation", seed=4, refit=False)
    for candidate in selection.candidates:
        assert candidate.result.objective == pytest.approx(candidate.result.pmf.log_prob(learnt).sum(), rel=1e-6)
        assert candidate.scores["validation"] == pytest.approx(-candidate.result.pmf.log_prob(unseen).mean(), rel=1e-8)
    assert selection.best is selection.chosen.result


def test_the_chosen_rank_is_fitted_to_all_rows_once_more(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, SQUAREM, [1, 2], ("validation", "bic"))
    assert selection.best is selection.refitted
    assert selection.best.algorithm == tp.SQUAREM(tp.EM(2))
    assert selection.best.objective == pytest.approx(selection.best.pmf.log_prob(table).sum(), rel=1e-6)
    assert selection.by("bic").best is selection.refitted
    assert tp.select_rank(table, SQUAREM, [1, 2], "bic").refitted is None


def test_errors_about_a_target_column(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, SQUAREM, [1, 2], "validation-error", target="x2", seed=4)
    _, unseen = split_rows(table, 1 / 8, seed=4)
    asked = unseen.take(unseen.codes[:, 1] >= 0)
    for candidate in selection.candidates:
        wrong = candidate.result.pmf.conditional("x2", asked).argmax(axis=1) != asked.codes[:, 1]
        assert candidate.scores["validation-error"] == pytest.approx(wrong.mean())
    assert selection.rank == 2


def test_squared_errors_of_a_hidden_cell_a_row() -> None:
    schema = tp.Schema((tp.Column("a", (1, 2, 5)), tp.Column("b", (0, 10))))
    unseen = tp.CategoricalTable.from_codes([[0, 1], [2, -1], [-1, -1], [1, 0]], schema=schema, weights=[1, 2, 4, 1])
    pmf = tp.LowRankPMF(schema, [1.0], [[[0.5], [0.25], [0.25]], [[0.4], [0.6]]])  # means 2.25 and 6
    questions = Questions.of(unseen, None, seed=0)
    assert questions.row_ix.tolist() == [0, 1, 3]
    assert questions.column_ix[1] == 0
    truth = [[1.0, 10.0], [5.0, np.nan], [2.0, 0.0]]
    asked = [(truth[row][column] - [2.25, 6.0][column]) ** 2 for row, column in enumerate(questions.column_ix)]
    assert questions.error(pmf, "squared") == pytest.approx(np.sqrt((asked[0] + 2 * asked[1] + asked[2]) / 4))
    assert questions.error(pmf, "zero-one") == pytest.approx(
        sum(w * (code != [0, 1][column]) for w, code, column in
            zip([1, 2, 1], unseen.codes[questions.row_ix, questions.column_ix], questions.column_ix, strict=True)) / 4
    )  # fmt: skip


def test_random_cells_are_observed_and_everywhere(table: tp.CategoricalTable) -> None:
    questions = Questions.of(table, None, seed=1)
    assert np.all(table.codes[questions.row_ix, questions.column_ix] >= 0)
    assert np.bincount(questions.column_ix).min() > 80


def test_impossible_rows_cost_much_but_not_infinitely_much() -> None:
    pmf = tp.LowRankPMF(tp.Schema.from_n_levels([2, 2]), [1.0], [[[1.0], [0.0]], [[0.5], [0.5]]])
    impossible = tp.CategoricalTable.from_codes([[1, 0]], n_levels=[2, 2])
    assert log_loss(pmf, impossible) == pytest.approx(-np.log(FLOOR) + np.log(4))
    assert Questions.of(impossible, "x2", 0).error(pmf, "zero-one") == 0.0  # nothing is known: the first level


def test_held_out_scores_weigh_rows() -> None:
    pmf = tp.LowRankPMF(tp.Schema.from_n_levels([2]), [1.0], [[[0.25], [0.75]]])
    rows = tp.CategoricalTable.from_codes([[0], [1]], n_levels=[2], weights=[3.0, 1.0])
    assert log_loss(pmf, rows) == pytest.approx(-(3 * np.log(0.25) + np.log(0.75)) / 4)


def test_rows_that_tell_nothing_are_no_judges() -> None:
    numbered = tp.CategoricalTable.from_codes(np.arange(40)[:, None])
    learnt_from, held_out = (part.codes[:, 0] for part in split_rows(numbered, 1 / 8, seed=1))
    codes = np.full((40, 2), [0, -1])
    codes[learnt_from[0]] = 1
    table = tp.CategoricalTable.from_codes(codes, n_levels=[2, 2])
    search = partial(tp.select_rank, algorithm=SQUAREM, ranks=[1], criterion="validation-error", seed=1)
    with pytest.raises(InputError, match="no row that is held out observes column 'x2'"):
        search(table, target="x2")
    for one, name in [(learnt_from[0], "held out"), (held_out[0], "learnt from")]:
        with pytest.raises(WeightError, match=f"of the rows that would be {name} sum to zero"):
            search(table.with_weights(np.arange(40) == one))


def test_a_selection_can_be_read_and_plotted(table: tp.CategoricalTable) -> None:
    heard: list[Candidate] = []
    selection = tp.select_rank(table, SQUAREM, range(1, 4), ("bic", "aic"), callback=heard.append)
    assert tuple(heard) == selection.candidates
    columns = selection.table()
    assert list(columns) == ["rank", "bic", "aic", "objective", "converged", "passes", "seconds"]
    assert columns["rank"].tolist() == [1, 2, 3]
    assert columns["seconds"].min() > 0
    assert selection.to_pandas().loc[1, "bic"] == columns["bic"][1]
    lines = repr(selection).splitlines()
    assert lines[0] == "RankSelection: rank 2 by bic (lower is better)"
    assert lines[1].split() == ["rank", "bic", "aic", "passes", "seconds"]
    assert [line.endswith("←") for line in lines[2:]] == [False, True, False]


def test_a_selection_by_many_criteria_fits_80_columns(table: tp.CategoricalTable) -> None:
    criteria = [*CRITERIA, "validation", "validation-error"]
    selection = tp.select_rank(table, SQUAREM, [1, 2], criteria, max_iterations=20)
    lines = repr(selection).splitlines()[1:]
    assert max(map(len, lines)) <= 80
    assert [name for line in lines for name in line.split() if name in criteria] == criteria
    for each in selection.candidates:
        told = [cell for line in lines for cell in line.split()[1:] if line.split()[0] == str(each.rank)]
        expected = [f"{each.scores[name]:,.7g}" for name in criteria]
        assert [cell for cell in told if cell != "←"][: len(criteria)] == expected


def test_coupled_factorisation_and_settings_of_the_fit(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, tp.CTF(), [1, 2], "validation", max_iterations=30, n_starts=1)
    assert selection.rank == 2
    assert selection.table()["passes"].max() <= 30


def test_a_factorisation_of_marginals_passes_over_the_rows_once(table: tp.CategoricalTable) -> None:
    selection = tp.select_rank(table, tp.CTF(), [1, 2])
    assert selection.table()["passes"].tolist() == [1, 1]


def test_squared_errors_need_numbers_before_anything_is_fitted() -> None:
    rows = {"a": ["x", "y"] * 20, "b": [1, 2, 2, 1] * 10}
    search = partial(tp.select_rank, rows, SQUAREM, [1, 2], "validation-error", loss="squared", callback=pytest.fail)
    with pytest.raises(SettingError, match="loss must be \"zero-one\" for column 'a', whose levels are not numbers"):
        search(target="a")
    assert tp.select_rank(rows, SQUAREM, [1], "validation-error", loss="squared", target="b").rank == 1


@dataclass(frozen=True)
class Parrot:
    """No algorithm: it has no rank."""

    def runner(self) -> Any:
        return self


def test_an_interrupt_ends_the_fits_of_all_threads(table: tp.CategoricalTable, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[object] = []
    summarise = tp.EM.summarise
    monkeypatch.setattr(tp.EM, "summarise", lambda *inputs: (passes.append(inputs), summarise(*inputs))[1])

    def stop(_: Candidate) -> None:
        raise KeyboardInterrupt

    search = partial(tp.select_rank, table, tp.EM(), range(1, 6), warm_start=False, tolerance=1e-13)
    search(n_jobs=5)
    n_whole = len(passes)
    with pytest.raises(KeyboardInterrupt):
        search(n_jobs=5, callback=stop)
    assert len(passes) - n_whole < n_whole / 2


def test_an_interrupt_of_a_warm_start_is_one_of_the_search(
    table: tp.CategoricalTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_passes, summarise = count(), tp.EM.summarise

    def stop(*inputs: Any) -> Any:
        if threading.current_thread() is threading.main_thread() and next(n_passes) == 3:
            raise KeyboardInterrupt
        return summarise(*inputs)

    monkeypatch.setattr(tp.EM, "summarise", stop)
    with pytest.raises(KeyboardInterrupt):
        tp.select_rank(table, tp.EM(), range(1, 4))


def test_settings_are_checked(table: tp.CategoricalTable) -> None:
    with pytest.raises(SettingError, match="criterion must be one of"):
        tp.select_rank(table, SQUAREM, [1], "best")
    with pytest.raises(SettingError, match="criterion must be one of"):
        tp.select_rank(table, SQUAREM, [1], ())
    with pytest.raises(SettingError, match=r"criterion must be one of .*, got None"):
        tp.select_rank(table, SQUAREM, [1], None)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="select_rank: seed must be a whole number >= 0, got -1"):
        tp.select_rank(table, SQUAREM, [1], seed=-1)
    for name in ("n_starts", "max_iterations", "tolerance"):
        with pytest.raises(SettingError, match=f"select_rank: {name} must be a .* number >= [01], got -1"):
            tp.select_rank(table, SQUAREM, [1], **{name: -1})
    with pytest.raises(SettingError, match="select_rank: callback must be a function, or None, got 3"):
        tp.select_rank(table, SQUAREM, [1], callback=3)  # type: ignore[arg-type]
    for name in ("n_threads", "minibatch", "reducer"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            tp.select_rank(table, SQUAREM, [1], **{name: 1})
    with pytest.raises(SettingError, match="ranks must be at least one rank"):
        tp.select_rank(table, SQUAREM, [])
    with pytest.raises(SettingError, match="ranks must be a whole number >= 1, got 0"):
        tp.select_rank(table, SQUAREM, [0, 1])
    with pytest.raises(SettingError, match='loss must be "zero-one" or "squared"'):
        tp.select_rank(table, SQUAREM, [1], loss="absolute")
    with pytest.raises(SettingError, match="validation must be a fraction that divides 800 rows, got 1"):
        tp.select_rank(table, SQUAREM, [1], "validation", validation=1)
    with pytest.raises(SettingError, match="validation must be a fraction that divides 800 rows, got 'half'"):
        tp.select_rank(table, SQUAREM, [1], "validation", validation="half")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="algorithm must be one that is told its rank"):
        tp.select_rank(table, Parrot(), [1])
    with pytest.raises(SettingError, match="algorithm must be one that is told its rank"):
        tp.select_rank(table, tp.SQUAREM(tp.VB()), [1])


def test_information_criteria_need_components_to_count(table: tp.CategoricalTable) -> None:
    with pytest.raises(SettingError, match=r"criterion must be one of \['validation', 'validation-error'\] for object"):
        Judge(table, None, ("bic",), None, "zero-one", 0).scores(object())


def test_a_data_frame_needs_pandas(table: tp.CategoricalTable, monkeypatch: pytest.MonkeyPatch) -> None:
    selection = tp.select_rank(table, SQUAREM, [1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pandas"):
        selection.to_pandas()
