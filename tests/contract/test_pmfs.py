"""Every kind of PMF in the public API, found there, is held to the contract."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from tests.oracles.purified import random_cores
from tests.oracles.tensor_pmf import TensorPMF

import tensorpmf as tp
from tensorpmf.pmf import document
from tensorpmf.pmf.base import PMF
from tensorpmf.testing.checks import PMF_CHECKS, Check, check_pmf
from tensorpmf.testing.strategies import low_rank_pmfs

KINDS = [
    kind
    for kind in (getattr(tp, name) for name in tp.__all__)
    if inspect.isclass(kind) and issubclass(kind, PMF) and not inspect.isabstract(kind)
]


def low_rank(rng: np.random.Generator) -> tp.LowRankPMF:
    schema = tp.Schema(
        (
            tp.Column("party", ("dem", "rep")),
            tp.Column("age", (20, 30, 40), ordered=True),
            tp.Column("only", ("one",)),
            tp.Column("letter", tuple("abcde")),
        )
    )
    factors = [rng.dirichlet(np.ones(n), 3).T for n in schema.n_levels]
    factors[3][2] = 0.0  # the letter c never occurs
    return tp.LowRankPMF(schema, rng.dirichlet(np.ones(3)), [f / f.sum(axis=0) for f in factors])


def purified(rng: np.random.Generator) -> tp.PurifiedPMF:
    schema = low_rank(rng).schema
    cores = random_cores(rng, [5, 2, 1, 3], [2, 3, 2], purification=2, is_complex=True)
    cores[0][2] = 0.0  # the letter c never occurs
    return tp.PurifiedPMF(schema, cores, sites=[3, 0, 2, 1])


EXAMPLES = {"LowRankPMF": low_rank, "PurifiedPMF": purified}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", PMF_CHECKS)
def test_a_pmf_keeps_the_contract(kind: type[PMF], check: Check, rng: np.random.Generator) -> None:
    check(EXAMPLES[kind.__name__](rng), rng)


@given(low_rank_pmfs())
def test_every_small_low_rank_pmf_keeps_the_contract(pmf: tp.LowRankPMF) -> None:
    check_pmf(pmf)


def test_a_kind_of_your_own_needs_the_abstract_methods_and_no_more(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(document._REGISTERED, "TensorPMF", TensorPMF)
    known = low_rank(rng)
    mine = TensorPMF(known.schema, known.to_dense())
    check_pmf(mine)
    assert repr(mine).splitlines()[0] == "TensorPMF of 4 columns, 30 cells"
    assert repr(mine).splitlines()[1:] == repr(known).splitlines()[1:]


class Wrong(tp.LowRankPMF):
    """A PMF whose probabilities are off."""

    def _log_prob(self, rows):  # type: ignore[no-untyped-def]
        return super()._log_prob(rows) + 0.01


def test_the_contract_finds_what_is_wrong(rng: np.random.Generator) -> None:
    good = low_rank(rng)
    with pytest.raises(AssertionError, match=r"the cells sum to 1\.01"):
        check_pmf(Wrong(good.schema, good.weights, good.factors))
