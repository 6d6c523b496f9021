"""Every algorithm in the public API, found there, is held to the contract, with and without holes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from tests.contract.examples import EXAMPLES

import tensorpmf as tp
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.fit.em import EMState
from tensorpmf.kernels.estep import Counts
from tensorpmf.kernels.rows import Rows
from tensorpmf.testing.algorithms import (
    ALGORITHM_CHECKS,
    AlgorithmCheck,
    check_algorithm,
    example_table,
)

KINDS = [
    kind
    for kind in (getattr(tp, name) for name in tp.__all__)
    if inspect.isclass(kind) and issubclass(kind, Algorithm) and not inspect.isabstract(kind)
]


def test_every_algorithm_has_an_example() -> None:
    assert {kind.__name__ for kind in KINDS} == set(EXAMPLES)


@pytest.mark.parametrize("outage", [0.0, 0.3])
@pytest.mark.parametrize("check", ALGORITHM_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("algorithm", [each for some in EXAMPLES.values() for each in some], ids=str)
def test_an_algorithm_keeps_the_contract(algorithm: Algorithm[Any, Any], check: AlgorithmCheck, outage: float) -> None:
    check(algorithm, example_table(outage))


@dataclass(frozen=True)
class Faulty(Algorithm[EMState, Counts]):
    """EM that breaks the contract in one way."""

    fault: str
    rank: int = 2
    calls: list[None] = field(default_factory=list, compare=False)

    def start(self, schema: tp.Schema, rng: np.random.Generator) -> EMState:
        return tp.EM(self.rank).start(schema, np.random.default_rng(0) if self.fault == "deaf" else rng)

    def summarise(self, block: Rows, state: EMState) -> Counts:
        if self.fault == "counts no weights":
            block = replace(block, weights=None)
        if self.fault == "takes compressed rows for empty" and block.is_sparse:
            block = Rows.from_codes(np.full((block.n_rows, block.n_columns), -1), block.n_levels, block.weights)
        counts = tp.EM().summarise(block, state)
        return replace(counts, log_norm=counts.log_norm / block.n_rows) if self.fault == "averages" else counts

    def update(self, state: EMState, stats: Counts) -> tuple[EMState, Info]:
        after, info = tp.EM().update(state, stats)
        if self.fault == "remembers":
            self.calls.append(None)
            after = replace(after, weights=np.array([0.5, 0.5]) if len(self.calls) % 2 else after.weights)
        if self.fault == "falls":
            info = replace(info, objective=-info.objective)
        return after, replace(info, rejected=self.fault == "gains where it refuses")

    def finish(self, state: EMState) -> tp.LowRankPMF:
        pmf = tp.EM().finish(state)
        return pmf.marginal(pmf.schema.names[:-1]) if self.fault == "forgets a column" else pmf


class Unfrozen(Faulty):
    """Settings that can be changed."""

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


FAULTS = (
    ("deaf", "makes no difference"),
    ("counts no weights", "rows of a weight"),
    ("takes compressed rows for empty", "compressed rows"),
    ("remembers", "gave other information|led elsewhere"),
    ("averages", "blocks of rows|rows of a weight"),
    ("falls", "the objective fell"),
    ("gains where it refuses", "refused step"),
    ("forgets a column", "the tensor has shape"),
)


def test_the_faulty_algorithm_without_a_fault_passes() -> None:
    check_algorithm(Faulty("none"))


@pytest.mark.parametrize(("fault", "complaint"), FAULTS)
def test_a_fault_is_found(fault: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_algorithm(Faulty(fault))


def test_settings_that_can_be_changed_are_found() -> None:
    with pytest.raises(AssertionError, match="can be changed"):
        check_algorithm(Unfrozen("none"))
