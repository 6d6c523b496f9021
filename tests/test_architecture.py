"""What importing costs, and who may import whom."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAVY = {
    "click", "dask", "distributed", "matplotlib", "narwhals", "numba", "numpy", "pandas", "polars", "pooch", "pyarrow",
    "rich", "safetensors", "scipy", "sklearn",
}  # fmt: skip


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def loaded_by(code: str) -> set[str]:
    """Heavy libraries that a new interpreter has loaded after some code."""
    return HEAVY & set(fresh(f"import sys\n{code}\nprint(*sys.modules)").split())


def test_importing_the_package_loads_no_library() -> None:
    assert loaded_by("import tensorpmf") == set()


def test_the_command_line_starts_with_click_alone() -> None:
    assert loaded_by("import tensorpmf.cli.app") == {"click"}


def test_a_fit_of_integer_codes_needs_only_numpy_and_scipy() -> None:
    codes = "[[0, 1], [1, 0], [1, 1], [0, 0]]"
    code = f"import numpy as np, tensorpmf as tp; tp.fit(tp.CategoricalTable.from_codes(np.array({codes})))"
    assert loaded_by(code) <= {"numpy", "scipy"}


def test_importing_costs_nearly_nothing_beyond_numpy() -> None:
    code = "import numpy, time; t = time.perf_counter(); import tensorpmf; print(time.perf_counter() - t)"
    assert min(float(fresh(code)) for _ in range(3)) <= 0.15


def test_rooms_import_downwards_and_heavy_libraries_keep_to_theirs() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-logo"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


def test_the_layer_contract_names_every_room() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    named = {part.strip(" ()") for layer in contract["layers"] for part in layer.split("|")}
    inside = (ROOT / "src/tensorpmf").iterdir()
    rooms = {path.stem for path in inside if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} <= named
