"""Results: equality, text, files."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.cli.tables import describe_result
from engine.solvers.gibbs.posterior import Posterior
from engine.solvers.knapsack import SOLVER as KNAPSACK

pytestmark = pytest.mark.smoke

RESULT = engine.Result(
    status=engine.Status.OPTIMAL,
    objective=220,
    bound=220.5,
    solution=np.array([1, 2]),
    seconds=0.25,
    devices=("opencl:0",),
    counters={"cells": 7},
    arrays={"history": np.array([[1.0, np.nan]]), "names": np.array(["a", "bc"])},
)


def test_a_result_comes_back_from_its_file(tmp_path):
    path = tmp_path / "result.npz"
    RESULT.save(path)
    assert engine.load(path) == RESULT != replace(RESULT, solution=np.array([1, 3]))
    assert replace(RESULT, arrays={}) != RESULT
    posterior = Posterior(engine.Status.COMPLETE, None, None, None, counters={"draws": np.int64(3)})
    posterior.save(path)
    assert type(engine.load(path)) is Posterior


def posterior(coefficients):
    """Of an intercept, so many coefficients, of which the last two are not 0, and log tau."""
    mean = np.linspace(-1, 1, coefficients + 2)
    quantiles = mean[:, None] + np.array([-0.9, 0.0, 0.9])
    names = np.array(["intercept", *(f"<x{i}>" for i in range(coefficients)), "log_tau"])
    same = {name: np.full(len(mean), 500.0) for name in ("ess_bulk", "ess_tail")}
    arrays = {"mean": mean, "sd": mean * 0 + 0.5, "quantiles": quantiles, "r_hat": mean * 0 + 1.002, "names": names}
    arrays |= same | {"mcse_mean": mean * 0, "interval": np.array(0.9), "log_tau": np.zeros((4, 300))}
    return Posterior(engine.Status.COMPLETE, None, None, mean[:-1], counters={"chains": 4}, arrays=arrays)


def test_a_posterior_is_shown_as_its_table_with_what_is_not_0_first(capsys):
    few = posterior(4)
    lines = str(few).splitlines()
    assert lines[0] == "<Posterior complete: draws 300 of each of 4 chains, seconds 0.000, devices none>"
    assert lines[1].split()[:5] == ["mean", "sd", "90", "%", "from"]
    assert [line.split()[0] for line in lines[2:]] == ["intercept", "log_tau", "<x3>", "<x0>", "<x2>", "<x1>"]
    assert "excludes 0" in lines[1]
    assert [" yes " in line for line in lines[2:]] == [True, False, False, False, False, False]
    many = str(posterior(100)).splitlines()
    assert len(many) == 23
    assert many[-1] == "... 82 more rows"
    assert many[4].split()[:2] == ["<x0>", "-0.9802"]
    assert " yes " in many[4]
    assert " yes " not in many[3]  # log tau is no coefficient
    assert "<th>&lt;x3&gt;</th><td>0.6</td>" in few._repr_html_()
    describe_result(engine.HorseshoeProbit([[1.0], [2.0]], [0, 1]), few, [])
    assert lines[1:] == capsys.readouterr().out.splitlines()[-7:]  # the command line shows the same


def test_what_is_no_saved_result_is_refused(tmp_path):
    path = tmp_path / "result.npz"
    with pytest.raises(engine.InputError, match=r"cannot read .*: No such file"):
        engine.load(path)
    for content in (b"", b"PK\x03\x04 and no more", b"words\n"):
        path.write_bytes(content)
        with pytest.raises(engine.InputError, match="is not a saved result, or damaged: it is no archive of arrays"):
            engine.load(path)
    np.savez(path, x=np.arange(3))
    with pytest.raises(engine.InputError, match="it has no result"):
        engine.load(path)
    RESULT.save(path)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 255
    path.write_bytes(damaged)
    with pytest.raises(engine.InputError):
        assert engine.load(path) == RESULT, "the damage was not noticed"
    with pytest.raises(engine.RunFolderError, match="is not a run folder"):
        engine.load(tmp_path)


def test_a_counter_that_the_solver_does_not_declare_is_a_fault_of_the_program(monkeypatch):
    first, *others = KNAPSACK.schema.counters
    monkeypatch.setitem(vars(KNAPSACK.schema), "counters", tuple(others))
    with pytest.warns(RuntimeWarning, match=f"a counter '{first.name}' is not declared"):
        engine.solve(engine.Knapsack([3, 4], [1, 2], 2))


def test_a_run_can_be_awaited_and_is_shown():
    from tests.support import counting

    async def solved():
        with engine.Engine(devices=["opencl:0"]) as owner:
            assert repr(owner) == "<Engine auto: devices opencl:0, state open>"
            run = owner.start(counting.Counting(30))
            result = await run
            assert repr(run).startswith("<Run of counting: problem count, state ended, status optimal, objective")
            return result

    result = asyncio.run(solved())
    assert result.objective == counting.expected(30)
