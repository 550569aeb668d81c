"""Priors beside the horseshoe: densities and draws by their definitions, invariance with mutants, agreement."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

import engine
from engine.devices import DevicePool, Member
from engine.solvers.gibbs.design import separation
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from tests.support.invariance import COLLINEAR, LEVEL, mutate, p_values

REPLICATES = 6000
SPREADS = (1e-6, 0.02, 1.0, 30.0)
DEGREES = {"half_t": 3.0}


def local_density(kind: str, r: NDArray[np.float64], m: float, k: float) -> NDArray[np.float64]:
    """The density of r = lambda^-2 given beta and tau, m = beta^2 / (2 tau^2), but for a constant: by definition."""
    lam = r**-0.5
    nu = DEGREES.get(kind, 1.0)
    of_lambda = np.exp(-0.5 * lam**2) * lam if kind == "lasso" else (1.0 + lam**2 / nu) ** (-0.5 * (nu + 1.0))
    return np.asarray(of_lambda * np.sqrt(r + k) * np.exp(-m * r) * r**-1.5)  # d lambda = r^(-3/2) dr / 2


def integral(kind: str, m: float, k: float) -> float:
    """Over r = exp(s)."""

    def at(s: float) -> float:
        r = np.exp(s)
        return float(local_density(kind, np.array([r]), m, k)[0] * r)

    # from where all decreases: the integrand is at least as wide as from log k to -log m
    points = sorted({-50.0, -20.0, -6.0, 0.0, 6.0, min(45.0, -np.log(m)), min(50.0, -np.log(m) + 5.0)})
    parts = [integrate.quad(at, a, b, epsabs=0.0, epsrel=1e-11, limit=400)[0] for a, b in itertools.pairwise(points)]
    return float(sum(parts))


def filled(member: Member, kind: str, entry: str, count: int, **arguments: Any) -> NDArray[np.float64]:
    """What a kernel of ``priors_fill`` writes."""
    with DevicePool([member.info]) as pool:
        found: list[NDArray[np.float64]] = []

        def work(device: Any) -> None:
            simt = device.capabilities.simt
            block = 64 if simt else 1
            constants = {"block": block, "prior": kind, "local_degrees": DEGREES.get(kind, 1.0)}
            program = device.program("gibbs/priors_fill", **constants)
            out = device.empty(count, np.float64)
            getattr(program, entry)(8, block, out=out, count=count, **arguments)
            found.append(device.get(out))
            device.release(out)

        pool.members[0].submit(work).result()
    return found[0]


@pytest.mark.few(2)
@pytest.mark.parametrize(("kind", "k"), [("half_t", 0.0), *(("regularized", k) for k in SPREADS)])
def test_densities_are_the_integrals_over_the_local_scales(device: Member, kind: str, k: float) -> None:
    found = filled(device, kind, "fill_densities", 72, k=k)
    x = np.exp(0.25 * np.arange(72) - 12.0)
    some = range(0, 72, 3)
    expected = np.log([integral(kind, 0.5 * x[i] ** 2, k) for i in some])
    apart = found[list(some)] - expected
    assert apart - apart[0] == pytest.approx(np.zeros(len(apart)), abs=3e-6 if k > 1 else 1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["half_t", "regularized", "lasso"])
def test_local_precisions_have_their_conditional_distribution(device: Member, kind: str) -> None:
    for number, m in enumerate((1e-4, 0.3, 4.0, 300.0)):
        for k in SPREADS[1:] if kind == "regularized" else (0.0,):
            numbers = {"rate": m, "k": k, "seed": 3, "stream": number, "step": 0}
            drawn = np.log(filled(device, kind, "fill_precisions", 20_000, **numbers))
            s = np.linspace(-60.0, 60.0, 240_001)
            density = local_density(kind, np.exp(s), m, k) * np.exp(s)
            below = integrate.cumulative_simpson(density, x=s, initial=0.0)
            assert stats.kstest(drawn, lambda at: np.interp(at, s, below / below[-1])).pvalue > LEVEL, (m, k)  # noqa: B023


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "kernel"),
    [
        ("regularized", "lines"),
        ("half_t", "gibbs"),
        ("half_t", "lines"),
        ("lasso", "px"),
        ("lasso", "lines"),
        ("ridge", "px"),
        ("ridge", "lines"),
    ],
)
def test_an_iteration_leaves_the_posterior_as_it_is(device: Member, kind: str, kernel: str) -> None:
    columns = {"columns": COLLINEAR} if kernel == "lines" else {}
    found = p_values(device, kernel, 4, True, REPLICATES, kind=kind, **columns)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


MUTANTS = {
    "slab missing in lambda": (
        "regularized",
        "lines",
        "scales",
        '${bounded("tau")}',
        "0.0",
    ),
    "slab missing in tau": ("regularized", "lines", "scales", '${bounded(f"(inverse{k} * inverse{k})")}', "0.0"),
    "normal constants missing in the slab": (
        "regularized",
        "lines",
        "scales",
        "slab[j] * inverse${k} / precision)",
        "0.0)",
    ),
    "prior of the slab": (
        "regularized",
        "lines",
        "scales",
        "- slab_degrees * (s.at",
        "- 0.5 * slab_degrees * (s.at",
    ),
    "slab missing in rescaling": (
        "regularized",
        "lines",
        "rescale",
        "slab[j] * slab_precision / (inverse${k} * inverse${k})",
        "slab[j] * slab_precision / precision",
    ),
    "prior of the slab missing in rescaling": (
        "regularized",
        "lines",
        "rescale",
        "} = slab_degrees * (",
        "} = 0.0 * (",
    ),
    "half missing in half-t scales": ("half_t", "gibbs", "conditionals", "+ 0.5 * before", "+ before"),
    "rate of the scales' own scale": ("half_t", "gibbs", "conditionals", "* fresh);", "* fresh * 2.0);"),
    "horseshoe's draws": ("half_t", "lines", "priors", "&& log(last) <", "|| log(last) <"),
    "mean of the inverse Gaussian": ("lasso", "px", "priors", "0.5 * mean * normal", "mean * normal"),
    "density of the lasso": (
        "lasso",
        "lines",
        "priors",
        "return x < 0.0 ? x : -x;",
        "return x < 0.0 ? 0.5 * x : -0.5 * x;",
    ),
    "density of the ridge": ("ridge", "lines", "priors", "-0.5 * x * x", "-x * x"),
}


@pytest.mark.full
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_prior_is_found(
    first_device: Member, mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, kernel, template, right, wrong = MUTANTS[mutant]
    mutate(template, right, wrong, tmp_path, monkeypatch)
    columns = {"columns": COLLINEAR} if kernel == "lines" else {}
    assert min(p_values(first_device, kernel, 4, True, REPLICATES, kind=kind, **columns).values()) < LEVEL


def data(rows: int = 300, seed: int = 2) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, 6))
    return X, X @ [1.2, -0.8, 0.4, 0.0, 0.0, 0.0] + random.standard_normal(rows) > 0


@pytest.mark.full
@pytest.mark.parametrize("kind", ["regularized", "half_t", "lasso", "ridge"])
def test_two_exact_samplers_agree(device: Member, kind: str) -> None:
    X, y = data()
    with engine.Engine(devices=[device.info.id]) as owner:
        by_kernel = [
            owner.solve(engine.HorseshoeProbit(X, y), kernel=kernel, prior=kind, draws=draws, seed=5)
            for kernel, draws in (("hmc", 600), ("cg" if kind == "regularized" else "px", 1500))
        ]
    mean, error = ([result.arrays[name] for result in by_kernel] for name in ("mean", "mcse_mean"))
    assert mean[0] - mean[1] == pytest.approx(np.zeros(len(mean[0])), abs=4.5 * float(np.hypot(*error).max()))
    assert (np.abs(mean[0] - mean[1]) < 4.5 * np.hypot(*error)).all()


@pytest.mark.full
def test_a_slab_bounds_the_coefficient_of_a_separable_column(device: Member) -> None:
    X, y = data(120)
    X[:, 5] = np.where(y & (np.arange(120) % 4 == 0), 1.0, 0.0)
    with engine.Engine(devices=[device.info.id]) as owner:
        results = {
            kind: owner.solve(engine.HorseshoeProbit(X, y), prior=kind, draws=300, seed=1, **options)
            for kind, options in {"horseshoe": {}, "regularized": {"slab": 1.0, "slab_degrees": 50.0}}.items()
        }
    width = {kind: float(np.abs(np.quantile(result.arrays["beta"][..., 6], 0.99))) for kind, result in results.items()}
    assert width["regularized"] < 6.0 < width["horseshoe"]
    assert results["regularized"].arrays["slab"].shape == (4, 300)
    assert str(results["regularized"].arrays["prior"]).startswith("regularized horseshoe")
    assert str(results["horseshoe"].arrays["prior"]) == "horseshoe"


@pytest.mark.full
def test_columns_that_separate_the_classes_together_are_named(device: Member) -> None:
    random = np.random.default_rng(3)
    X = random.standard_normal((40, 60))
    problem = engine.HorseshoeProbit(X, X[:, 7] - X[:, 1] > 0)
    said: dict[str, list[str]] = {"horseshoe": [], "regularized": []}
    with engine.Engine(devices=[device.info.id]) as owner:
        for prior, messages in said.items():

            def listen(event: Any, messages: list[str] = messages) -> None:
                if event.type == "notice":
                    messages.append(event.message)

            result = owner.solve(problem, prior=prior, draws=4, warmup=0, on_event=listen)
            assert set(result.arrays["separating"].tolist()) >= {"x7", "x1"}
    assert any("a combination of columns separates the classes" in message for message in said["horseshoe"])
    assert not any("no mean" in message for message in said["regularized"])
    X, y = data()
    with engine.Engine(devices=[device.info.id]) as owner:
        assert not owner.solve(engine.HorseshoeProbit(X, y), draws=4, warmup=0).arrays["separating"].size


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("most", [200_000, 0])  # by a linear program, or by interpolation
def test_more_columns_than_rows_separate_any_classes(
    intercept: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separation, "_MOST_ENTRIES", most)
    find = separation._separating_direction if most else separation._interpolating_direction
    random = np.random.default_rng(4)
    X, y = random.standard_normal((40, 60)), random.random(40) < 0.3  # noise alone
    for separable in (True, False):
        design = Design.of(engine.HorseshoeProbit(X, y), Options(intercept=intercept))
        columns = design.layout.columns
        signed = design.rows(0, 40)[:, design.first : columns]
        assert (float((signed @ find(design)).min()) > 0.0) == separable
        assert bool(separation.separating_columns(design, np.zeros(columns), np.zeros(40))) == separable
        X[1], y[:2] = X[0], (True, False)  # two equal rows of different classes


def test_the_plain_kernels_refuse_a_prior_that_is_not_conjugate() -> None:
    X, y = data(20)
    with pytest.raises(engine.errors.OptionError, match="use kernel = hmc for prior = regularized"):
        engine.solve(engine.HorseshoeProbit(X, y), kernel="px", prior="regularized")
