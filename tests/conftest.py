"""Fixtures and Hypothesis profiles shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tensorpmf.data import Dataset, load_dataset

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


ON_LOOPBACK = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
"""Where the servers of a cluster listen: nobody else can reach them, and any ports that are free will do."""


@pytest.fixture
def rng() -> np.random.Generator:
    """Randomness from one fixed seed."""
    return np.random.default_rng(20261118)


@pytest.fixture
def real() -> Callable[[str], Dataset]:
    """Loads a real data set by name, and skips the test where there is no local copy of it."""
    folder = os.environ.get("TENSORPMF_DATA")

    def load(name: str) -> Dataset:
        if folder is None:
            pytest.skip("real data: set TENSORPMF_DATA to a folder that holds them all to run these")
        if not (Path(folder) / name).is_dir():
            pytest.skip(f"real data: there is no {name} in the folder that TENSORPMF_DATA names")
        return load_dataset(name)

    return load


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **ON_LOOPBACK) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
