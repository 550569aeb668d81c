"""Draws from the prior, data from the model, two iterations: what comes out must have the prior's distribution again.

The exact test of Gandy and Scott, "Unit testing for MCMC and other Monte Carlo methods" (2021), on the device, with
every kernel and family. Chains with the same data share a run. ``tools/gibbs_mutants.py`` has faults that it finds.
"""

import numpy as np
import pytest

from engine.solvers.gibbs import choice
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeProbit
from tests.support.invariance import COLLINEAR, LEVEL, WIDE, family_p_values, found_in, lines_of
from tests.support.samplers import sampling, state_of


def case(kernel, **model):
    """A kernel, and how its regression differs from a probit one with an intercept and the horseshoe."""
    return pytest.param(kernel, model, id="-".join([kernel, *(f"{name} {value}" for name, value in model.items())]))


def full(kernel, **model):
    plain = case(kernel, **model)
    return pytest.param(*plain.values, id=plain.id, marks=pytest.mark.full)


CASES = [
    *(
        case(kernel, intercept=intercept)
        for kernel in ("wide", "latent", "local", "hmc", "lines", "independent")
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


@pytest.mark.few(2)
@pytest.mark.parametrize(("kernel", "model"), CASES)
def test_an_iteration_leaves_the_posterior_as_it_is(device, kernel, model):
    assert {name: p for name, p in found_in(device, kernel, **model).items() if p < LEVEL} == {}


WIDER = np.column_stack([WIDE, [-0.6, 0.5, 0.2]])
"""Twice as many columns as rows: the kernel hmc moves sigma and tau with beta integrated out."""

FAMILIES = [
    *((family, {"seed": 5}) for family in ("normal", "student", "ordinal", "counts")),
    *((family, {"columns": WIDE}) for family in ("normal", "student")),
    *(("student", {"columns": WIDE, "ridge": ridge}) for ridge in (0.3, 3.0)),
    *((family, {"columns": WIDER, "kernel": "hmc"}) for family in ("normal", "student")),
]


@pytest.mark.full
@pytest.mark.parametrize(("family", "options"), FAMILIES)
def test_an_iteration_of_another_family_leaves_the_posterior_as_it_is(device, family, options):
    found = family_p_values(device, family, **{"seed": 6, **options})
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.mark.full
@pytest.mark.parametrize("family", ["normal", "student"])
def test_a_move_of_lambda_leaves_the_posterior_as_it_is(device, family, monkeypatch):
    monkeypatch.setattr(choice, "_MOST_COLUMNS", 1)
    found = family_p_values(device, family, 6, columns=WIDE)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


def test_products_with_the_factor_follow_the_moves_of_lambda(device, monkeypatch):
    monkeypatch.setattr(choice, "_MOST_COLUMNS", 1)
    random = np.random.default_rng(1)
    data = random.standard_normal((12, 1)) + random.standard_normal((12, 40))
    with sampling(device, data, np.arange(12) % 2, chains=2, kernel="px", standardize=False) as sampler:

        def work(worker):
            columns = 1 + random.permutation(40)
            worker.wide.set_promising(columns)
            worker.wide._scale_moves = []  # which change the latent normals afterwards
            worker.moves.iterate(1)
            local, get = worker.wide.local, worker.device.get
            found = get(local._products), get(worker.wide._product), get(worker.wide._latent)
            return columns[: local.count], *found

        sampler.set_state(state_of(random.standard_normal((2, 41)), lam=random.uniform(0.1, 3.0, (2, 41))))
        ((columns, found, products, latent),) = sampler.workers.each(work)
        rows = sampler.design.rows(0, 12)[:, columns].astype(np.float64)
    for chain in range(2):
        product = np.tril(products[chain]) + np.tril(products[chain], -1).T
        sides = np.vstack([rows.T, latent[chain]])
        expected = sides @ np.linalg.solve(product + np.eye(12), sides.T)
        assert np.tril(found[chain]) == pytest.approx(np.tril(expected), rel=1e-6, abs=1e-9 * np.abs(expected).max())


def test_the_lines_of_the_collinear_columns_are_of_all_sorts():
    design = Design.of(HorseshoeProbit(COLLINEAR, np.arange(6) % 2), Options(standardize=False))
    lines = lines_of(design, np.array([1, 0, 0, 1, 1, 0], bool))
    groups = sorted(sorted(lines.members(line)) for line in range(lines.nulls))
    assert groups == [[1, 2], [4, 5]]
    pairs = [sorted(lines.members(line)) for line in range(lines.nulls, lines.nulls + lines.pairs)]
    assert pairs
    assert lines.tails == 3  # but the later members of the two groups of two
    assert 3 in lines.separable
