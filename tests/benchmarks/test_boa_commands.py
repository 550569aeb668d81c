"""The smallest reliable population, and the command lines of tune and bench."""

from __future__ import annotations

from pathlib import Path

import pytest

import engine
from engine.benchmarks.boa.command import bench
from engine.benchmarks.boa.tune import Trial, smallest_population, tune
from engine.devices import Member
from tests.support.paper import PaperEngine


def test_bisection_ends_between_failure_and_success(device: Member) -> None:
    reported: list[Trial] = []
    with PaperEngine(devices=[device.info.id]) as running:
        found = smallest_population(engine.BOA("trap-5", 30), running, runs=3, on_trial=reported.append)
    assert found.population is not None
    by_size = {trial.population: trial for trial in found.trials}
    assert by_size[found.population].solved == 3
    smaller = [size for size, trial in by_size.items() if trial.solved < trial.runs and size < found.population]
    assert smaller
    assert found.population - max(smaller) <= 0.1 * found.population + 1
    assert len(reported) == len(found.trials)
    assert 300 < found.population < 3000  # 2000 are known to solve 10 of 10
    assert all(trial.runs == 3 for trial in found.trials)


@pytest.mark.full
def test_commands_check_and_report(device: Member, capsys: pytest.CaptureFixture[str]) -> None:
    backend = device.info.language
    assert tune(["onemax", "--genes", "20", "--runs", "2", "--backend", backend, "--max-parents", "1"]) == 0
    assert "individuals solve 2 of 2" in capsys.readouterr().out
    assert bench(["--quick", "--backend", backend, "--devices", device.info.id, "--genes", "30", "--repeat", "1"]) == 0
    text = capsys.readouterr().out
    assert "generations equal to the NumPy reference" in text
    assert "1/1" in text


@pytest.mark.full
def test_the_hard_set_is_measured_against_best_known_values(
    device: Member, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(shared_data / "boa" / name) for name in ("qubo/gka1a.sparse", "maxcut/pm1s_80.0")]
    arguments = ["--set", "hard", "--quick", "--repeat", "1", "--devices", device.info.id]
    assert bench([*arguments, *(f"--file={file}" for file in files)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("gka1a" in line and "-3414" in line and "1/1" in line for line in lines)
    assert any("pm1s_80" in line and "79" in line and "1/1" in line for line in lines)
