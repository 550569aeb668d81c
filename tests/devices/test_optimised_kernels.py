import weakref

import numpy as np
import pytest

import engine
from engine.devices.opencl import device as opencl
from engine.devices.opencl.beside import guarded
from engine.generators.linprog import GeneratorOptions, generate

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((60, 3))
WEIGHTS = RANDOM.integers(20, 200, 40)
CASES = {
    "boa": (engine.BOA.nk(40, 4, 1, seed=2), {"population": 100, "max_generations": 3, "flips": 20}),
    "branch_and_bound": (engine.Flowshop(RANDOM.integers(1, 99, (5, 8))), {"initial": "infinity", "ivms": 64}),
    "gibbs": (engine.HorseshoeLogit(X, X[:, 0] > X[:, 1]), {"draws": 6, "warmup": 6, "chains": 2, "kernel": "hmc"}),
    "knapsack": (engine.Knapsack(WEIGHTS + 7, WEIGHTS, int(WEIGHTS.sum()) // 2), {"variant": "rows", "reduce": False}),
    "linprog": (generate(GeneratorOptions(type="dense", m=12, n=20, seed=1)), {"method": "mpc", "presolve": False}),
}

REVERSE = """
KERNEL LAUNCH_BOUNDS(1, 1) count(GLOBAL i32* values) {
    BARRIER();
    values[GLOBAL_ID] += 1;
}${between}KERNEL LAUNCH_BOUNDS(${block}, 1) reverse(GLOBAL i32* values) {
    LOCAL_ARRAY(i32, part, ${block});
    part[LOCAL_ID] = values[GLOBAL_ID];
    BARRIER();
    values[GLOBAL_ID] = part[${block - 1} - LOCAL_ID];
}
"""


@pytest.mark.cpu
@pytest.mark.parametrize(("block", "between"), [(1, "\n"), (64, "\n"), (64, " ")])
def test_barriers_are_left_out_only_where_every_group_has_one_work_item(device, trial_template, block, between):
    template = trial_template(f"reverse_{block}_{len(between.strip(' '))}", REVERSE)

    def work(running):
        program = running.program(template, block=block, between=between)
        values = running.put(np.arange(128, dtype=np.int32))
        program.count(128, 1, values=values)
        program.reverse(128 // block, block, values=values)
        return program.source.text, running.get(values)

    text, found = device.submit(work).result()
    assert np.array_equal(found, 1 + np.arange(128).reshape(-1, block)[:, ::-1].ravel())
    returns = guarded(text).count("if (get_work_dim() == 3) return;")
    assert ("#define BARRIER() //" in guarded(text), returns) == ((True, 2) if block == 1 else (False, 0))


@pytest.mark.cpu
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::engine.errors.QuintetWarning")
def test_optimised_kernels_give_what_unoptimised_ones_give(device, monkeypatch, name):
    monkeypatch.setattr(opencl, "beside_of", lambda index: None)  # they are optimised before they run
    problem, options = CASES[name]
    answers = []
    for flags in ("-cl-opt-disable", ""):
        monkeypatch.setenv("POCL_EXTRA_BUILD_FLAGS", flags)
        monkeypatch.setattr(opencl, "_CONTEXTS", weakref.WeakValueDictionary())
        with engine.Engine(devices=[device.info.id]) as owner:
            answers.append(owner.solve(problem, seed=3, **options))
    plain, optimised = answers
    assert optimised.counters.get("nodes") == plain.counters.get("nodes")
    assert optimised.objective == pytest.approx(plain.objective)
    drawn = [result.arrays.get("beta", result.solution) for result in answers]
    assert np.allclose(*drawn, rtol=1e-5, atol=1e-7)
