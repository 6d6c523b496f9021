"""Runs an experiment: every point of its grid, several times, what was done already left alone; then sums it up.

An experiment is a folder. ``config.toml`` names the columns to group by and, for each profile, the parts of the grid:
tables in which every list is an axis and ``trials`` says how many seeds. ``run.py`` has a pure ``run(config, seed)``
that yields rows; ``figure.py`` has ``draw(summary)`` and sees nothing but the summary.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]

HERE = Path(__file__).parent
ROWS, SUMMARY, MANIFEST, PICTURE = "rows.jsonl", "summary.csv", "manifest.json", "figure.png"
LIBRARIES = ("tensorpmf", "numpy", "scipy", "scikit-learn")
FILES = {"summary": SUMMARY, "manifest": MANIFEST, "figure": PICTURE}
PROFILES = ("quick", "paper")


@dataclass(frozen=True)
class Task:
    """One point of an experiment's grid and one seed."""

    name: str
    point: Mapping[str, Any]
    seed: int

    @property
    def key(self) -> str:
        """What the task is known by when a run is resumed."""
        return json.dumps([dict(sorted(self.point.items())), self.seed])

    def run(self) -> tuple[list[Row], float]:
        """Return the rows, the point's settings in each, and how many seconds they took."""
        began = time.perf_counter()
        run = import_module(f"experiments.{self.name}.run").run
        rows = [{**self.point, **row} for row in run(self.point, self.seed)]
        return rows, time.perf_counter() - began


@dataclass(frozen=True)
class Experiment:
    """One folder: what it asks, what is to be done, and where its results are."""

    name: str

    @property
    def folder(self) -> Path:
        """Where it is."""
        return HERE / self.name

    @property
    def config(self) -> dict[str, Any]:
        """What ``config.toml`` says."""
        return tomllib.loads((self.folder / "config.toml").read_text())

    @property
    def question(self) -> str:
        """What it asks, in one line: the title of its README."""
        return (self.folder / "README.md").read_text().splitlines()[0].removeprefix("# ")

    def tasks(self, profile: str) -> list[Task]:
        """Return everything a profile does: all seeds of one point after the other, all points of one part."""
        return [
            Task(self.name, point, seed)
            for part in self.config[profile]
            for seed in range(part.get("trials", 1))
            for point in grid(part)
        ]

    def run(self, profile: str, into: Path, n_processes: int, watch: Callable[[int, int], None]) -> None:
        """Do what has not been done yet, then write the summary, the manifest and the figure.

        Parameters
        ----------
        profile
            Which part of ``config.toml``.
        into
            The folder of the results; rows already there are not computed again.
        n_processes
            How many trials run at once, one thread each.
        watch
            Told how many tasks are done, and of how many.
        """
        into.mkdir(parents=True, exist_ok=True)
        tasks, done = self.tasks(profile), read_done(into / ROWS)
        ahead = [task for task in tasks if task.key not in done]
        watch(len(tasks) - len(ahead), len(tasks))
        with (into / ROWS).open("a") as file:
            for count, (task, rows, seconds) in enumerate(finished(ahead, n_processes), 1 + len(tasks) - len(ahead)):
                done[task.key] = {"task": task.key, "seconds": seconds, "rows": rows}
                file.write(json.dumps(done[task.key]) + "\n")
                file.flush()
                watch(count, len(tasks))
        records = [done[task.key] for task in tasks]
        rows = [row for record in records for row in record["rows"]]
        settings = {name for task in tasks for name in task.point}
        write_summary(into / SUMMARY, summarised(rows, self.config["by"], settings))
        (into / MANIFEST).write_text(json.dumps(manifest(self.name, profile, tasks, records), indent=2) + "\n")
        self.draw(into)

    def draw(self, folder: Path) -> None:
        """Draw the figure from the summary in a folder."""
        figure: Figure = import_module(f"experiments.{self.name}.figure").draw(Summary.read(folder / SUMMARY))
        figure.savefig(folder / PICTURE)


def experiments() -> list[Experiment]:
    """Return all there are."""
    return [Experiment(path.parent.name) for path in sorted(HERE.glob("*/config.toml"))]


def grid(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the points of a part: every combination of the entries of its lists."""
    axes = {name: value if isinstance(value, list) else [value] for name, value in part.items() if name != "trials"}
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def finished(tasks: Sequence[Task], n_processes: int) -> Iterator[tuple[Task, list[Row], float]]:
    """Yield tasks and what they gave, as they are done; in this process if there is to be only one."""
    if n_processes == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, *task.run()
        return
    os.environ.update(TENSORPMF_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with ProcessPoolExecutor(n_processes, get_context("spawn")) as pool:
        futures = {pool.submit(task.run): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], *future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def read_done(path: Path) -> dict[str, Any]:
    """Return what an earlier run did, by task; a line cut short does not count."""
    done: dict[str, Any] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[record["task"]] = record
    return done


def summarised(rows: Sequence[Row], by: Sequence[str], settings: Collection[str]) -> list[Row]:
    """Return mean, standard deviation, extremes and number of every measure, for each combination of ``by``.

    Parameters
    ----------
    rows
        What the trials gave.
    by
        The columns to group by.
    settings
        Columns that say what was done; every other number is a measure.
    """
    groups: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        measures = groups[tuple(row.get(name, "") for name in by)]
        for name, value in row.items():
            if name not in by and name not in settings and isinstance(value, (int, float)):
                measures[name].append(float(value))
    return [
        {**dict(zip(by, key, strict=True)), "measure": name, **moments(values)}
        for key, measures in groups.items()
        for name, values in measures.items()
    ]


def moments(values: Sequence[float]) -> Row:
    """Return what a summary says of some numbers."""
    spread = stdev(values) if len(values) > 1 else 0.0
    told = {"mean": fmean(values), "sd": spread, "min": min(values), "max": max(values)}
    return {name: f"{value:.6g}" for name, value in told.items()} | {"n": len(values)}


def write_summary(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def manifest(name: str, profile: str, tasks: Sequence[Task], records: Sequence[Mapping[str, Any]]) -> Row:
    """Return what somebody needs to know who wants the same numbers."""
    return {
        "experiment": name,
        "profile": profile,
        "python": platform.python_version(),
        "libraries": {library: version(library) for library in LIBRARIES},
        "machine": {"architecture": platform.machine(), "processors": os.cpu_count()},
        "tasks": len(tasks),
        "seeds": [min(task.seed for task in tasks), max(task.seed for task in tasks)],
        "seconds_of_work": round(sum(record["seconds"] for record in records), 1),
    }


@dataclass(frozen=True)
class Summary:
    """A summary, as a figure sees it."""

    rows: tuple[Mapping[str, str], ...]

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Return the summary in a file."""
        with path.open(newline="") as file:
            return cls(tuple(csv.DictReader(file)))

    def where(self, **values: object) -> Summary:
        """Return the rows that have these values."""
        return Summary(tuple(row for row in self.rows if all(row[k] == str(v) for k, v in values.items())))

    def values(self, name: str) -> list[str]:
        """Return the different values of a column, in the order of their first occurrence."""
        return list(dict.fromkeys(row[name] for row in self.rows))

    def numbers(self, name: str) -> list[float]:
        """Return a column as numbers."""
        return [float(row[name]) for row in self.rows]

    def line(self, x: str, measure: str, **values: object) -> tuple[list[float], list[float], list[float]]:
        """Return x, the means of a measure and their standard deviations, x rising."""
        rows = self.where(measure=measure, **values)
        points = sorted(zip(rows.numbers(x), rows.numbers("mean"), rows.numbers("sd"), strict=True))
        return ([p[0] for p in points], [p[1] for p in points], [p[2] for p in points])
