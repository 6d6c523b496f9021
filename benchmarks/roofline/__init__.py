"""What this machine can do, and the shortest a pass over some blocks could take on it.

``python -m benchmarks.roofline`` measures and prints; nothing is kept, because machines and their neighbours differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tensorpmf.kernels.rows import Rows

SOURCE = Path(__file__).with_name("roofline.cpp")


@dataclass(frozen=True)
class Machine:
    """Measured rates, in nanoseconds a vector."""

    vector_bytes: int
    tables: list[dict[str, float]]
    exp_ns: float
    log_ns: float
    memory_gb_per_s: float

    def rate(self, kind: str, n_bytes: float, n_vectors: int) -> float:
        """Nanoseconds a vector takes in rows of so many vectors, at random in a table of so many bytes."""
        widest = max(int(table["vectors"]) for table in self.tables if table["vectors"] <= max(1, n_vectors))
        fitting = [table for table in self.tables if table["vectors"] == widest]
        sizes = np.log([table["kilobytes"] * 1024 for table in fitting])
        return float(np.interp(np.log(n_bytes), sizes, [table[f"{kind}_ns"] for table in fitting]))


@lru_cache(maxsize=1)
def machine() -> Machine:
    """Compile the probe for this machine, run it, and read what it found."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "roofline"
        flags = ["-O3", "-std=c++20", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=fast", "-Wno-psabi"]
        subprocess.run([os.environ.get("CXX", "g++"), *flags, str(SOURCE), "-o", str(probe)], check=True)
        found: dict[str, Any] = json.loads(subprocess.run([probe], check=True, capture_output=True).stdout)
    return Machine(**found)


def limit_ms(blocks: Sequence[Rows], rank: int, precision: str) -> float:
    """The shortest a pass over the blocks could take: every state a row shows is loaded once and counted once.

    Of a row with a single state after its prefix, that state is loaded twice and its counts are added to in place; of
    any other, each state is loaded once and counted at the price of another load, which is what an index of the rows by
    state allows at best. The log, the division and, in log form, the exponentials come on top; codes, prefixes and
    everything else are taken to be free.
    """
    here = machine()
    size = 8 if precision == "double" else 4
    width = here.vector_bytes // size
    n_vectors = -(-rank // width)
    total = 0.0
    for block in blocks:
        row_bytes = n_vectors * here.vector_bytes
        first = 0 if block.sorted is None else block.sorted.n_prefix_groups
        n_states = sum(block.packing.n_states[first:])
        n_shown = block.n_observed if block.packing.listed else len(block.packing.groups) - first
        gather = here.rate("gather", n_states * row_bytes, n_vectors)
        count = gather
        if first and n_shown == 1:
            count = gather + here.rate("scatter", n_states * row_bytes, n_vectors)
        as_logs = n_shown > (64 if precision == "double" else 12)
        row = n_vectors * n_shown * (gather + count) + n_vectors * here.exp_ns * as_logs
        total += block.n_rows * (row + here.log_ns / (here.vector_bytes // 8))
    return total * 1e-6
