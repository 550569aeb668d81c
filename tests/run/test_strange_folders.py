"""Run folders that somebody has made or changed on purpose: one of our errors, soon, and never much memory."""

import io
import os
import zipfile

import numpy as np
import pytest
import tomlkit

import engine
from engine.errors import OptionError, QuintetError, RunFolderError
from engine.runs.folder.run_folder import RunFolder
from engine.runs.folder.storage import file_digest, text_digest
from engine.settings import config
from tests.support.counting import Counting
from tests.support.needs import POSIX


@pytest.fixture
def stopped(tmp_path):
    engine.solve(Counting(10**9), run_folder=tmp_path / "r", time_limit=0.05)
    return tmp_path / "r"


def describe(folder, change):
    """Change what ``run.toml`` says, and make its digest right again."""
    file = folder / "run.toml"
    description = tomlkit.parse(file.read_text()).unwrap()
    change(description)
    order = {"format": description.pop("format"), "digest": ""}
    description.pop("digest", None)
    below = tomlkit.dumps(description)
    file.write_text(f'format = {order["format"]}\ndigest = "{text_digest(below)}"\n{below}')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(options=5), "options: Input should be a valid dictionary"),
        (lambda d: d.update(solver="abacus"), "names the solver 'abacus'; there is none"),
        (lambda d: d["problem"].update({"class": "Knapsack"}), "names no known problem: 'Knapsack'"),
        (
            lambda d: d["problem"].update({"class": "Problem", "module": "engine.base.problem"}),
            "of the class Problem of the module engine.base.problem, which has no file",
        ),
        (lambda d: d.update(format=7), "has format 7; this version .* reads format 1"),
        (lambda d: d["options"].update(stepp=5), "unknown option 'stepp'"),
    ],
)
def test_a_description_that_makes_no_sense_is_one_sentence(change, message, stopped):
    describe(stopped, change)
    with pytest.raises(QuintetError, match=message):
        engine.resume(stopped)


def problem_file(stopped, content):
    """Put another ``problem.npz`` in, with its digest."""
    (stopped / "problem.npz").write_bytes(content)
    describe(stopped, lambda d: d["problem"].update(digest=file_digest(stopped / "problem.npz")))


def packed(name, content, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def header_alone(shape):
    """The beginning of a NumPy file of an array that does not follow."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def with_objects():
    stream = io.BytesIO()
    np.save(stream, np.array([{}]), allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed("target.npy", header_alone((10**12,))), "does not have the size that it declares"),
        (packed("target.npy", bytes(10**6), zipfile.ZIP_DEFLATED), "is compressed"),
        (packed("target.npy", with_objects()), "contains Python objects"),
        (b"PK\x05\x06" + bytes(18), "contains no Counting"),
    ],
)
def test_arrays_that_are_none_are_one_sentence(content, message, stopped):
    problem_file(stopped, content)
    with pytest.raises(RunFolderError, match=message):
        engine.resume(stopped)


def test_json_that_is_deep_or_long_is_one_sentence(stopped):
    for file in [*stopped.glob("checkpoint-*.json"), stopped / "result.json"]:
        kept = file.read_bytes()
        for content in (b"[" * 200_000, b'{"a":' * 200_000, b"9" * 10_000, b'{"digest": 1}', b"[1]", b"\xff"):
            file.write_bytes(content)
            folder = RunFolder.open(stopped)
            read = folder.result if file.name == "result.json" else folder.checkpoint
            with pytest.raises(RunFolderError, match=file.name):
                read()
        file.write_bytes(kept)
    with (stopped / "events.jsonl").open("ab") as stream:
        stream.write(b"[" * 200_000 + b"\n" + b'{"type":"metric"' + b"9" * 10_000 + b"\n")
    assert next(event.type for event in RunFolder.open(stopped).events()) == "started"


READS = {
    "run.toml": RunFolder.open,
    "problem.npz": lambda path: RunFolder.open(path).problem(),
    "events.jsonl": lambda path: list(RunFolder.open(path).events()),
    "result.json": lambda path: RunFolder.open(path).result(),
    "result.npz": lambda path: RunFolder.open(path).result(),
    "checkpoint-000001.json": lambda path: RunFolder.open(path).checkpoint(),
}


@POSIX
@pytest.mark.parametrize("name", READS)
def test_a_pipe_where_a_file_should_be_is_refused_at_once(name, stopped):
    (stopped / name).unlink()
    os.mkfifo(stopped / name)  # to open it would wait for somebody who writes
    with pytest.raises(RunFolderError, match=f"{name} cannot be read: it is no regular file"):
        READS[name](stopped)
    if not name.startswith("result"):  # a run goes on without a result that cannot be read
        with pytest.raises(RunFolderError, match=r"cannot be read|cannot write"):
            engine.resume(stopped)


@pytest.mark.parametrize("name", ["run.toml", "result.json"])
def test_a_file_of_any_size_is_refused_before_it_is_read(name, stopped):
    os.truncate(stopped / name, 1 << 40)  # which takes no room on the disk
    with pytest.raises(RunFolderError, match=f"{name} cannot be read: it is larger than"):
        RunFolder.open(stopped).result()


@POSIX
@pytest.mark.parametrize("name", ["run.lock", "events.jsonl"])
def test_a_run_writes_to_no_file_that_its_folder_links_to(name, stopped, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (stopped / name).unlink(missing_ok=True)
    (stopped / name).symlink_to(tmp_path / "precious")
    with pytest.raises(RunFolderError, match=rf"cannot write to .*{name}.* is a link"):
        engine.resume(stopped, time_limit=0.1)
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "a = " + "{a=" * 5_000, "seed = " + "9" * 5_000, "\x00"])
def test_a_configuration_that_is_deep_or_long_is_one_sentence(text, tmp_path):
    (tmp_path / "q.toml").write_text(text)
    with pytest.raises(OptionError, match=r"q\.toml is not a TOML file"):
        config.resolve(file=tmp_path / "q.toml")
