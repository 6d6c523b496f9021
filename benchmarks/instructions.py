"""Instructions the kernels execute, counted by callgrind: they do not depend on who else uses the machine.

``count()`` runs this file as a script under valgrind, which makes one pass of each kernel, between two marks that a
library compiled for the purpose sets. Valgrind knows no AVX-512, so the kernels are those of AVX2.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

ISA = "avx2"
HEADER = "valgrind/callgrind.h"
MARKS = f"""
#include <{HEADER}>
extern "C" void begin() {{ CALLGRIND_ZERO_STATS; }}
extern "C" void end(const char* name) {{ CALLGRIND_DUMP_STATS_AT(name); }}
"""


def why_not() -> str | None:
    """Return why instructions cannot be counted here, None when they can."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    from tensorpmf.kernels import isa

    return None if ISA in isa.available() else f"this processor has no {ISA}"


def compiler() -> str:
    """Return the version of the compiler here, which decides how many instructions there are."""
    told = subprocess.run(
        [os.environ.get("CXX", "g++"), "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


def count() -> dict[str, int]:
    """Return how many instructions each kernel took."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "marks.cpp"), Path(folder, "marks.so")
        source.write_text(MARKS, encoding="utf-8")
        compile_it = [os.environ.get("CXX", "g++"), "-O1", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(compile_it, check=True)
        command = [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=" + str(Path(folder, "out")),
            "--combine-dumps=yes",
        ]
        environment = {**os.environ, "TENSORPMF_ISA": ISA, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(
            [*command, sys.executable, "-m", "benchmarks.instructions", str(library)],
            env=environment, cwd=Path(__file__).parents[1], check=True, capture_output=True,
        )  # fmt: skip
        dumps = Path(folder, "out").read_text(encoding="utf-8")
    found = re.findall(
        r"^desc: Trigger: Client Request: (.+?)$.*?^(?:summary|totals): (\d+)", dumps, re.MULTILINE | re.DOTALL
    )
    return {name: int(total) for name, total in found}


def kernels() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is counted: a small table of each kind, ready for the pass."""
    from benchmarks.workloads import ALL, rows_of, tables_of
    from tensorpmf.kernels.blocks import cut
    from tensorpmf.kernels.estep import accumulate, log_normaliser

    for workload in ALL:
        rows = rows_of(replace(workload, n_rows=2000))
        for rank in (5, 23):
            tables = tables_of(workload, rank)
            yield f"pass, {workload.name}, R={rank}", partial(accumulate, cut(rows, 1)[0], tables)
            yield f"log-probabilities, {workload.name}, R={rank}", partial(log_normaliser, rows, tables)


def main(library: str) -> None:
    """Run every kernel twice, and mark where the second run begins and ends."""
    marks = ctypes.CDLL(library)
    for name, kernel in kernels():
        kernel()
        marks.begin()
        kernel()
        marks.end(name.encode())


if __name__ == "__main__":
    main(sys.argv[1])
