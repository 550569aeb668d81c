"""``quintet reproduce horseshoe``: the measurements of Terenin, Dong and Draper's Gibbs sampler on a GPU."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..benchmarks.gibbs.command import time_iterations
from ..references.gibbs import BlasSampler
from ..reports.study import Study, run_study
from ..solvers.gibbs.options import Options
from ..solvers.gibbs.problem import HorseshoeProbit

__all__ = ["reproduce"]

TITLE = "Gibbs sampling for horseshoe probit regression on a GPU"
SOURCE = (
    "A. Terenin, S. Dong, D. Draper: GPU-accelerated Gibbs sampling: a case study of the horseshoe probit model, "
    "Statistics and Computing 29 (2019) 301-310."
)
# Rows and columns: milliseconds of an iteration on the paper's Titan X.
_TITAN_X = {(10_000, 1000): 4.1, (1_000_000, 1000): 12.0, (1_295_848, 141): 17.6}
_AUTOCORRELATION = (0.88, 0.98)
_LARGEST_HOST = 200_000_000  # entries of X that are worth a NumPy peer

Floats = NDArray[np.float64]


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_study("horseshoe", TITLE, SOURCE, _study, arguments)


def _study(study: Study) -> None:
    _measure_time(study)
    _measure_mixing(study)
    _measure_dropped_tau(study)


def _measure_time(study: Study) -> None:
    """Time of an iteration by size of the data."""
    sizes: Sequence[tuple[int, int]] = study.pick(
        ((1000, 50),), ((10_000, 100), (100_000, 100), (10_000, 1000)), tuple(_TITAN_X)
    )
    study.section(
        "Time of an iteration",
        "The kernel gibbs on standard normal X, one chain and four chains that share each pass over X. NumPy is the "
        "same sampler with BLAS.",
    )
    rows = []
    faster = []
    for n, p in sizes:
        times = {
            chains: 1e3 * time_iterations(study.engine.device_infos, n, p, Options(kernel="gibbs", chains=chains))[0]
            for chains in (1, 4)
        }
        host = _host_milliseconds(n, p) if n * p <= _LARGEST_HOST // 10 else None
        paper = _TITAN_X.get((n, p))
        if paper is not None:
            faster.append(paper / times[1])
        rows.append(
            (f"{n:,}", p, paper, f"{times[1]:.2f}", f"{times[4] / 4:.2f}", None if host is None else f"{host:.1f}")
        )
    study.table(
        "Milliseconds",
        ("rows", "columns", "paper, Titan X", "one chain", "per chain of four", "NumPy"),
        rows,
        "the device alone, without the host's start",
    )
    if study.profile == "gpu":
        study.finding(
            "an iteration takes milliseconds for a million rows",
            all(ratio >= 1 for ratio in faster),
            f"{min(faster):.1f} to {max(faster):.1f} times as fast as the paper's Titan X",
        )


def _host_milliseconds(n: int, p: int) -> float:
    """Milliseconds of an iteration of the NumPy peer."""
    sampler = BlasSampler(np.random.default_rng(1).standard_normal((n, p), dtype=np.float32), 1)
    sampler.step()
    began = time.perf_counter()
    count = 0
    while count < 3 or time.perf_counter() - began < 0.5:
        sampler.step()
        count += 1
    return 1e3 * (time.perf_counter() - began) / count


def _signals(n: int, p: int, seed: int) -> HorseshoeProbit:
    """Independent columns, six of which matter, with coefficients up to 5."""
    random = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[:6] = (1.3, 4.0, -1.0, 1.6, 5.0, -2.0)
    X = random.standard_normal((n, p))
    return HorseshoeProbit(X, X @ beta + random.standard_normal(n) > 0, name=f"six signals {n}x{p}")


def _measure_mixing(study: Study) -> None:
    """Autocorrelation and effective draws per iteration of each kernel."""
    n, p = study.pick((200, 10), (2000, 20), (2000, 20))
    draws: int = study.pick(200, 2000, 4000)
    study.section(
        "Mixing",
        f"Six signals among {p} columns, {n} rows; four chains with {draws} draws each. The time of an iteration says "
        "little if the chain hardly moves in it.",
    )
    problem = _signals(n, p, 5)
    rows = []
    lags: dict[str, float] = {}
    curves: dict[str, Floats] = {}
    for kernel in ("gibbs", "px", "hmc"):
        result = study.engine.solve(problem, kernel=kernel, draws=draws, seed=1)
        beta = result.arrays["beta"]
        lag = np.array([_autocorrelation(beta[:, :, j], 1) for j in range(beta.shape[2])])
        worst = int(lag.argmax())
        lags[kernel] = float(lag.max())
        curves[kernel] = np.array([_autocorrelation(beta[:, :, worst], k) for k in range(min(50, draws // 4))])
        total = beta.shape[0] * beta.shape[1]
        least = float(np.nanmin(result.arrays["ess_bulk"]))
        rows.append(
            (
                kernel,
                f"{lag.min():.2f}",
                f"{lag.max():.2f}",
                f"{total / least:.1f}",
                f"{result.seconds:.1f}",
                f"{least / result.seconds:.1f}",
            )
        )
    study.table(
        "Autocorrelation of the coefficients",
        ("kernel", "least lag 1", "largest lag 1", "draws per effective draw", "seconds", "effective draws per second"),
        rows,
        "of the coefficient that mixes worst, warm-up included in the seconds",
    )
    study.figure(
        "mixing",
        "Autocorrelation by lag",
        lambda axes: _plot_curves(axes, curves),
        "Autocorrelation of the coefficient that mixes worst.",
    )
    study.finding(
        f"the autocorrelation of the coefficients at lag 1 is {_AUTOCORRELATION[0]} to {_AUTOCORRELATION[1]}",
        lags["gibbs"] >= _AUTOCORRELATION[0],
        f"up to {lags['gibbs']:.2f} with gibbs on these data, {lags['hmc']:.2f} with hmc",
    )


def _autocorrelation(draws: Floats, lag: int) -> float:
    """Of one quantity; ``draws`` has shape (chains, draws)."""
    centred = draws - draws.mean()
    if lag == 0:
        return 1.0
    return float((centred[:, lag:] * centred[:, :-lag]).mean() / (centred**2).mean())


def _plot_curves(axes: Any, curves: dict[str, Floats]) -> None:
    for kernel, curve in curves.items():
        axes.plot(curve, label=kernel)
    axes.set(xlabel="lag", ylabel="autocorrelation")
    axes.legend(frameon=False)


def _sample(X: Floats, y: NDArray[np.bool_], count: int, with_tau: bool) -> tuple[Floats, Floats]:
    """Draws of beta and log tau by the paper's sampler in NumPy; without tau in the precision of beta if asked for.

    The conditionals are written out here once more, so that the comparison shares no code with the devices.
    """
    from scipy.special import ndtr, ndtri

    random = np.random.default_rng(1)
    p = X.shape[1]
    signed = X * np.where(y, 1.0, -1.0)[:, None]
    gram = signed.T @ signed
    beta, local, nu = np.zeros(p), np.ones(p), np.ones(p)  # local and tau are inverse squares
    tau = xi = 1.0
    kept, taus = np.empty((count, p)), np.empty(count)
    for step in range(count):
        mean = signed @ beta
        z = mean - ndtri(np.maximum(random.random(len(mean)), 1e-300) * ndtr(mean))
        local = random.exponential(size=p) / (nu + 0.5 * tau * beta**2)
        tau = random.gamma(0.5 * (p + 1)) / (xi + 0.5 * float(local @ beta**2))
        nu, xi = random.exponential(size=p) / (1 + local), random.exponential() / (1 + tau)
        factor = np.linalg.cholesky(gram + np.diag((tau if with_tau else 1.0) * local))
        half = np.linalg.solve(factor, signed.T @ z)
        beta = np.linalg.solve(factor.T, half + random.standard_normal(p))
        kept[step], taus[step] = beta, np.log(tau) / -2
    return kept[count // 5 :], taus[count // 5 :]


def _measure_dropped_tau(study: Study) -> None:
    """What becomes of the posterior if tau is left out of the precision of beta."""
    count: int = study.pick(300, 8000, 8000)
    study.section(
        "The public code",
        "On one of its paths the authors' public code leaves tau out of the precision of beta. Both samplers in NumPy, "
        "on 200 rows and 10 columns, three of which matter; and this solver.",
    )
    random = np.random.Generator(np.random.PCG64(20240))
    X = random.standard_normal((200, 10))
    beta = np.array([1.3, -1.0, 0.5, *np.zeros(7)])
    y = X @ beta + random.standard_normal(200) > 0
    right, right_tau = _sample(X, y, count, with_tau=True)
    dropped, dropped_tau = _sample(X, y, count, with_tau=False)
    options: dict[str, Any] = {"standardize": False, "intercept": False, "seed": 1}
    device = study.engine.solve(HorseshoeProbit(X, y), draws=max(100, count // 4), **options)
    names = [*(f"beta {j}" for j in (0, 1, 2)), "noise, mean sd"]
    columns = []
    for draws in (right, dropped):
        means, spreads = draws.mean(axis=0), draws.std(axis=0)
        columns.append([*(f"{means[j]:.3f}" for j in (0, 1, 2)), f"{spreads[3:].mean():.3f}"])
    device_names = [str(name) for name in device.arrays["names"]]
    at = [index for index, name in enumerate(device_names) if name != "intercept"]
    means, spreads = device.arrays["mean"][at], device.arrays["sd"][at]
    columns.append([*(f"{means[j]:.3f}" for j in (0, 1, 2)), f"{spreads[3:10].mean():.3f}"])
    rows = [*zip(names, *columns, strict=True)]
    rows.append(
        ("log tau", f"{right_tau.mean():.2f}", f"{dropped_tau.mean():.2f}", f"{device.arrays['log_tau'].mean():.2f}")
    )
    study.table("Posterior means", ("quantity", "as in the paper", "without tau", "this solver"), rows)
    shift = abs(dropped[:, 3:].std(axis=0).mean() / right[:, 3:].std(axis=0).mean() - 1)
    study.finding(
        "the public code samples the posterior of the paper's model",
        bool(shift < 0.1),
        f"without tau the coefficients of noise columns have a standard deviation {100 * shift:.0f} % larger",
    )
