import itertools
from contextlib import contextmanager

import numpy as np
import pytest

from engine.devices import DevicePool
from engine.solvers.gibbs.begin import find_mode
from engine.solvers.gibbs.choice import with_kernel
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.families import AUXILIARY
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeLogit, HorseshoeProbit
from engine.solvers.gibbs.validate import settings_for
from tests.support.stopping import stop_at


@contextmanager
def sampling(member, X, y, seed=1, devices=1, family="probit", own=None, **options):
    """A sampler with its matrix made, on as many copies of a device; its state is to be set."""
    problem = (HorseshoeProbit if family == "probit" else HorseshoeLogit)(X, y, **(own or {}))
    with sampling_of(member, problem, seed, devices, **options) as sampler:
        yield sampler


@contextmanager
def sampling_of(member, problem, seed=1, devices=1, **options):
    """The same of a problem of any family."""
    chosen = with_kernel(problem, Options(**options))
    design = Design.of(problem, chosen)
    with (
        DevicePool([member.info] * devices) as pool,
        Sampler(pool, design, settings_for(design, chosen, seed)) as sampler,
    ):
        if chosen.kernel == "hmc":
            sampler.set_auxiliary(np.zeros(len(design.auxiliary_names())))
            sampler.weigh_at(np.zeros(design.layout.columns))
        sampler.make_gram(weighted=chosen.kernel == "hmc")
        yield sampler


def state_of(beta, tau=1.0, lam=1.0, nu=1.0, xi=1.0):
    """A state from tau, lambda, nu and xi as the model has them; beta of shape (chains, q)."""
    chains, _ = beta.shape
    chain_state = np.ones((chains, 8))
    chain_state[:, 0], chain_state[:, 1] = 1.0 / np.asarray(tau) ** 2, 1.0 / np.asarray(xi)
    local, inverse_nu = (np.broadcast_to(1.0 / np.asarray(value), beta.shape) for value in (np.square(lam), nu))
    auxiliary = np.zeros((chains, AUXILIARY))
    return {
        "beta": beta,
        "local_precision": local.copy(),
        "nu": inverse_nu.copy(),
        "chain_state": chain_state,
        "auxiliary": auxiliary,
    }


def chains_of(member, problem, steps, **options):
    """Draws of three chains from given points in a given metric; shape (steps, chains, numbers).

    What a run chooses before it begins is left out: the search for the mode ends within 0.02 posterior standard
    deviations of it, at a step that a difference of 1e-15 in X'X can change.
    """
    with sampling_of(member, problem, 9, chains=3, **options) as sampler:
        sampler.set_state(state_of(np.linspace(-0.3, 0.4, 3 * sampler.design.layout.columns).reshape(3, -1), tau=0.3))
        sampler.advance(0, steps, 0)
        iterations, rows, failed = sampler.collect()
    assert (iterations, failed) == (list(range(steps)), 0)
    return rows


def start_of(member, problem, **options):
    """Where a run begins, and about the posterior standard deviations there."""
    with sampling_of(member, problem, chains=1, **options) as sampler:
        sampler.make_gram(weighted=False)
        gram = sampler.gram()
        mode, prior, _ = find_mode(sampler, lambda step: None)
    return mode, (sampler.design.family.information * np.diag(gram) + prior) ** -0.5


def stopped_soon(solve):
    """The result of a run that is stopped a few batches after its begin."""
    batches = itertools.count(1)
    with pytest.MonkeyPatch.context() as patch:
        stop_at(
            patch,
            lambda event: event.type == "progress" and event.phase in ("warm-up", "sampling") and next(batches) == 2,
        )
        return solve()
