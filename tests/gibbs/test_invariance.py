"""Draws from the prior, data from the model, two iterations: what comes out must have the prior's distribution again.

The exact test of Gandy and Scott, "Unit testing for MCMC and other Monte Carlo methods" (2021), on the device, with
every kernel; and mutants of the kernels, which it must kill. Chains with the same data share a run.
"""

import numpy as np
import pytest

from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.moves import independence
from engine.solvers.gibbs.moves.hamiltonian import HamiltonianMoves
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
    some_always,
)

WIDE = np.array([[1.2, -0.4, 0.3, 0.9], [-0.7, 0.9, 0.8, -0.2], [0.5, 1.1, -1.3, 0.4]])
"""More columns than rows: the kernels ``gibbs`` and ``px`` take another path to beta."""

COLUMNS = {"lines": COLLINEAR, "wide": WIDE, "latent": WIDE}
"""``latent`` is the kernel ``hmc`` where it moves latent normals, ``independent`` where it draws coefficients anew."""

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
    "density of those that stay": ("hmc", "rescale", "+= log_prior_density(b[", "+= 0.0 * log_prior_density(b["),
    "slices at the height of the point": ("hmc", "horseshoe", "s.level = log(", "s.level = 0.0 * log("),
    "noise of the rows, seen in the intercept": ("wide", "wide", "margins[at] - d;", "margins[at] - 3.0 * d;"),
    "prior variance missing": ("wide", "wide", "variance[chain * stride + j] * sum", "sum"),
    "expansion in the wrong norm": ("wide", "wide", "mine += x * x;", "mine += 0.5 * x * x;"),
    "velocities, seen in the intercept": ("latent", "wide_latent", "+ i] + normal_of(", "+ i] + 3.0 * normal_of("),
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
    "normals of the prior": ("cg", "conjugate", "f64 sum = sqrt(prior[", "f64 sum = 2.0 * sqrt(prior["),
    "normals of the rows": ("cg", "sparse_rows", "(f64)sign * sqrt(drawn) * d", "2.0 * (f64)sign * sqrt(drawn) * d"),
    "size of the latent variables": ("cg", "polya_gamma", "return 0.25 * x;", "return 0.5 * x;"),
    "prior in the matrix": ("cg", "conjugate", "(sum + prior[base + j]", "(sum + 0.5 * prior[base + j]"),
    "score at what is proposed": ("independent", "independence", "s2 * (sum - prior", "s2 * (0.0 * sum - prior"),
    "density of what is proposed": ("independent", "independence", "mine -= log_proposal", "mine += log_proposal"),
    "density of the step back": ("independent", "independence", "mine += log_proposal", "mine += 0.5 * log_proposal"),
    "prior of a proposal": ("independent", "independence", "mine += log_prior", "mine -= log_prior"),
    "likelihood of a proposal": (
        "independent",
        "independence",
        "+ likelihood - score[",
        "+ 0.0 * likelihood - 0.0 * score[",
    ),
    "power of tau in a proposal": ("independent", "independence", "(f64)(q - first - 1)", "(f64)(q - first)"),
    "prior of tau in a proposal": ("independent", "independence", "inverse_width / precision)", "inverse_width)"),
    "prior missing in a jump": ("lines", "lines", "+= log_prior_density(x_m", "+= 0.0 * log_prior_density(x_m"),
}


SLAB_MUTANTS = {
    "scales": ("scales", "own = tau * fresh + ${penalty}", "own = tau * fresh"),
    "jumps": ("lines", "mine -= 0.5 * slab", "mine -= 0.0 * slab"),
    "tails": ("lines", "density -= 0.5 * slab", "density -= 0.0 * slab"),
    "rescaling": ("rescale", "density${k} -= penalty * exp(", "density${k} -= 0.0 * exp("),
}

PRIOR_MUTANTS = {
    "slab missing in lambda": ("regularized", "lines", "scales", '${bounded("tau")}', "0.0"),
    "slab missing in tau": ("regularized", "lines", "scales", '${bounded(f"(inverse{k} * inverse{k})")}', "0.0"),
    "constants missing in the slab": ("regularized", "lines", "scales", "slab[j] * inverse${k} / precision)", "0.0)"),
    "prior of the slab": ("regularized", "lines", "scales", "- slab_degrees * (s.at", "- 0.5 * slab_degrees * (s.at"),
    "slab missing in rescaling": ("regularized", "lines", "rescale", "/ (inverse${k} * inverse${k});", "/ precision;"),
    "slab's prior missing in rescaling": ("regularized", "lines", "rescale", "} = slab_degrees * (", "} = 0.0 * ("),
    "half missing in half-t scales": ("half_t", "gibbs", "conditionals", "+ 0.5 * before", "+ before"),
    "rate of the scales' own scale": ("half_t", "gibbs", "conditionals", "* fresh);", "* fresh * 2.0);"),
    "horseshoe's draws": ("half_t", "lines", "priors", "&& log(last) <", "|| log(last) <"),
    "mean of the inverse Gaussian": ("lasso", "px", "priors", "0.5 * mean * normal", "mean * normal"),
    "density of the lasso": ("lasso", "lines", "priors", "x < 0.0 ? x : -x;", "0.5 * (x < 0.0 ? x : -x);"),
    "density of the ridge": ("ridge", "lines", "priors", "-0.5 * x * x", "-x * x"),
}

MOVES_BEFORE = 6

OFFSET = np.array([0.8, -0.5, 0.3, -1.1, 0.4, 0.9])


def case(kernel, **model):
    """A kernel, and how its regression differs from a probit one with an intercept and the horseshoe."""
    return pytest.param(kernel, model, id="-".join([kernel, *(f"{name} {value}" for name, value in model.items())]))


def full(kernel, **model):
    plain = case(kernel, **model)
    return pytest.param(*plain.values, id=plain.id, marks=pytest.mark.full)


CASES = [
    *(
        case(kernel, intercept=intercept)
        for kernel in ("wide", "latent", "hmc", "lines", "independent")
        for intercept in (False, True)
    ),
    *(case("gibbs", intercept=False), case("px"), case("hmc", intercept=False, family="logit")),
    *(case("lines", family="logit"), full("cg", intercept=False), case("cg", family="logit")),
    case("hmc", seed=4, unpenalized=1, offset=True),
    full("hmc", seed=4, unpenalized=1, offset=True, intercept=False),
    full("lines", seed=4, unpenalized=2, offset=True),
    full("lines", seed=4, unpenalized=3),
    full("px", seed=4, unpenalized=1, intercept=False),
    full("latent", seed=4, unpenalized=2, intercept=False),
    *(full(kernel, seed=4, unpenalized=1) for kernel in ("gibbs", "wide", "cg")),
    *(full(kernel, seed=3, slab=0.3, replicates=3000) for kernel in ("gibbs", "lines", "independent")),
    *(full(kernel, seed=4, kind=kind) for kernel, kind in (("gibbs", "half_t"), ("px", "lasso"), ("px", "ridge"))),
    *(full("lines", seed=4, kind=kind, replicates=3000) for kind in ("regularized", "half_t", "lasso", "ridge")),
    *(full("independent", seed=4, kind=kind, replicates=3000) for kind in ("regularized", "half_t")),
]


def found_in(member, kernel, replicates=None, seed=2, offset=False, **model):
    """The p-values of a case; wide X take a matrix product a chain, cg launches: fewer replicates."""
    columns, slow = COLUMNS.get(kernel, X), kernel in ("wide", "latent", "cg", "lines", "independent")
    model |= {"offset": OFFSET[: len(columns)]} if offset else {}
    model |= {"replicates": replicates or (WIDE_REPLICATES if slow else REPLICATES)}
    with pytest.MonkeyPatch.context() as patch:
        if kernel == "independent":
            patch.setattr(independence, "_FEWEST_COLUMNS", 1)
            patch.setattr(HamiltonianMoves, "restart_control", with_half_a_share)
            patch.setattr(HamiltonianMoves, "iterate", with_more_drawn_anew)
        return p_values(member, kernel, seed, columns=columns, **model)


def with_half_a_share(moves, length, restart=HamiltonianMoves.restart_control):
    restart(moves, length)
    control = moves._device.get(moves.control)
    control["log_share"] = np.log(0.5)
    moves._device.put(control, moves.control)


def with_more_drawn_anew(moves, step, iterate=HamiltonianMoves.iterate):
    """An iteration after more of these moves alone, whose faults are hidden by what follows: it draws tau too."""
    for number in range(MOVES_BEFORE):
        moves._chains.set_iteration((1 << 24) + MOVES_BEFORE * step + number)
        moves._move_independently(moves.independence)
    iterate(moves, step)


@pytest.mark.few(2)
@pytest.mark.parametrize(("kernel", "model"), CASES)
def test_an_iteration_leaves_the_posterior_as_it_is(device, kernel, model):
    assert {name: p for name, p in found_in(device, kernel, **model).items() if p < LEVEL} == {}


def test_the_lines_of_the_collinear_columns_are_of_all_sorts():
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
def test_a_wrong_constant_is_found(first_device, mutant, tmp_path, monkeypatch):
    kernel, template, right, wrong = MUTANTS[mutant]
    mutate(template, right, wrong, tmp_path, monkeypatch)
    model = {"intercept": "intercept" in mutant or kernel in ("lines", "cg")}
    model |= {"family": "logit"} if kernel == "cg" else {}
    most = 2 * REPLICATES if "intercept" in mutant and kernel not in ("wide", "latent") else REPLICATES
    most = 3 * REPLICATES if kernel == "independent" else most
    most = WIDE_REPLICATES if kernel in ("wide", "latent", "cg") else most
    assert is_found(first_device, kernel, most, **model)


@pytest.mark.full
@pytest.mark.parametrize("mutant", SLAB_MUTANTS)
def test_a_slab_missing_from_one_move_is_found(first_device, mutant, tmp_path, monkeypatch):
    mutate(*SLAB_MUTANTS[mutant], tmp_path, monkeypatch)
    assert is_found(first_device, "lines", (3 if mutant == "jumps" else 1) * REPLICATES, seed=3, slab=0.3)


@pytest.mark.full
@pytest.mark.parametrize("mutant", PRIOR_MUTANTS)
def test_a_wrong_prior_is_found(first_device, mutant, tmp_path, monkeypatch):
    kind, kernel, *change = PRIOR_MUTANTS[mutant]
    mutate(*change, tmp_path, monkeypatch)
    assert is_found(first_device, kernel, WIDE_REPLICATES, seed=4, kind=kind)


def is_found(member, kernel, most, **model):
    """Most are found with the fewer replicates."""
    return any(min(found_in(member, kernel, number, **model).values()) < LEVEL for number in (most // 4, most))
