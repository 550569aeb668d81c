"""Options of the samples are those of today; results name what was chosen by the machine."""

import tomllib

import numpy as np
import pytest

import engine
from engine.devices.host import host_cores
from engine.settings import config
from engine.solvers import recognize, solver_named
from engine.util.text import counted
from tools import sample_options

SAMPLES = sorted(sample_options.SAMPLES.glob("*.toml"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_lists_the_options_of_today_with_their_defaults(sample, tmp_path):
    assert sample.read_text() == sample_options.updated(sample), "run python -m tools.sample_options"
    solver, kind = solver_named(sample.stem), recognize(sample.parent / tomllib.loads(sample.read_text())["problem"])
    lines = sample_options.options_of(sample)
    (tmp_path / "all.toml").write_text("\n".join([f"[{solver.name}]", *lines]))
    resolved = config.resolve(file=tmp_path / "all.toml", environment={})
    assert len(resolved.options[solver.name]) == len(lines) > 5
    assert config.solver_options(solver, resolved, {}, kind) == solver.options_model(kind)()


def test_a_result_names_what_auto_chose_on_this_machine():
    X = np.random.default_rng(1).normal(size=(30, 2))
    posterior = engine.solve(engine.HorseshoeProbit(X, X[:, 0] > 0), draws=20, warmup=20, seed=1)
    assert posterior.texts["kernel"] == "hmc, X as float32"
    small = engine.LinearProgram([-1, -1], A_ub=[[1, 2]], b_ub=[4])
    assert engine.solve(small).texts["method"] == "HiGHS simplex alone, as the program is small"
    assert engine.solve(small, linear_solver="cholesky").texts["method"] == "mpc"
    raced = engine.solve(small, method="race", presolve=False, linear_solver="cholesky").texts["method"]
    assert raced == f"race on {counted(host_cores(), 'core')} of the host"
    searched = engine.solve(engine.Queens(8), ivms=16)
    assert searched.texts["search"] == "; ".join(f"{label}: pte with 16 IVMs" for label in searched.devices)
    assert "bounds" in engine.solve(engine.Knapsack([60, 100, 120], [10, 20, 30], 50)).texts["route"]
