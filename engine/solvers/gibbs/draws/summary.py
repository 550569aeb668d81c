"""From the kept draws to the posterior that a run returns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.context import RunContext
from ....base.result import Status
from ....errors import ConvergenceWarning
from ..checkpoint import RunState
from ..choice import moves_latent
from ..design.separation import missed_differences
from ..device.records import CHAIN
from ..families import constant_of_counts
from ..options import Options
from ..posterior import Posterior, verdict
from ..reporting import report_missed
from .diagnostics import Diagnostics, by_columns, diagnose


def posterior_of(
    options: Options, run: RunContext, state: RunState, status: Status, streamed: bool = False, exchanged_bytes: int = 0
) -> Posterior:
    """Moments, quantiles, diagnostics, kept draws; a notice if the chains have not mixed; the bytes are new ones."""
    draws, design = state.draws, state.design
    problem = design.problem
    counters: dict[str, int | float] = {
        "iterations": state.iteration,
        "draws": draws.count,
        "chains": options.chains,
        "passes": state.passes,
        "streamed": int(streamed),
        "failed_factorisations": state.failed,
        "exchanged_bytes": state.origin.exchanged_bytes + exchanged_bytes,
    }
    if state.warmup < options.warmup and state.iteration >= state.warmup:
        counters["warmup"] = state.warmup
    if not draws.count:
        reason = _too_early(options, run, state, status)
        return Posterior(status=status, objective=None, bound=None, solution=None, counters=counters, reason=reason)
    kept, every = draws.all(), state.statistics.all()
    log_tau, auxiliary = -0.5 * np.log(every[:, :, 0]), every[:, :, len(CHAIN.names) :]
    others = design.family.reported(auxiliary, design.target_scale)
    behind = np.concatenate([log_tau[:, :, None], others], axis=2)  # the quantities behind the coefficients
    mean, sd = draws.overall()
    outside = 0.5 * (1 - options.interval)
    levels = (outside, 0.5, 1 - outside)
    quantiles = np.concatenate(by_columns(lambda part: np.quantile(part, levels, axis=(0, 1)).T, kept))
    found = diagnose(kept)
    of_others = diagnose(behind)
    names = np.array(["intercept", *problem.names, "log_tau", *design.auxiliary_names()])
    few = behind.shape[0] * behind.shape[1] < 2
    arrays: dict[str, NDArray[Any]] = {
        "names": names,
        "feature_names": np.array([problem.names[column] for column in design.active[design.unpenalized :]]),
        "mean": np.append(mean, behind.mean(axis=(0, 1))),
        "sd": np.append(sd, np.full(len(behind.T), np.nan) if few else behind.std(axis=(0, 1), ddof=1)),
        "quantiles": np.vstack([quantiles, np.quantile(behind, levels, axis=(0, 1)).T]),
        **{name: np.append(getattr(found, name), getattr(of_others, name)) for name in Diagnostics.__annotations__},
        "kept": np.arange(problem.X.shape[1] + 1) if draws.chosen is None else draws.chosen,
        "beta": draws.some(),
        "log_tau": log_tau,
        "interval": np.array(options.interval),
        "kernel": np.array(f"{options.kernel}, X as {design.storage}"),
        "y": problem.y,
    }
    if not design.intercept:  # a column of zeros says nothing
        for name in ("names", "mean", "sd", "quantiles", *Diagnostics.__annotations__):
            arrays[name] = arrays[name][1:]
        if draws.chosen is None:
            arrays["kept"], arrays["beta"] = arrays["kept"][1:] - 1, arrays["beta"][:, :, 1:]
        else:
            arrays["kept"] = arrays["kept"] - 1
    reported = {"expansion": "expansion"} if options.kernel == "px" else {}
    if options.kernel == "hmc":
        reported = {"lp": "log_likelihood", "acceptance": "acceptance", "jumps": "jumps"}
        reported |= {} if moves_latent(design, options) else {"energy": "expansion"}
    arrays |= {name: every[:, :, CHAIN.names.index(field)] for name, field in reported.items()}
    if "lp" in arrays:  # in the units of the target
        on_device = arrays["lp"]
        arrays["lp"] = arrays["lp"] - design.total_weight * np.log(design.target_scale)
        if problem.family == "counts":  # the devices leave the terms without the margin out
            values, place = np.unique(problem.y, return_inverse=True)
            for value, repeats in zip(values, np.bincount(place, problem.weights), strict=True):
                arrays["lp"] += repeats * constant_of_counts(value, auxiliary)[:, :, 0]
        if "energy" in arrays:
            arrays["energy"] = arrays["energy"] + (on_device - arrays["lp"])
    if options.kernel == "hmc":
        arrays.update(_causes(state))
        own = auxiliary.mean(axis=(0, 1))
        report_missed(run, missed_differences(design, state.start.lines, mean, own, options.degrees))
    if others.shape[2]:
        name = {"ordinal": "thresholds", "counts": "dispersion"}.get(problem.family, "sigma")
        arrays[name] = others if problem.family == "ordinal" else others[:, :, 0]
    if problem.family == "student":
        arrays["degrees"] = np.array(options.degrees)
    arrays["prior"] = np.array(options.chosen_prior.describe())
    if options.draws is None:
        arrays |= {"ess_target": np.array(options.ess), "r_hat_target": np.array(options.r_hat)}
    if options.prior == "regularized":
        arrays["slab"] = every[:, :, CHAIN.names.index("slab_precision")] ** -0.5
    if state.scales is not None:
        arrays["log_lambda"] = state.scales.all()
    rows = len(arrays["names"]) - behind.shape[2]
    survivors = (arrays["quantiles"][:rows, 0] > 0) | (arrays["quantiles"][:rows, 2] < 0)
    counters["survivors"] = int(survivors[int(design.intercept) :].sum())
    finite = arrays["r_hat"][np.isfinite(arrays["r_hat"])]
    if finite.size:
        counters["worst_r_hat"] = float(finite.max())
    ess = np.fmin(arrays["ess_bulk"], arrays["ess_tail"])
    if not np.isnan(ess).all():
        counters["least_ess"] = float(np.nanmin(ess))
    solution = mean if design.intercept else mean[1:]
    result = Posterior(status=status, objective=None, bound=None, solution=solution, counters=counters, arrays=arrays)
    if (warning := verdict(result)) is not None:
        run.warn(ConvergenceWarning(warning))
    return result


def _too_early(options: Options, run: RunContext, state: RunState, status: Status) -> str:
    ended = "the time limit passed" if status is Status.TIME_LIMIT else "the run was stopped"
    where = f"after {state.iteration} of {options.warmup} iterations of the warm-up"
    if not state.iteration:
        where = f"before the first iteration, in the phase '{run.phase}'"
    return f"{ended} {where}, so that there are no draws"


def _causes(state: RunState) -> dict[str, NDArray[Any]]:
    """Columns along which the posterior is hard to sample, by name."""
    design, lines = state.design, state.start.lines
    groups = [lines.members(line) for line in range(lines.nulls)]
    rare = design.layout.columns <= design.layout.rows  # else every column is moved by itself
    tails = range(lines.nulls + lines.pairs, lines.count) if rare else ()
    return {
        "separable": np.array([design.name(column) for column in lines.separable], np.str_),
        "separating": np.array([design.name(column) for column in lines.separating], np.str_),
        "rare": np.array([design.name(lines.members(line)[0]) for line in tails], np.str_),
        "collinear_names": np.array([design.name(column) for group in groups for column in group], np.str_),
        "collinear_group": np.array([number for number, group in enumerate(groups) for _ in group], np.int64),
    }
