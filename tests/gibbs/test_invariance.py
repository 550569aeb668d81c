"""Draws from the prior, data from the model, two iterations: what comes out must have the prior's distribution again.

The exact test of Gandy and Scott, "Unit testing for MCMC and other Monte Carlo methods" (2021), on the device, with
every kernel; and mutants of the kernels, which it must kill. Chains with the same data share a run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from samplers import sampling, state_of
from scipy import stats

from engine.devices import Member, available, templates
from engine.solvers.gibbs.design.lines import Lines, find_lines
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.chains import REPORT
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.device.sparse_rows import SparseRows
from engine.solvers.gibbs.device.worker import Worker
from engine.solvers.gibbs.moves.conjugate import ConjugateMoves
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeProbit
from engine.solvers.gibbs.reference import ReferenceChain

REPLICATES, WIDE_REPLICATES, ITERATIONS = 20_000, 6_000, 2  # wide X takes a matrix product a chain, cg launches
INTERCEPT_SCALE = 1.5
LEVEL = 1e-6  # of each statistic; a false alarm in about one of 10 000 runs of this file
X = np.array([[1.2, -0.4, 0.3], [-0.7, 0.9, 0.8], [0.5, 1.1, -1.3], [-1.4, -0.2, 0.6]])
COLLINEAR = np.column_stack(
    [
        [1.0, 0.0, 0.0, 1.0, 1.0, 0.0],  # two levels of one feature
        [0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0, 1.0, 1.0, 0.0],  # mostly 1, and 0 in a part of the second level only
        [0.5, -1.1, 0.4, -0.3, 0.9, 0.2],
        [0.5, -1.1, 0.4, -0.3, 0.9, 0.2],  # a copy
    ]
)
"""A one-hot group, a column whose two rows off the usual value half of the data separate, and a copy of a column."""

WIDE = np.array([[1.2, -0.4, 0.3, 0.9], [-0.7, 0.9, 0.8, -0.2], [0.5, 1.1, -1.3, 0.4]])
"""More columns than rows: the kernels ``gibbs`` and ``px`` take another path to beta."""

COLUMNS = {"lines": COLLINEAR, "wide": WIDE, "latent": WIDE}
"""``latent`` is the kernel ``hmc`` where it moves latent normals."""

MUTANTS = {
    "half missing in lambda": ("gibbs", "conditionals", "0.5 * before * b * b", "before * b * b"),
    "shape of tau": ("gibbs", "conditionals", "0.5 * (f64)(q - first + 1)", "0.5 * (f64)(q - first)"),
    "half missing in tau": ("gibbs", "conditionals", "0.5 * part[0]", "part[0]"),
    "tau missing in the precision of beta": ("gibbs", "conditionals", "own = tau * fresh", "own = fresh"),
    "rate of nu": ("gibbs", "conditionals", "/ (1.0 + fresh)", "/ (0.5 + fresh)"),
    "expansion of a flat prior": ("px", "conditionals", "rest = squares - part[0]", "rest = squares"),
    "power of tau": ("hmc", "trajectory", "(f64)(q - first - 1) * s.at", "(f64)(q - first) * s.at"),
    "rate of lambda given tau": ("hmc", "trajectory", "0.5 * tau * b * b", "tau * b * b"),
    "prior missing in the energy": ("hmc", "trajectory", "mine += prior[base + j] * b * b + r * r", "mine += r * r"),
    "momentum of the wrong size": ("hmc", "trajectory", "momentum[base + j] = r;", "momentum[base + j] = 0.5 * r;"),
    "no Jacobian of the rescaling": ("hmc", "lines", "block}] + power * s.at${k} - log(", "block}] - log("),
    "intercept rescaled too": ("hmc", "lines", "- pivot * ", "- 0.0f * "),
    "power of c for the coefficients that stay": ("hmc", "lines", "power * s.at${k}", "s.at${k}"),
    "density of the coefficients that stay": (
        "hmc",
        "lines",
        "mine${k} += log_prior_density(b[j] * inverse${k}, 0.0);",
        "mine${k} += 0.0;",
    ),
    "slices at the height of the point": (
        "hmc",
        "horseshoe",
        "s.level = log(uniform_f64_wide(words.w0, words.w1))",
        "s.level = 0.0",
    ),
    "noise of the rows, seen in the intercept": ("wide", "wide", "margins[at] - d;", "margins[at] - 3.0 * d;"),
    "prior variance missing": ("wide", "wide", "variance[chain * stride + j] * sum", "sum"),
    "expansion in the wrong norm": ("wide", "wide", "mine += x * x;", "mine += 0.5 * x * x;"),
    "noise of the velocities, seen in the intercept": (
        "latent",
        "wide",
        "row_count + i] + normal_of(",
        "row_count + i] + 3.0 * normal_of(",
    ),
    "reflections that lose speed": ("latent", "wide", "? 2.0 * (v[hit]", "? 1.5 * (v[hit]"),
    "no reflections": ("latent", "wide", "reflects = until < left", "reflects = until < 0.0"),
    "noise in the covariance, seen in the intercept": ("latent", "wide", "value += 1.0;", "value += 4.0;"),
    "inverse deviations of the prior": ("latent", "trajectory", "1.0 / sqrt(diagonal[j] + own)", "sqrt(own)"),
    "points that are accepted outside the slice": ("hmc", "horseshoe", "> s.level ? {k}", "> s.level - 0.7 ? {k}"),
    "no Jacobian of the tails": ("lines", "lines", " + log(cosh(u))", ""),
    "intercept's prior missing in the tails": ("lines", "lines", "density -= 0.5 *", "density -= 0.0 *"),
    "intercept moved against the tails": ("lines", "lines", "b[0] = pivot + t *", "b[0] = pivot - t *"),
    "density of the proposal missing": ("lines", "lines", " + log(part[${block}]) - log(part[${2 * block}])", ""),
    "intercept's prior missing in a jump": ("lines", "lines", "change -= 0.5 *", "change -= 0.0 *"),
    "intercept moved against a jump": ("lines", "lines", "b[0] += shift", "b[0] -= shift"),
    "likelihood missing in a jump": ("lines", "lines", "mine += likelihood;", ""),
    "normals of the prior": (
        "cg",
        "conjugate",
        "f64 sum = sqrt(prior[base + j])",
        "f64 sum = 2.0 * sqrt(prior[base + j])",
    ),
    "normals of the rows": (
        "cg",
        "sparse_rows",
        "u + (f64)sign * sqrt(drawn) * d",
        "u + 2.0 * (f64)sign * sqrt(drawn) * d",
    ),
    "size of the latent variables": ("cg", "polya_gamma", "return 0.25 * x;", "return 0.5 * x;"),
    "prior in the matrix": (
        "cg",
        "conjugate",
        "(sum + prior[base + j] * s * p)",
        "(sum + 0.5 * prior[base + j] * s * p)",
    ),
    "prior missing in a jump": (
        "lines",
        "lines",
        "mine += log_prior_density(x_moved",
        "here += 0.0 * log_prior_density(x_moved",
    ),
}


def prior(
    random: np.random.Generator,
    count: int,
    columns: int,
    intercept: bool,
    kind: str = "horseshoe",
    effects: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Draws of all parameters: half-Cauchy scales through their auxiliary inverse gammas.

    half_t has 3 degrees of freedom; the slab of ``regularized`` is of scale 0.5, with 4.
    """

    def inverse_gamma(shape: float, rate: Any, size: Any) -> NDArray[np.float64]:
        return np.asarray(rate / random.gamma(shape, size=size))

    xi = inverse_gamma(0.5, 1.0, count)
    tau = np.sqrt(inverse_gamma(0.5, 1 / xi, count))
    nu = inverse_gamma(0.5, 1.0, (count, columns))
    lam = np.sqrt(inverse_gamma(0.5, 1 / nu, (count, columns)))
    if kind == "half_t":
        lam = np.sqrt(inverse_gamma(1.5, 3.0 / nu, (count, columns)))
    elif kind in ("lasso", "ridge"):
        lam = np.sqrt(random.exponential(2.0, (count, columns))) if kind == "lasso" else np.ones((count, columns))
    slab = 1.0 / inverse_gamma(2.0, 0.5, count)
    precision = (lam * tau[:, None]) ** -2.0
    if kind == "regularized":
        assert effects is not None
        precision += effects * slab[:, None]
    beta = random.standard_normal((count, columns)) * precision**-0.5
    if intercept:
        beta = np.column_stack([INTERCEPT_SCALE * random.standard_normal(count), beta])
        nu, lam = (np.column_stack([np.ones(count), array]) for array in (nu, lam))
    return {"xi": xi, "tau": tau, "nu": nu, "lam": lam, "beta": beta, "slab": slab}


def mutate(template: str, right: str, wrong: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the templates have something wrong."""
    root = folder / "kernels"
    shutil.copytree(templates._TEMPLATES.root, root)
    place = root / "gibbs" / f"{template}.mako"
    text = place.read_text(encoding="utf-8")
    assert right in text
    place.write_text(text.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(templates, "_TEMPLATES", templates._Kernels(root))


def slab_precisions(columns: NDArray[np.float64], intercept: bool, slab: float | None) -> NDArray[np.float64]:
    """Mean square of the distances from the usual value over the slab's variance, column by column."""
    if slab is None:
        return np.zeros(columns.shape[1])
    usual = np.sort(columns, axis=0)[(len(columns) - 1) // 2] if intercept else 0.0
    apart = columns - usual
    return np.array([np.mean(column[column != 0] ** 2) for column in apart.T]) / slab**2


def bounded_prior(
    random: np.random.Generator,
    count: int,
    columns: int,
    intercept: bool,
    precisions: NDArray[np.float64],
    kind: str = "horseshoe",
    effects: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Draws of the prior times the slab's densities, by rejection."""
    found: list[dict[str, NDArray[np.float64]]] = []
    while sum(len(part["tau"]) for part in found) < count:
        part = prior(random, count, columns, intercept, kind, effects)
        likely = np.exp(-0.5 * part["beta"][:, int(intercept) :] ** 2 @ precisions)
        kept = random.random(count) < likely if precisions.any() else np.ones(count, bool)
        found.append({name: array[kept] for name, array in part.items()})
    return {name: np.concatenate([part[name] for part in found])[:count] for name in found[0]}


def lines_of(design: Design, y: NDArray[np.bool_]) -> Lines:
    """The lines of the same columns with another target."""
    options = Options(standardize=False, intercept=bool(design.first))
    other = Design.of(HorseshoeProbit(design.problem.X, y.astype(int)), options)
    rows = other.rows(0, len(y)).astype(np.float64)[:, : other.layout.columns]
    return find_lines(other, rows.T @ rows, np.ones(len(y)))


def advance(
    sampler: Sampler, draws: dict[str, NDArray[np.float64]], y: NDArray[np.bool_], first: int, with_lines: bool
) -> dict[str, Any]:
    """Two iterations of chains that all have this y."""
    design = sampler.design
    X = design.problem.X
    lines = lines_of(design, y) if with_lines else None

    def set_signs(worker: Worker) -> None:
        """A sparse design has the signs of the rows apart from its entries."""
        moves = worker.moves
        assert isinstance(worker.rows, SparseRows)
        assert isinstance(moves, ConjugateMoves)
        signs = np.zeros(worker.rows.signs.size, np.float32)
        signs[: len(X)] = np.where(y, 1.0, -1.0)
        worker.device.put(signs, worker.rows.signs)
        moves.set_small(np.arange(worker.layout.columns) % 2 == 1)

    def work(worker: Worker) -> None:
        rows = np.zeros((worker.rows.count, worker.layout.stride), np.float32)
        inside = design.first
        rows[: len(X), :inside] = 1.0
        rows[: len(X), inside : inside + X.shape[1]] = X
        rows[: len(X)] *= np.where(y, 1.0, -1.0)[:, None]
        worker.device.put(rows.reshape(-1), worker.rows.blocks[0].buffer)
        if worker.settings.kernel == "hmc":
            signs = np.zeros(worker.hamiltonian.signs.size, np.float32)
            signs[: len(X)] = np.where(y, 1.0, -1.0) if inside else 0.0
            worker.device.put(signs, worker.hamiltonian.signs)
            worker.hamiltonian.set_small(np.arange(worker.layout.columns) % 2 == 1)
        if lines is not None:
            worker.hamiltonian.set_lines(lines)

    sampler.workers.each(set_signs if sampler.settings.kernel == "cg" else work)
    arguments = {name: draws[name] for name in ("lam", "nu")}
    state = state_of(draws["beta"], draws["tau"], xi=draws["xi"], **arguments)
    state["whole"][:, REPORT.index("slab_precision")] = draws["slab"]
    sampler.set_state(state)
    for step in range(first, first + ITERATIONS):
        sampler.workers.each(Worker.iterate, step)
    return sampler.state()


def p_values(
    member: Member,
    kernel: str,
    seed: int,
    intercept: bool = False,
    replicates: int = REPLICATES,
    columns: NDArray[np.float64] = X,
    family: str = "probit",
    slab: float | None = None,
    kind: str = "horseshoe",
) -> dict[str, float]:
    """Kolmogorov-Smirnov's p-values of each parameter after the iterations."""
    random = np.random.default_rng(seed)
    rows, p = columns.shape
    chains = 512 if rows < 6 else max(32, min(256, replicates // 78 // 32 * 32))  # 64 targets of six rows
    inside = int(intercept)
    precisions = slab_precisions(columns, intercept, slab)
    effects = slab_precisions(columns, intercept, 1.0)
    draws = bounded_prior(random, replicates, p, intercept, precisions, kind, effects)
    mean = draws["beta"][:, inside:] @ columns.T + (draws["beta"][:, :1] if intercept else 0.0)
    noise = random.standard_normal if family == "probit" else lambda size: random.logistic(size=size)
    y = (mean + noise((replicates, rows))) > 0
    pattern = y @ (1 << np.arange(rows))
    ends: list[dict[str, Any]] = []
    options: dict[str, Any] = {
        "standardize": False,
        "slab": 0.5 if kind == "regularized" else slab,
        "prior": kind,
        "local_degrees": 3.0,
        "intercept": intercept,
        "intercept_scale": INTERCEPT_SCALE,
    }
    options["kernel"] = {"lines": "hmc", "wide": "px", "latent": "hmc"}.get(kernel, kernel)
    with sampling(
        member, columns, np.arange(rows) % 2, seed, chains=chains, provider="kernels", family=family, **options
    ) as sampler:
        assert sampler.settings.wide == (kernel == "wide")
        assert sampler.settings.latent == (kernel == "latent")
        run = 0
        for number in range(1 << rows):
            mine = np.flatnonzero(pattern == number)
            for at in range(0, len(mine), chains):
                used = np.resize(mine[at : at + chains], chains)
                chosen = {name: array[used] for name, array in draws.items()}
                state = advance(sampler, chosen, y[used[0]], run, kernel == "lines")
                ends.append({name: array[: len(mine[at : at + chains])] for name, array in state.items()})
                run += ITERATIONS
    beta, local, nu, whole = (
        np.concatenate([end[name] for end in ends]) for name in ("beta", "local_precision", "nu", "whole")
    )
    tau = whole[:, 0] ** -0.5
    values = {"tau": stats.kstest(tau, stats.halfcauchy.cdf)}
    if kernel in ("gibbs", "px", "wide"):
        values["xi"] = stats.kstest(whole[:, 1], stats.gamma(0.5).cdf)
    if intercept:
        values["intercept"] = stats.kstest(beta[:, 0] / INTERCEPT_SCALE, "norm")
    for j in range(inside, inside + p):
        values[f"lambda {j}"] = stats.kstest(local[:, j] ** -0.5, stats.halfcauchy.cdf)
        values[f"beta {j}"] = stats.kstest(beta[:, j] * np.sqrt(local[:, j]) / tau, "norm")
        if kernel in ("gibbs", "px", "wide"):
            values[f"nu {j}"] = stats.kstest(nu[:, j], stats.gamma(0.5).cdf)
    if slab is not None or kind != "horseshoe":  # the prior of the parameters has no closed form then
        fresh = bounded_prior(np.random.default_rng(seed + 1), replicates, p, intercept, precisions, kind, effects)
        found = {"tau": tau, "beta": beta, "lambda": local**-0.5}
        expected = {"tau": fresh["tau"], "beta": fresh["beta"], "lambda": fresh["lam"]}
        values = {"tau": stats.ks_2samp(found["tau"], expected["tau"])}
        if kind == "regularized":
            values["slab"] = stats.ks_2samp(whole[:, REPORT.index("slab_precision")], fresh["slab"])
        if intercept:
            values["intercept"] = stats.kstest(beta[:, 0] / INTERCEPT_SCALE, "norm")
        for j in range(inside, inside + p):
            for name in ("beta", "lambda") if kind != "ridge" else ("beta",):
                values[f"{name} {j}"] = stats.ks_2samp(found[name][:, j], expected[name][:, j])
    elif (
        kernel == "lines"
    ):  # functions of the members of a line, and of the data: what the margins alone would not show
        fresh = prior(np.random.default_rng(seed + 1), 10 * replicates, p, intercept)
        scaled, expected = beta[:, inside:] / tau[:, None], fresh["beta"][:, inside:] / fresh["tau"][:, None]
        for name, (j, k) in {"levels": (0, 1), "nested": (1, 2), "copies": (3, 4)}.items():
            values[f"sum of {name}"] = stats.ks_2samp(scaled[:, j] + scaled[:, k], expected[:, j] + expected[:, k])
            least = (np.minimum(*np.abs(b[:, [j, k]]).T) for b in (scaled, expected))
            values[f"smaller of {name}"] = stats.ks_2samp(*least)
    return {name: float(value.pvalue) for name, value in values.items()}


@pytest.mark.parametrize(
    ("kernel", "intercept", "family"),
    [
        ("gibbs", False, "probit"),
        ("px", True, "probit"),
        ("wide", False, "probit"),
        ("wide", True, "probit"),
        ("latent", False, "probit"),
        ("latent", True, "probit"),
        ("hmc", False, "probit"),
        ("hmc", True, "probit"),
        ("lines", False, "probit"),
        ("lines", True, "probit"),
        ("hmc", False, "logit"),
        ("lines", True, "logit"),
        ("cg", False, "probit"),
        ("cg", True, "logit"),
    ],
)
def test_an_iteration_leaves_the_posterior_as_it_is(device: Member, kernel: str, intercept: bool, family: str) -> None:
    replicates = WIDE_REPLICATES if kernel in ("wide", "latent", "cg") else REPLICATES
    found = p_values(device, kernel, 2, intercept, replicates, COLUMNS.get(kernel, X), family)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.mark.parametrize("kernel", ["gibbs", "lines"])
def test_a_slab_leaves_its_own_posterior_as_it_is(device: Member, kernel: str) -> None:
    found = p_values(device, kernel, 3, True, columns=COLLINEAR if kernel == "lines" else X, slab=0.3)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.fixture(scope="module")
def first_device() -> Any:
    """One device for the mutants, whose kernels are compiled for each: they test the test, not the device."""
    found = [info for info in available()[0] if info.capabilities.fp64]
    if not found:
        pytest.skip("this machine has no device with float64")
    return SimpleNamespace(info=found[0])


def some_always(mutants: Iterable[str], *always: str) -> list[Any]:
    """Parameters of a test: one mutant of each part always, the others when slow tests are asked for."""
    assert set(always) <= set(mutants)
    return [name if name in always else pytest.param(name, marks=pytest.mark.slow) for name in mutants]


SLAB_MUTANTS = {
    "scales": ("trajectory", "own = tau * fresh + ${penalty}", "own = tau * fresh"),
    "jumps": ("lines", "mine -= 0.5 * slab", "mine -= 0.0 * slab"),
    "tails": ("lines", "density -= 0.5 * slab", "density -= 0.0 * slab"),
    "rescaling": ("lines", 'if random_slab else "penalty * exp(2.0 * s.at%d)" % k', 'if random_slab else "0.0"'),
}


@pytest.mark.parametrize("mutant", some_always(SLAB_MUTANTS, "tails"))
def test_a_slab_missing_from_one_move_is_found(
    first_device: Member, mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(*SLAB_MUTANTS[mutant], tmp_path, monkeypatch)
    replicates = 3 * REPLICATES if mutant == "jumps" else REPLICATES
    assert any(
        min(p_values(first_device, "lines", 3, True, number, COLLINEAR, slab=0.3).values()) < LEVEL
        for number in (replicates // 4, replicates)
    )


def test_the_lines_of_the_collinear_columns_are_of_all_sorts() -> None:
    design = Design.of(HorseshoeProbit(COLLINEAR, np.arange(6) % 2), Options(standardize=False))
    lines = lines_of(design, np.array([1, 0, 0, 1, 1, 0], bool))
    groups = sorted(sorted(lines.members(line)) for line in range(lines.nulls))
    assert groups == [[1, 2], [4, 5]]
    pairs = [sorted(lines.members(line)) for line in range(lines.nulls, lines.nulls + lines.pairs)]
    assert pairs
    assert lines.tails == 3  # but the later members of the two groups of two
    assert 3 in lines.separable


@pytest.mark.parametrize(
    "mutant",
    some_always(
        MUTANTS,
        "half missing in tau",
        "expansion of a flat prior",
        "rate of lambda given tau",
        "intercept rescaled too",
        "prior variance missing",
        "reflections that lose speed",
        "no Jacobian of the tails",
        "likelihood missing in a jump",
        "size of the latent variables",
    ),
)
def test_a_wrong_constant_is_found(
    first_device: Member, mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, template, right, wrong = MUTANTS[mutant]
    intercept, family = "intercept" in mutant or kernel in ("lines", "cg"), "logit" if kernel == "cg" else "probit"
    mutate(template, right, wrong, tmp_path, monkeypatch)
    replicates = {"wide": WIDE_REPLICATES, "latent": WIDE_REPLICATES, "cg": WIDE_REPLICATES}.get(
        kernel, 2 * REPLICATES if "intercept" in mutant else REPLICATES
    )
    columns = COLUMNS.get(kernel, X)
    assert any(  # most are found with the fewer replicates
        min(p_values(first_device, kernel, 2, intercept, number, columns, family).values()) < LEVEL
        for number in (replicates // 4, replicates)
    )


def test_ranks_are_uniform_between_the_chain_and_its_time_reversal() -> None:
    replicates, length = 320, 8
    random = np.random.default_rng(4)
    draws = prior(random, replicates, 3, False)
    ranks = {name: np.zeros(length, int) for name in ("beta 0", "tau", "lambda 1")}
    for i in range(replicates):
        y = X @ draws["beta"][i] + random.standard_normal(4) > 0
        place = int(random.integers(length))
        traces: list[list[float]] = [[] for _ in range(length)]

        def values_of(chain: ReferenceChain) -> list[float]:
            return [float(chain.beta[0]), chain.tau, float(chain.local[1])]

        for order, positions in (("forward", range(place + 1, length)), ("reversed", range(place - 1, -1, -1))):
            chain = ReferenceChain(X * np.where(y, 1.0, -1.0)[:, None], 0, seed=1000 + i, chain=order == "reversed")
            chain.beta, chain.tau = draws["beta"][i].copy(), draws["tau"][i] ** -2.0
            chain.local, chain.nu, chain.xi = draws["lam"][i] ** -2.0, 1 / draws["nu"][i], 1 / draws["xi"][i]
            traces[place] = values_of(chain)
            for step, position in enumerate(positions):
                chain.step(step, order)  # type: ignore[arg-type]
                traces[position] = values_of(chain)
        table = np.array(traces)
        for column, name in enumerate(ranks):
            ranks[name][int((table[:, column] < table[place, column]).sum())] += 1
    for name, counts in ranks.items():
        assert stats.chisquare(counts).pvalue > 1e-5, (name, counts)
