import random

import pytest

from engine.runs.folder.run_folder import RunFolder
from tests.support.examples import seed_of_tests
from tests.support.lasting import CASES, differences, kill_until_done, slow_device, solve_whole
from tests.support.needs import DEVICE, POSIX

SEED = seed_of_tests()


@DEVICE
@pytest.mark.few(2)
@POSIX
@pytest.mark.parametrize("most", [3, pytest.param(12, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_killed_again_and_again_gives_the_answer_of_an_unbroken_one(name, most, tmp_path):
    devices = slow_device()
    print(f"QUINTET_TEST_SEED={SEED}")
    moments = random.Random(f"{SEED} {name}")
    whole = solve_whole(name, tuple(devices))
    longest = 0.3 * whole.seconds
    kills = attempt = continued = 0
    while kills < most or (not continued and attempt < 10):
        attempt += 1
        at_once = max(1, min(6, most - kills))
        result, killed = kill_until_done(name, tmp_path / f"run{attempt}", devices, moments, longest, at_once)
        assert differences(name, result, whole) == []
        kills += killed
        events = RunFolder.open(tmp_path / f"run{attempt}").events()
        continued += sum(event.type == "started" and event.time > 0 for event in events)
    assert continued > 0  # from a checkpoint
