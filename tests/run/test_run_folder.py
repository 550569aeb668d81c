"""Run folders: whole at any moment, and enough to go on from."""

import os
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import events
from engine.base.context import Checkpoint
from engine.base.result import Status
from engine.errors import RunFolderError
from engine.runs.folder.run_folder import RunFolder
from tests.support import counting
from tests.support.counting import Counting

DESCRIPTION = {"solver": "counting", "options": {"extra": None, "step": 3}, "settings": {"seed": 1}}


def test_a_folder_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    seen = []
    rename = os.rename

    def watched(source, target):
        seen.append(sorted(path.name for path in Path(source).iterdir()))
        assert not Path(target).exists()
        rename(source, target)

    monkeypatch.setattr("engine.runs.folder.run_folder.os.rename", watched)
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", Counting(7), DESCRIPTION)
    assert seen == [["problem.npz", "run.toml"]]

    def broken(*_):
        raise OSError("no room")

    monkeypatch.setattr("engine.runs.folder.run_folder.os.rename", broken)
    with pytest.raises(RunFolderError, match=r"cannot make the run folder .*new: no room"):
        RunFolder.create(tmp_path / "new", Counting(7), DESCRIPTION)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_a_folder_in_use_is_refused_before_a_device_is_opened(tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    monkeypatch.setattr("engine.api.engine.DevicePool", lambda *_: pytest.fail("opened a device"))
    for path in (tmp_path / "full", tmp_path / "full" / "thesis.txt"):
        with pytest.raises(RunFolderError, match="exists and is not empty"):
            engine.solve(Counting(7), run_folder=path)
    assert (tmp_path / "full" / "thesis.txt").read_text() == "mine"


def umask():
    present = os.umask(0o22)
    os.umask(present)
    return present


def test_the_last_two_checkpoints_are_kept_and_the_newest_is_used(tmp_path):
    folder = RunFolder.create(tmp_path / "r", Counting(7), DESCRIPTION)
    for at in range(3):
        folder.save_checkpoint(Checkpoint({"at": np.array([at])}, {"total": np.int64(at), "name": "é"}, at / 2))
    (folder.path / ".checkpoint-000003.npz-0123abcd").write_bytes(b"cut sh")
    RunFolder.open(folder.path).save_checkpoint(Checkpoint({"at": np.array([9])}, {"total": 9}, 4.5))
    kept = RunFolder.open(folder.path).checkpoint()
    assert (kept.arrays["at"].tolist(), kept.state, kept.elapsed) == ([9], {"total": 9}, 4.5)
    assert (folder.path / "run.toml").stat().st_mode & 0o777 == 0o666 & ~umask()
    names = sorted(path.name for path in folder.path.iterdir())
    kept_files = [f"checkpoint-00000{number}.{suffix}" for number in (3, 4) for suffix in ("json", "npz")]
    assert names == [*kept_files, "problem.npz", "run.toml"]


def test_a_run_that_has_ended_gives_its_result_again(tmp_path, monkeypatch):
    first = engine.solve(Counting(10), seed=3, run_folder=tmp_path / "r")
    recorded = (tmp_path / "r" / "events.jsonl").read_bytes()
    monkeypatch.setattr(counting, "solve", lambda *_: pytest.fail("solved again"))
    seen = []
    again = engine.resume(tmp_path / "r", on_event=seen.append)
    assert again.to_dict() == first.to_dict()
    assert [event.type for event in seen] == ["started", "notice", "finished"]
    assert (tmp_path / "r" / "events.jsonl").read_bytes() == recorded


def test_a_run_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    RunFolder.create(tmp_path / "r", Counting(50), DESCRIPTION)
    assert engine.resume(tmp_path / "r").objective == counting.expected(50, seed=1)


def test_a_resumed_run_gives_the_answer_of_an_uninterrupted_one(tmp_path):
    target = 600
    first = engine.solve(
        Counting(target), seed=5, run_folder=tmp_path / "r", time_limit=0.1, devices=["opencl:0", "opencl:0"]
    )
    assert first.status == Status.TIME_LIMIT
    seen = []
    second = engine.resume(tmp_path / "r", time_limit=0.2, on_event=seen.append)
    assert second.status == Status.TIME_LIMIT
    assert second.devices == ("opencl:0", "opencl:0#2")
    assert second.seconds >= 0.2
    assert isinstance(seen[0], events.Started)
    assert seen[0].resumed
    assert seen[0].time >= 0.1
    last = engine.resume(tmp_path / "r", checkpoint_interval=0.01)
    assert last.status == Status.OPTIMAL
    assert last.seed == 5
    assert last.objective == counting.expected(target, seed=5)
    recorded = list(RunFolder.open(tmp_path / "r").events())
    assert [type(event) for event in recorded].count(events.Started) == 3
    identity = RunFolder.open(tmp_path / "r").identity
    assert {event.run for event in recorded if isinstance(event, events.Started)} == {identity}
    assert recorded[-1].type == "finished"


def test_a_full_disk_does_not_end_a_run(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "save_checkpoint", full)
    monkeypatch.setattr(RunFolder, "save_result", full)
    seen = []
    result = engine.solve(Counting(100), run_folder=tmp_path / "r", checkpoint_interval=0.02, on_event=seen.append)
    assert result.status == Status.OPTIMAL
    notices = [event.message for event in seen if isinstance(event, events.Notice)]
    assert any(message.startswith("the checkpoint could not be written") for message in notices)
    assert any(message.startswith("the result could not be written") for message in notices)
