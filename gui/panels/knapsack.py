"""The dashboard of the knapsack: the moving range of capacities, each device's part of it, speed, and the items."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.problem import Problem
from engine.base.result import Result
from engine.events import Finished, Incumbent, Metric, Progress, Started
from engine.util.text import share_text, short_number_text, value_text
from gui.panels.base import Panel
from gui.plot.charts import BandPlot, Bars
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.scatter import ScatterPlot

_MOST_POINTS = 5000


class KnapsackPanel(Panel):
    """Items done, cells a second, the active range as in the paper's Figure 4, best value, chosen items."""

    solver = "knapsack"

    def build(self) -> None:
        self._page = page = self.page("Table", columns=3)
        self._more = more = self.page("Details", columns=2)
        self.band = self.figure(
            BandPlot, page, "Active capacities", "of each device", y_title="capacity", key="active range", wide=2
        )
        self.picture = self.figure(
            *(ScatterPlot, page, "Items"), key="item picture", x_title="weight", y_title="profit", wide=2, optional=True
        )
        self.shares = self.figure(Bars, page, "Share of the active capacities", key="share")
        self.items = self.figure(LivePlot, page, "Items done", y_title="items", key="items_done")
        self.cells = self.figure(LivePlot, page, "Cell updates", "cells/s", key="cells_per_second")
        self.best = self.figure(
            LivePlot, page, "Value and bound", "profit", key="objective", from_zero=False, whole=True
        )
        self.value = self.figure(LivePlot, more, "Best value of the items done", "profit", key="best_value")
        self.exchanged = self.figure(LivePlot, more, "Exchanged between devices", "bytes", key="exchanged")
        self.phases = self.figure(LivePlot, more, "Progress of each phase", "%", key="progress", top=100.0)
        self.over = self.figure(LivePlot, more, "Share of each device", "%", key="share over time", top=100.0)
        self.tiles = self.figure(
            LivePlot, more, "Tiles of the sparse table", "tiles", key="active_tiles", optional=True
        )
        self.follow(self.items, "items_done", names=["items"])
        self.follow(self.cells, "cells_per_second")
        self.follow(self.value, "best_value", names=["value"])
        self.follow(self.exchanged, "exchanged_bytes", names=["bytes so far"])
        self.follow(self.over, "share", scale=100.0)
        self.follow(self.tiles, "active_tiles")
        self._swept = False
        self._low: dict[str, float] = {}
        self.route("range_low", self._range_low)
        self.route("range_high", self._range_high)
        self.route("share", self._share)
        self.chosen = self.figure(
            *(Listing, self.page("Items", columns=1), "Chosen items"),
            key="items",
            empty="The chosen items are listed when the run ends.",
        )
        self.add_device_page()
        self.tile("Items")

    def on_started(self, event: Started) -> None:
        """A bar for each device, in the pool's order; one alone shares nothing."""
        self._compare_devices()
        for index, label in enumerate(event.devices):
            self.shares.put(label, 0.0, self.theme.colour(index))

    def _compare_devices(self) -> None:
        self._page.reveal(self.shares, len(self.devices) > 1)
        for plot in (self.over, self.exchanged):
            self._more.reveal(plot, len(self.devices) > 1)

    def _range_low(self, event: Metric) -> None:
        self._low[event.device or ""] = event.value

    def _range_high(self, event: Metric) -> None:
        device = event.device or ""
        if device in self._low and not self._swept:
            colour = self.theme.colour(self.device_index(device))
            self.band.append(device, event.time, self._low[device], event.value, colour)

    def _share(self, event: Metric) -> None:
        device = event.device or ""
        if self._swept:  # backtracking is the work of one device
            return
        self.shares.put(device, event.value, self.theme.colour(self.device_index(device)))
        self._compare_devices()

    def on_progress(self, event: Progress) -> None:
        """A point in the curve of its phase; items done, and when all will be."""
        if event.total <= 0:
            return
        self.phases.series(event.phase).append(event.time, 100 * event.done / event.total)
        if event.phase == "items":
            self._swept = event.done >= event.total
            self.tile("Items").show_value(f"{value_text(event.done)} of {value_text(event.total)}")

    def on_incumbent(self, event: Incumbent) -> None:
        self.draw_best(self.best, event, "value", "profit, ")

    def on_finished(self, event: Finished) -> None:
        if event.status == "optimal" and event.objective is not None and self.value.curves_have_data:
            # of all items: later sweeps do not report it
            self.value.series("value").append(event.time, event.objective)
        if (items := event.counters.get("items")) and event.status == "optimal":  # else some are not done
            self.tile("Items").show_value(value_text(items))
        if cells := event.counters.get("cells"):
            self.tile("Cells").show_value(short_number_text(float(cells)))
        if event.solution is not None and self.problem is not None:
            self._list(*chosen_items(np.asarray(event.solution, np.int64), self.problem))

    def postprocessor(self) -> Callable[[Result, Problem | None], Any]:
        return _postprocess

    def on_result(self, result: Result, processed: Any) -> None:
        """The items, from the run folder; where no table was needed, a picture of them and why."""
        if processed is not None:
            self._list(*processed)
        if not self.band.curves_have_data and self.problem is not None and result.solution is not None:
            self._show_picture(self.problem, np.asarray(result.solution, np.int64))
        route = result.arrays.get("route")
        if route is not None and not result.counters.get("cells"):
            text = f"No table was needed: {route.item()}."
            self.shares.hint(text)
            for plot in (self.items, self.cells, self.phases, self.over, self.exchanged, self.value):
                plot.explain(text)

    def _show_picture(self, problem: Any, chosen: NDArray[np.int64]) -> None:
        """The items in the plane in place of the table's range, which was never reported."""
        profits, weights, _ = _first_constraint(problem)
        count = len(weights)
        step = max(1, count // _MOST_POINTS)
        taken = np.zeros(count, bool)
        taken[chosen] = True
        weights, profits, taken = weights[::step], profits[::step], taken[::step]
        self.picture.set_groups(
            [("chosen", weights[taken], profits[taken]), ("left out", weights[~taken], profits[~taken])]
        )
        self.picture.set_unit("" if step == 1 else f"one in {step} of {value_text(count)}")
        self.picture.hint("")
        self._page.reveal(self.band, False)

    def _list(self, rows: list[tuple[Any, ...]], unit: str) -> None:
        self.chosen.put(["item", "profit", "weight", "profit / weight"], rows)
        self.chosen.set_unit(unit)


def _postprocess(result: Result, problem: Problem | None) -> tuple[list[tuple[Any, ...]], str] | None:
    if result.solution is None or problem is None:
        return None
    return chosen_items(np.asarray(result.solution, np.int64), problem)


def _first_constraint(problem: Any) -> tuple[NDArray[Any], NDArray[np.int64], int]:
    """Profits in the unit that was given, and the weights and the capacity of the first constraint."""
    profits = problem.profits if problem.scale == 1 else problem.profits / problem.scale
    if hasattr(problem, "capacities"):
        return profits, problem.weights[0], problem.capacities[0]
    return profits, problem.weights, problem.capacity


def chosen_items(items: NDArray[np.int64], problem: Any) -> tuple[list[tuple[Any, ...]], str]:
    """A row for each chosen item, and a summary in one sentence; of two constraints the first counts."""
    all_profits, all_weights, capacity = _first_constraint(problem)
    profits, weights = all_profits[items], all_weights[items]
    rows = [
        (item, profit, weight, profit / weight if weight else None)
        for item, profit, weight in zip(items.tolist(), profits.tolist(), weights.tolist(), strict=True)
    ]
    return rows, (
        f"{value_text(len(rows))} items of {value_text(problem.n)}, weight {value_text(int(weights.sum()))} "
        f"({share_text(int(weights.sum()) / capacity)} of the capacity)"
    )
