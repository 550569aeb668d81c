"""Every solver on a device that fails at some launch or allocation: an answer or one clear error; then as before."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

import engine
from engine.errors import DeviceError, QuintetError
from tests.support.faults import failing
from tests.support.lasting import CASES, SMALL, differences, seed_of_today, slow_device, solve_whole
from tests.support.patience import PATIENCE, wait_until

DEVICES = slow_device()
SEED = seed_of_today()
pytestmark = pytest.mark.skipif(not DEVICES, reason="this machine has no device")


@pytest.mark.few(6)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("limit", [{"at_launch": 40}, {"at_allocation": 5}])
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_device_that_fails_leaves_an_answer_or_one_error(
    name: str, limit: dict[str, int], count: int, tmp_path: Path
) -> None:
    case = CASES[name]
    devices = DEVICES * count
    label = DEVICES[0] if count == 1 else f"{DEVICES[0]}#2"
    problem = case.problem()
    with engine.Engine(devices=devices) as owner:
        raised: QuintetError | None = None
        with failing(label, **limit) as failures:
            run = owner.start(problem, seed=7, run_folder=tmp_path / "r", checkpoint_interval=0.05, **case.options)
            while not failures[0] and not run.join(0.01):
                pass
            assert run.join(5 * PATIENCE), "the run hangs"
            try:
                result = run.wait()
            except QuintetError as error:
                raised = error
            if count == 2 and failures[0]:
                assert raised is None, "the other device has not gone on"
                assert result.objective is not None or result.arrays
                after = owner.start(problem, seed=7, time_limit=0.05, **case.options)
                assert after.wait().devices == (DEVICES[0],)
        if not failures[0]:
            pytest.skip(f"{name} makes fewer launches or allocations")
        if raised is not None:
            assert isinstance(raised, DeviceError)
            assert "fallen off the bus" in str(raised)
        again = owner.solve(problem, seed=7, **case.options)
    assert differences(name, again, _whole(name)) == []


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["at_launch", "at_allocation"])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_device_may_fail_at_any_launch_or_allocation(name: str, kind: str) -> None:
    """Some of the first 50; ``tests/soak/failures.py`` has all."""
    case, moments = SMALL[name], random.Random(f"{SEED} {name} {kind}")
    problem = case.problem()
    print(f"QUINTET_TEST_SEED={SEED}")
    with engine.Engine(devices=DEVICES) as owner:
        whole = owner.solve(problem, seed=7, **case.options)
        threads = threading.active_count()
        failed = 0
        for k in [1, 2, *sorted(moments.sample(range(3, 50), 3))]:
            with failing(DEVICES[0], **{kind: k}) as failures:
                run = owner.start(problem, seed=7, **case.options)
                assert run.join(5 * PATIENCE), f"{k}: the run hangs"
            if run.error is None:
                result = run.outcome()
                assert not failures[0] or result.objective == whole.objective or result.status.stopped
            else:
                assert isinstance(run.error, DeviceError)
                assert "fallen off the bus" in str(run.error)
            failed += bool(failures[0])
        again = owner.solve(problem, seed=7, **case.options)
        wait_until(lambda: threading.active_count() <= threads)
    assert failed
    assert (again.status, again.objective) == (whole.status, whole.objective)


_WHOLE: dict[str, engine.Result] = {}


def _whole(name: str) -> engine.Result:
    if name not in _WHOLE:
        _WHOLE[name] = solve_whole(name, DEVICES)
    return _WHOLE[name]
