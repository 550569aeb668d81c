"""What the bundled samples have built for them: no more programs and kernels than when this was written."""

import math
from pathlib import Path

import pytest

from engine.api.engine import Engine
from engine.cli.samples import load
from engine.devices import Device
from engine.events import Compiling, Metric
from engine.solvers import discover

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
MOST = {
    "boa": (16, 28, 24),
    "branch_and_bound": (3, 11, 7),
    "gibbs": (12, 34, 26),
    "knapsack": (3, 3, 3),
    "linprog": (0, 0, 0),
}
"""Programs, the kernels in them, and those that are used, on a CPU; fewer are welcome."""
SHORT = {"gibbs": {"draws": 8, "warmup": 100}}


def test_every_sample_is_counted():
    assert {name: most[0] for name, most in MOST.items()} == {n: one.usual_programs for n, one in discover().items()}
    assert set(MOST) == set(discover()) == {path.stem for path in SAMPLES.glob("*.toml")}


@pytest.mark.usefixtures("_nothing_compiled")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name not in ("boa", "linprog"))) for name in MOST]
)
def test_a_sample_builds_no_more_kernels_than_it_did(opencl, name, monkeypatch):
    if opencl.info.capabilities.kind != "cpu":
        pytest.skip("the numbers are those of a CPU")
    path = SAMPLES / f"{name}.toml"
    problem, _ = load(path)
    events = []
    begun = []
    report = Device._report_compile
    monkeypatch.setattr(Device, "_report_compile", lambda *given: (begun.append(given[1].template), report(*given)))
    with Engine(devices=[opencl.info.id], config_file=path) as owner:
        run = owner.start(problem, on_event=events.append, **SHORT.get(name, {}))
        result = run.wait()
        built = run.pool.members[0].submit(lambda device: device.building).result()
    assert result.objective is None or math.isfinite(result.objective)
    found = (len(built.programs), built.kernels, built.used)
    assert all(number <= most for number, most in zip(found, MOST[name], strict=True)), (found, built.programs)
    assert built.used <= built.kernels
    said = [event for event in events if isinstance(event, Compiling)]
    assert [(one.count, one.usual) for one in said] == [(number, MOST[name][0]) for number in range(1, len(said) + 1)]
    assert sorted(begun) == sorted(built.programs)
    assert [one.template for one in said] == begun[: len(said)]  # what is begun after the run has ended is not said
    assert said or not begun
    if said:  # before the first values
        kinds = [type(event) for event in events]
        assert Metric not in kinds[: kinds.index(Compiling)]
    assert (built.compiling > 0) == (built.used > 0)
    assert result.compile_seconds == pytest.approx(built.rendering + built.compiling, abs=1e-5)
    assert result.compile_seconds < result.seconds
    assert ("of which compiling" in repr(result)) == (built.used > 0)
    assert type(result).from_dict(result.to_dict(), result._all_arrays()) == result
