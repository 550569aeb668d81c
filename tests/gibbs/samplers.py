"""What the tests of the sampler share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.devices import DevicePool, Member
from engine.solvers.gibbs.choice import with_kernel
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.sampler import Sampler
from engine.solvers.gibbs.families import AUXILIARY
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeLogit, HorseshoeProbit
from engine.solvers.gibbs.solve import settings_for


@contextmanager
def sampling(
    member: Member, X: Any, y: Any, seed: int = 1, devices: int = 1, family: str = "probit", **options: Any
) -> Iterator[Sampler]:
    """A sampler with its matrix made, on as many copies of a device; its state is to be set."""
    chosen = Options(**options)
    problem = (HorseshoeProbit if family == "probit" else HorseshoeLogit)(X, y)
    chosen = with_kernel(problem, chosen)
    design = Design.of(problem, chosen)
    with (
        DevicePool([member.info] * devices) as pool,
        Sampler(pool, design, settings_for(design, chosen, seed)) as sampler,
    ):
        if chosen.kernel == "hmc":
            sampler.weigh_at(np.zeros(design.layout.columns))
        sampler.make_gram(weighted=chosen.kernel == "hmc")
        yield sampler


def state_of(beta: NDArray[np.float64], tau: Any = 1.0, lam: Any = 1.0, nu: Any = 1.0, xi: Any = 1.0) -> dict[str, Any]:
    """A state from tau, lambda, nu and xi as the model has them; beta of shape (chains, q)."""
    chains, _ = beta.shape
    whole = np.ones((chains, 8))
    whole[:, 0], whole[:, 1] = 1.0 / np.asarray(tau) ** 2, 1.0 / np.asarray(xi)
    local, inverse_nu = (np.broadcast_to(1.0 / np.asarray(value), beta.shape) for value in (np.square(lam), nu))
    auxiliary = np.zeros((chains, AUXILIARY))
    return {
        "beta": beta,
        "local_precision": local.copy(),
        "nu": inverse_nu.copy(),
        "whole": whole,
        "auxiliary": auxiliary,
    }
