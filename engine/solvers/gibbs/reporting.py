"""What a run says: of the data, columns by name and what they do to the posterior; of the draws, as events."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from ...devices.info import bytes_text
from ...errors import DataWarning
from ...util.text import counted
from .checkpoint import RunState
from .design.lines import Lines
from .design.matrix import Design
from .draws.diagnostics import Mixing, diagnose
from .moves.conjugate import MOST_STEPS
from .options import Options

Floats = NDArray[np.float64]
_DIAGNOSE_INTERVAL = 2.0
_DIAGNOSED = 2000
_MARK_SECONDS = 2.0
_TRACE_INTERVAL = 0.1
_LEAST_SPREAD = 0.1  # of a target that is not standardised, without a warning


def report_design(run: RunContext, design: Design, options: Options, asked: str) -> None:
    """Columns left out, a unit that does not fit the prior, a prior and a kernel that are not the default."""
    active = set(design.active.tolist())
    left = [name for column, name in enumerate(design.problem.names) if column not in active]
    if left:
        why = "constant ({}) and not identified beside an intercept" if options.intercept else "0 in every row ({})"
        message = (
            f"{len(left)} column{'s are' if len(left) > 1 else ' is'} {why.format(_some(left))}; 0 is reported for "
            f"{'their coefficients' if len(left) > 1 else 'its coefficient'}"
        )
        run.warn(DataWarning(message))
    _report_unit(run, design, options)
    if options.prior != "horseshoe":
        run.notice(f"the prior of the coefficients: {options.chosen_prior.describe()}")
    if asked == "auto" and options.kernel != "hmc":
        columns, rows = design.layout.columns, design.layout.rows
        of_rows = f"it factorises matrices of the {rows:,} rows"
        how = "it solves for the coefficients by conjugate gradients" if options.kernel == "cg" else of_rows
        run.notice(f"kernel = {options.kernel}: matrices of the {columns:,} columns would be large; {how}")


def _report_unit(run: RunContext, design: Design, options: Options) -> None:
    """With as many columns as rows sigma may be anything between that of its prior and that of the target."""
    y, layout = design.problem.y, design.layout
    if options.standardize or design.problem.family not in ("normal", "student") or layout.columns < layout.rows:
        return
    spread = float(np.std(y))
    if not _LEAST_SPREAD <= spread <= 1.0 / _LEAST_SPREAD:
        message = (
            f"y has a standard deviation of {spread:.3g}, the priors of sigma and tau have the scales 1 and "
            f"{options.tau_scale:g} in its unit, and there are as many columns as rows: the result depends on this "
            "unit, and chains may not mix; use standardize = true or another unit"
        )
        run.warn(DataWarning(message))


def report_lines(run: RunContext, design: Design, lines: Lines, beside_intercept: Sequence[int]) -> None:
    """Collinear and separable columns, by name; those ``beside_intercept`` separate the classes together with it."""
    bounded = bool(design.slab.any())
    groups = [[design.name(column) for column in lines.members(line)] for line in range(lines.nulls)]
    for members in groups[:10]:
        run.notice(
            f"{_some(members)} are exactly collinear beside the intercept: the data do not determine the coefficients "
            "of all of them, only the prior does"
        )
    if lines.separable:
        names = [design.name(column) for column in lines.separable]
        message = (
            f"{counted(len(names), 'column')} ({_some(names)}) "
            f"{'have' if len(names) > 1 else 'has'} an unusual value in rows of one class only: the coefficient is "
            "bounded on one side by the prior alone" + ("" if bounded else " and has no mean")
        )
        run.warn(DataWarning(message))
    if (lines.separating or beside_intercept) and not bounded:
        names = [design.name(column) for column in lines.separating or beside_intercept]
        separates = f"separates the classes (its largest coefficients: {_some(names)})"
        run.warn(
            DataWarning(
                f"a combination of columns {separates}: only the prior bounds its length, and the coefficients have "
                "medians and intervals but no means; prior = regularized gives them means"
                if lines.separating
                else f"a combination of columns and the intercept {separates}: only the priors bound its length, so "
                "intervals are wide and many draws are needed; prior = regularized has a tighter bound"
            )
        )


def report_missed(run: RunContext, pairs: Sequence[tuple[str, str]]) -> None:
    """Columns that are nearly copies, of which chains may have missed a mode."""
    for first, second in pairs[:10]:
        message = (
            f"'{first}' and '{second}' are nearly copies of each other, and their difference explains the target "
            "better than the draws do: there is a mode with large coefficients of opposite sign that the chains have "
            "not found; replace one of the columns by the difference"
        )
        run.warn(DataWarning(message))


def _some(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:5]) + (", ..." if len(names) > 5 else "")


def report_streamed(run: RunContext, design: Design, streamed: Sequence[str]) -> bool:
    """The devices that X is sent to at every iteration; whether there are any."""
    if streamed:
        size = design.layout.pitch * design.layout.stride * (4 if design.storage == "float32" else 2)
        run.notice(
            f"X ({bytes_text(size)}) is sent from host memory to {', '.join(streamed)} at every iteration; "
            "about a second for 25 to 50 GB. More chains share each pass",
            level="warning",
        )
    return bool(streamed)


# --- the draws --------------------------------------------------------------------------------------------------------


class Rate:
    """Iterations a second of late: since the last but one of marks; the first is set once all is compiled."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = []

    def at(self, now: float, step: int) -> float | None:
        """The rate, or None before the second call."""
        if not self._marks or now - self._marks[-1][0] > _MARK_SECONDS:
            self._marks = [*self._marks[-1:], (now, step)]
        since, first = self._marks[0]
        return (step - first) / (now - since) if step > first and now > since else None


class Reporter:
    """The events of a run's draws, and when the last ones were, in seconds of a monotonic clock."""

    def __init__(self, options: Options, run: RunContext) -> None:
        self._options, self._run = options, run
        self._traced_at, self._diagnosed_at = 0.0, time.monotonic()
        self.rate = Rate()
        self.has_lines = False

    def failures(self, count: int) -> None:
        """What happened to the chains where matrices could not be factorised, or systems not be solved."""
        kernel = self._options.kernel
        if kernel == "cg":
            text = (
                f"{count} solutions by conjugate gradients did not reach the tolerance in {MOST_STEPS} steps; in each "
                "of these iterations the chain kept its coefficients. The option slab bounds the prior variances that "
                "slow them down"
            )
        else:
            outcome = "its trajectory was rejected" if kernel == "hmc" else "the chain kept its coefficients"
            text = (
                f"{count} Cholesky factorisations of a chain's matrix failed; in each of these iterations {outcome}: "
                "X has columns that nearly depend on each other"
            )
        self._run.notice(text, level="warning")

    def mixing(self, found: Mixing) -> None:
        """R-hat, ESS, and ESS a second as metrics."""
        self._run.metric("r_hat", found.r_hat)
        self._run.metric("ess", found.ess)
        self._run.metric("ess_per_second", found.ess / max(1e-9, self._run.elapsed))

    def trace(self, state: RunState, iteration: int, row: Floats) -> None:
        """At intervals, the latest values of the traced coefficients and of log tau, chain by chain."""
        now = time.monotonic()
        if now - self._traced_at < _TRACE_INTERVAL:
            return
        self._traced_at, q = now, state.design.layout.columns
        names = ["intercept", *state.design.problem.names]
        values = state.design.unscaled(row[:, :q])[:, state.start.traced]
        for chain in range(min(len(row), 16)):
            self._run.trace("log_tau", iteration, [float(-0.5 * np.log(row[chain, q]))], chain)
            for place, number in enumerate(state.start.traced.tolist()):
                self._run.trace(names[number], iteration, [float(values[chain, place])], chain)

    def progress(self, state: RunState, total: int) -> None:
        """Progress, speed, and at intervals how well the chains mix."""
        now, step, run, options = time.monotonic(), state.iteration, self._run, self._options
        rate = self.rate.at(now, step)
        if rate is not None:
            run.metric("iterations_per_second", rate)
        if step > state.warmup and options.draws is not None and now - self._diagnosed_at >= _DIAGNOSE_INTERVAL:
            self._diagnose(state)
        if step <= state.warmup and step:
            run.progress("warm-up", step, state.warmup, "iterations")
            if rate is not None:
                run.metric("eta", (total - step) / rate)
            return
        wanted = total - state.warmup
        if options.draws is None and state.convergence.expected:
            wanted = min(wanted, max(step - state.warmup, state.convergence.expected * options.thin))
        run.progress("sampling", step - state.warmup, wanted, "iterations")
        if rate is not None:
            run.metric("eta", (state.warmup + wanted - step) / rate)

    def _diagnose(self, state: RunState) -> None:
        latest = state.draws.tail(state.start.traced, _DIAGNOSED)
        every = state.draws.every
        log_tau = -0.5 * np.log(state.statistics.tail(np.array([0]), _DIAGNOSED * every)[:, ::every])
        count = min(latest.shape[1], log_tau.shape[1])
        if count >= 8:
            found = diagnose(np.concatenate([latest[:, -count:], log_tau[:, -count:]], axis=2))
            if np.isfinite(found.r_hat).any():
                ess = float(np.nanmin(found.ess_bulk)) * state.draws.count / count / every
                self.mixing(Mixing(ess, float(np.nanmax(found.r_hat)), state.convergence.watched))
        self._diagnosed_at = time.monotonic()
