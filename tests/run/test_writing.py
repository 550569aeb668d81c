"""Whatever file operation is the last before a power cut, or fails, a run folder stays whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.errors import RunFolderError
from engine.events import Notice
from engine.runs.folder.run_folder import RunFolder
from tests.support import counting
from tests.support.counting import Counting

TARGET = 60
ANSWER = counting.expected(TARGET, seed=2)
ARGUMENTS: dict[str, Any] = {"seed": 2, "slice_seconds": 0.001, "step": 5, "checkpoint_interval": 1e-9}

OPERATIONS = ((os, "rename"), (os, "replace"), (os, "unlink"), (os, "rmdir"), (os, "fsync"))
PATH_OPERATIONS = ("unlink", "rmdir", "mkdir")


@contextmanager
def watched(before: Callable[[], None]) -> Iterator[None]:
    """Call a function before every operation that changes or secures names of files."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (*OPERATIONS, *((Path, name) for name in PATH_OPERATIONS)):
            original = getattr(owner, name)

            def replaced(*arguments: Any, _original: Any = original, **keywords: Any) -> Any:
                before()
                return _original(*arguments, **keywords)

            patch.setattr(owner, name, replaced)
        yield


@pytest.mark.parametrize("cut", ["a kill", "a power cut"])
def test_every_moment_of_writing_leaves_a_folder_that_resumes(cut: str, tmp_path: Path) -> None:
    """After a power cut, files that were not flushed to disk have lost their second half."""
    path, kept = tmp_path / "live" / "r", tmp_path / "kept"
    kept.mkdir()
    path.parent.mkdir()
    count = 0
    flushed: set[int] = set()
    fsync = os.fsync

    def recording_fsync(descriptor: int) -> None:
        fsync(descriptor)
        flushed.add(os.fstat(descriptor).st_ino)

    def copy() -> None:
        nonlocal count
        if not any((path.parent / name).exists() for name in os.listdir(path.parent)):
            return
        lost = [file for file in path.parent.rglob("*") if file.is_file() and file.stat().st_ino not in flushed]
        target = kept / f"{count:04d}"
        shutil.copytree(path.parent, target)
        for file in lost if cut == "a power cut" else ():
            copied = target / file.relative_to(path.parent)
            os.truncate(copied, copied.stat().st_size // 2)
        count += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", recording_fsync)
        with watched(copy):
            engine.solve(Counting(TARGET), run_folder=path, **ARGUMENTS)
    assert count > 60
    moments = sorted(kept.iterdir())
    moments = moments[:25] + moments[25:-15:7] + moments[-15:]  # one checkpoint is written as the next
    appeared = False
    for moment in moments:
        folder = moment / "r"
        if not folder.exists():
            assert not appeared, "the folder is gone again"
            continue
        appeared = True
        ended = RunFolder.open(folder).result() is not None
        assert engine.resume(folder).objective == ANSWER, moment.name
        assert ended or not [name for name in os.listdir(folder) if name.startswith(".") or name == "run.lock"]
    assert appeared


@pytest.mark.parametrize("nth", range(1, 40, 3))
def test_a_failing_operation_is_reported_and_the_run_goes_on(nth: int, tmp_path: Path) -> None:
    seen: list[Any] = []
    left = nth

    def fail() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")

    refused = ""
    try:
        with watched(fail):
            result = engine.solve(Counting(TARGET), run_folder=tmp_path / "r", on_event=seen.append, **ARGUMENTS)
    except RunFolderError as error:
        refused = str(error)
    if refused:
        assert "No space left on device" in refused
        assert not (tmp_path / "r").exists()
        return
    assert result.objective == ANSWER
    notices = [event.message for event in seen if isinstance(event, Notice)]
    shown = RunFolder.open(tmp_path / "r").result()
    if shown is None:
        assert any("the result could not be written" in message for message in notices)
    assert engine.resume(tmp_path / "r").objective == ANSWER
