"""A run folder in which any byte has changed: the change is detected, or harmless; never another answer."""

import os
import random
import shutil

import pytest

import engine
from engine.errors import QuintetError, RunFolderError
from engine.events import Notice
from engine.runs.folder.run_folder import RunFolder
from tests.support import counting
from tests.support.counting import Counting
from tests.support.examples import seed_of_tests
from tests.support.stopping import stop_at

SEED = seed_of_tests()
EVERY = int(os.environ.get("QUINTET_TEST_EVERY_BYTE") or 0)
TARGET = 200
ANSWER = counting.expected(TARGET, seed=2)


def stopped(path):
    """A run that was stopped, with two checkpoints and a result."""
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, lambda event: event.type == "incumbent" and event.objective >= 20)
        engine.solve(Counting(TARGET), seed=2, run_folder=path, slice_seconds=0.001, checkpoint_interval=1e-9)
    assert len(list(path.glob("checkpoint-*.json"))) == 2
    return path


def positions(size, moments, count):
    """Some bytes of a file, the first and last among them; all, where the environment asks for it."""
    if EVERY or size <= count:
        yield from range(size)
    else:
        yield from {0, size - 1, *moments.sample(range(size), count)}


@pytest.mark.parametrize(
    "name",
    ["run.toml", "problem.npz", "checkpoint-old.json", "checkpoint-new.json", "checkpoint-new.npz", "result.json",
     "result.npz", "events.jsonl"],
)  # fmt: skip
def test_a_changed_byte_is_detected_or_harmless(name, tmp_path):
    print(f"QUINTET_TEST_SEED={SEED}")
    moments = random.Random(f"{SEED} {name}")
    kept = stopped(tmp_path / "kept")
    older, newer = sorted(kept.glob("checkpoint-*.json"))
    given = {"checkpoint-old.json": older.name, "checkpoint-new.json": newer.name}
    given["checkpoint-new.npz"] = newer.with_suffix(".npz").name
    file = given.get(name, name)
    first = RunFolder.open(kept).result()
    outcomes = set()
    for position in positions((kept / file).stat().st_size, moments, 12):
        path = tmp_path / "changed"
        shutil.copytree(kept, path)
        content = bytearray((path / file).read_bytes())
        content[position] ^= 1 << moments.randrange(8)
        (path / file).write_bytes(content)
        try:
            shown = RunFolder.open(path).result()
            assert shown.to_dict() == first.to_dict()
            notices = []
            assert engine.resume(path, on_event=notices.append, checkpoint_interval=60).objective == ANSWER
            fell_back = any(isinstance(event, Notice) and "checkpoint before" in event.message for event in notices)
            outcomes.add("fell back" if fell_back else "harmless")
        except RunFolderError:
            outcomes.add("refused")
        except QuintetError as error:
            pytest.fail(f"byte {position} of {file}: {type(error).__name__}: {error}")
        shutil.rmtree(path)
    expected = {"checkpoint-old.json": {"harmless"}, "events.jsonl": {"harmless"}}
    if name.startswith("checkpoint-new"):
        assert outcomes == {"fell back"}
    else:
        assert outcomes <= expected.get(name, {"refused"})


@pytest.mark.parametrize("change", [b"", b"{}", b'{"digest": ""}', None])
@pytest.mark.parametrize("name", ["result.json", "result.npz"])
def test_a_run_with_a_damaged_result_resumes_from_its_checkpoint(name, change, tmp_path):
    path = stopped(tmp_path / "r")
    (path / name).unlink()
    if change is not None:
        (path / name).write_bytes(change)
    if change is not None or name == "result.npz":
        with pytest.raises(RunFolderError, match=name):
            RunFolder.open(path).result()
    seen = []
    assert engine.resume(path, on_event=seen.append).objective == ANSWER
    notices = [event.message for event in seen if isinstance(event, Notice)]
    expected = change is not None or name == "result.npz"
    assert any(f"{name} is" in notice or f"{name} cannot" in notice for notice in notices) == expected
    assert all(notice.endswith("; the run resumes from its last checkpoint") for notice in notices)


def test_a_run_with_a_damaged_result_and_no_checkpoint_is_refused(tmp_path):
    engine.solve(Counting(5), run_folder=tmp_path / "r")
    (tmp_path / "r" / "result.npz").unlink()
    with pytest.raises(RunFolderError, match=r"result\.npz is missing"):
        engine.resume(tmp_path / "r")
    assert engine.resume(tmp_path / "r", from_start=True).objective == counting.expected(5)


def test_a_run_whose_checkpoints_are_all_damaged_begins_again_only_if_asked(tmp_path):
    path = stopped(tmp_path / "r")
    for file in path.glob("checkpoint-*.npz"):
        file.unlink()
    with pytest.raises(RunFolderError, match=r"is missing.*begin again from the start"):
        engine.resume(path)
    seen = []
    assert engine.resume(path, from_start=True, on_event=seen.append).objective == ANSWER
    assert not [event for event in seen if isinstance(event, Notice)]


def test_a_checkpoint_is_not_written_to_another_runs_folder(tmp_path):
    other = stopped(tmp_path / "other")
    before = {file.name: file.read_bytes() for file in other.iterdir()}
    with engine.Engine() as owner:
        seen = []
        run = owner.start(Counting(10**9), run_folder=tmp_path / "r", on_event=seen.append)
        os.rename(tmp_path / "r", tmp_path / "moved")
        os.rename(other, tmp_path / "r")
        run.stop()
        run.wait()
    assert {file.name: file.read_bytes() for file in (tmp_path / "r").iterdir()} == before
    messages = [event.message for event in seen if isinstance(event, Notice)]
    assert any("is no longer the folder of this run" in message for message in messages)


def test_files_of_another_run_are_refused(tmp_path):
    first, second = stopped(tmp_path / "first"), stopped(tmp_path / "second")
    for file in first.glob("checkpoint-*"):
        file.unlink()
    for file in second.glob("checkpoint-*"):
        shutil.copy(file, first)
    with pytest.raises(RunFolderError, match=r"checkpoint-\d+\.json belongs to another run"):
        engine.resume(first)
