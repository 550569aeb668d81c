"""What is predicted of kernels and storages ranks them sensibly, whatever the shape and the device."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import engine
from engine.base.context import Checkpoint
from engine.solvers.gibbs.choice import kernel_costs, with_kernel
from engine.solvers.gibbs.costs import Shape, Traits, predicted_cost
from engine.solvers.gibbs.design.matrix import Design, storage_for
from engine.solvers.gibbs.moves.rescale import rescale_interval
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.validate import settings_for

CPU = Traits()
GPU = Traits(bandwidth=4.2e12, pass_rate=2.6e13, factor_rate=3e13, launch=5e-6, memory=1.4e11)  # about an H200


def best(shape, traits, *kernels):
    """The kernel and storage of least weighted cost among those that fit."""
    costs = {}
    for kernel in kernels:
        for storage in ("float32", "sparse"):
            if storage == "float32" or shape.entries is not None:
                found = predicted_cost(kernel, storage, shape, traits, wide=kernel in ("px", "gibbs"))
                if found.bytes < traits.memory:
                    costs[kernel, storage] = found
    return min(costs, key=lambda key: costs[key].weighted(key[0]))


@pytest.mark.parametrize(
    ("rows", "columns", "share", "on_cpu", "on_gpu"),
    [
        (20, 4, None, ("hmc", "float32"), ("hmc", "float32")),
        (4601, 57, None, ("hmc", "float32"), ("hmc", "float32")),
        (32_561, 123, 0.11, ("hmc", "float32"), ("hmc", "float32")),
        (10_000, 1000, None, ("hmc", "float32"), ("hmc", "float32")),
        (500_000, 1000, 0.02, ("hmc", "sparse"), ("hmc", "sparse")),
        (9000, 8300, None, ("hmc", "float32"), ("hmc", "float32")),
        (100_000, 10_000, None, ("hmc", "float32"), ("hmc", "float32")),
        (1_000_000, 10_000, None, ("hmc", "float32"), ("hmc", "float32")),
        (72_489, 22_175, 0.005, ("cg", "sparse"), ("cg", "sparse")),
        (20_000, 100_000, 0.002, ("cg", "sparse"), ("cg", "sparse")),
        (20_000, 100_000, None, ("cg", "float32"), ("cg", "float32")),
    ],
)
def test_the_cheapest_kernel_and_storage(rows, columns, share, on_cpu, on_gpu):
    entries = None if share is None else int(share * rows * columns)
    shape = Shape(rows, columns, 4, entries)
    assert best(shape, CPU, "hmc", "cg") == on_cpu
    assert best(shape, GPU, "hmc", "cg") == on_gpu


@pytest.mark.parametrize("traits", [CPU, GPU])
@pytest.mark.parametrize(("rows", "columns"), [(500, 9000), (100_000, 10_000)])
def test_a_dense_design_is_never_cheaper_as_entries(traits, rows, columns):
    shape = Shape(rows, columns, 4, rows * columns)
    for kernel in ("hmc", "cg"):
        dense, entries = (predicted_cost(kernel, how, shape, traits) for how in ("float32", "sparse"))
        assert dense.seconds < entries.seconds
        assert dense.bytes < entries.bytes


def test_few_rows_are_for_matrices_of_the_rows():
    shape = Shape(30, 9000, 4)
    assert best(shape, CPU, "hmc", "cg", "px")[0] == "px"
    assert best(shape, GPU, "hmc", "gibbs")[0] == "gibbs"
    many = Shape(6000, 9000, 4)
    assert best(many, CPU, "hmc", "gibbs")[0] == "hmc"


def test_predictions_are_of_the_order_of_what_was_measured():
    """Milliseconds of an iteration of four chains on an H200, from BENCHMARKS.md."""
    for kernel, storage, shape, wide, measured in (
        ("cg", "sparse", Shape(72_489, 22_175, 4, 8_000_000), False, 5.4),
        ("px", "float32", Shape(2267, 98_385, 4), True, 145.0),
        ("gibbs", "float32", Shape(1_000_000, 1000, 4), False, 1.57),
    ):
        found = 1e3 * predicted_cost(kernel, storage, shape, GPU, wide).seconds
        assert measured / 4 < found < 4 * measured


def dense(rows, columns):
    return np.random.default_rng(1).standard_normal((rows, columns), np.float32)


def test_dense_data_with_very_many_columns_are_not_stored_as_entries():
    """The shape in small: more rows than 4096 are not needed for it."""
    X, y = dense(60, 8300), np.arange(60) % 2
    for family, options in (("probit", Options()), ("logit", Options()), ("logit", Options(kernel="cg"))):
        problem = engine.HorseshoeRegression(X, y, family=family)
        chosen = with_kernel(problem, options)
        assert storage_for(problem.X, chosen)[0] == "float32"
        assert Design.of_sizes(problem, chosen).storage == "float32"
    thin = sparse.random_array((60, 8300), density=0.02, rng=np.random.default_rng(2), format="csr")
    few = engine.HorseshoeLogit(thin, y)
    chosen = with_kernel(few, Options())
    assert (chosen.kernel, storage_for(few.X, chosen)[0]) == ("cg", "sparse")


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
    ("shape", "family", "options", "latent"),
    [
        ((20, 40), "probit", {}, True),
        ((20, 20), "probit", {}, True),  # with the intercept
        ((20, 20), "probit", {"intercept": False}, False),
        ((20, 40), "normal", {}, True),
        ((20, 40), "student", {}, True),
        ((20, 38), "normal", {}, False),
        ((20, 40), "logit", {}, False),
        ((20, 40), "probit", {"storage": "float16"}, False),
        ((20, 40), "probit", {"storage": "sparse"}, False),
        ((20, 40), "probit", {"streaming": "always"}, False),
        ((20, 40), "probit", {"kernel": "px"}, False),
    ],
)
def test_latent_normals_are_moved_where_these_are_few_and_x_is_on_the_device(shape, family, options, latent):
    X = np.random.default_rng(1).standard_normal(shape)
    problem = engine.HorseshoeRegression(X, np.arange(shape[0]) % 2, family=family)
    chosen = with_kernel(problem, Options(**options))
    assert settings_for(Design.of(problem, chosen), chosen, 1).latent == latent


@pytest.mark.parametrize(
    ("rows", "columns", "interval"),
    [(1000, 50, 1), (1_000_000, 100, 62), (1_000_000, 4000, 62), (1_000_000, 5000, 2), (1_000_000, 20_000, 1)],
)
def test_tau_is_moved_with_the_coefficients_as_often_as_passes_leave_time_for_it(rows, columns, interval):
    assert rescale_interval(rows, columns) == interval
