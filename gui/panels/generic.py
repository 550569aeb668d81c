"""The dashboard of a solver that has none of its own: a plot for every metric it declares."""

from engine.base.solver import MetricSpec
from engine.events import Incumbent, Metric, Progress, Trace
from gui.panels.base import Panel
from gui.plot.live import LivePlot
from gui.plot.page import Page

_TRACED = 8  # components of a trace that get a curve


class GenericPanel(Panel):
    """Objective and bound, all declared metrics, traces, devices."""

    def build(self) -> None:
        self._traces: dict[str, LivePlot] = {}
        count = len(self.run.metrics) + 1
        self.overview: Page = self.page("Overview", columns=2 if count <= 6 else 3)
        self.best = self.figure(
            LivePlot, self.overview, "Objective and bound", key="objective", from_zero=False, whole=True
        )
        for spec in self.run.metrics:
            self._plot_of(spec)
        self.phase = self.figure(LivePlot, self.overview, "Progress of the phase", "%", key="progress", top=100.0)
        self.add_device_page()

    def _plot_of(self, spec: MetricSpec) -> None:
        shares = spec.unit == "share"
        unit = "%" if shares else spec.unit
        plot = self.figure(LivePlot, self.overview, spec.title, unit, log=spec.log, key=spec.name)
        self.follow(plot, spec.name, names=[spec.title], scale=100.0 if shares else 1.0)

    def on_metric(self, event: Metric) -> None:
        """A metric that was not declared gets a plot at its first event."""
        self._plot_of(MetricSpec(event.name, event.name.replace("_", " ").capitalize()))
        self._metric(event)

    def on_incumbent(self, event: Incumbent) -> None:
        self.draw_best(self.best, event, "objective")

    def on_progress(self, event: Progress) -> None:
        if event.total > 0 and not event.limit:
            self.phase.series(event.phase).append(event.time, 100 * event.done / event.total)

    def on_trace(self, event: Trace) -> None:
        key = f"trace {event.name}"
        plot = self._traces.get(key)
        if plot is None:
            title = event.name.replace("_", " ").capitalize()
            plot = self._traces[key] = self.figure(
                LivePlot, self.overview, title, key=key, across="iteration", from_zero=False
            )
        for place, value in enumerate(event.values[:_TRACED]):
            name = f"{place}" if event.chain == 0 else f"{place}, chain {event.chain}"
            plot.series(name).append(event.iteration, value)
