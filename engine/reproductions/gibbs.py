"""``quintet reproduce horseshoe``: the measurements of Terenin, Dong and Draper's Gibbs sampler on a GPU."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..base.result import Result
from ..benchmarks.gibbs.command import time_iterations
from ..devices.host import host_cores
from ..errors import ConvergenceWarning, QuintetError
from ..references.gibbs import CROSSOVER, BlasSampler
from ..reports.study import Study
from ..solvers.gibbs.options import Options
from ..solvers.gibbs.problem import HorseshoeProbit
from .gibbs_steps import measure_naive, measure_proposals, measure_public_code, slopes
from .papers import Paper

_BLOCK_ROWS = 4096
_MOST_SECONDS = 26
_INTERVAL = 1.645  # 90 % of a normal

Floats = NDArray[np.float64]
Size = tuple[int, int]


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # poor mixing is what is measured
        return Paper.named("horseshoe").run(_study, arguments)


def _study(study: Study, paper: Paper) -> None:
    _measure_time(study, paper)
    measure_proposals(study)
    measure_naive(study)
    measure_public_code(study)
    _measure_synthetic(study)
    _measure_mixing(study)
    _measure_rare_events(study, paper)


# --- Figure 1 ---------------------------------------------------------------------------------------------------------


def _measure_time(study: Study, paper: Paper) -> None:
    """Figure 1: the time of 10,000 iterations by size of the data."""
    rows: Sequence[int] = study.pick((1000,), (1000, 10_000, 100_000), (1000, 10_000, 100_000, 1_000_000))
    columns: Sequence[int] = study.pick((10, 50), (10, 100, 1000), (10, 100, 1000, 10_000))
    largest: float = study.pick(1e5, 1e7, 1e9)
    sizes = [(n, p) for p in columns for n in rows if n * p <= largest]
    points = paper.points
    published = (
        [(n, p) for name in ("gpu", "workstation") for n, p, _ in points[name]] if study.profile == "gpu" else []
    )
    sizes = list(dict.fromkeys([*published, *sizes]))  # the paper's first: what comes late may be left out
    iterations = points["iterations"]
    study.section(
        "Figure 1: time by size of the data",
        f"Seconds of {iterations:,} iterations of one chain, from a shorter run: the kernel gibbs on standard normal "
        f"X, and the same sampler in NumPy with BLAS on one thread and on {host_cores()} cores. The paper's laptop "
        "ran R on a Core i5 3210M, its workstation Scala on 16 cores of two Xeon E5-2650, its GPU is a Titan X. "
        "Figure 1 is an image that is lost in our text; the paper's points are those that the text has (its laptop's "
        "largest size is (1000, 100) in one sentence, and (10,000, 1000) in another). (1,000,000, 10,000) was too "
        "large for its GPU, and takes long here.",
    )
    ours: dict[str, dict[Size, float]] = {name: {} for name in ("device", "NumPy, one thread", "NumPy, all cores")}
    products: dict[Size, float] = {}
    table = []
    began = time.perf_counter()
    for n, p in sizes:
        if time.perf_counter() - began > _MOST_SECONDS:
            study.text(f"({n:,}, {p:,}) is left out: the sizes before have taken {_MOST_SECONDS} s.")
            continue
        try:
            each, sweep = time_iterations(study.engine.device_infos, n, p, Options(kernel="gibbs", chains=1), 0.3)
        except QuintetError as error:
            study.text(f"({n:,}, {p:,}): {error}")
            continue
        ours["device"][n, p], products[n, p] = iterations * each, sweep / each
        if p <= 1000:
            all_cores, one_thread = _blas_seconds(n, p)
            ours["NumPy, one thread"][n, p] = iterations * one_thread
            ours["NumPy, all cores"][n, p] = iterations * all_cores
        table.append(
            (
                f"{n:,}",
                f"{p:,}",
                *(_published(points[name], n, p) for name in ("gpu", "workstation", "laptop")),
                *(f"{found[n, p]:.4g}" if (n, p) in found else None for found in ours.values()),
                f"{100 * products[n, p]:.0f}",
            )
        )
    names = ("rows N", "columns p", "paper, GPU", "paper, 16 cores", "paper, laptop", *ours)
    study.table(
        f"Seconds of {iterations:,} iterations",
        (*names, "% in products with X"),
        table,
        "the device without the host's start; a pass over the rows is timed by itself, so its share may exceed 100 %",
    )
    lines: dict[str, dict[float, float]] = {}
    for p in sorted({p for _, p in sizes}):
        lines[f"device, p = {p:,}"] = {n: seconds for (n, q), seconds in ours["device"].items() if q == p}
    for name in ("NumPy, one thread", "NumPy, all cores"):
        p = min(1000, columns[-1])
        lines[f"{name}, p = {p:,}"] = {n: seconds for (n, q), seconds in ours[name].items() if q == p}
    for name in ("gpu", "workstation", "laptop"):
        lines[f"paper: {name}, p = 1000"] = {n: seconds for n, p, seconds in points[name] if p == 1000}
    study.curves("sizes", "Seconds of 10,000 iterations by size", lines, "rows N", "seconds", "Figure 1.")
    _judge_time(study, paper, ours, products)
    _judge_streaming(study)


def _judge_streaming(study: Study) -> None:
    n, p = study.pick((2000, 20), (20_000, 100), (200_000, 1000))
    each = [
        time_iterations(study.engine.device_infos, n, p, Options(kernel="gibbs", chains=1, streaming=way), 0.3)[0]
        for way in ("never", "always")
    ]
    faster = _blas_seconds(n, p)[0] / each[1]
    seen = (
        f"with rows that stay on the host an iteration of ({n:,}, {p:,}) takes {each[1] / each[0]:.1f} times as long, "
        f"and is {faster:.2g} times as fast as NumPy's on {host_cores()} cores (ours to call it well: faster)"
    )
    study.judge("streaming", faster > 1, seen)


def _published(points: Sequence[Sequence[float]], n: int, p: int) -> str | None:
    return next((f"{seconds:g}" for rows, columns, seconds in points if (rows, columns) == (n, p)), None)


def _blas_seconds(n: int, p: int) -> tuple[float, float]:
    """Seconds of an iteration of the NumPy peer on all cores and on one; a block of rows repeats, which saves draws."""
    block = np.random.default_rng(1).standard_normal((_BLOCK_ROWS, p), dtype=np.float32)
    X = np.tile(block, (-(-n // _BLOCK_ROWS), 1))[:n]
    sampler = BlasSampler(X, 1, gram=n * np.eye(p))

    def seconds() -> float:
        times: list[float] = []
        while len(times) < 2 or sum(times) < 0.2:
            began = time.perf_counter()
            sampler.step()
            times.append(time.perf_counter() - began)
        return min(times)

    all_cores = seconds()
    with threadpool_limits(1):
        return all_cores, seconds()


def _judge_time(study: Study, paper: Paper, ours: dict[str, dict[Size, float]], products: dict[Size, float]) -> None:
    device, one, many = ours.values()
    medium, large, real = (10_000, 1000), (1_000_000, 1000), (1_295_848, 141)

    def judge(key: str, sizes: Sequence[Size], holds: Callable[[], bool | None], seen: Callable[[], str]) -> None:
        missing = [size for size in sizes if size not in device]
        if missing:
            study.judge(
                key, None, f"{missing[0][0]:,} x {missing[0][1]:,} is not measured by the profile {study.profile}"
            )
        else:
            study.judge(key, holds(), seen())

    laptop = paper.points["laptop"][0][2] * large[0] / medium[0] / 86_400
    judge(
        "days", [large], lambda: True if one[large] >= 86_400 else None,
        lambda: f"NumPy takes {one[large] / 3600:.2g} hours on one thread, {many[large] / 3600:.2g} on "
        f"{host_cores()} cores; the laptop there would take {laptop:.1f} days, at its 95 minutes for 10,000 rows",
    )  # fmt: skip
    judge("minutes", [large], lambda: device[large] <= 600, lambda: f"{device[large]:.3g} s for 10,000 iterations")
    most = max(device, key=lambda size: size[0] * size[1])
    widest = max(device, key=lambda size: (size[1], size[0]))
    seen = "; ".join(f"({n:,}, {p:,}): {device[n, p]:.3g} s" for n, p in dict.fromkeys((most, widest)))
    study.judge("scales", (most[0] >= 1e6 and widest[1] >= 1e4) or None, seen)  # sizes left out refute nothing
    ratios = {size: one[size] / device[size] for size in one}
    small = min(ratios, key=lambda size: ratios[size])
    seen = (
        f"{min(ratios.values()):.2g} to {max(ratios.values()):.3g} times as fast as NumPy on one thread, least for "
        f"({small[0]:,}, {small[1]:,})"
    )
    study.judge("laptop_all", min(ratios.values()) >= 2, f"{seen} (ours to call it many: 2)")
    study.judge("orders", max(ratios.values()) >= 100, f"{seen} (ours: 100 somewhere)")
    peer = f"{ratios[medium]:.3g} times as fast as NumPy on one thread" if medium in ratios else "not measured"
    study.judge("laptop", None, f"the peer there is R on a laptop; here {peer}")
    judge(
        "workstation", [large], lambda: many[large] / device[large] >= 35.5,
        lambda: f"{many[large] / device[large]:.3g} times as fast as NumPy on {host_cores()} cores",
    )  # fmt: skip
    steps = [(n, p) for n, p in sorted(device, key=lambda size: size[::-1]) if n >= 10_000 and (10 * n, p) in device]
    growth = {size: device[10 * size[0], size[1]] / device[size] for size in steps}
    text = ", ".join(f"({n:,}, {p:,}) {ratio:.2f}" for (n, p), ratio in growth.items())
    study.judge("tenfold", all(ratio < 10 for ratio in growth.values()) if growth else None, text or "not measured")
    tenth = (100_000, 1000)
    judge(
        "tenfold_cpu", [large, tenth], lambda: many[tenth] / device[large] >= 2.2,
        lambda: f"{many[tenth] / device[large]:.3g} times as fast",
    )  # fmt: skip
    judge(
        "products", [medium, large], lambda: products[large] >= 0.8,
        lambda: f"{100 * products[large]:.0f} % for (1,000,000, 1000), its largest (ours to call it nearly all: 80 %); "
        f"{100 * products[medium]:.0f} % for (10,000, 1000), where the rest is the p x p factor",
    )  # fmt: skip
    judge("real_time", [real], lambda: device[real] <= 176.4, lambda: f"{device[real]:.3g} s")


# --- synthetic data ---------------------------------------------------------------------------------------------------


def _signals(n: int, p: int, seed: int) -> HorseshoeProbit:
    """Independent columns, six of which matter, with coefficients up to 5."""
    random = np.random.default_rng(seed)
    beta = np.zeros(p)
    beta[:6] = (1.3, 4.0, -1.0, 1.6, 5.0, -2.0)
    X = random.standard_normal((n, p))
    return HorseshoeProbit(X, X @ beta + random.standard_normal(n) > 0, name=f"six signals {n}x{p}")


def _measure_synthetic(study: Study) -> None:
    n, p = study.pick((4000, 12), (4000, 50), (20_000, 200))
    study.section(
        "Synthetic data with a known answer",
        f"{n:,} rows, {p} independent columns, six of which matter (coefficients -2 to 5; the formula of the paper's "
        "data is lost in our text).",
    )
    problem = _signals(n, p, study.seed + 4)
    result = study.engine.solve(problem, seed=study.seed, draws=study.pick(100, None, 500), time_limit=30)
    _judge_sorting(study, problem, result)
    mean, sd = slopes(result, "mean")[:p], slopes(result, "sd")[:p]
    found = np.abs(mean) > _INTERVAL * sd
    noise = float(np.abs(mean[6:]).max())
    study.judge(
        "identified",
        bool(found[:6].all() and noise < 0.1),
        f"{int(found[:6].sum())} of 6 have 90 % intervals without 0, {int(found[6:].sum())} of {p - 6} others; the "
        f"largest mean of these is {noise:.3f} (ours to call it zero: 0.1)",
    )


def _judge_sorting(study: Study, problem: HorseshoeProbit, result: Result) -> None:
    """Warps of 32 rows whose proposals are all of one kind, as the rows are and sorted by X beta of an earlier draw."""
    kept = [at for at, name in enumerate(result.arrays["names"]) if str(name) != "intercept"][: problem.X.shape[1]]
    X, y = np.asarray(problem.X, np.float64), np.asarray(problem.y, bool)
    earlier, later = (X @ result.arrays["beta"][0, at, kept] for at in (0, -1))
    gaussian = np.where(y, later, -later) > CROSSOVER
    alike = []
    for order in (np.arange(len(y)), np.argsort(earlier)):
        counts = gaussian[order][: len(y) // 32 * 32].reshape(-1, 32).sum(axis=1)
        alike.append(100 * float(np.isin(counts, (0, 32)).mean()))
    seen = f"{alike[0]:.0f} % of them as the rows are, {alike[1]:.0f} % sorted; rows of one X beta differ in y"
    study.judge("sorting", alike[1] > 50, seen)


def _measure_mixing(study: Study) -> None:
    """Autocorrelation and effective draws per iteration of each kernel."""
    n, p = study.pick((200, 10), (2000, 20), (2000, 20))
    draws: int = study.pick(200, 2000, 1500)
    study.section(
        "Mixing",
        f"Six signals among {p} columns, {n} rows; four chains with {draws} draws each. The time of an iteration says "
        "little if the chain hardly moves in it.",
    )
    problem = _signals(n, p, study.seed + 4)
    rows = []
    worst_lag: dict[str, float] = {}
    spent: dict[str, float] = {}
    curves: dict[str, dict[float, float]] = {}
    for kernel in ("gibbs", "px", "hmc"):
        result = study.engine.solve(problem, kernel=kernel, draws=draws, seed=study.seed)
        lags = _lag_ones(result)
        beta = result.arrays["beta"][:, :, int(lags.argmax())]
        curves[kernel] = {k: _autocorrelation(beta, k) for k in range(min(50, draws // 4))}
        least = float(np.nanmin(result.arrays["ess_bulk"]))
        worst_lag[kernel], spent[kernel] = float(lags.max()), 4 * draws / least
        shown = f"{lags.min():.2f}", f"{lags.max():.2f}", f"{spent[kernel]:.1f}", f"{result.seconds:.1f}"
        rows.append((kernel, *shown, f"{least / result.seconds:.1f}"))
    study.table(
        "Autocorrelation of the coefficients",
        ("kernel", "least lag 1", "largest lag 1", "draws per effective draw", "seconds", "effective draws per second"),
        rows,
        "of the coefficient that mixes worst, warm-up included in the seconds",
    )
    caption = "Autocorrelation of the coefficient that mixes worst; the paper has no such figure."
    study.curves("mixing", "Autocorrelation by lag", curves, "lag", "autocorrelation", caption, "linear linear")
    seen = f"{spent['gibbs']:.0f} draws for an effective one"
    study.judge("poor_mixing", spent["gibbs"] > 100, f"{seen} on these data already (ours to call it poor: 100)")
    seen = f"{spent['hmc']:.1f} draws for an effective one in place of {spent['gibbs']:.0f}"
    study.judge("hmc", spent["hmc"] < spent["gibbs"] / 2, f"{seen} (this solver's default)")


def _lag_ones(result: Result) -> Floats:
    beta = result.arrays["beta"]
    return np.array([_autocorrelation(beta[:, :, j], 1) for j in range(beta.shape[2])])


def _autocorrelation(draws: Floats, lag: int) -> float:
    """Of one quantity; ``draws`` has shape (chains, draws)."""
    centred = draws - draws.mean()
    if lag == 0:
        return 1.0
    return float((centred[:, lag:] * centred[:, :-lag]).mean() / (centred**2).mean())


# --- rare events ------------------------------------------------------------------------------------------------------


def _rare_events(n: int, p: int, ones: float, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Rows like the paper's private ones: correlated columns, a fifth of which do not matter, and few ones."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p), dtype=np.float32)
    X += 0.5 * random.standard_normal((n, 1), dtype=np.float32)
    beta = random.uniform(0.03, 0.12, p) * random.choice([-1.0, 1.0], p)
    beta[: p // 5] = 0
    score = X @ beta.astype(np.float32) + random.standard_normal(n, dtype=np.float32)
    return X, (score > np.quantile(score, 1 - ones)).astype(np.int8)


def _fitted_probit(X: NDArray[np.float32], y: NDArray[np.int8]) -> Floats:
    """The maximum of the likelihood, the intercept first, by Fisher scoring."""
    from scipy.special import log_ndtr, ndtri

    design = np.hstack([np.ones((len(y), 1), np.float32), X])
    beta = np.zeros(design.shape[1])
    beta[0] = ndtri(y.mean())
    for _ in range(8):
        eta = (design @ beta.astype(np.float32)).astype(np.float64)
        log_density = -0.5 * eta**2 - 0.5 * math.log(2 * math.pi)
        up, down = np.exp(log_density - log_ndtr(eta)), np.exp(log_density - log_ndtr(-eta))
        weighted = design * (up * down)[:, None].astype(np.float32)
        gradient = (design.T @ np.where(y == 1, up, -down).astype(np.float32)).astype(np.float64)
        beta = beta + np.linalg.solve((weighted.T @ design).astype(np.float64), gradient)
    return beta


def _log_loss(eta: Floats, y: NDArray[np.int8]) -> Floats:
    """Of each row."""
    from scipy.special import log_ndtr

    return np.asarray(-log_ndtr(np.where(y == 1, eta, -eta)))


def _measure_rare_events(study: Study, paper: Paper) -> None:
    """Section 6.2: generated data in place of the private data."""
    n, p = study.pick((2000, 10), (20_000, 40), (200_000, 141))
    ones: float = paper.points["ones"] if study.profile == "gpu" else 0.03
    draws: int = study.pick(200, 2000, 3000)
    study.section(
        "Figure 2: rare events",
        f"The paper's data (N = 1,295,848, p = 141, mean of y 0.0048) are private. In their place: {n:,} generated "
        f"rows, {p} columns with a common factor, mean of y {ones:g}, a fifth of the coefficients 0, the others 0.03 "
        f"to 0.12. The kernel gibbs from beta = 0, {draws:,} draws of each of four chains; columns are standardized, "
        "and there is an intercept. Another fifth of rows is held out. The published traces are an image that is "
        "lost in our text.",
    )
    X, y = _rare_events(n * 5 // 4, p, ones, study.seed)
    problem = HorseshoeProbit(X[:n], y[:n], name="rare events")
    gibbs: dict[str, Any] = {"kernel": "gibbs", "initial": (0.0,) * (p + 1), "warmup": 0, "seed": study.seed}
    cold = study.engine.solve(problem, draws=draws, **gibbs)
    exact = study.engine.solve(problem, seed=study.seed, time_limit=study.pick(5, 30, 10))
    names = [str(name) for name in exact.arrays["names"]][: p + 1]
    mean, sd = exact.arrays["mean"][: p + 1], exact.arrays["sd"][: p + 1]
    reached = _equilibrium(cold.arrays["beta"], mean, sd)
    typical = np.median(_lag_ones(cold))
    chosen = [names.index("intercept"), *(at for at, name in enumerate(names) if name != "intercept")][:3]

    traces: dict[str, dict[float, float]] = {
        names[at]: dict(
            zip(range(1, 2001, 10), (cold.arrays["beta"][0, :2000:10, at] - mean[at]) / sd[at], strict=False)
        )
        for at in chosen
    }
    title, caption = "Traces of the intercept and two coefficients from a cold start", "Figure 2: ours only."
    study.curves("traces", title, traces, "iteration", "distance from the mean, in sd", caption, "linear symlog")
    rows = [
        (
            name,
            f"{result.seconds:.1f}",
            f"{np.nanmin(result.arrays['ess_bulk']):.0f}",
            f"{np.nanmax(result.arrays['r_hat']):.3f}",
        )
        for name, result in (("gibbs, cold start", cold), ("default (hmc)", exact))
    ]
    study.table("Runs", ("kernel", "seconds", "least effective draws", "largest R-hat"), rows)
    median, last = int(np.median(reached)), int(reached.max())
    study.judge(
        "cold_start",
        (last <= 200) or None,  # other data refute nothing
        f"the data are private; of generated data half of the coefficients are within 3 sd of the mean (ours) after "
        f"{median} iterations, all but "
        f"{int((reached >= draws).sum())} of {len(reached)} after {int(reached[reached < draws].max(initial=0))} of "
        f"{draws:,}",
    )
    low, high = paper.points["autocorrelation"]
    seen = f"the data are private; {typical:.3f} for the median coefficient of generated data"
    study.judge("lag_one", bool(low <= typical <= high) or None, seen)
    beta = cold.arrays["beta"]
    half = beta[:, draws // 4 :].mean(axis=(0, 1))
    apart = np.abs(half - mean) / sd
    study.judge(
        "long_run",
        bool(apart.max() <= 0.5),
        f"of generated data the means of draws after the first quarter are {np.median(apart):.2f} sd (median), at most "
        f"{apart.max():.1f} sd, from those of the default kernel (ours to call it nearly identical: 0.5)",
    )
    means, spreads = slopes(exact, "mean")[:p], slopes(exact, "sd")[:p]
    dropped = float((np.abs(means) <= _INTERVAL * spreads).mean())
    seen = f"the data are private; {100 * dropped:.0f} % of generated data in which a fifth of the coefficients are 0"
    study.judge("shrunk", None, seen)
    held, outcome = X[n:], y[n:]
    fitted = _fitted_probit(X[:n], y[:n])
    at = names.index("intercept")
    by_mean = held @ means.astype(np.float32) + mean[at]
    by_fit = held @ fitted[1:].astype(np.float32) + fitted[0]
    gains = _log_loss(by_fit, outcome) - _log_loss(by_mean, outcome)
    gain, error = float(gains.mean()), float(gains.std() / math.sqrt(len(gains)))
    base = float(_log_loss(by_fit, outcome).mean())
    study.judge(
        "prediction",
        (gain > 2 * error) or None,
        f"the data are private; of generated data the held-out log loss of the posterior mean is "
        f"{100 * gain / base:.2f} % less than that of maximum "
        f"likelihood, with a standard error of {100 * error / base:.2f} % (ours: two of them)",
    )


def _equilibrium(beta: Floats, mean: Floats, sd: Floats) -> NDArray[np.int64]:
    """For each coefficient the iteration from which on the first chain comes within 3 sd of the mean; all, if never."""
    close = np.abs(beta[0] - mean) <= 3 * sd
    reached: NDArray[np.int64] = np.where(close.any(axis=0), close.argmax(axis=0), beta.shape[1])
    return reached
