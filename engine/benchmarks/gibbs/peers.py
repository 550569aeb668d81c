"""The same posterior by samplers of others: NumPyro, BlackJAX and nutpie, all NUTS, where they are installed.

They have one density: standardised columns, an intercept with a normal prior, and the horseshoe with its scales kept,
in the usual form without centres. Each sampler runs in a process of its own, so that a cold start is counted: imports,
compiling, adaptation.
"""

import importlib
import importlib.util
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ...solvers.gibbs.design.features import column_moments, dense_rows
from ...solvers.gibbs.draws.diagnostics import diagnose
from ...solvers.gibbs.problem import HorseshoeProbit

Floats = NDArray[np.float64]

ESS, CHAINS, WARMUP, DRAWS = 400, 4, 500, 500
_INTERCEPT_SCALE = 10.0
_AGREES = 5.0  # Monte Carlo errors


@dataclass(frozen=True)
class _Run:
    """Seconds from the start of the process to the first draw and to the last; draws (chains, draws, quantities)."""

    to_first: float
    to_last: float
    draws: Floats

    def seconds_to(self, ess: float, least: float) -> float:
        """As many more draws, or fewer, as the target takes."""
        return self.to_first + (self.to_last - self.to_first) * ess / max(least, 1e-9)


def _log_density(X: Floats, signs: Floats) -> tuple[Callable[[Any], Any], int]:
    """The log-density of (intercept, normals of the coefficients, log lambda, log tau) in JAX."""
    jax: Any = importlib.import_module("jax")
    jnp = jax.numpy
    jax.config.update("jax_enable_x64", True)
    columns = X.shape[1]
    signed = jnp.asarray(X * signs[:, None])

    def of_half_cauchy(log_scale: Any) -> Any:
        return log_scale - jnp.log1p(jnp.exp(2.0 * log_scale))

    def log_density(theta: Any) -> Any:
        intercept, normals, log_local = theta[0], theta[1 : 1 + columns], theta[1 + columns : -1]
        beta = normals * jnp.exp(log_local + theta[-1])
        prior = -0.5 * (intercept / _INTERCEPT_SCALE) ** 2 - 0.5 * (normals**2).sum()
        prior += of_half_cauchy(log_local).sum() + of_half_cauchy(theta[-1])
        return prior + jax.scipy.stats.norm.logcdf(signed @ beta + intercept * signs).sum()

    return log_density, 2 + 2 * columns


def _quantities(theta: Any) -> Floats:
    """Intercept, coefficients and log tau of draws of the density's variables."""
    theta, columns = np.asarray(theta, np.float64), theta.shape[-1] // 2 - 1
    beta = theta[..., 1 : 1 + columns] * np.exp(theta[..., 1 + columns : -1] + theta[..., -1:])
    return np.concatenate([theta[..., :1], beta, theta[..., -1:]], axis=-1)


def _quintet(X: Floats, signs: Floats, seed: int, started: Callable[..., None], devices: Sequence[str]) -> Floats:
    from ...api.engine import Engine

    def listen(event: Any) -> None:
        if event.type == "progress" and event.phase == "sampling":
            started()

    with Engine(devices=list(devices)) as owner:
        arrays = owner.solve(HorseshoeProbit(X, signs > 0), seed=seed, ess=ESS, on_event=listen).arrays
    return np.concatenate([arrays["beta"], arrays["log_tau"][:, :, None]], axis=2)


def _numpyro(X: Floats, signs: Floats, seed: int, started: Callable[..., None], _: Any) -> Floats:
    numpyro: Any = importlib.import_module("numpyro")
    numpyro.set_host_device_count(CHAINS)
    jax: Any = importlib.import_module("jax")
    infer: Any = importlib.import_module("numpyro.infer")
    log_density, size = _log_density(X, signs)
    kernel = infer.NUTS(potential_fn=lambda theta: -log_density(theta), target_accept_prob=0.9)
    keys, begin = jax.random.split(jax.random.PRNGKey(seed)), np.zeros((CHAINS, size))
    options = {"num_chains": CHAINS, "chain_method": "parallel", "progress_bar": False}
    mcmc = infer.MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, **options)
    mcmc.warmup(keys[0], init_params=begin)
    started()
    mcmc.run(keys[1])
    return _quantities(mcmc.get_samples(group_by_chain=True))


def _blackjax(X: Floats, signs: Floats, seed: int, started: Callable[..., None], _: Any) -> Floats:
    blackjax: Any = importlib.import_module("blackjax")
    jax: Any = importlib.import_module("jax")
    log_density, size = _log_density(X, signs)
    warm_key, draw_key = jax.random.split(jax.random.PRNGKey(seed))

    def warm(key: Any) -> Any:
        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density, target_acceptance_rate=0.9)
        (state, parameters), _ = adaptation.run(key, jax.numpy.zeros(size), num_steps=WARMUP)
        return state, parameters

    def draw(key: Any, state: Any, parameters: Any) -> Any:
        step = blackjax.nuts(log_density, **parameters).step
        return jax.lax.scan(lambda at, one: (step(one, at)[0],) * 2, state, jax.random.split(key, DRAWS))[1].position

    warmed = jax.block_until_ready(jax.jit(jax.vmap(warm))(jax.random.split(warm_key, CHAINS)))
    started()
    return _quantities(jax.jit(jax.vmap(draw))(jax.random.split(draw_key, CHAINS), *warmed))


def _nutpie(X: Floats, signs: Floats, seed: int, started: Callable[..., None], _: Any) -> Floats:
    jax: Any = importlib.import_module("jax")
    nutpie: Any = importlib.import_module("nutpie")
    log_density, size = _log_density(X, signs)
    both = jax.jit(jax.value_and_grad(log_density))

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        value, gradient = both(theta)
        return float(value), np.asarray(gradient)

    both(np.zeros(size))
    began = time.perf_counter()
    model = nutpie.compiled_pyfunc.from_pyfunc(
        size,
        lambda: value_and_gradient,
        lambda seed1, seed2, chain: lambda theta: {"theta": theta},
        [np.dtype(np.float64)],
        [(size,)],
        ["theta"],
    )
    options = {"tune": WARMUP, "draws": DRAWS, "chains": CHAINS, "seed": seed, "progress_bar": False}
    found = nutpie.sample(model, target_accept=0.9, **options)
    groups = (found.warmup_sample_stats, found.sample_stats)
    adapting, drawing = (float(np.asarray(group["n_steps"]).sum()) for group in groups)
    started((time.perf_counter() - began) * drawing / (drawing + adapting))
    return _quantities(found.posterior["theta"].values)


SAMPLERS: dict[str, Callable[..., Floats]] = {
    "quintet": _quintet,
    "numpyro": _numpyro,
    "blackjax": _blackjax,
    "nutpie": _nutpie,
}


def _child(connection: Connection, name: str, *arguments: Any) -> None:
    """Answers with the seconds since the first draw, and the draws."""
    began: list[float] = []

    def started(ago: float = 0.0) -> None:
        if not began:
            began.append(time.perf_counter() - ago)

    X, signs, seed, devices = arguments
    draws = SAMPLERS[name](X, signs, seed, started, devices)
    connection.send((time.perf_counter() - began[0], draws))


def _run_of(name: str, limit: float, *arguments: Any) -> _Run | str:
    """A run in a process of its own, or why there is none."""
    if name != "quintet" and any(importlib.util.find_spec(package) is None for package in (name, "jax")):
        return "not installed"
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_child, args=(theirs, name, *arguments), daemon=True)
    began = time.perf_counter()
    child.start()
    theirs.close()
    try:
        if not ours.poll(limit):
            return f"no answer in {limit:.0f} s"
        since_first, draws = ours.recv()
        ended = time.perf_counter() - began
        return _Run(ended - since_first, ended, draws)
    except EOFError:
        return "failed"
    finally:
        ours.close()
        child.kill()
        child.join()


def compare_peers(
    devices: Sequence[str], problem: HorseshoeProbit, console: Console, *, seconds: float, seed: int = 1
) -> bool:
    """A row a sampler: seconds to the ESS, least ESS a second, and how far its means are from ours; whether all agree.

    The distance is the largest of all coefficients, the intercept and log tau, in Monte Carlo errors.
    """
    X = dense_rows(problem.X, 0, problem.X.shape[0]).astype(np.float64)
    mean, scale = column_moments(X)
    titles = ("sampler", f"s to ESS {ESS}", "ESS/s, bulk", "ESS/s, tail", "worst R-hat", "distance")
    table, first, good = Table(*titles, title=problem.describe()), None, True
    for name in SAMPLERS:
        run = _run_of(name, seconds, (X - mean) / scale, np.where(problem.y, 1.0, -1.0), seed, list(devices))
        if isinstance(run, str):
            table.add_row(name, run, *("",) * 4)
            continue
        found = diagnose(run.draws)
        means, error = run.draws.mean(axis=(0, 1)), found.mcse_mean
        first = (means, error) if first is None else first
        distance = float((np.abs(means - first[0]) / np.hypot(error, first[1])).max())
        good &= distance < _AGREES
        least = float(np.fmin(found.ess_bulk, found.ess_tail).min())
        each = (f"{ess.min() / run.to_last:.1f}" for ess in (found.ess_bulk, found.ess_tail))
        table.add_row(name, f"{run.seconds_to(ESS, least):.1f}", *each, f"{found.r_hat.max():.3f}", f"{distance:.1f}")
    console.print(table)
    return good
