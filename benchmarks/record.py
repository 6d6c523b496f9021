"""Results that are kept: one CSV a question in ``results``, and what they were measured on."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).with_name("results")


def write(name: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Keep rows as ``results/<name>.csv``, and beside them the machine they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    (RESULTS / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")


def read(name: str) -> list[dict[str, str]]:
    """Return the rows kept under a name."""
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def machine() -> dict[str, object]:
    """Return what a reader must know of this machine."""
    return {
        "processor": processor(), "cores": os.cpu_count(), "system": platform.system(),
        "python": platform.python_version(), "numpy": np.__version__,
    }  # fmt: skip


def processor() -> str:
    """Return the processor's name, and its caches where Linux tells."""
    try:
        listing = subprocess.run(["lscpu"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in listing.splitlines())}
    caches = ", ".join(f"{name.removesuffix(' cache')} {told[name]}" for name in told if name.endswith("cache"))
    return f"{told.get('Model name', platform.machine())}; {caches}"
