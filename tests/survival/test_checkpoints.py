"""Every solver: a stop writes a checkpoint, and a checkpoint that lacks something is refused in one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lasting import CASES, differences, slow_device, solve_whole

import engine
from engine.errors import RunFolderError
from engine.folder import RunFolder
from engine.solvers import solver_named
from engine.storage import Checkpoint, RunFiles

DEVICES = slow_device()
pytestmark = pytest.mark.skipif(not DEVICES, reason="this machine has no device")


def stopped(name: str, path: Path) -> RunFolder:
    """The folder of a run that was stopped soon after it had begun to work."""
    case = CASES[name]
    with engine.Engine(devices=DEVICES) as owner:
        began: list[Any] = []
        run = owner.start(
            case.problem(), seed=7, run_folder=path, checkpoint_interval=1e6, on_event=began.append, **case.options
        )
        while not any(case.under_way(event) for event in list(began)) and not run.join(0.01):
            pass
        run.stop()
        result = run.wait()
    if result.status != "interrupted":
        pytest.skip(f"{DEVICES[0]} solved the problem of {name} before the stop")
    return RunFolder.open(path)


@pytest.fixture(scope="module", params=sorted(CASES))
def interrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, RunFolder]:
    return request.param, stopped(request.param, tmp_path_factory.mktemp("stopped") / "r")


def test_a_stop_writes_a_checkpoint_from_which_the_run_resumes(
    interrupted: tuple[str, RunFolder], tmp_path: Path
) -> None:
    name, folder = interrupted
    assert folder.checkpoint() is not None
    shutil.copytree(folder.path, tmp_path / "r")
    seen: list[Any] = []
    result = engine.resume(tmp_path / "r", on_event=seen.append)
    assert differences(name, result, solve_whole(name, DEVICES)) == []
    assert not [event for event in seen if event.type == "notice" and "from the start" in event.message]


def rewritten(folder: RunFolder, path: Path, arrays: dict[str, Any], state: Any) -> None:
    """A copy of a folder with this checkpoint alone, its digests right."""
    shutil.copytree(folder.path, path)
    for file in path.glob("checkpoint-*"):
        file.unlink()
    files = RunFiles(path, folder.identity)
    object.__setattr__(files, "schema", _Unchecked(folder))
    files.save_checkpoint(Checkpoint(arrays, state, 1.0))


class _Unchecked:
    """The version of a solver's checkpoints without their declaration."""

    def __init__(self, folder: RunFolder) -> None:
        self.checkpoint = self
        schema = folder.schema
        self.version = schema.checkpoint.version if schema is not None and schema.checkpoint is not None else 0

    def check(self, arrays: Any, state: Any) -> Any:
        return state


def test_a_checkpoint_without_one_of_its_arrays_or_with_another_shape_is_refused(
    interrupted: tuple[str, RunFolder], tmp_path: Path
) -> None:
    name, folder = interrupted
    schema = solver_named(name).schema
    assert schema is not None, f"{name} declares no schema"
    assert schema.checkpoint is not None
    kept = folder.checkpoint()
    assert kept is not None
    state = kept.state.model_dump()
    changes: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    for array in kept.arrays:
        changes.append((array, {n: a for n, a in kept.arrays.items() if n != array}, state))
        changes.append((array, {**kept.arrays, array: np.stack([kept.arrays[array]] * 2)}, state))
        changes.append((array, {**kept.arrays, array: kept.arrays[array].astype("U")}, state))
    changes.append(("beads", {**kept.arrays, "beads": np.zeros(3)}, state))
    required = [n for n, field in schema.checkpoint.state.model_fields.items() if field.is_required()]
    changes += [(value, kept.arrays, {n: v for n, v in state.items() if n != value}) for value in required]
    changes += [(value, kept.arrays, {**state, value: "beads"}) for value in required]
    for number, (what, arrays, values) in enumerate(changes):
        path = tmp_path / str(number)
        rewritten(folder, path, arrays, values)
        with pytest.raises(RunFolderError, match=f"'{what}"):
            engine.resume(path)
        shutil.rmtree(path)
