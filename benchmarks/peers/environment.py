"""Virtual environments for other libraries, made once in the user's cache: they pin what we must not depend on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = {
    "current": [["torch==2.13.0"], ["numpy", "scikit-learn", "stepmix", "pomegranate", "bayespy", "matplotlib"]],
    # bnpy runs on libraries of its own time only, and asks for a joblib that no longer installs
    "bnpy": [
        ["--only-binary=:all:", "numpy<1.24", "scipy<1.11", "scikit-learn<1.4", "pandas<2.1", "matplotlib<3.8"],
        ["--only-binary=:all:", "numexpr<2.9", "setuptools<70", "wheel", "Cython", "six", "ipython", "memory_profiler"],
        ["munkres==1.0.12", "psutil", "joblib<1.4"],
        ["--no-deps", "--no-build-isolation", "bnpy==0.1.7"],
    ],
}  # fmt: skip


def interpreter(name: str) -> str | None:
    """Return the Python of an environment, made first if it is not there; None if it cannot be made, which is told."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = Path(os.environ.get("TENSORPMF_PEERS", cache / "tensorpmf-peers")) / name
    python, stamp = folder / "bin" / "python", folder / "complete"
    if stamp.exists():
        return str(python)
    print(f"making the environment {name!r} …", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for wanted in REQUIREMENTS[name]:
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    except subprocess.CalledProcessError as error:
        print(f"the environment {name!r} could not be made: {error}", file=sys.stderr)
        return None
    stamp.touch()
    return str(python)
