"""Draws from the prior, data from the model, two iterations: what comes out must have the prior's distribution again.

The exact test of Gandy and Scott, "Unit testing for MCMC and other Monte Carlo methods" (2021), on the device, with
every kernel; and mutants of the kernels, which it must kill. Chains with the same data share a run.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from samplers import sampling, state_of
from scipy import stats

from engine.devices import Member, templates
from engine.solvers.gibbs.sampler import Sampler
from engine.solvers.gibbs.twin import Twin
from engine.solvers.gibbs.worker import Worker

REPLICATES, CHAINS, ITERATIONS = 20_000, 512, 2
INTERCEPT_SCALE = 1.5
LEVEL = 1e-6  # of each statistic; a false alarm in about one of 10 000 runs of this file
X = np.array([[1.2, -0.4, 0.3], [-0.7, 0.9, 0.8], [0.5, 1.1, -1.3], [-1.4, -0.2, 0.6]])
MUTANTS = {
    "half missing in lambda": ("gibbs", "conditionals", "0.5 * before * b * b", "before * b * b"),
    "shape of tau": ("gibbs", "conditionals", "0.5 * (f64)(q - first + 1)", "0.5 * (f64)(q - first)"),
    "half missing in tau": ("gibbs", "conditionals", "0.5 * part[0]", "part[0]"),
    "tau missing in the precision of beta": ("gibbs", "conditionals", "own = tau * fresh", "own = fresh"),
    "rate of nu": ("gibbs", "conditionals", "/ (1.0 + fresh)", "/ (0.5 + fresh)"),
    "expansion of a flat prior": ("px", "conditionals", "rest = squares - part[0]", "rest = squares"),
    "no Jacobian": ("ellipse", "moves", "f64 f = point - log(", "f64 f = -log("),
    "intercept rescaled the wrong way": (
        "ellipse",
        "moves",
        "m.pivot * (1.0 - place.factor)",
        "m.pivot * (place.factor - 1.0)",
    ),
    "intercept's prior missing in a stretch": ("ellipse", "moves", "f -= 0.5 * first_prior", "f -= 0.0 * first_prior"),
    "intercept moved against a stretch": (
        "ellipse",
        "moves",
        "beta[(i64)chain * q] + s[6]",
        "beta[(i64)chain * q] - s[6]",
    ),
}


def prior(random: np.random.Generator, count: int, intercept: bool = False) -> dict[str, NDArray[np.float64]]:
    """Draws of all parameters: half-Cauchy scales through their auxiliary inverse gammas."""

    def inverse_gamma(shape: float, rate: Any, size: Any) -> NDArray[np.float64]:
        return np.asarray(rate / random.gamma(shape, size=size))

    xi = inverse_gamma(0.5, 1.0, count)
    tau = np.sqrt(inverse_gamma(0.5, 1 / xi, count))
    nu = inverse_gamma(0.5, 1.0, (count, 3))
    lam = np.sqrt(inverse_gamma(0.5, 1 / nu, (count, 3)))
    beta = random.standard_normal((count, 3)) * lam * tau[:, None]
    if intercept:
        beta = np.column_stack([INTERCEPT_SCALE * random.standard_normal(count), beta])
        nu, lam = (np.column_stack([np.ones(count), array]) for array in (nu, lam))
    return {"xi": xi, "tau": tau, "nu": nu, "lam": lam, "beta": beta}


def advance(
    sampler: Sampler, draws: dict[str, NDArray[np.float64]], y: NDArray[np.bool_], first: int
) -> dict[str, Any]:
    """Two iterations of chains that all have this y."""

    def work(worker: Worker) -> None:
        rows = np.zeros((worker.rows.count, worker.layout.stride), np.float32)
        inside = worker.design.first
        rows[:4, :inside] = 1.0
        rows[:4, inside : inside + 3] = X
        rows[:4] *= np.where(y, 1.0, -1.0)[:, None]
        worker.device.put(rows.reshape(-1), worker.rows.blocks[0].buffer)
        if worker.settings.kernel == "ellipse":
            worker.slices.linear_term()
            worker.slices.take_intercept()

    sampler.each(work)
    arguments = {name: draws[name] for name in ("lam", "nu")}
    state = state_of(draws["beta"], draws["tau"], xi=draws["xi"], **arguments)
    sampler.each(lambda worker: worker.chains.set_state(state))
    for step in range(first, first + ITERATIONS):
        sampler.each(Worker.iterate, step)
    return sampler.state()


def p_values(
    member: Member, kernel: str, seed: int, intercept: bool = False, replicates: int = REPLICATES
) -> dict[str, float]:
    """Kolmogorov-Smirnov's p-values of each parameter after the iterations."""
    random = np.random.default_rng(seed)
    draws = prior(random, replicates, intercept)
    inside = int(intercept)
    mean = draws["beta"][:, inside:] @ X.T + (draws["beta"][:, :1] if intercept else 0.0)
    y = (mean + random.standard_normal((replicates, 4))) > 0
    pattern = y @ (1 << np.arange(4))
    ends: list[dict[str, Any]] = []
    options = {"standardize": False, "intercept": intercept, "intercept_scale": INTERCEPT_SCALE, "kernel": kernel}
    with sampling(member, X, [0, 1, 0, 1], seed, chains=CHAINS, provider="kernels", **options) as sampler:
        assert bool(sampler.design.shift.all()) == intercept
        run = 0
        for number in range(16):
            mine = np.flatnonzero(pattern == number)
            for at in range(0, len(mine), CHAINS):
                used = np.resize(mine[at : at + CHAINS], CHAINS)
                state = advance(sampler, {name: array[used] for name, array in draws.items()}, y[used[0]], run)
                ends.append({name: array[: len(mine[at : at + CHAINS])] for name, array in state.items()})
                run += ITERATIONS
    beta, local, nu, whole = (np.concatenate([end[name] for end in ends]) for name in ("beta", "local", "nu", "whole"))
    tau = whole[:, 0] ** -0.5
    values = {"tau": stats.kstest(tau, stats.halfcauchy.cdf), "xi": stats.kstest(whole[:, 1], stats.gamma(0.5).cdf)}
    if intercept:
        values["intercept"] = stats.kstest(beta[:, 0] / INTERCEPT_SCALE, "norm")
    for j in range(inside, inside + 3):
        values[f"lambda {j}"] = stats.kstest(local[:, j] ** -0.5, stats.halfcauchy.cdf)
        values[f"nu {j}"] = stats.kstest(nu[:, j], stats.gamma(0.5).cdf)
        values[f"beta {j}"] = stats.kstest(beta[:, j] * np.sqrt(local[:, j]) / tau, "norm")
    return {name: float(value.pvalue) for name, value in values.items()}


@pytest.mark.parametrize(
    ("kernel", "intercept"), [("gibbs", False), ("px", True), ("ellipse", False), ("ellipse", True)]
)
def test_an_iteration_leaves_the_posterior_as_it_is(device: Member, kernel: str, intercept: bool) -> None:
    found = p_values(device, kernel, 2, intercept)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_constant_is_found(
    device: Member, mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, template, right, wrong = MUTANTS[mutant]
    intercept = "intercept" in mutant
    root = tmp_path / "kernels"
    shutil.copytree(templates._TEMPLATES.root, root)
    place = root / "gibbs" / f"{template}.mako"
    text = place.read_text(encoding="utf-8")
    assert right in text
    place.write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(templates, "_TEMPLATES", templates._Kernels(root))
    replicates = 2 * REPLICATES if intercept else REPLICATES
    assert min(p_values(device, kernel, 2, intercept, replicates).values()) < LEVEL


def test_ranks_are_uniform_between_the_chain_and_its_time_reversal() -> None:
    replicates, length = 320, 8
    random = np.random.default_rng(4)
    draws = prior(random, replicates)
    ranks = {name: np.zeros(length, int) for name in ("beta 0", "tau", "lambda 1")}
    for i in range(replicates):
        y = X @ draws["beta"][i] + random.standard_normal(4) > 0
        place = int(random.integers(length))
        traces: list[list[float]] = [[] for _ in range(length)]

        def tell(twin: Twin) -> list[float]:
            return [float(twin.beta[0]), twin.tau, float(twin.local[1])]

        for order, positions in (("forward", range(place + 1, length)), ("reversed", range(place - 1, -1, -1))):
            twin = Twin(X * np.where(y, 1.0, -1.0)[:, None], 0, seed=1000 + i, chain=int(order == "reversed"))
            twin.beta, twin.tau = draws["beta"][i].copy(), draws["tau"][i] ** -2.0
            twin.local, twin.nu, twin.xi = draws["lam"][i] ** -2.0, 1 / draws["nu"][i], 1 / draws["xi"][i]
            traces[place] = tell(twin)
            for step, position in enumerate(positions):
                twin.step(step, order)  # type: ignore[arg-type]
                traces[position] = tell(twin)
        table = np.array(traces)
        for column, name in enumerate(ranks):
            ranks[name][int((table[:, column] < table[place, column]).sum())] += 1
    for name, counts in ranks.items():
        assert stats.chisquare(counts).pvalue > 1e-5, (name, counts)
