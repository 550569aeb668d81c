"""The result of the sampler: the posterior from the kept draws, in numbers and as a table."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...base.result import Result, data_frame
from ...errors import InputError
from ...util.display import ROWS, Display
from ...util.text import share_text

R_HAT_LIMIT = 1.01
ESS_A_CHAIN = 100


@dataclass(frozen=True)
class Row:
    """The posterior of one coefficient: ``lower`` and ``upper`` enclose the interval, ``survives`` if it excludes 0."""

    name: str
    mean: float
    sd: float
    lower: float
    median: float
    upper: float
    r_hat: float
    ess_bulk: float
    ess_tail: float
    mcse_mean: float
    survives: bool


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Result):
    """The result of a horseshoe probit regression.

    ``solution`` is the posterior mean of the intercept and the coefficients. ``arrays`` has for each of these ``mean``,
    ``sd``, ``quantiles`` (q, 3), ``r_hat``, ``ess_bulk``, ``ess_tail``, ``mcse_mean`` and their ``names``; the kept
    draws ``beta`` (chains, draws, kept) of the coefficients numbered ``kept``, ``log_tau`` (chains, draws) and the
    statistics of the sampler; all in the units of the user's columns. With the kernel ``hmc`` ``lp`` is the
    log-likelihood at the end of each trajectory, ``energy`` the Hamiltonian of the coefficients given lambda and tau,
    and ``separable``, ``separating``, ``rare`` and ``collinear_names`` (with ``collinear_group``) name columns along
    which the posterior is hard to sample, and ``prior`` says what the prior was. Quantiles are of the draws that were
    kept, evenly thinned where all do not fit ``max_kept``.
    """

    _solution_name: ClassVar[str] = ""  # the table has the means

    @property
    def summary(self) -> list[Row]:
        """A row for each coefficient, then log tau; see :func:`summary`."""
        return summary(self)

    def display(self) -> Display:
        """The summary, with the coefficients whose interval excludes 0 first, and whether the chains have mixed."""
        display = super().display()
        if "quantiles" not in self.arrays:
            return display
        rows = self.summary
        first_other = coefficient_count([row.name for row in rows])
        coefficients = [row for row in rows[:first_other] if row.name != "intercept"]
        others = [row for row in rows[:first_other] if row.name == "intercept"] + rows[first_other:]
        coefficients.sort(key=lambda row: (not row.survives, -abs(row.mean) / max(row.sd, 1e-300)))
        shown = (others + coefficients)[:ROWS]
        level = f"{share_text(self.arrays['interval'].item())} from"
        titles = ("", "mean", "sd", level, "to", "excludes 0", "R-hat", "ESS bulk", "ESS tail", "MCSE")
        draws = ("draws", f"{self.arrays['log_tau'].shape[1]} of each of {self.counters.get('chains', 1)} chains")
        return replace(
            display,
            facts=[draws, *display.facts],
            titles=titles,
            rows=[_cells(row) for row in shown],
            total=len(rows),
            remark="" if self.warnings else verdict(self) or "",
        )

    def to_pandas(self) -> Any:
        """The summary as a pandas data frame, one row per coefficient, indexed by its name."""
        return data_frame([asdict(row) for row in self.summary]).set_index("name")


def summary(result: Result) -> list[Row]:
    """The posterior of every coefficient and of log tau, from a run's result (also one read from a run folder).

    Raises
    ------
    engine.errors.InputError
        If the run was stopped before the first draw.

    Examples
    --------
    >>> import numpy as np, engine
    >>> random = np.random.default_rng(1)
    >>> X = random.normal(size=(50, 2))
    >>> y = X[:, 0] + random.normal(size=50) > 0
    >>> problem = engine.HorseshoeProbit(X, y)
    >>> posterior = engine.solve(problem, draws=200)
    >>> [row.name for row in engine.posterior_summary(posterior)]
    ['intercept', 'x0', 'x1', 'log_tau']
    """
    arrays = result.arrays
    if "quantiles" not in arrays:
        raise InputError(f"there is no summary: the run was stopped before the first draw ({result.status})")
    names, (lower, median, upper) = arrays["names"].tolist(), arrays["quantiles"].T
    checks = (arrays[name] for name in ("r_hat", "ess_bulk", "ess_tail", "mcse_mean"))
    survives = ((lower > 0) | (upper < 0)) & (np.arange(len(names)) < coefficient_count(names))
    columns = (arrays["mean"], arrays["sd"], lower, median, upper, *checks, survives)
    return [Row(name, *row) for name, *row in zip(names, *(column.tolist() for column in columns), strict=True)]


def coefficient_count(names: list[str]) -> int:
    """How many quantities come before log tau, as which a column may be named too, and the family's own."""
    return len(names) - 1 - names[::-1].index("log_tau")


def verdict(result: Result) -> str | None:
    """A warning in words if the chains have not mixed, with the quantities that say so; None if they have."""
    arrays = result.arrays
    chains = int(result.counters.get("chains", 1))
    r_hat, ess = arrays["r_hat"], np.fmin(arrays["ess_bulk"], arrays["ess_tail"])
    if np.isnan(r_hat).all() or np.isnan(ess).all():
        return "there are too few draws to tell whether the chains have mixed"
    names = arrays["names"].tolist()
    worst, least = int(np.nanargmax(r_hat)), int(np.nanargmin(ess))
    parts = []
    if r_hat[worst] > R_HAT_LIMIT:
        count = int((r_hat > R_HAT_LIMIT).sum())
        shown = f"{r_hat[worst]:.3f}" if round(r_hat[worst], 3) > R_HAT_LIMIT else f"just above {R_HAT_LIMIT}"
        parts.append(
            f"the chains disagree: R-hat is {shown} for {names[worst]}"
            + (f" and above {R_HAT_LIMIT} for {count - 1} more" if count > 1 else "")
        )
    if ess[least] < ESS_A_CHAIN * chains:
        parts.append(
            f"the draws of {names[least]} are worth {ess[least]:.0f} independent ones, fewer than the "
            f"{ESS_A_CHAIN * chains} that intervals need"
        )
    stuck = [name for name, never in zip(names, np.isnan(r_hat) & (arrays["mean"] != 0), strict=True) if never]
    if stuck:
        parts.append(f"{', '.join(stuck[:5])}{', ...' if len(stuck) > 5 else ''} never changed")
    asked = []
    if "ess_target" in arrays:  # sampling was to end when these were reached
        most, fewest = arrays["r_hat_target"].item(), arrays["ess_target"].item()
        if ess[least] < fewest and not (parts and fewest == ESS_A_CHAIN * chains):
            asked.append(f"ess = {fewest:g} was asked for and {ess[least]:.0f} reached (by {names[least]})")
        if r_hat[worst] > most and not (parts and most == R_HAT_LIMIT):
            asked.append(f"r_hat = {most:g} was asked for and {r_hat[worst]:.4f} reached (by {names[worst]})")
    if "warmup" in result.counters:
        asked.append(f"the time limit cut the warm-up short, after {result.counters['warmup']:.0f} iterations")
    if not parts and not asked:
        return None
    advice = "allow more draws"
    if "ess_target" in arrays:
        advice += {"complete": " (max_draws)", "time_limit": " (time_limit)"}.get(str(result.status), "")
    if not parts:
        return f"sampling ended before its targets were reached: {'; '.join(asked)}; {advice}"
    parts += asked
    unbounded = str(arrays.get("prior", "")) and not str(arrays["prior"]).startswith("regularized")
    if unbounded and any(arrays[name].size for name in ("separable", "separating") if name in arrays):
        advice += ", or bound the tails of columns that separate the classes: prior = regularized"
    return f"do not trust the posterior yet: {'; '.join(parts)}; {advice}"


def _cells(row: Row) -> tuple[str, ...]:
    numbers = (f"{row.mean:.4g}", f"{row.sd:.3g}", f"{row.lower:.4g}", f"{row.upper:.4g}")
    checks = (_number(row.r_hat, ".3f"), _number(row.ess_bulk, ".0f"), _number(row.ess_tail, ".0f"))
    return (row.name, *numbers, "yes" if row.survives else "", *checks, _number(row.mcse_mean, ".2g"))


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
