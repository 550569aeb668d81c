"""The exact test of Gandy and Scott (2021): draws from the prior, data from the model, two iterations."""

import numpy as np
import pytest
from scipy import stats

from engine.solvers.gibbs import choice
from engine.solvers.gibbs.design.lines import find_lines
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.device.records import CHAIN
from engine.solvers.gibbs.moves import independence, local
from engine.solvers.gibbs.moves.hamiltonian import HamiltonianMoves
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeProbit, HorseshoeRegression
from tests.support.samplers import sampling, sampling_of, state_of

REPLICATES, WIDE_REPLICATES, ITERATIONS = 20_000, 6_000, 2  # wide X takes a matrix product a chain, cg launches
INTERCEPT_SCALE = 1.5
LEVEL = 1e-6  # of each statistic; a false alarm in about one of 10 000 runs of this file
X = np.array([[1.2, -0.4, 0.3], [-0.7, 0.9, 0.8], [0.5, 1.1, -1.3], [-1.4, -0.2, 0.6]])


COLLINEAR = np.column_stack(
    [
        [1.0, 0.0, 0.0, 1.0, 1.0, 0.0],  # two levels of one feature
        [0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0, 1.0, 1.0, 0.0],  # mostly 1, and 0 in a part of the second level only
        [0.5, -1.1, 0.4, -0.3, 0.9, 0.2],
        [0.5, -1.1, 0.4, -0.3, 0.9, 0.2],  # a copy
    ]
)
"""A one-hot group, a column whose two rows off the usual value half of the data separate, and a copy of a column."""

WIDE = np.array([[1.2, -0.4, 0.3, 0.9], [-0.7, 0.9, 0.8, -0.2], [0.5, 1.1, -1.3, 0.4]])
"""More columns than rows: the kernels ``gibbs`` and ``px`` take another path to beta."""

COLUMNS = {"lines": COLLINEAR, "wide": WIDE, "latent": WIDE, "local": WIDE * (3.0, 1.0, 0.3, 1.0)}
"""``latent`` is the kernel ``hmc`` where it moves latent normals, ``independent`` where it draws coefficients anew,
``local`` the kernel ``px`` where it moves lambda with beta integrated out."""

MOVES_BEFORE = 6
OFFSET = np.array([0.8, -0.5, 0.3, -1.1, 0.4, 0.9])

FAMILY_REPLICATES, FAMILY_ITERATIONS = 1200, 3
X5 = np.array([[1.2, -0.4], [-0.7, 0.9], [0.5, 1.1], [-1.4, -0.2], [0.3, 0.6]])


def prior(random, count, columns, leading, kind="horseshoe", effects=None):
    """Draws of all parameters: half-Cauchy scales through their auxiliary inverse gammas.

    ``leading`` coefficients before those of the columns are normal, of the intercept's scale.

    half_t has 3 degrees of freedom; the slab of ``regularized`` is of scale 0.5, with 4.
    """

    def inverse_gamma(shape, rate, size):
        return np.asarray(rate / random.gamma(shape, size=size))

    xi = inverse_gamma(0.5, 1.0, count)
    tau = np.sqrt(inverse_gamma(0.5, 1 / xi, count))
    nu = inverse_gamma(0.5, 1.0, (count, columns))
    lam = np.sqrt(inverse_gamma(0.5, 1 / nu, (count, columns)))
    if kind == "half_t":
        lam = np.sqrt(inverse_gamma(1.5, 3.0 / nu, (count, columns)))
    elif kind in ("lasso", "ridge"):
        lam = np.sqrt(random.exponential(2.0, (count, columns))) if kind == "lasso" else np.ones((count, columns))
    slab = 1.0 / inverse_gamma(2.0, 0.5, count)
    precision = (lam * tau[:, None]) ** -2.0
    if kind == "regularized":
        precision += effects * slab[:, None]
    beta = random.standard_normal((count, columns)) * precision**-0.5
    if leading:
        beta = np.column_stack([INTERCEPT_SCALE * random.standard_normal((count, leading)), beta])
        nu, lam = (np.column_stack([np.ones((count, leading)), array]) for array in (nu, lam))
    return {"xi": xi, "tau": tau, "nu": nu, "lam": lam, "beta": beta, "slab": slab}


def slab_precisions(columns, intercept, slab):
    """Mean square of the distances from the usual value over the slab's variance, column by column."""
    if slab is None:
        return np.zeros(columns.shape[1])
    usual = np.sort(columns, axis=0)[(len(columns) - 1) // 2] if intercept else 0.0
    apart = columns - usual
    return np.array([np.mean(column[column != 0] ** 2) for column in apart.T]) / slab**2


def bounded_prior(random, count, columns, leading, precisions, kind="horseshoe", effects=None):
    """Draws of the prior times the slab's densities, by rejection."""
    found = []
    while sum(len(part["tau"]) for part in found) < count:
        part = prior(random, count, columns, leading, kind, effects)
        likely = np.exp(-0.5 * part["beta"][:, leading:] ** 2 @ precisions)
        kept = random.random(count) < likely if precisions.any() else np.ones(count, bool)
        found.append({name: array[kept] for name, array in part.items()})
    return {name: np.concatenate([part[name] for part in found])[:count] for name in found[0]}


def lines_of(design, y):
    """The lines of the same columns with another target."""
    options, problem = Options(standardize=False, intercept=design.intercept), design.problem
    own = {"offset": problem.offset, "penalize": problem.penalized}
    other = Design.of(HorseshoeProbit(problem.X, y.astype(int), **own), options)
    rows = other.rows(0, len(y)).astype(np.float64)[:, : other.layout.columns]
    return find_lines(other, rows.T @ rows, np.ones(len(y)))


def set_of(design):
    """Some columns inside the horseshoe."""
    numbers = np.arange(design.layout.columns)
    return (numbers % 2 == 1) & (numbers >= design.first)


def advance(sampler, draws, y, first, with_lines):
    """Two iterations of chains that all have this y."""
    design = sampler.design
    X = design.problem.X
    lines = lines_of(design, y) if with_lines else None

    targets = np.where(y, 1.0, -1.0)

    def set_signs(worker):
        """A sparse design has the signs of the rows apart from its entries."""
        signs = np.zeros(worker.rows.signs.size, np.float32)
        signs[: len(X)] = targets
        worker.device.put(signs, worker.rows.signs)
        worker.moves.rescale.set_small(set_of(design))

    def work(worker):
        rows = np.zeros((worker.rows.count, worker.layout.stride), np.float32)
        rows[: len(X)] = design.rows(0, len(X)) * (design.signs(0, len(X)) * targets)[:, None]
        worker.device.put(rows.reshape(-1), worker.rows.blocks[0].buffer)
        if worker.settings.options.kernel == "hmc":
            signs = np.zeros(worker.hamiltonian.signs.size, np.float32)
            signs[: len(X)] = targets if design.intercept else 0.0
            worker.device.put(signs, worker.hamiltonian.signs)
            worker.hamiltonian.rescale.set_small(set_of(design))
        if worker.settings.wide:
            worker.wide.set_promising(design.first + np.arange(3))  # gathered from these rows
        if lines is not None:
            worker.hamiltonian.set_lines(lines)

    sampler.workers.each(set_signs if sampler.settings.options.kernel == "cg" else work)
    state = state_of(draws["beta"], draws["tau"], draws["lam"], draws["nu"], draws["xi"])
    state["chain_state"][:, CHAIN.names.index("slab_precision")] = draws["slab"]
    sampler.set_state(state)
    for step in range(first, first + ITERATIONS):
        sampler.workers.each(lambda worker, step=step: worker.moves.iterate(step))
    return sampler.state()


def p_values(
    member,
    kernel,
    seed,
    intercept=True,
    replicates=REPLICATES,
    columns=X,
    family="probit",
    slab=None,
    kind="horseshoe",
    unpenalized=0,
    offset=None,
):
    """Kolmogorov-Smirnov's p-values of each parameter after the iterations; the first columns may be unpenalized."""
    random = np.random.default_rng(seed)
    rows, p = columns.shape
    chains = 512 if rows < 6 else max(32, min(256, replicates // 78 // 32 * 32))  # 64 targets of six rows
    outside, penalized = intercept + unpenalized, p - unpenalized
    precisions = slab_precisions(columns[:, unpenalized:], intercept, slab)
    effects = slab_precisions(columns[:, unpenalized:], intercept, 1.0)
    draws = bounded_prior(random, replicates, penalized, outside, precisions, kind, effects)
    mean = draws["beta"][:, int(intercept) :] @ columns.T + (draws["beta"][:, :1] if intercept else 0.0)
    problem = {"penalize": np.arange(p) >= unpenalized, "offset": offset}
    if offset is not None:
        mean = mean + offset
        for name in ("beta", "lam", "nu"):
            draws[name] = np.insert(draws[name], int(intercept), 1.0, axis=1)
    inside = outside + (offset is not None)
    noise = random.standard_normal if family == "probit" else lambda size: random.logistic(size=size)
    y = (mean + noise((replicates, rows))) > 0
    pattern = y @ (1 << np.arange(rows))
    ends = []
    options = {"standardize": False, "intercept": intercept, "intercept_scale": INTERCEPT_SCALE, "provider": "kernels"}
    options |= {"prior": kind, "local_degrees": 3.0, "slab": 0.5 if kind == "regularized" else slab, "chains": chains}
    of_parts = {"wide": "px", "local": "px", **dict.fromkeys(("lines", "latent", "independent"), "hmc")}
    options["kernel"] = of_parts.get(kernel, kernel)
    if kernel == "cg":
        options["storage"] = "sparse"  # its signs are set apart from the entries
    with sampling(member, columns, np.arange(rows) % 2, seed, 1, family, problem, **options) as sampler:
        assert sampler.settings.wide == (kernel in ("wide", "local"))
        assert sampler.settings.latent == (kernel == "latent")
        run = 0
        for number in range(1 << rows):
            mine = np.flatnonzero(pattern == number)
            for at in range(0, len(mine), chains):
                used = np.resize(mine[at : at + chains], chains)
                chosen = {name: array[used] for name, array in draws.items()}
                state = advance(sampler, chosen, y[used[0]], run, kernel == "lines")
                ends.append({name: array[: len(mine[at : at + chains])] for name, array in state.items()})
                run += ITERATIONS
    beta, local, nu, numbers = (
        np.concatenate([end[name] for end in ends]) for name in ("beta", "local_precision", "nu", "chain_state")
    )
    state = CHAIN.view(numbers)
    tau = state["tau_precision"] ** -0.5
    lam, inner = local**-0.5, range(inside, inside + penalized)
    normal = {"intercept": beta[:, 0]} if intercept else {}
    normal |= {f"unpenalized {j}": beta[:, j] for j in range(inside - unpenalized, inside)}
    values = {name: stats.kstest(found / INTERCEPT_SCALE, "norm") for name, found in normal.items()}
    fresh_of = np.random.default_rng(seed + 1)
    if slab is not None or kind != "horseshoe":  # the prior of the parameters has no closed form then
        fresh = bounded_prior(fresh_of, replicates, penalized, outside, precisions, kind, effects)
        values["tau"] = stats.ks_2samp(tau, fresh["tau"])
        if kind == "regularized":
            values["slab"] = stats.ks_2samp(state["slab_precision"], fresh["slab"])
        for j in inner:
            values[f"beta {j}"] = stats.ks_2samp(beta[:, j], fresh["beta"][:, j])
            if kind != "ridge":
                values[f"lambda {j}"] = stats.ks_2samp(lam[:, j], fresh["lam"][:, j])
        return {name: float(value.pvalue) for name, value in values.items()}
    values["tau"] = stats.kstest(tau, stats.halfcauchy.cdf)
    for j in inner:
        values[f"lambda {j}"] = stats.kstest(lam[:, j], stats.halfcauchy.cdf)
        values[f"beta {j}"] = stats.kstest(beta[:, j] / lam[:, j] / tau, "norm")
    if kernel in ("gibbs", "px", "wide"):
        gammas = {"xi": state["xi_rate"], **{f"nu {j}": nu[:, j] for j in inner}}
        values |= {name: stats.kstest(found, stats.gamma(0.5).cdf) for name, found in gammas.items()}
    if kernel == "lines":  # functions of the members of a line, and of the data: what the margins would not show
        fresh = prior(fresh_of, 10 * replicates, penalized, outside)
        scaled, expected = beta[:, inside:] / tau[:, None], fresh["beta"][:, outside:] / fresh["tau"][:, None]
        for name, pair in {"levels": (0, 1), "nested": (1, 2), "copies": (3, 4)}.items():
            if pair[0] >= unpenalized:
                both = [draws[:, np.array(pair) - unpenalized] for draws in (scaled, expected)]
                values[f"sum of {name}"] = stats.ks_2samp(*(draws.sum(axis=1) for draws in both))
                values[f"smaller of {name}"] = stats.ks_2samp(*(np.abs(draws).min(axis=1) for draws in both))
    return {name: float(value.pvalue) for name, value in values.items()}


def targets(family, margins, auxiliary, random):
    """Targets from the model, by their definition; 3 categories, 4 degrees of freedom."""
    if family == "counts":
        size = np.exp(-2.0 * auxiliary[0])
        factors = random.gamma(size, 1.0 / size, margins.shape)
        return random.poisson(np.exp(np.minimum(margins, 12.0)) * factors).astype(float)
    if family == "ordinal":
        latent = margins + random.standard_normal(margins.shape)
        return (latent > 0).astype(float) + (latent > np.exp(auxiliary[0]))
    noise = random.standard_normal(margins.shape) if family == "normal" else random.standard_t(4.0, margins.shape)
    return margins + np.exp(auxiliary[0]) * noise


def found_in(member, kernel, replicates=None, seed=2, offset=False, **model):
    """The p-values of a case; wide X take a matrix product a chain, cg launches: fewer replicates."""
    columns, slow = COLUMNS.get(kernel, X), kernel not in ("gibbs", "px", "hmc")
    model |= {"offset": OFFSET[: len(columns)]} if offset else {}
    model |= {"replicates": replicates or (WIDE_REPLICATES if slow else REPLICATES)}
    with pytest.MonkeyPatch.context() as patch:
        if kernel == "independent":
            patch.setattr(independence, "_FEWEST_COLUMNS", 1)
            patch.setattr(HamiltonianMoves, "restart_control", with_half_a_share)
            patch.setattr(HamiltonianMoves, "iterate", with_more_drawn_anew)
        if kernel == "local":
            patch.setattr(choice, "_MOST_COLUMNS", 1)
            patch.setattr(local, "MOST_LOCAL", 3)  # of four
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


def family_p_values(member, family, seed, replicates=FAMILY_REPLICATES, columns=X5, ridge=None, kernel="gibbs"):
    """Gandy and Scott's test: every replicate has data of its own, so a chain of its own.

    With ``ridge`` the prior is a ridge of this scale of tau.
    """
    random = np.random.default_rng(seed)
    ends = {"tau": [], "intercept": [], "beta": [], "lambda": [], "auxiliary": [], "error": []}
    rows, p = columns.shape
    first = np.arange(rows, dtype=float) if family != "ordinal" else np.array([0, 1, 2, 0, 1])
    # counts of a heavy-tailed prior would often be too large for float32
    tau_scale, options = 1.0, {"chains": 1, "kernel": "hmc", "provider": "kernels", "intercept_scale": INTERCEPT_SCALE}
    ridge = 0.2 if family == "counts" else ridge
    if ridge is not None:
        tau_scale, options = ridge, options | {"prior": "ridge", "tau_scale": ridge}
    if p > rows:
        options["kernel"] = kernel
    problem = HorseshoeRegression(columns, first, family)
    with sampling_of(member, problem, seed, standardize=False, **options) as sampler:
        assert sampler.settings.wide == (p > rows and kernel == "gibbs")
        assert sampler.settings.latent == (p > rows and kernel == "hmc")
        if sampler.settings.wide:
            sampler.workers.each(lambda worker: worker.wide.set_promising(1 + np.arange(p)))
        for number in range(replicates):
            tau, lam = tau_scale * abs(random.standard_cauchy()), np.abs(random.standard_cauchy(p))
            lam = np.ones(p) if "prior" in options else lam
            beta = np.append(INTERCEPT_SCALE * random.standard_normal(), random.standard_normal(p) * lam * tau)
            law = random.standard_normal if family == "ordinal" else random.standard_cauchy
            auxiliary = [2.0 * law() if family == "ordinal" else np.log(abs(law()))]
            y = targets(family, beta[0] + columns @ beta[1:], auxiliary, random)
            state = state_of(beta[None], tau, np.append(1.0, lam)[None])
            state["auxiliary"][:, 0] = auxiliary
            sampler.workers.each(_put_target, y)
            sampler.set_state(state)
            for step in range(FAMILY_ITERATIONS):
                sampler.workers.each(lambda worker, at=FAMILY_ITERATIONS * number + step: worker.moves.iterate(at))
            found = sampler.state()
            precision = float(found["chain_state"][0, 0])
            ends["tau"].append(precision**-0.5)
            ends["intercept"].append(found["beta"][0, 0] / INTERCEPT_SCALE)
            inverse = found["local_precision"][0, 1]
            ends["beta"].append(found["beta"][0, 1] * np.sqrt(inverse * precision))
            ends["lambda"].append(inverse**-0.5)
            ends["auxiliary"].append(float(found["auxiliary"][0, 0]))
            margin = found["beta"][0, 0] + columns[1] @ found["beta"][0, 1:]
            ends["error"].append((y[1] - margin) * np.exp(-ends["auxiliary"][-1]))
    of_auxiliary = stats.norm(scale=2.0).cdf if family == "ordinal" else lambda x: stats.halfcauchy.cdf(np.exp(x))
    of_tau = stats.halfcauchy(scale=tau_scale).cdf
    laws = {"tau": of_tau, "intercept": "norm", "beta": "norm", "auxiliary": of_auxiliary}
    if p > rows and ridge is None:
        laws["lambda"] = "halfcauchy"
    if family in ("normal", "student"):
        laws["error"] = "norm" if family == "normal" else stats.t(4.0).cdf
    return {name: float(stats.kstest(ends[name], law).pvalue) for name, law in laws.items()}


def _put_target(worker, y):
    worker.device.put(y.astype(np.float32), worker.rows.target)
    if worker.design.problem.family == "counts":
        worker.device.put(y, worker.hamiltonian.auxiliary.values)
