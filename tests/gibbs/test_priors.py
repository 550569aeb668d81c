"""Priors beside the horseshoe: densities and draws by their definitions, agreement."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import engine
from engine.devices import DevicePool
from engine.solvers.gibbs.design import separation
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from tests.support.invariance import LEVEL

SPREADS = (1e-6, 0.02, 1.0, 30.0)
DEGREES = {"half_t": 3.0}


def local_density(kind, r, m, k):
    """The density of r = lambda^-2 given beta and tau, m = beta^2 / (2 tau^2), but for a constant: by definition."""
    lam = r**-0.5
    nu = DEGREES.get(kind, 1.0)
    of_lambda = np.exp(-0.5 * lam**2) * lam if kind == "lasso" else (1.0 + lam**2 / nu) ** (-0.5 * (nu + 1.0))
    return np.asarray(of_lambda * np.sqrt(r + k) * np.exp(-m * r) * r**-1.5)  # d lambda = r^(-3/2) dr / 2


def integral(kind, m, k):
    """Over r = exp(s)."""

    def at(s):
        r = np.exp(s)
        return float(local_density(kind, np.array([r]), m, k)[0] * r)

    # from where all decreases: the integrand is at least as wide as from log k to -log m
    points = sorted({-50.0, -20.0, -6.0, 0.0, 6.0, min(45.0, -np.log(m)), min(50.0, -np.log(m) + 5.0)})
    parts = [integrate.quad(at, a, b, epsabs=0.0, epsrel=1e-11, limit=400)[0] for a, b in itertools.pairwise(points)]
    return float(sum(parts))


def filled(member, kind, entry, count, **arguments):
    """What a kernel of ``priors_fill`` writes."""
    with DevicePool([member.info]) as pool:
        found = []

        def work(device):
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
def test_densities_are_the_integrals_over_the_local_scales(device, kind, k):
    found = filled(device, kind, "fill_densities", 72, k=k)
    x = np.exp(0.25 * np.arange(72) - 12.0)
    some = range(0, 72, 3)
    expected = np.log([integral(kind, 0.5 * x[i] ** 2, k) for i in some])
    apart = found[list(some)] - expected
    assert apart - apart[0] == pytest.approx(np.zeros(len(apart)), abs=3e-6 if k > 1 else 1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["half_t", "regularized", "lasso"])
def test_local_precisions_have_their_conditional_distribution(device, kind):
    for number, m in enumerate((1e-4, 0.3, 4.0, 300.0)):
        for k in SPREADS[1:] if kind == "regularized" else (0.0,):
            numbers = {"rate": m, "k": k, "seed": 3, "stream": number, "step": 0}
            drawn = np.log(filled(device, kind, "fill_precisions", 20_000, **numbers))
            s = np.linspace(-60.0, 60.0, 240_001)
            density = local_density(kind, np.exp(s), m, k) * np.exp(s)
            below = integrate.cumulative_simpson(density, x=s, initial=0.0)
            assert stats.kstest(drawn, lambda at: np.interp(at, s, below / below[-1])).pvalue > LEVEL, (m, k)  # noqa: B023


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("most", [200_000, 0])  # by a linear program, or by interpolation
def test_more_columns_than_rows_separate_any_classes(intercept, most, monkeypatch):
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
