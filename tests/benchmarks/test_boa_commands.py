"""The smallest reliable population, and the command lines of tune and bench."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import engine
from engine.benchmarks.boa.command import bench
from engine.benchmarks.boa.hard import hard_problems
from engine.benchmarks.boa.tune import Trial, smallest_population, tune
from engine.devices import Member
from engine.errors import OptionError
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
def test_a_lower_rate_of_success_needs_fewer_individuals(device: Member) -> None:
    with PaperEngine(devices=[device.info.id]) as running:
        problem = engine.BOA("trap-5", 20)
        half = smallest_population(problem, running, runs=6, success_rate=0.5, max_parents=4)
        every = smallest_population(problem, running, runs=6, max_parents=4)
    assert half.population is not None
    assert every.population is not None
    assert half.population < every.population
    trial = next(trial for trial in half.trials if trial.population == half.population)
    assert 0.5 <= trial.rate < 1
    low, high = trial.interval()
    assert 0 < low < trial.rate < high < 1
    assert [trial.rate for trial in every.trials if trial.population == every.population] == [1]


def test_unknown_optimum_cannot_be_tuned_for(device: Member) -> None:
    with engine.Engine(devices=[device.info.id]) as running, pytest.raises(OptionError, match="give a target"):
        smallest_population(engine.BOA(len, 10), running)
    with engine.Engine(devices=[device.info.id]) as running, pytest.raises(OptionError, match="success_rate above 0"):
        smallest_population(engine.BOA("onemax", 10), running, success_rate=0)


@pytest.mark.full
def test_commands_check_and_report(device: Member, capsys: pytest.CaptureFixture[str]) -> None:
    backend = device.info.language
    assert tune(["onemax", "--genes", "20", "--runs", "2", "--backend", backend, "--max-parents", "1"]) == 0
    assert "individuals solve 2 of 2" in capsys.readouterr().out
    assert bench(["--quick", "--backend", backend, "--devices", device.info.id, "--genes", "30", "--repeat", "1"]) == 0
    text = capsys.readouterr().out
    assert "generations equal to the NumPy reference" in text
    assert "1/1" in text


def test_a_target_that_is_no_number_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f.cnf"
    file.write_text("p cnf 2 1\n1 2 0\n", encoding="utf-8")
    with pytest.raises(click.UsageError, match=r"the value to reach must be a number; got 'abc' in --file .*f.cnf=abc"):
        bench(["--set", "hard", "--file", f"{file}=abc"])


@pytest.mark.full
def test_the_hard_set_has_problems_like_public_ones(device: Member, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ("like g05", "like pm1d", "like w05", "like bqp250", "Ising 28x28", "like G1")
    names = [problem.name for problem, _ in hard_problems(quick=False)]
    assert all(any(name.startswith(kind) for name in names) for kind in kinds)
    assert bench(["--set", "hard", "--quick", "--repeat", "1", "--devices", device.info.id]) == 0
    lines = capsys.readouterr().out.splitlines()
    for kind in kinds[:3]:
        assert any(kind in line and "1/1" in line for line in lines)


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
