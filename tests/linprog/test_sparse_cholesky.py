"""Sparse normal equations on the host against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.solvers.linprog.systems import host
from engine.solvers.linprog.systems.host import HostSystem
from tests.support.linear_systems import GivenTheta, shard_data
from tests.support.needs import package


@pytest.fixture(params=["in this process", "SuperLU in a child", "rslab in a child"])
def library(request, monkeypatch):
    """Every library that is installed, where it may run."""
    if request.param.startswith("rslab"):
        package("rslab")
    elif request.param.startswith("SuperLU"):
        monkeypatch.setattr(host, "has_rslab", lambda: False)
    monkeypatch.setattr(host, "IN_PROCESS", 10**9 if request.param.startswith("in") else 0)
    return str(request.param)


def data(m, n, density, dense_columns):
    random = np.random.default_rng([m, n])
    a = sp.random_array((m, n), density=density, rng=random, format="lil")
    for j in range(dense_columns):
        a[:, j] = random.standard_normal((m, 1))
    return shard_data(a, random)


def test_a_process_that_ends_is_a_failed_factor(monkeypatch):
    monkeypatch.setattr(host, "IN_PROCESS", 0)
    given = data(40, 90, 0.05, 0)
    shards = GivenTheta()
    equations = HostSystem(given, "normal", shards.get_theta)
    shards.form(equations, np.ones(given.N))
    assert not equations.factor(0.0, 1.0)
    assert equations._child is not None
    equations._child._process._process.kill()
    equations._child._process._process.wait()
    assert equations.factor(0.0, 1.0)
    assert np.isnan(equations.solve(np.ones(40))).all()
    equations.close()


@pytest.mark.few(1)
@pytest.mark.parametrize("count", [1, 2])
def test_the_method_reaches_the_same_optimum_with_either_factor(library, device, count):
    random = np.random.default_rng(7)
    a = sp.random_array((150, 260), density=0.04, rng=random, format="csr")
    x = random.random(260)
    problem = engine.LinearProgram(random.random(260), A_ub=a, b_ub=a @ x + 1.0, A_eq=a[:40], b_eq=a[:40] @ x)
    with engine.Engine(devices=[device.info.id] * count) as owner:
        results = [owner.solve(problem, linear_solver=solver) for solver in ("cholesky", "sparse_cholesky")]
    assert [result.status for result in results] == ["optimal"] * 2
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-7)
    assert "factor_nonzeros" not in results[0].counters
    assert results[1].counters["factor_nonzeros"] > 0


def test_an_analysis_that_has_ended_is_a_failure_and_not_an_exception(library):
    given = data(40, 60, 0.2, 0)
    shards = GivenTheta()
    equations = HostSystem(given, "normal", shards.get_theta)
    equations.close()
    shards.form(equations, np.ones(given.N))
    if library.startswith("in"):  # nothing to end
        return
    assert equations.factor(0.0, 0.0) == 1
    assert np.isnan(equations.solve(np.ones(40))).all()
