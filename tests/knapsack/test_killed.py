"""A search of the sparse table resumes to the same answer after any kill; tests/survival kills the dense one."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine import Status
from engine.generators.knapsack import GeneratorOptions, generate, write
from engine.runs.folder.run_folder import RunFolder
from tests.support.needs import POSIX


@pytest.mark.full
@POSIX
def test_a_run_killed_at_random_moments_resumes_to_the_same_value_and_to_items_of_it(one_device, tmp_path):
    problem = generate(GeneratorOptions(type="exponential-groups", n=500, capacity=10**7))
    write(problem, tmp_path / "problem.txt")
    whole = one_device.solve(problem, reduce=False, variant="sparse")
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    moments = random.Random(seed)
    for attempt in range(2):
        folder = tmp_path / f"run{attempt}"
        words = ["solve", tmp_path / "problem.txt", "--run-folder", folder, "--checkpoint-interval", "0.02"]
        words += ["--variant", "sparse", "--no-reduce", "--devices", one_device.device_infos[0].id]
        child = subprocess.Popen(
            [sys.executable, "-m", "engine", *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
            env={**os.environ},
        )
        waited = time.monotonic() + 60
        while not (folder / "events.jsonl").exists() and time.monotonic() < waited:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 2.0))
        child.kill()
        child.wait()
        for event in RunFolder.open(folder).events():
            assert event.time >= 0
        if RunFolder.open(folder).result() is None:
            result = one_device.resume(folder).wait()
            assert result.status is Status.OPTIMAL
            assert result.objective == whole.objective
            assert result.solution is not None
            assert problem.evaluate(result.solution)[0] == whole.objective
        assert RunFolder.open(folder).result() is not None
