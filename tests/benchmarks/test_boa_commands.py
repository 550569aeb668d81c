import engine
from engine.benchmarks.boa.tune import Trial, smallest_population
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
