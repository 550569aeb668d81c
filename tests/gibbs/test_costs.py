"""The choice of kernel and storage: predicted costs rank them sensibly, memory and limits decide first."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import engine
from engine.base.context import Checkpoint
from engine.solvers.gibbs.choice import kernel_costs, with_kernel
from engine.solvers.gibbs.costs import Shape, Traits, predicted_cost
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.memory import required_bytes
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.validate import settings_for, validate

CPU = Traits()
GPU = Traits(bandwidth=4.2e12, pass_rate=2.6e13, factor_rate=3e13, launch=5e-6, memory=1.4e11)  # about an H200


def best(shape, traits, *kernels):
    """The kernel and storage of least weighted cost among those that fit."""
    costs = {}
    for kernel in kernels:
        for storage in ("float32", "sparse"):
            if storage == "float32" or shape.entries is not None:
                found = predicted_cost(kernel, storage, shape, traits, factors={"px": 1, "gibbs": 8}.get(kernel, 0))
                if found.bytes < traits.memory:
                    costs[kernel, storage] = found
    return min(costs, key=lambda key: costs[key].weighted(key[0]))


@pytest.mark.parametrize("traits", [CPU, GPU])
@pytest.mark.parametrize(
    ("rows", "columns", "share", "expected"),
    [
        (20, 4, None, ("hmc", "float32")),
        (32_561, 123, 0.11, ("hmc", "float32")),
        (500_000, 1000, 0.02, ("hmc", "sparse")),
        (9000, 8300, None, ("hmc", "float32")),
        (1_000_000, 10_000, None, ("hmc", "float32")),
        (72_489, 22_175, 0.005, ("cg", "sparse")),
        (20_000, 100_000, None, ("cg", "float32")),
    ],
)
def test_the_cheapest_kernel_and_storage(rows, columns, share, expected, traits):
    entries = None if share is None else int(share * rows * columns)
    assert best(Shape(rows, columns, 4, entries), traits, "hmc", "cg") == expected


def dense(rows, columns):
    return np.random.default_rng(1).standard_normal((rows, columns), np.float32)


def test_a_limit_decides_for_a_kernel_that_makes_draws_within_it():
    """Two cores make X'X of 9000 x 8300 in some 25 seconds."""
    for rows, columns, limits in (
        (9000, 8300, {15.0: "cg", 60.0: "cg", 1000.0: "hmc", np.inf: "hmc"}),
        (5000, 8000, {15.0: "cg", np.inf: "hmc"}),
        (32_561, 123, {1.0: "hmc", np.inf: "hmc"}),
    ):
        X = np.broadcast_to(np.float32(1.0), (rows, columns))
        problem = SimpleNamespace(X=X, family="logit", weights=None, offset=None)
        assert {limit: with_kernel(problem, Options(), (), limit).kernel for limit in limits} == limits
        for begun in ("hmc", "cg"):  # the kernel of a checkpoint stays
            state = {"kernel": begun, "iteration": 0, "passed": 0, "failed": 0, "passes": 0, "exchanged_bytes": 0}
            assert with_kernel(problem, Options(), (), 15.0, Checkpoint({}, state, 0.0)).kernel == begun


def test_memory_decides_before_time(monkeypatch):
    problem = engine.HorseshoeLogit(dense(40, 3000), np.arange(40) % 2)
    assert with_kernel(problem, Options()).kernel == "hmc"
    costs = kernel_costs(problem, Options())
    assert costs["cg"].bytes < costs["hmc"].bytes
    small = Traits(memory=1.5 * costs["cg"].bytes)
    monkeypatch.setattr(Traits, "of", classmethod(lambda cls, devices: small))
    assert with_kernel(problem, Options()).kernel == "cg"


def test_a_plan_from_the_sizes_is_that_of_the_data():
    X = dense(50, 200)
    for options in (Options(), Options(kernel="cg"), Options(storage="sparse"), Options(intercept=False)):
        problem = engine.HorseshoeProbit(X, np.arange(50) % 2)
        seen, unseen = Design.of(problem, options), Design.of_sizes(problem, options)
        assert (unseen.storage, unseen.layout) == (seen.storage, seen.layout)
        assert unseen.entries.total >= seen.entries.total


@pytest.mark.parametrize(
    ("rows", "columns", "family", "kernel"),
    [
        (300, 40, "probit", "hmc"),
        (30, 9000, "probit", "px"),
        (30, 9000, "logit", "cg"),
        (6000, 9000, "probit", "cg"),
        (30, 9000, "student", "gibbs"),
        (6000, 9000, "normal", "hmc"),
        (6000, 33_000, "normal", "gibbs"),
        (30, 9000, "counts", "hmc"),
    ],
)
def test_the_kernel_of_very_many_columns_makes_no_matrix_of_them(rows, columns, family, kernel):
    X = sparse.random_array((rows, columns), density=0.001, rng=np.random.default_rng(2), format="csr")
    problem = engine.HorseshoeRegression(X, np.arange(rows) % 2, family=family)
    chosen = with_kernel(problem, Options())
    assert chosen.kernel == kernel
    if kernel != "hmc":
        design = Design.of(problem, chosen)
        settings = settings_for(design, chosen, 1)
        assert settings.wide == (kernel in ("px", "gibbs"))
        assert required_bytes(design.layout, settings, design.storage, 1, with_rows=False) < 4 * columns**2


@pytest.mark.parametrize(
    ("family", "kernels"), [("probit", ["cg", "px"]), ("logit", ["cg"]), ("normal", ["gibbs"]), ("ordinal", [])]
)
def test_a_refusal_for_memory_names_the_kernels_that_need_less(device, family, kernels):
    problem = engine.HorseshoeRegression(dense(20, 600), np.arange(20) % 2, family=family)
    small = dataclasses.replace(device.info, memory=4 << 20)
    with pytest.raises(engine.OutOfDeviceMemory, match="the sampler of 601 columns") as refused:
        validate(problem, Options(kernel="hmc"), [small])
    assert [name for name in ("cg", "px", "gibbs") if f"kernel = {name} " in str(refused.value)] == kernels
    for kernel in kernels:
        validate(problem, Options(kernel=kernel), [small])
