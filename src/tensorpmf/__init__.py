"""Learn the joint distribution of a categorical table in one training run, rank included, and ask it anything.

Public names load when they are first used: ``import tensorpmf`` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorpmf.errors import TensorPMFError as TensorPMFError
    from tensorpmf.fit.coupled import CTF as CTF
    from tensorpmf.fit.em import EM as EM
    from tensorpmf.fit.given import fit_marginals as fit_marginals
    from tensorpmf.fit.oracle import oracle_ml as oracle_ml
    from tensorpmf.fit.purified import LPS as LPS
    from tensorpmf.fit.result import FitResult as FitResult
    from tensorpmf.fit.run import fit as fit
    from tensorpmf.fit.squarem import SQUAREM as SQUAREM
    from tensorpmf.fit.vb import VB as VB
    from tensorpmf.pmf.compare import kl_divergence as kl_divergence
    from tensorpmf.pmf.compare import relative_squared_error as relative_squared_error
    from tensorpmf.pmf.io import load as load
    from tensorpmf.pmf.io import save as save
    from tensorpmf.pmf.kruskal import kruskal_max_rank as kruskal_max_rank
    from tensorpmf.pmf.lowrank import LowRankPMF as LowRankPMF
    from tensorpmf.pmf.posterior import DirichletPosterior as DirichletPosterior
    from tensorpmf.pmf.purified import PurifiedPMF as PurifiedPMF
    from tensorpmf.rank.search import select_rank as select_rank
    from tensorpmf.rank.selection import RankSelection as RankSelection
    from tensorpmf.table.read import read_table as read_table
    from tensorpmf.table.schema import Column as Column
    from tensorpmf.table.schema import Schema as Schema
    from tensorpmf.table.table import CategoricalTable as CategoricalTable

__version__: str

_HOME = {
    "CTF": "fit.coupled",
    "CategoricalTable": "table.table",
    "Column": "table.schema",
    "DirichletPosterior": "pmf.posterior",
    "EM": "fit.em",
    "FitResult": "fit.result",
    "LPS": "fit.purified",
    "LowRankPMF": "pmf.lowrank",
    "PurifiedPMF": "pmf.purified",
    "RankSelection": "rank.selection",
    "SQUAREM": "fit.squarem",
    "Schema": "table.schema",
    "TensorPMFError": "errors",
    "VB": "fit.vb",
    "fit": "fit.run",
    "fit_marginals": "fit.given",
    "kl_divergence": "pmf.compare",
    "kruskal_max_rank": "pmf.kruskal",
    "load": "pmf.io",
    "oracle_ml": "fit.oracle",
    "read_table": "table.read",
    "relative_squared_error": "pmf.compare",
    "save": "pmf.io",
    "select_rank": "rank.search",
}
"""Where each public name lives; the lines above tell type checkers the same."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("tensorpmf")
    elif name == "__all__":
        value = list(_HOME)
    elif name in _HOME:
        value = getattr(import_module(f"tensorpmf.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'tensorpmf' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "__version__"})


class _Front(ModuleType):
    """``tensorpmf.fit`` is the function, and stays so when the room of the same name has been imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Front
