"""Every random variate on the device against its distribution, at hard parameters."""

import numpy as np
import pytest
from scipy import special, stats

from engine.references.gibbs import draw_positive_normals

COUNT = 20_000
LEVEL = 1e-5


def fill(member, kind, parameter, seed, count=COUNT, family="probit"):
    def work(device):
        block = 64 if device.capabilities.simt else 1
        out = device.empty(count, np.float64)
        program = device.program("gibbs/variates_fill", block=block, kind=kind, family=family)
        numbers = {"parameter": float(parameter), "seed": seed, "stream": 3, "step": 7}
        program.fill_variates(64, block, out=out, count=count, **numbers)
        return device.get(out)

    return member.submit(work).result()


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["positive_normal", "positive_normal_in_parts"])
@pytest.mark.parametrize("mean", [-30.0, -8.0, -5.5, -2.0, -0.5, 0.0, 0.46, 0.48, 1.0, 3.0, 8.0])
def test_truncated_normals_have_their_distribution(device, kind, mean):
    draws = fill(device, kind, mean, seed=11)
    assert (draws > 0).all()
    above = special.log_ndtr(mean - draws) - special.log_ndtr(mean)  # log of the chance to be larger
    assert stats.kstest(np.exp(above), "uniform").pvalue > LEVEL


def test_both_forms_of_the_truncated_normal_are_the_references(device):
    for mean in (-6.0, -0.3, 0.3, 0.6, 2.0):
        whole, parts = (fill(device, kind, mean, 5, 3000) for kind in ("positive_normal", "positive_normal_in_parts"))
        expected = draw_positive_normals(np.full(3000, mean, np.float32).astype(float), 5, 3, 7)
        assert np.allclose(whole, expected, rtol=2e-5, atol=2e-5)
        assert np.allclose(parts, expected, rtol=2e-5, atol=2e-5)


def test_a_mean_that_is_no_number_ends(device):
    assert np.isnan(fill(device, "positive_normal", float("nan"), 1, 10)).all()


@pytest.mark.parametrize("shape", [1.0, 1.5, 3.0, 71.5, 5000.0])
def test_gammas_have_their_distribution(device, shape):
    assert stats.kstest(fill(device, "gamma", shape, seed=13), stats.gamma(shape).cdf).pvalue > LEVEL


def test_exponentials_and_normals_have_their_distribution(device):
    assert stats.kstest(fill(device, "exponential", 3.0, seed=17), stats.expon(scale=1 / 3).cdf).pvalue > LEVEL
    assert stats.kstest(fill(device, "normal", 0.0, seed=19), "norm").pvalue > LEVEL


def test_local_precisions_given_beta_and_tau_have_their_distribution(device):
    for rate in (1e-6, 0.03, 0.5, 2.0, 400.0):
        draws = fill(device, "local_precision", rate, seed=23)
        whole = special.exp1(rate)  # the density is exp(-rate x) / (1 + x) / (exp(rate) E1(rate))
        below = 1.0 - special.exp1(rate * (1.0 + draws)) / whole
        assert stats.kstest(below, "uniform").pvalue > LEVEL


def test_the_density_of_the_horseshoe_is_that_of_its_exponential_integral(device):
    x = np.exp(0.01 * np.arange(2600) - 20.0)
    m = 0.5 * x * x
    middle = (m > 1e-12) & (m < 500)
    expected = np.log(special.exp1(m[middle])) + m[middle]
    found = fill(device, "log_horseshoe_density", 1.0, 0, 2600)
    assert np.allclose(found[middle], expected, rtol=1e-12, atol=2e-13)
    assert np.allclose(found[m >= 500], -np.log(m[m >= 500] + 1.0), atol=1e-5)  # between 1 / (m + 1) and 1 / m


@pytest.mark.few(1)
@pytest.mark.parametrize("family", ["probit", "logit"])
@pytest.mark.parametrize(
    ("value", "slope"),
    [
        ("log_likelihood", "slope"),
        pytest.param("log_likelihood_of_eight", "slope_of_eight", marks=pytest.mark.cpu),
        pytest.param("score_of_eight", "slope_of_eight", marks=pytest.mark.cpu),
    ],
)
def test_log_likelihoods_and_their_slopes_are_right_in_both_tails(device, family, value, slope):
    for step in (0.01, -0.01):
        x = np.float32(step * np.arange(3000.0)).astype(float)
        logs = special.log_ndtr(x) if family == "probit" else special.log_expit(x)
        assert np.allclose(fill(device, value, step, 0, 3000, family), logs, rtol=1e-6, atol=3e-7)
        expected = np.exp(-0.5 * x**2 - 0.5 * np.log(2 * np.pi) - logs) if family == "probit" else special.expit(-x)
        assert np.allclose(fill(device, slope, step, 0, 3000, family), expected, rtol=3e-5, atol=1e-12)


@pytest.mark.parametrize("c", [0.0, 0.4, 3.0, 3.2, 12.0, 80.0])
def test_polya_gammas_have_their_distribution(device, c):
    draws = fill(device, "polya_gamma", c, seed=31)
    mean = 0.25 if c == 0 else np.tanh(0.5 * c) / (2.0 * c)
    for t in (0.3 / mean, 1.0 / mean, 4.0 / mean, 20.0 / mean):
        log_expected = [_log_cosh(0.5 * c) - _log_cosh(np.sqrt(0.25 * c * c + 0.5 * s)) for s in (t, 2.0 * t)]
        expected, square = np.exp(log_expected)
        error = np.sqrt(max(square - expected**2, 1e-12) / COUNT)
        assert abs(np.exp(-t * draws).mean() - expected) < 4.5 * error
    k = np.arange(1, 301)[:, None] - 0.5
    exponentials = np.random.default_rng(3).exponential(size=(300, 4000))
    terms = exponentials / (k**2 + (0.5 * c / np.pi) ** 2) / (2.0 * np.pi**2)
    rest = mean - (1.0 / (k**2 + (0.5 * c / np.pi) ** 2)).sum() / (2.0 * np.pi**2)
    assert stats.ks_2samp(draws, terms.sum(axis=0) + rest).pvalue > LEVEL


def _log_cosh(x):
    return float(abs(x) + np.log1p(np.exp(-2.0 * abs(x))) - np.log(2.0))
