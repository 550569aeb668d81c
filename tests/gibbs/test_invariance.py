"""Draws from the prior, data from the model, two iterations: what comes out must have the prior's distribution again.

The exact test of Gandy and Scott, "Unit testing for MCMC and other Monte Carlo methods" (2021), on the device, with
every kernel; and mutants of the kernels, which it must kill. Chains with the same data share a run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from engine.devices import Member
from engine.references.gibbs import ReferenceChain
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeProbit
from tests.support.invariance import (
    COLLINEAR,
    LEVEL,
    REPLICATES,
    WIDE_REPLICATES,
    X,
    lines_of,
    mutate,
    p_values,
    prior,
    some_always,
)

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
    "power of tau": ("hmc", "scales", "(f64)(q - first - 1) * s.at", "(f64)(q - first) * s.at"),
    "rate of lambda given tau": ("hmc", "scales", "0.5 * tau * b * b", "tau * b * b"),
    "prior missing in the energy": ("hmc", "trajectory", "mine += prior[base + j] * b * b + r * r", "mine += r * r"),
    "momentum of the wrong size": ("hmc", "trajectory", "momentum[base + j] = r;", "momentum[base + j] = 0.5 * r;"),
    "no Jacobian of the rescaling": ("hmc", "rescale", "block}] + power * s.at${k} - log(", "block}] - log("),
    "intercept rescaled too": ("hmc", "rescale", "- pivot * ", "- 0.0f * "),
    "power of c for the coefficients that stay": ("hmc", "rescale", "power * s.at${k}", "s.at${k}"),
    "density of the coefficients that stay": (
        "hmc",
        "rescale",
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
        "wide_latent",
        "row_count + i] + normal_of(",
        "row_count + i] + 3.0 * normal_of(",
    ),
    "reflections that lose speed": ("latent", "wide_latent", "? 2.0 * (v[hit]", "? 1.5 * (v[hit]"),
    "no reflections": ("latent", "wide_latent", "reflects = until < left", "reflects = until < 0.0"),
    "noise in the covariance, seen in the intercept": ("latent", "wide_latent", "value += 1.0;", "value += 4.0;"),
    "inverse deviations of the prior": ("latent", "scales", "1.0 / sqrt(diagonal[j] + own)", "sqrt(own)"),
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


@pytest.mark.few(2)
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
        pytest.param("cg", False, "probit", marks=pytest.mark.full),
        ("cg", True, "logit"),
    ],
)
def test_an_iteration_leaves_the_posterior_as_it_is(device: Member, kernel: str, intercept: bool, family: str) -> None:
    replicates = WIDE_REPLICATES if kernel in ("wide", "latent", "cg", "lines") else REPLICATES
    found = p_values(device, kernel, 2, intercept, replicates, COLUMNS.get(kernel, X), family)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


OFFSET = np.array([0.8, -0.5, 0.3, -1.1, 0.4, 0.9])


@pytest.mark.parametrize(
    ("kernel", "intercept", "unpenalized", "with_offset"),
    [
        ("hmc", True, 1, True),
        *(
            pytest.param(*case, marks=pytest.mark.full)
            for case in (
                ("lines", True, 2, True),
                ("gibbs", True, 1, False),
                ("px", False, 1, False),
                ("hmc", False, 1, True),
                ("lines", True, 3, False),
                ("wide", True, 1, False),
                ("latent", False, 2, False),
                ("cg", True, 1, False),
            )
        ),
    ],
)
def test_unpenalized_columns_and_an_offset_leave_their_own_posterior_as_it_is(
    device, kernel, intercept, unpenalized, with_offset
):
    replicates = WIDE_REPLICATES if kernel in ("wide", "latent", "cg", "lines") else REPLICATES
    columns = COLUMNS.get(kernel, X)
    offset = OFFSET[: len(columns)] if with_offset else None
    found = p_values(device, kernel, 4, intercept, replicates, columns, unpenalized=unpenalized, offset=offset)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.mark.full
@pytest.mark.parametrize("kernel", ["gibbs", "lines"])
def test_a_slab_leaves_its_own_posterior_as_it_is(device: Member, kernel: str) -> None:
    found = p_values(device, kernel, 3, True, WIDE_REPLICATES, COLLINEAR if kernel == "lines" else X, slab=0.3)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


SLAB_MUTANTS = {
    "scales": ("scales", "own = tau * fresh + ${penalty}", "own = tau * fresh"),
    "jumps": ("lines", "mine -= 0.5 * slab", "mine -= 0.0 * slab"),
    "tails": ("lines", "density -= 0.5 * slab", "density -= 0.0 * slab"),
    "rescaling": ("rescale", "density${k} -= penalty * exp(", "density${k} -= 0.0 * exp("),
}


@pytest.mark.full
@pytest.mark.parametrize("mutant", SLAB_MUTANTS)
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


@pytest.mark.few(1)
@pytest.mark.parametrize("mutant", some_always(MUTANTS, "half missing in tau", "rate of lambda given tau"))
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


@pytest.mark.full
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
