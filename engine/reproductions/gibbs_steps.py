"""The steps of the horseshoe sampler by themselves: its proposals, its factor, its public code."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.result import Result
from ..references.gibbs import CROSSOVER
from ..reports.study import Study
from ..solvers.gibbs.problem import HorseshoeProbit

Floats = NDArray[np.float64]


def slopes(result: Result, what: str) -> Floats:
    """A summary of the coefficients without the intercept."""
    kept = [at for at, name in enumerate(result.arrays["names"]) if str(name) != "intercept"]
    return np.asarray(result.arrays[what], np.float64)[kept]


def measure_proposals(study: Study) -> None:
    """Acceptance of the two rejection samplers."""
    from scipy.special import ndtr

    study.section("Proposals", "Acceptance of the paper's rejection samplers, simulated with NumPy.")
    random = np.random.default_rng(study.seed)
    means = np.array([-3.0, -2.0, -1.0, 0.0, 0.25, CROSSOVER, 0.75, 1.0, 2.0, 3.0])
    accepted = []
    for mean in means:
        alpha = 0.5 * (math.sqrt(mean * mean + 4) - mean)
        proposal = random.exponential(1 / alpha, 100_000)
        by_exponential = float(np.exp(-0.5 * (proposal - 1 / alpha) ** 2).mean())
        accepted.append(float(ndtr(mean)) if mean > CROSSOVER else by_exponential)
    rows = [(f"{mean:.2f}", f"{share:.3f}") for mean, share in zip(means, accepted, strict=True)]
    study.table(
        "Truncated normals", ("mean", "accepted"), rows, "Gaussian proposals above 0.47, exponential ones below"
    )
    far = [share for mean, share in zip(means, accepted, strict=True) if abs(mean) >= 2]
    seen = (
        f"{min(accepted):.3f} at the least, {min(far):.3f} and more for means of 2 and more (ours to call it nearly "
        "all: 0.9)"
    )
    study.judge("acceptance", min(accepted) >= 0.66 and min(far) >= 0.9, seen)
    shape = 500.5  # (p + 1) / 2 with p = 1000
    u, w = random.random((2, 400_000))
    a, b = 1 / math.sqrt(2 * shape - 1), shape - math.log(4)
    v = a * np.log(u / (1 - u))
    x = shape * np.exp(v)
    share = float((b + (shape + 1 / a) * v - x >= np.log(u * u * w)).mean())
    study.judge(
        "gamma",
        abs(share - 0.88) < 0.01,
        f"{share:.3f} of them; 32 together fail with a probability of {(1 - share) ** 32:.0e}",
    )


def measure_naive(study: Study) -> None:
    """Time and residual of one factor, and of an inverse and an eigendecomposition."""
    p: int = study.pick(50, 300, 1000)
    study.section(
        "The naive update",
        f"An update of beta with p = {p} in NumPy, X^T X given: seconds of one; and residuals and errors of the mean "
        f"in single precision, of three sets of data with {min(p, 300)} columns that five factors nearly determine.",
    )
    random = np.random.default_rng(study.seed)
    gram = random.standard_normal((2 * p, p))
    precision, target = gram.T @ gram + np.eye(p), random.standard_normal(p)

    def by_factor() -> None:
        factor = np.linalg.cholesky(precision)
        np.linalg.solve(factor.T, np.linalg.solve(factor, target) + random.standard_normal(p))

    def by_inverse() -> None:
        inverse = np.linalg.inv(precision)
        values, vectors = np.linalg.eigh(inverse)
        inverse @ target + vectors @ (np.sqrt(values) * random.standard_normal(p))

    taken = []
    for update in (by_factor, by_inverse):
        update()
        began = time.perf_counter()
        update()
        taken.append(time.perf_counter() - began)
    study.table(
        "Seconds", ("Cholesky factor", "inverse and eigendecomposition"), [[f"{seconds:.4f}" for seconds in taken]]
    )
    study.judge("naive", taken[0] < taken[1], f"{taken[1] / taken[0]:.1f} times as fast")
    found = np.array([_precision(random, min(p, 300)) for _ in range(3)])
    factor, inverse, *errors = np.median(found, axis=0)
    seen = f"the median relative residual of a mean is {factor:.1e} with the factor, {inverse:.1e} with the inverse"
    study.judge("stable", bool((found[:, 0] < found[:, 1]).all()), seen)
    seen = "its median error is {:.1e} with the factor, {:.1e} with QR, {:.1e} with an SVD".format(*errors)
    study.judge("qr", bool((found[:, 3:] < found[:, 2:3]).all()), f"{seen}, each in single precision")


def _precision(random: np.random.Generator, p: int) -> list[float]:
    """Residuals of the mean of beta by a factor and an inverse; its errors by a factor, by QR and by an SVD."""
    X = random.standard_normal((2 * p, 5)) @ random.standard_normal((5, p)) + 0.1 * random.standard_normal((2 * p, p))
    z = random.standard_normal(2 * p)
    rows, sides = np.vstack([X, np.eye(p)]), np.concatenate([z, np.zeros(p)])
    q, r = np.linalg.qr(rows)
    right_mean = np.linalg.solve(r, q.T @ sides)
    rows, sides, X = rows.astype(np.float32), sides.astype(np.float32), X.astype(np.float32)
    precision, right = X.T @ X + np.eye(p, dtype=np.float32), X.T @ z.astype(np.float32)
    factor = np.linalg.cholesky(precision)
    by_factor = np.linalg.solve(factor.T, np.linalg.solve(factor, right))
    q, r = np.linalg.qr(rows)
    u, s, vt = np.linalg.svd(rows, full_matrices=False)
    exact = precision.astype(np.float64)
    norm = float(np.linalg.norm(exact, np.inf))
    residuals = [
        float(np.abs(exact @ mean - right).max() / (norm * np.abs(mean).max()))
        for mean in (by_factor, np.linalg.inv(precision) @ right)
    ]
    others = (by_factor, np.linalg.solve(r, q.T @ sides), vt.T @ ((u.T @ sides) / s))
    return residuals + [float(np.linalg.norm(mean - right_mean) / np.linalg.norm(right_mean)) for mean in others]


def _sample(X: Floats, y: NDArray[np.bool_], count: int, with_tau: bool) -> tuple[Floats, Floats]:
    """Draws of beta and log tau by the paper's sampler in NumPy; without tau in the precision of beta if asked for."""
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


def measure_public_code(study: Study) -> None:
    """What becomes of the posterior if tau is left out of the precision of beta; and single precision."""
    count: int = study.pick(1500, 8000, 8000)
    study.section(
        "The public code, and single precision",
        "On one of its paths the authors' public code leaves tau out of the precision of beta. Both samplers in "
        "NumPy, in double precision, on 200 rows and 10 columns, three of which matter; and this solver, whose rows "
        "and latent normals are in single precision (its factors in double; the paper has single throughout).",
    )
    random = np.random.Generator(np.random.PCG64(20240))
    X = random.standard_normal((200, 10))
    y = X @ np.array([1.3, -1.0, 0.5, *np.zeros(7)]) + random.standard_normal(200) > 0
    right, right_tau = _sample(X, y, count, with_tau=True)
    dropped, dropped_tau = _sample(X, y, count, with_tau=False)
    options: dict[str, Any] = {"standardize": False, "intercept": False, "seed": study.seed}
    device = study.engine.solve(HorseshoeProbit(X, y), draws=max(100, count // 4), **options)
    mean, sd = slopes(device, "mean"), slopes(device, "sd")
    sides = [(draws.mean(axis=0), draws.std(axis=0)) for draws in (right, dropped)] + [(mean, sd)]
    rows: list[tuple[str, ...]] = [(f"beta {j}", *(f"{means[j]:.3f}" for means, _ in sides)) for j in range(3)]
    rows.append(("noise, mean sd", *(f"{spreads[3:10].mean():.3f}" for _, spreads in sides)))
    taus = (right_tau.mean(), dropped_tau.mean(), device.arrays["log_tau"].mean())
    rows.append(("log tau", *(f"{value:.2f}" for value in taus)))
    study.table("Posterior means", ("quantity", "as in the paper", "without tau", "this solver"), rows)
    shift = abs(dropped[:, 3:].std(axis=0).mean() / right[:, 3:].std(axis=0).mean() - 1)
    seen = f"without tau the coefficients of noise columns have a standard deviation {100 * shift:.0f} % larger"
    study.judge("public_code", bool(shift < 0.1), f"{seen} (ours to call it the same: 10 %)")
    apart = float((np.abs(mean[:10] - sides[0][0]) / sides[0][1]).max())
    seen = f"the means are within {apart:.2f} sd of those in double precision (ours to call it enough: 0.3)"
    study.judge("float32", apart <= 0.3, seen)
