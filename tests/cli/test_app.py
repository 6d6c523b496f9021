"""The door: exit codes, one-line complaints, interruption, commands found by their files, speed."""

from __future__ import annotations

import errno
import os
import pty
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import iter_modules

import pytest

import tensorpmf as tp
from tensorpmf.cli import commands
from tensorpmf.data import sample_table, synthetic_pmf

PROGRAM = str(Path(sys.executable).with_name("tensorpmf"))

MISTAKES = [
    ["nonsense"],
    ["--nonsense"],
    ["fit"],
    ["fit", "absent.csv"],
    ["fit", "empty.csv"],
    ["fit", "ragged.csv"],
    ["fit", "numbers.csv"],
    ["fit", "fine.csv", "--bins", "many"],
    ["fit", "fine.csv", "--bins", "3", "--bins", "4"],
    ["fit", "fine.csv", "--bins", "3", "--bins", "a=4"],
    ["fit", "fine.csv", "--bins", "absent=3"],
    ["fit", "fine.csv", "--bins", "thirds:3"],
    ["fit", "fine.csv", "--seed", "-1"],
    ["fit", "fine.csv", "--max-rank", "0"],
    ["fit", "fine.csv", "--max-rank", "1000000000000000"],
    ["fit", "fine.csv", "--max-rank", "10000000000000000000000"],
    ["rank", "fine.csv", "--ranks", "10000000000000000000000"],
    ["fit", "fine.csv", "--n-starts", "0"],
    ["fit", "fine.csv", "--threads", "0"],
    ["fit", "fine.csv", "--encoding", "nonsense"],
    ["fit", "fine.csv", "--output", "absent/fine.pmf"],
    ["query", "absent.pmf"],
    ["query", "fine.csv"],
    ["query", "MODEL", "--given", "species"],
    ["query", "MODEL", "--given", "absent=1"],
    ["query", "MODEL", "--given", "species=rose"],
    ["query", "MODEL", "--marginal", "absent"],
    ["query", "MODEL", "--given", "species=setosa", "--marginal", "species"],
    ["query", "MODEL", "--expect", "species"],
    ["sample", "MODEL", "-n", "-1"],
    ["classify", "MODEL", "fine.csv"],
    ["classify", "MODEL", "fine.csv", "--target", "absent"],
    ["classify", "MODEL", "fine.csv", "--target", "species"],
    ["classify", "MODEL", "absent.csv", "--target", "species"],
    ["classify", "MODEL", "iris.csv", "--target", "species", "--output", "absent/out.csv"],
    ["classify", "MODEL", "strange.csv", "--target", "petal width"],
    ["classify", "fine.csv", "fine.csv", "--target", "a"],
    ["impute", "MODEL", "fine.csv"],
    ["impute", "MODEL", "strange.csv"],
    ["impute", "MODEL", "iris.csv", "--method", "guess"],
    ["impute", "absent.pmf", "iris.csv"],
    ["recommend", "absent.csv"],
    ["recommend", "fine.csv"],
    ["recommend", "ratings.csv", "--user", "cyd"],
    ["recommend", "ratings.csv", "--user", "ann", "--given", "Alien=5"],
    ["recommend", "ratings.csv", "--given", "Alien=6"],
    ["recommend", "ratings.csv", "--given", "Dracula=5"],
    ["recommend", "ratings.csv", "-n", "0"],
    ["recommend", "words.csv"],
    ["recommend", "MODEL", "--user", "ann"],
    ["recommend", "MODEL"],
    ["demo", "--output", "absent/iris.png"],
]


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_2(
    arguments: list[str], call: Callable, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.csv").write_text("")
    Path("ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    Path("numbers.csv").write_text("a,b\n" + "".join(f"{ix / 7},{ix % 2}\n" for ix in range(50)))
    Path("fine.csv").write_text("a,b\n" + "x,1\ny,2\n" * 5)
    Path("iris.csv").write_text("petal length\n1.5\n")
    Path("strange.csv").write_text("species\nrose\n")
    Path("ratings.csv").write_text("user,film,stars\nann,Alien,5\nann,Brazil,1\nbob,Alien,4\n")
    Path("words.csv").write_text("user,film,stars\nann,Alien,good\nann,Brazil,bad\nbob,Alien,good\n")
    done = call(*(str(model) if argument == "MODEL" else argument for argument in arguments))
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("tensorpmf: ")
    assert done.err.count("\n") == 1
    assert not list(tmp_path.glob("*.pmf"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "t.csv", "-o", "t.csv"],
        ["fit", "-o", "link.csv", "t.csv"],
        ["rank", "t.csv", "-o", "t.csv"],
        ["recommend", "t.csv", "--save", "t.csv"],
        ["recommend", "t.csv", "-o", "./t.csv"],
        ["classify", "m.pmf", "t.csv", "-t", "species", "-o", "t.csv"],
        ["classify", "m.pmf", "t.csv", "-t", "species", "-o", "m.pmf"],
        ["impute", "m.pmf", "t.csv", "-o", "t.csv"],
    ],
    ids=" ".join,
)
def test_no_command_writes_over_what_it_reads(
    arguments: list[str], call: Callable, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {Path("t.csv"): b"user,species,n\na,setosa,1\nb,,2\n" * 3, Path("m.pmf"): model.read_bytes()}
    for path, content in files.items():
        path.write_bytes(content)
    Path("link.csv").symlink_to("t.csv")
    done = call(*arguments)
    assert done.code == 2
    assert "would be written over what is read. Hint: choose another file to write to." in done.err
    assert {path: path.read_bytes() for path in files} == files


def test_no_arguments_and_help_list_every_command(call: Callable) -> None:
    bare, asked = call(), call("--help")
    assert bare == asked
    assert bare.code == 0
    names = [path.stem for path in Path(commands.__file__).parent.glob("*.py") if path.stem != "__init__"]
    assert len(names) >= 4
    assert all(f"\n  {name} " in bare.out for name in names)


@pytest.mark.parametrize("command", ["", *(module.name for module in iter_modules(commands.__path__))])
def test_help_fits_80_columns(command: str, call: Callable) -> None:
    done = call(*command.split(), "--help")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80


def test_version(call: Callable) -> None:
    assert call("--version").out == f"tensorpmf {tp.__version__}\n"


def test_a_command_is_a_file_in_a_folder(
    call: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "greet.py").write_text(
        "import click\n@click.command()\ndef command():\n    'Say hello.'\n    click.echo('hello')\n"
    )
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    request.addfinalizer(lambda: sys.modules.pop(f"{commands.__name__}.greet", None))
    assert re.search("greet +Say hello.", call("--help").out)
    assert call("greet").out == "hello\n"


def test_help_costs_at_most_150_ms() -> None:
    def cpu_seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PROGRAM, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(cpu_seconds() for _ in range(5)) <= 0.15


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_save_the_best_so_far(sent: signal.Signals, code: int, tmp_path: Path) -> None:
    codes = sample_table(synthetic_pmf(30, 10, 12, seed=0), 30_000, seed=0).codes
    header = ",".join(f"x{ix}" for ix in range(30))
    (tmp_path / "big.csv").write_text(header + "\n" + "\n".join(",".join(map(str, row)) for row in codes.tolist()))
    ours, theirs = pty.openpty()  # progress is shown on a terminal only, so the child gets one
    child = subprocess.Popen(
        [PROGRAM, "fit", "big.csv", "--max-rank", "60"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, text=True, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"fitting: pass" not in seen:
        seen += os.read(ours, 4096)
    child.send_signal(sent)
    printed, _ = child.communicate(timeout=60)
    os.close(ours)
    assert child.returncode == code
    assert "interrupted" in printed
    assert tp.load(tmp_path / "big.pmf").status.name == "INTERRUPTED"


def test_a_full_disk_is_told_in_words(call: Callable, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tensorpmf.cli.commands.query.answer", full)
    done = call("query", model)
    assert (done.code, done.err) == (2, "tensorpmf: No space left on device.\n")


def test_a_closed_stdout_is_no_error(model: Path) -> None:
    for command in ("sample", "query"):
        done = subprocess.run(
            ["sh", "-c", f'"$0" {command} "$1" >&-', PROGRAM, model], check=False, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments", [["sample", "MODEL", "-n", "50000"], ["query", "MODEL"], ["--help"]], ids=" ".join
)
def test_a_reader_that_leaves_early_is_told_by_the_exit_code_alone(arguments: list[str], model: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [PROGRAM, *(str(model) if argument == "MODEL" else argument for argument in arguments)]
    done = subprocess.run(command, check=False, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, "")
