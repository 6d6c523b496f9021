from __future__ import annotations

import inspect
import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass, is_dataclass, replace
from datetime import UTC, date, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import tensorpmf as tp
from tensorpmf.errors import ModelFileError, UnsavableError
from tensorpmf.fit.contract import Algorithm
from tensorpmf.pmf import document, io
from tensorpmf.pmf.base import PMF
from tensorpmf.testing.strategies import low_rank_pmfs

LEVELS = ("a", "", "é 'x' \"\\ \u2028 \ud800", 0, -7, 2**80, 1.5, np.inf, date(2020, 2, 29))
MORE_LEVELS = (
    True,
    -0.0,
    datetime(2020, 1, 1, 3, 4, 5, 6),
    datetime(2020, 1, 1, tzinfo=UTC),
    ("a", 1, (None, 2.5)),
    (),
)


def model() -> tp.LowRankPMF:
    schema = tp.Schema(
        (
            tp.Column("all", LEVELS),
            tp.Column('"sha256":"0000', MORE_LEVELS, ordered=True),
            tp.Column("bins", ("low", "high"), True, edges=(0.1,), centres=(0.05, 1 / 3)),
        )
    )
    rng = np.random.default_rng(0)
    return tp.LowRankPMF(schema, [0.3, 0.7], [rng.dirichlet(np.ones(n), 2).T for n in schema.n_levels])


def posterior() -> tp.DirichletPosterior:
    pmf = model()
    return tp.DirichletPosterior(pmf.schema, [3.5, 8], [f + 1e-9 for f in pmf.factors], alpha_weights=1e-6, n_empty=21)


def result() -> tp.FitResult:
    return tp.fit(tp.CategoricalTable.from_codes([[0, 1], [1, 0], [1, -1]] * 5), tp.VB(max_rank=3), max_iterations=5)


def same(a: object, b: object) -> bool:
    """Equal in value and in type, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if is_dataclass(a):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and repr(a) == repr(b)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("make", [model, posterior, result])
def test_what_was_saved_is_loaded(make: Any, tmp_path: Path) -> None:
    tp.save(make(), tmp_path / "model.pmf")
    assert same(tp.load(tmp_path / "model.pmf"), make()) or make is result
    loaded = tp.load(str(tmp_path / "model.pmf"))
    assert io.to_bytes(loaded) == (tmp_path / "model.pmf").read_bytes()
    assert names_in(tmp_path) == ["model.pmf"]


def test_a_result_comes_back_whole() -> None:
    made = result()
    loaded = io.from_bytes(io.to_bytes(made), "file")
    for name in ("pmf", "posterior", "rank", "status", "algorithm", "trace", "notes", "starts"):
        assert same(getattr(loaded, name), getattr(made, name)), name
    assert repr(loaded) == repr(made)


@given(low_rank_pmfs(max_columns=3))
def test_any_model_comes_back_and_equal_models_are_equal_bytes(pmf: tp.LowRankPMF) -> None:
    raw = io.to_bytes(pmf)
    assert io.from_bytes(raw, "file") == pmf
    twin = tp.LowRankPMF(pmf.schema, np.asfortranarray(pmf.weights), [np.asfortranarray(f) for f in pmf.factors])
    assert io.to_bytes(twin) == raw


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    tp.save(model(), tmp_path / "model.pmf")
    script = "import sys, tensorpmf as tp; tp.save(tp.load(sys.argv[1]), sys.argv[2]); print('numpy' in sys.modules)"
    subprocess.run(
        [sys.executable, "-c", script, tmp_path / "model.pmf", tmp_path / "twin.pmf"],
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    assert (tmp_path / "twin.pmf").read_bytes() == (tmp_path / "model.pmf").read_bytes()


def test_it_is_a_safetensors_file_with_one_json_key() -> None:
    raw = io.to_bytes(model())
    header = json.loads(raw[8 : 8 + struct.unpack("<Q", raw[:8])[0]])
    assert list(header["__metadata__"]) == ["tensorpmf"]
    told = json.loads(header["__metadata__"]["tensorpmf"])
    assert list(told) == ["sha256", "format", "model"]
    assert told["format"] == 1
    assert told["model"]["LowRankPMF"]["weights"] == {"array": "0.weights"}
    assert header["0.weights"]["shape"] == [2]


@st.composite
def values(draw: st.DrawFn) -> object:
    """Everything a document may hold."""
    plain = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(st.characters())
        | st.dates()
        | st.datetimes().map(lambda moment: moment.replace(fold=0))
        | st.times().map(lambda time: time.replace(fold=0))
        | st.timedeltas()
        | st.uuids()
        | st.decimals(allow_nan=False)
        | st.binary()
    )
    nested = st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=2)
        ),
        max_leaves=8,
    )
    return draw(nested)


@given(values())
def test_documents_keep_values_and_their_types(value: object) -> None:
    arrays: document.Arrays = {}
    written = json.loads(json.dumps(document.encode(value, arrays), allow_nan=False))
    assert same(document.decode(written, arrays), value)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "?", "c16", "c8", ">f8"])
@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 2), ()])
def test_arrays_of_any_layout_come_back(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    array = np.asarray(rng.integers(0, 5, shape) + (1j * rng.random(shape) if "c" in dtype else 0)).astype(dtype)
    strided = np.stack([array, array], axis=-1)[..., 0]
    for made in (array, np.asfortranarray(array), strided, array[..., ::-1] if shape else array):
        arrays: document.Arrays = {}
        written = document.encode(made, arrays)
        back = document.decode(written, load_arrays(save_arrays(arrays)))
        np.testing.assert_array_equal(back, made)
        assert back.dtype == made.dtype.newbyteorder("=")
        assert back.shape == made.shape


@pytest.mark.parametrize(
    "labels",
    [
        pd.cut(pd.Series([1.0, 5.0, 9.0]), 3).cat.categories,
        pd.cut(pd.Series([1, 5]), [0, 2, 9], right=False).cat.categories,
        pd.cut(pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])), 2).cat.categories,
        pd.cut(pd.Series(pd.to_timedelta([1, 2], "D")), 2).cat.categories,
        pd.to_datetime(["2020-01-01", "2021-01-02"]),
        pd.to_timedelta([1, 2], "h"),
    ],
)
def test_categories_of_pandas_are_saved(labels: pd.Index, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Categorical.from_codes([0, 1] * 20, labels, ordered=True), "b": [0, 1] * 20})
    pmf = tp.fit(tp.read_table(frame), seed=0).pmf
    tp.save(pmf, tmp_path / "model.pmf")
    back = tp.load(tmp_path / "model.pmf")
    assert back == pmf
    assert back.given(a=labels[1]).most_likely("b") == 1
    np.testing.assert_array_equal(back.conditional("b", frame), pmf.conditional("b", frame))


def test_numbers_that_are_none_are_saved_too() -> None:
    made = result()
    broken = replace(made, trace=replace(made.trace, objective=np.array([-np.inf, np.nan, -0.0])))
    np.testing.assert_array_equal(io.from_bytes(io.to_bytes(broken), "file").trace.objective, [-np.inf, np.nan, -0.0])


def test_numpy_scalars_are_saved_as_the_numbers_they_are() -> None:
    loaded = io.from_bytes(io.to_bytes(tp.VB(max_rank=np.int64(3), alpha_weights=np.float32(0.5))), "file")
    assert same(loaded, tp.VB(max_rank=3, alpha_weights=0.5))


@pytest.mark.parametrize("step", [1])
def test_no_byte_can_change_unseen(step: int) -> None:
    raw = io.to_bytes(model())
    for ix in range(0, len(raw), step):
        flipped = bytearray(raw)
        flipped[ix] ^= 1 << (ix % 8)
        with pytest.raises(ModelFileError) as caught:
            io.from_bytes(bytes(flipped), "votes.pmf")
        assert caught.value.problem in (
            "it is damaged or cut short: its SHA-256 does not match",
            "it is not a tensorpmf model",
        )
        assert str(caught.value).startswith("votes.pmf: it is ")


def test_no_part_of_a_file_passes_for_the_whole() -> None:
    raw = io.to_bytes(model())
    for length in (*range(0, 400, 7), *range(400, len(raw), 97), len(raw) - 1):
        with pytest.raises(ModelFileError, match=r"it is damaged or cut short|it is not a tensorpmf model"):
            io.from_bytes(raw[:length], "votes.pmf")
    with pytest.raises(ModelFileError, match="it is damaged or cut short"):
        io.from_bytes(raw + b"\0", "votes.pmf")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"a,b\n1,2\n",
        b"\x89PNG\r\n",
        save_arrays({"x": np.zeros(3)}),
        save_arrays({"x": np.zeros(3)}, {"tensorpmf": "hello"}),
        save_arrays({"x": np.zeros(3)}, {"format": "pt"}),
    ],
)
def test_foreign_files_are_told_apart(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(raw)
    with pytest.raises(ModelFileError, match="foreign: it is not a tensorpmf model") as caught:
        tp.load(tmp_path / "foreign")
    assert caught.value.path == str(tmp_path / "foreign")
    assert caught.value.hint == "models are written by tensorpmf.save."


def signed(told: object, arrays: dict[str, np.ndarray]) -> bytes:
    """A file whose digest is right, whatever it says."""
    text = json.dumps({"sha256": "0" * 64, **told}, separators=(",", ":"))  # type: ignore[dict-item]
    raw = save_arrays(arrays, {"tensorpmf": text})
    at = io._digest_at(raw)
    assert at is not None
    return raw[:at] + io._digest(raw, at) + raw[at + 64 :]


def test_newer_files_ask_for_a_newer_version() -> None:
    with pytest.raises(ModelFileError) as caught:
        io.from_bytes(signed({"format": 2, "model": {"Hologram": {}}}, {}), "votes.pmf")
    assert caught.value.problem == "its format is 2, but this version of tensorpmf reads up to 1"
    assert caught.value.hint == "install a newer tensorpmf."


PLAIN = {"Schema": {"columns": {"tuple": [{"Column": {"name": "a", "levels": {"tuple": [0, 1]}}}]}}}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"format": 1},
        {"format": "one", "model": 1},
        {"format": 1, "model": {"a": 1, "b": 2}},
        {"format": 1, "model": {"Popen": {"args": "true"}}},
        {"format": 1, "model": {"os.system": "true"}},
        {"format": 1, "model": {"Status": "FINE"}},
        {"format": 1, "model": {"date": "yesterday"}},
        {"format": 1, "model": {"Decimal": "one"}},
        {"format": 1, "model": {"timedelta": "9" * 40}},
        {"format": 1, "model": {"array": "y"}},
        {"format": 1, "model": {"dict": [[{"list": []}, 1]]}},
        {"format": 1, "model": {"Schema": {"rows": 1}}},
        {"format": 1, "model": {"LowRankPMF": {"schema": PLAIN, "weights": {"array": "x"}, "factors": {"tuple": []}}}},
    ],
)
def test_what_makes_no_model_is_refused_though_its_digest_is_right(told: object) -> None:
    with pytest.raises(ModelFileError, match=r"votes\.pmf: what it says makes no model"):
        io.from_bytes(signed(told, {"x": np.ones(2)}), "votes.pmf")


def test_reading_runs_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(document, "import_module", opened.append)
    with pytest.raises(ModelFileError, match="antigravity is not known here"):
        io.from_bytes(signed({"format": 1, "model": {"antigravity": {}}}, {}), "file")
    assert opened == []


class Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class Mine:
    x: Any
    colour: Colour = Colour.RED


@pytest.mark.parametrize(
    ("value", "where", "kind"),
    [
        ({"deep": [1, Fraction(1, 2)]}, "x.deep.1", "Fraction"),
        (bytearray(b"bytes"), "x", "bytearray"),
        (Colour.RED, "x", "Colour"),
        (np.array(["text"]), "x", "ndarray"),
        (np.datetime64("2020-01-01", "ns"), "x", "datetime64"),
        (np.float128(1), "x", "longdouble"),
        ({1, 2}, "x", "set"),
    ],
)
def test_what_cannot_be_saved_is_named(
    value: object, where: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(document._REGISTERED, "Mine", Mine)
    with pytest.raises(UnsavableError) as caught:
        tp.save(Mine(value), tmp_path / "mine.pmf")
    assert (caught.value.where, caught.value.kind) == (where, kind)
    assert str(caught.value).startswith(f"a model file cannot hold {where}: ")
    assert f" is a {kind}.\n" in str(caught.value)
    assert names_in(tmp_path) == []


def test_levels_that_cannot_be_saved_are_named() -> None:
    pmf = tp.LowRankPMF(tp.Schema((tp.Column("half", (Fraction(1, 2),)),)), [1], [[[1]]])
    with pytest.raises(UnsavableError, match=r"cannot hold schema\.columns\.0\.levels\.0: Fraction\(1, 2\) is"):
        io.to_bytes(pmf)


def test_a_class_of_ones_own_is_to_be_registered(tmp_path: Path) -> None:
    with pytest.raises(UnsavableError, match=r"Hint: name a class of yours to tensorpmf\.pmf\.document\.register"):
        tp.save(Mine(1), tmp_path / "mine.pmf")


TABLE = tp.CategoricalTable.from_codes([[0], [1]])


@pytest.mark.parametrize("value", [3, "text", {"a": 1}, np.zeros(2), tp.LowRankPMF, TABLE])
def test_only_models_are_saved(value: object, tmp_path: Path) -> None:
    with pytest.raises(UnsavableError, match=rf"a model file cannot hold a {type(value).__name__}\.") as caught:
        tp.save(value, tmp_path / "x")
    assert caught.value.hint == "save a fit's result, a PMF or a posterior."
    assert names_in(tmp_path) == []


def test_classes_of_your_own_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "_REGISTERED", {})
    assert document.register(Mine) is Mine
    document.register(Colour)
    assert io.from_bytes(io.to_bytes(Mine((1, 2))), "file") == Mine((1, 2))


def test_every_public_model_and_algorithm_can_be_saved() -> None:
    public = [getattr(tp, name) for name in tp.__all__]
    kept = {cls.__name__ for cls in public if inspect.isclass(cls) and issubclass(cls, PMF | Algorithm)}
    assert kept >= {"LowRankPMF", "VB"}
    assert kept <= set(document.HOMES)
    for name in document.HOMES:
        assert document._class_called(name).__name__ == name


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pmf"
    tp.save(model(), path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(ModelFileError, match="it cannot be written \\(No space left on device\\)"):
            tp.save(posterior(), path)
    assert path.read_bytes() == before
    assert names_in(tmp_path) == ["model.pmf"]
    tp.save(posterior(), path)
    assert tp.load(path) == posterior()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.pmf").symlink_to(tmp_path / "real.pmf")
    tp.save(model(), tmp_path / "link.pmf")
    assert (tmp_path / "link.pmf").is_symlink()
    assert tp.load(tmp_path / "real.pmf") == model()


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    tp.save(model(), pipe)
    assert pipe.is_fifo()
    assert os.read(reader, 1 << 16) == io.to_bytes(model())
    assert names_in(tmp_path) == ["pipe"]
    os.close(reader)


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"it cannot be written \(Is a directory\)"):
        tp.save(model(), tmp_path)


def test_the_file_can_be_read_by_whom_the_system_lets(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")
    tp.save(model(), tmp_path / "model.pmf")
    assert (tmp_path / "model.pmf").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_that_is_replaced_is_read_by_no_others_than_before(tmp_path: Path) -> None:
    tp.save(model(), tmp_path / "model.pmf")
    (tmp_path / "model.pmf").chmod(0o600)
    tp.save(posterior(), tmp_path / "model.pmf")
    assert (tmp_path / "model.pmf").stat().st_mode & 0o777 == 0o600


def test_a_name_may_be_as_long_as_the_file_system_lets_it(tmp_path: Path) -> None:
    path = tmp_path / f"{'m' * 251}.pmf"
    tp.save(model(), path)
    assert tp.load(path) == model()
    with pytest.raises(ModelFileError, match=r"it cannot be written \(File name too long\)"):
        tp.save(model(), tmp_path / f"{'m' * 252}.pmf")
    assert names_in(tmp_path) == [path.name]


def test_places_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no such file"):
        tp.load(tmp_path / "none.pmf")
    with pytest.raises(ModelFileError, match=r"it cannot be read \(Is a directory\)"):
        tp.load(tmp_path)
    with pytest.raises(ModelFileError, match=r"it cannot be written \(No such file or directory\)"):
        tp.save(model(), tmp_path / "no" / "model.pmf")
    with pytest.raises(ModelFileError, match=r"it cannot be written \(Is a directory\)"):
        tp.save(model(), tmp_path)
    assert names_in(tmp_path) == []


def test_a_loaded_model_answers_the_same(rng: np.random.Generator) -> None:
    loaded = io.from_bytes(io.to_bytes(model()), "file")
    rows = model().sample(20, rng)
    np.testing.assert_array_equal(loaded.log_prob(rows), model().log_prob(rows))
