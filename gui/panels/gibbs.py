"""The dashboard of the Gibbs sampler: traces, convergence, autocorrelation, and the posterior as a forest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.base.problem import Problem
from engine.base.result import Result
from engine.events import Finished, Metric, Progress, Started, Trace
from engine.util.text import share_text, short_number_text, value_text
from gui.panels.base import Panel
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.rows import Interval, IntervalPlot
from gui.plot.series import Series

Floats = NDArray[np.float64]
_TRACES = 9
_LAGS, _RANK_BINS = 60, 20
_FEWEST_DRAWS, _MOST_DIAGNOSED, _RUNNING = 10, 1000, 25
_MOST_FOR_QUARTILES = 20_000  # draws of a chain; more change less than a pixel
_NO_POINTS = (np.zeros(0), np.zeros(0))
_R_HAT_LIMIT = 1.01
_NORMAL_QUARTILE = 0.6745
_AT_THE_END = "computed from all draws when the run ends"


class GibbsPanel(Panel):
    """Trace plots with the warm-up shaded, running R-hat and effective draws, autocorrelation, posterior intervals."""

    solver = "gibbs"

    def build(self) -> None:
        self.trace_page, page = self.page("Traces", columns=3), self.page("Convergence", columns=3)
        self.rank_page = self.page("Ranks", columns=3)
        self.traces: dict[str, LivePlot] = {}
        self.ranks: dict[str, LivePlot] = {}
        self._warmup = self._iteration = self._wanted = 0.0
        self._moments: dict[str, list[float]] = {}
        self._trace_plot("log_tau")
        plot = partial(self.figure, LivePlot, page)
        live = partial(plot, across="iteration", empty="computed every two seconds of sampling")
        limit = f"largest of the traced; limit {_R_HAT_LIMIT}"
        self.r_hat = live("R-hat", limit, y_title="R-hat", key="r_hat", from_zero=False)
        self.r_hat.mark(_R_HAT_LIMIT)
        self.ess = live("Effective draws", "of the slowest traced", y_title="draws", key="ess")
        self.rate = plot("Iterations", "of every chain", y_title="iterations/s", key="rate")
        self.follow(self.rate, "iterations_per_second", names=["iterations"])
        self.correlation = plot(
            *("Autocorrelation", "of the draws, mean of the chains"),
            y_title="autocorrelation",
            key="autocorrelation",
            across="lag",
            top=1.0,
            empty=_AT_THE_END,
            wide=2,
        )
        self.correlation.latest = False
        self.each = plot(
            *("Effective draws", "of each traced"),
            y_title="draws",
            key="ess of each",
            across="iteration",
            empty=_AT_THE_END,
        )
        self.each.legend_at = self.correlation
        self.effective_rate = plot("Effective draws per second", y_title="draws/s", key="ess rate")
        page.reveal(self.effective_rate, False)  # one value is no curve
        self.follow(self.effective_rate, "ess_per_second", names=["effective draws"])
        curves = self.effective_rate.curves
        self.route("ess_per_second", lambda _: page.reveal(self.effective_rate, len(curves[0].data) > 1))
        posterior = self.page("Posterior", columns=3)
        self.forest = self.figure(
            *(IntervalPlot, posterior, "Coefficients", "by size; pale intervals contain zero"),
            key="forest",
            x_title="coefficient",
        )
        self.forest.hint("Intervals are shown once sampling has started.")
        self.listing = self.figure(
            Listing, posterior, "Summary", key="summary", empty="The summary is listed when the run ends.", wide=2
        )
        for name in ("r_hat", "ess"):
            self.route(name, self._number)
        self.add_device_page()

    def _trace_plot(self, name: str) -> LivePlot | None:
        """The traces of a quantity; the ranks of its draws have a plot, too, and the first one's legends are all's."""
        if name not in self.traces:
            if len(self.traces) >= _TRACES:
                return None
            new = partial(self.figure, LivePlot, title=_title(name))
            trace = new(self.trace_page, unit="mean and range", key=f"trace {name}", across="iteration", y_title="")
            trace.from_zero = False
            rank = new(self.rank_page, key=f"ranks {name}", across="rank", y_title="draws", empty=_AT_THE_END)
            for plot, others in ((trace, self.traces), (rank, self.ranks)):
                plot.latest, plot.overlaid = False, plot is trace
                plot.legend_at = others.get("log_tau")
                others[name] = plot
            if self._warmup:
                trace.shade(0.0, self._warmup, "warm-up")
        return self.traces[name]

    # --- events -------------------------------------------------------------------------------------------------

    def on_started(self, event: Started) -> None:
        """The warm-up is shaded; the effective draws that end sampling are a line."""
        self._warmup = float(event.options.get("warmup") or 0)
        if self._warmup:
            for plot in self.traces.values():
                plot.shade(0.0, self._warmup, "warm-up")
        self._wanted = 0.0 if event.options.get("draws") else float(event.options.get("ess") or 0)
        if self._wanted:
            self.ess.mark(self._wanted)
            self.ess.set_unit(f"of the slowest traced; {short_number_text(self._wanted)} end sampling")

    def on_trace(self, event: Trace) -> None:
        plot = self._trace_plot(event.name)
        if plot is None or not event.values:
            return
        value = event.values[0]
        self._iteration = max(self._iteration, float(event.iteration))
        for one in (self.traces["log_tau"], plot):  # whose legend is that of all
            curve = one.series(f"chain {event.chain + 1}", self.theme.colour(event.chain), ())
        curve.append(event.iteration, value)
        if event.iteration >= self._warmup and event.name != "log_tau":
            self._note(event.name, value)

    def _note(self, name: str, value: float) -> None:
        """Running mean and sum of squares (Welford 1962) of the traced draws after the warm-up."""
        count, mean, squares = self._moments.setdefault(name, [0.0, 0.0, 0.0])
        count += 1
        apart = value - mean
        mean += apart / count
        self._moments[name] = [count, mean, squares + apart * (value - mean)]

    def _running_forest(self) -> None:
        rows = []
        for name, (count, mean, squares) in self._moments.items():
            if count > 8:
                deviation = math.sqrt(squares / (count - 1))
                rows.append(_normal_interval(name, mean, deviation))
        if rows:
            self.forest.hint("")
            self.forest.set_unit("so far, of the traced ones; by size")
            self.forest.put(sorted(rows, key=lambda row: -abs(row.middle)))

    def _number(self, event: Metric) -> None:
        if event.name == "r_hat":
            self.r_hat.series("R-hat").append(self._iteration, event.value)
            self._show_r_hat(event.value)
        else:
            self.ess.series("effective draws").append(self._iteration, event.value)
            self.tile("Effective draws").show_value(short_number_text(round(event.value)))

    def _show_r_hat(self, value: float) -> None:
        colour = self.theme.good if value <= _R_HAT_LIMIT else self.theme.warning
        self.tile("R-hat").show_value(f"{value:.3f}", colour)

    def on_progress(self, event: Progress) -> None:
        if event.unit == "iterations":
            self.tile("Phase").show_value(f"{event.phase}, {value_text(event.done)} of {value_text(event.total)}")
            if event.phase == "sampling":
                self._running_forest()

    def on_finished(self, event: Finished) -> None:
        if event.status == "complete":
            self.tile("Phase").show_value("done")
        if (worst := event.counters.get("worst_r_hat")) is not None:
            self._show_r_hat(float(worst))
            self.r_hat.set_unit(f"largest of the traced; of all {float(worst):.3f}")
        if (least := event.counters.get("least_ess")) is not None:
            slowest = short_number_text(round(least))
            self.tile("Effective draws").show_value(slowest)
            self.ess.set_unit(f"of the slowest traced; of all {slowest}")

    # --- the result ---------------------------------------------------------------------------------------------

    def postprocessor(self) -> Callable[[Result, Problem | None], Any]:
        options = self.started.options if self.started is not None else {}
        thin, wanted = int(options.get("thin") or 1), int(options.get("draws") or 0)
        live = {name: {one.name: one.data.points() for one in plot.curves} for name, plot in self.traces.items()}
        return partial(_postprocess, live, self._warmup, thin, wanted)

    def on_result(self, result: Result, processed: ProcessedResult | None) -> None:
        if processed is None:
            return
        for name, chains in processed.traces.items():
            for chain, series in enumerate(chains):
                self.traces[name].series(f"chain {chain + 1}").replace(series)
            self.traces[name].fit(at_once=False)
        for name, series in processed.correlations.items():
            self.correlation.series(_title(name)).replace(series)
        if processed.r_hat is not None and processed.ess is not None:
            self.r_hat.series("R-hat").replace(processed.r_hat)
            self.ess.series("effective draws").replace(processed.ess)
        for name, series in processed.ess_of_each.items():
            self.each.series(_title(name)).replace(series)
        for name, counts in processed.ranks.items():
            for chain, count in enumerate(counts):
                self.ranks[name].series(f"chain {chain + 1}", step=True).replace(count)
        for plot in (self.correlation, self.r_hat, self.ess, self.each, *self.ranks.values()):
            plot.fit(at_once=False)
        self.listing.put(processed.headers, processed.rows)
        self.forest.hint("")
        self.forest.set_unit(processed.unit)
        self.forest.put(processed.intervals)
        features = [row for row in processed.rows if row[0] in processed.features]
        self.tile("Away from 0").show_value(f"{sum(row[6] == 'yes' for row in features)} of {len(features)}")


@dataclass(frozen=True)
class ProcessedResult:
    """What is shown of a result: the traces of each chain, the curves, the posterior; no view of its draws."""

    traces: dict[str, list[Series]]
    correlations: dict[str, Series]
    ranks: dict[str, list[Series]]
    r_hat: Series | None
    ess: Series | None
    ess_of_each: dict[str, Series]
    headers: list[str]
    rows: list[tuple[Any, ...]]
    intervals: list[Interval]
    unit: str
    features: set[str]


def _postprocess(
    live: dict[str, dict[str, tuple[Floats, Floats]]],
    warmup: float,
    thin: int,
    wanted: int,
    result: Result,
    problem: Problem | None,
) -> ProcessedResult | None:
    """The ``live`` points of each trace and chain stay for the warm-up; after it all kept draws take their place."""
    arrays = result.arrays
    if "quantiles" not in arrays:
        return None
    names = [str(name) for name in arrays["names"].tolist()]
    kept = {names[number]: place for place, number in enumerate(arrays["kept"].tolist())}
    draws = {name: arrays["beta"][:, :, place] for name, place in kept.items()} | {"log_tau": arrays["log_tau"]}
    shown = [name for name in live if name in draws and draws[name].size]

    def every(count: int) -> int:
        """Iterations between two kept draws."""
        if result.status.stopped:
            return thin
        return thin * max(1, round((wanted or count) / max(1, count)))

    traces, correlations, ranks = {}, {}, {}
    for name in shown:
        own = np.ascontiguousarray(draws[name], float)  # a column of a large array is slow to go through
        traces[name] = [
            _whole_trace(live[name].get(f"chain {number}", _NO_POINTS), warmup, every(own.shape[1]), chain)
            for number, chain in enumerate(own, 1)
        ]
        values = autocorrelation(own, _LAGS)
        correlations[name] = Series.of(np.arange(len(values), dtype=float), values)
        ranks[name] = rank_histograms(own)
    r_hat, ess, of_each = _running_diagnostics({name: draws[name] for name in shown}, warmup, every)
    return ProcessedResult(traces, correlations, ranks, r_hat, ess, of_each, *_posterior(arrays, names, draws))


def _whole_trace(live: tuple[Floats, Floats], warmup: float, every: int, draws: Floats) -> Series:
    before = live[0] < warmup
    iterations = warmup + every * np.arange(len(draws), dtype=float)
    return Series.of(np.concatenate([live[0][before], iterations]), np.concatenate([live[1][before], draws]))


def rank_histograms(draws: Floats) -> list[Series]:
    """For each chain, how many of its draws are among each twentieth of the ranks (Vehtari et al. 2021)."""
    edges = np.linspace(0, draws.size, min(_RANK_BINS, draws.size) + 1)
    limits = np.sort(draws, axis=None)[np.ceil(edges[1:-1]).astype(int)]
    bins = len(limits) + 1
    counts = [np.bincount(np.searchsorted(limits, own, "right"), minlength=bins).astype(float) for own in draws]
    return [Series.of(edges, np.append(own, own[-1])) for own in counts]


def _running_diagnostics(
    traced: dict[str, Floats], warmup: float, every: Callable[[int], int]
) -> tuple[Series | None, Series | None, dict[str, Series]]:
    """R-hat and effective draws of growing parts of the draws, in place of the live values; then those of each."""
    count = min((one.shape[1] for one in traced.values()), default=0)
    if count < _FEWEST_DRAWS:
        return None, None, {}
    at, r_hat, ess = [], [], []
    for stop in np.unique(np.linspace(_FEWEST_DRAWS, count, _RUNNING).astype(int)).tolist():
        part = slice(0, stop, max(1, stop // _MOST_DIAGNOSED))
        found = engine.chain_diagnostics(np.stack([one[:, part] for one in traced.values()], axis=2))
        if np.isfinite(found.r_hat).any():
            at.append(warmup + stop * every(count))
            r_hat.append(np.nanmax(found.r_hat))
            ess.append(found.ess_bulk)
    x, each = np.array(at, float), np.array(ess).reshape(len(at), len(traced))
    of_each = {
        name: Series.of(x[np.isfinite(own)], own[np.isfinite(own)]) for name, own in zip(traced, each.T, strict=True)
    }
    return Series.of(x, np.array(r_hat)), Series.of(x, np.nanmin(each, axis=1)), of_each


def _posterior(
    arrays: dict[str, NDArray[Any]], names: list[str], draws: dict[str, Floats]
) -> tuple[list[str], list[tuple[Any, ...]], list[Interval], str, set[str]]:
    """Headers and rows of the summary, the intervals by size, a description of them, and which are of features."""
    level = float(arrays["interval"]) if "interval" in arrays else 0.9
    rows, intervals = [], []
    coefficients = set(names[: names.index("log_tau")])
    for i, name in enumerate(names):
        low, middle, high = (float(value) for value in arrays["quantiles"][i])
        clear = (low > 0 or high < 0) and name in coefficients
        diagnostics = (float(arrays[key][i]) for key in ("r_hat", "ess_bulk", "ess_tail", "mcse_mean"))
        mean, deviation = float(arrays["mean"][i]), float(arrays["sd"][i])
        rows.append((name, mean, deviation, low, middle, high, "yes" if clear else "", *diagnostics))
        if name in coefficients:
            if name in draws and draws[name].size:
                some = draws[name][:, :: max(1, draws[name].shape[1] // _MOST_FOR_QUARTILES)]
                inner = tuple(np.quantile(some, (0.25, 0.75)).tolist())
            else:
                inner = (mean - _NORMAL_QUARTILE * deviation, mean + _NORMAL_QUARTILE * deviation)
            intervals.append(Interval(name, middle, (inner[0], inner[1]), (low, high)))
    rows.sort(key=lambda row: (row[0] not in coefficients, -abs(float(row[1]))))
    intervals.sort(key=lambda row: -abs(row.middle))
    headers = ["name", "mean", "sd", f"{share_text(level)} from", "median", "to", "away from 0"]
    more = f"; the {IntervalPlot.MOST} largest of {len(intervals)}" if len(intervals) > IntervalPlot.MOST else ""
    return (
        [*headers, "R-hat", "ESS bulk", "ESS tail", "MCSE"],
        rows,
        intervals,
        f"by size, {share_text(level)} and 50 % intervals{more}",
        coefficients - set(names[:1]),  # the first is the intercept
    )


def _normal_interval(name: str, mean: float, deviation: float) -> Interval:
    """The middle 50 % and 90 % of a normal distribution."""
    half, most = _NORMAL_QUARTILE * deviation, 1.6449 * deviation
    return Interval(name, mean, (mean - half, mean + half), (mean - most, mean + most))


def autocorrelation(draws: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Autocorrelation of chains (chains, draws) at lags from 0 on, about each chain's own mean, averaged over them."""
    count = draws.shape[1]
    apart = draws - draws.mean(axis=1, keepdims=True)
    products = [np.einsum("ij,ij->i", apart[:, : count - lag], apart[:, lag:]) for lag in range(min(lags + 1, count))]
    covariance = np.stack(products, axis=1)
    variance = covariance[:, :1]
    scaled = np.where(variance > 0, covariance / np.where(variance > 0, variance, 1.0), 0.0)
    return np.asarray(scaled.mean(axis=0))


def _title(name: str) -> str:
    """The title of a traced quantity: a column keeps its name as it is in the file."""
    return "log tau" if name == "log_tau" else name
