"""Every solver: a stop writes a checkpoint, and a checkpoint that lacks something is refused in one sentence."""

import shutil

import numpy as np
import pytest

import engine
from engine.errors import AuditError, RunFolderError
from engine.solvers import solver_named
from tests.support.lasting import CASES, differences, signed, slow_device, solve_whole, stopped
from tests.support.needs import DEVICE

DEVICES = slow_device()
pytestmark = DEVICE


@pytest.fixture(scope="module", params=sorted(CASES))
def interrupted(request, tmp_path_factory):
    return request.param, stopped(request.param, tmp_path_factory.mktemp("stopped") / "r", DEVICES)


@pytest.mark.few(3)
def test_a_stop_writes_a_checkpoint_from_which_the_run_resumes(interrupted, tmp_path):
    name, folder = interrupted
    assert folder.checkpoint() is not None
    shutil.copytree(folder.path, tmp_path / "r")
    seen = []
    result = engine.resume(tmp_path / "r", on_event=seen.append)
    assert differences(name, result, solve_whole(name, tuple(DEVICES))) == []
    assert not [event for event in seen if event.type == "notice" and "from the start" in event.message]


def test_a_checkpoint_without_one_of_its_arrays_or_with_another_shape_is_refused(interrupted, tmp_path):
    name, folder = interrupted
    schema = solver_named(name).schema
    assert schema is not None, f"{name} declares no schema"
    kept = folder.checkpoint()
    state = kept.state.model_dump()
    changes = []
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
        signed(folder, path, arrays, values)
        with pytest.raises(RunFolderError, match=f"'{what}"):
            engine.resume(path)
        shutil.rmtree(path)


CHANGES = {
    "branch_and_bound": {"initial": 2**31, "value": 2**40, "begin": None, "explored": None},
    "boa": {"best_key": 10**6, "populations": 1, "numbers": None, "best": None},
    "gibbs": {"iteration": 10**6},
    "knapsack": {"objective": 10**9, "capacity": 10**9, "done": None},
    "linprog": {"rows": 3, "iteration": 4, "x": None},
}


EXTREMES = {
    "branch_and_bound": [("fresh", 255), ("value", -1), ("explored", 2**62)],
    "boa": [("parent_count", 2**31 - 1), ("numbers", 2**40), ("status", -(2**63)), ("step", 2**40)],
    "gibbs": [("steps", 2**31 - 1), ("draws.draws_mean", np.inf), ("draws.draws_squares", -1.0), ("beta", 1e300)],
    "knapsack": [("row", -1), ("capacity", 2**62), ("done", -1)],
    "linprog": [("x", -1.0), ("s", -1.0), ("z", -1e300), ("iteration", 2**40), ("pdhg_weight", 0.0)],
}


def forged(folder, path, what, value):
    """A copy of the folder whose checkpoint has a value changed; None: the last of an array."""
    kept = folder.checkpoint()
    state, arrays = kept.state.model_dump(), dict(kept.arrays)
    if what in state:
        state[what] = value
    elif value is not None:
        arrays[what] = np.full_like(arrays[what], value)
    else:
        assert arrays[what].size
        arrays[what] = arrays[what].copy()
        arrays[what].flat[-1] += 3
    signed(folder, path, arrays, state)
    return path


@pytest.mark.few(2)
def test_a_forged_value_with_the_right_digest_is_refused_or_harmless_and_an_extreme_refused(interrupted, tmp_path):
    """The digests detect accidents; what they cannot detect is audited. ``tools/soak/forge.py`` forges everything."""
    name, folder = interrupted
    whole = solve_whole(name, tuple(DEVICES))
    for what, value in CHANGES[name].items():
        try:
            result = engine.resume(forged(folder, tmp_path / what, what, value))
        except (RunFolderError, AuditError):
            continue
        wrong = [one for one in differences(name, result, whole) if one.startswith(("status", "objective", "items"))]
        assert wrong == [], what  # the way there may be another
    for what, value in EXTREMES[name]:
        path = forged(folder, tmp_path / f"extreme {what}", what, value)
        with pytest.raises(RunFolderError):
            engine.resume(path)
