"""The dashboard of branch and bound: active IVMs, rates, explored shares, steals, and the solution."""

from typing import Any

import numpy as np

from engine.base.result import Result
from engine.events import Finished, Incumbent, Metric, Started, Trace
from engine.util.text import gap_text, share_text, short_number_text, value_text
from gui.panels.base import Panel
from gui.pictures.board import Board, queens_placement
from gui.pictures.gantt import Gantt
from gui.pictures.tour import Tour
from gui.plot.charts import Bars, LevelBars, Pixels
from gui.plot.figure import Figure
from gui.plot.listing import Listing
from gui.plot.live import NOTHING_REPORTED, LivePlot
from gui.plot.stacked import StackedPlot
from gui.problem.preview_data import ordered_weights

_SCHEDULES = ("Flowshop", "FlowTime", "BlockingFlowshop", "NoWaitFlowshop", "Tardiness")


class BranchAndBoundPanel(Panel):
    """Active IVMs over time as in the paper's Figure 5, speed, incumbent and bound, explored shares, steals."""

    solver = "branch_and_bound"

    def build(self) -> None:
        page, more = self.page("Search", columns=3), self.page("Stealing", columns=2)
        self.solution_page = self.page("Solution", columns=1)
        self.active = self.figure(StackedPlot, page, "Active IVMs", y_title="IVMs", key="active_ivms", wide=2)
        self.explored = self.figure(Bars, page, "Explored", "% of all leaves", key="explored", whole="all devices")
        self.nodes = self.figure(LivePlot, page, "Decomposed nodes", "nodes/s", log=True, key="nodes_per_second")
        self.best = self.figure(
            LivePlot, page, "Incumbent and bound", y_title="objective", key="objective", from_zero=False, whole=True
        )
        self.best.whole_run = True  # the first solutions are found before the search
        if self.sense == "count":
            self.best.empty = "Solutions are counted: there is no incumbent."
            self.best.hint(self.best.empty)
        self.steals = self.figure(
            LivePlot, page, "Intervals stolen", "so far", y_title="intervals", log=True, key="steals"
        )
        self.stealing = self.figure(
            LivePlot, more, "Time spent stealing or waiting for work", "%", key="stealing_share", top=100.0
        )
        self.share = self.figure(LivePlot, more, "Explored share of all leaves", "%", key="explored_share", top=100.0)
        self.levels = self.figure(LevelBars, more, "Open nodes by level", key="levels", y_title="nodes", optional=True)
        self.tried = self.figure(
            LivePlot, more, "Jobs tried", "jobs/s", log=True, key="insertions_per_second", optional=True
        )
        self.follow(self.active, "active_ivms")
        self.follow(self.nodes, "nodes_per_second")
        self.follow(self.steals, "steals")
        self.follow(self.stealing, "stealing_share", scale=100.0)
        self.share.series("all devices", self.theme.colour(7), ())
        self.follow(self.share, "explored_share", names=["all devices"], scale=100.0)
        self.follow(self.share, "explored_here", scale=100.0)
        self.route("explored_here", self._explored_here)
        self.route("explored_share", self._explored)
        self.route("insertions_per_second", self._insertions)
        self.route("exchanged_intervals", self._exchanged)
        self.route("stealing_share", self._stealing)
        self.solution: Figure | None = None
        self.ordered: Pixels | None = None
        self._solution_unit = ""
        self.add_device_page()
        self._prepare_solution()

    def _prepare_solution(self) -> None:
        """The picture that suits the problem, as soon as the problem is known."""
        if self.solution is not None or self.problem is None:
            return
        theme, kind = self.theme, type(self.problem).__name__
        if kind in _SCHEDULES:
            self.solution = Gantt(theme=theme)
        elif kind == "ATSP":
            self.solution = Tour(theme=theme)
        elif kind == "Queens":
            self.solution = Board(theme=theme)
            columns = queens_placement(int(getattr(self.problem, "n", 0)))
            if columns is None:
                self.solution.hint("There is no placement of so many queens.")
            else:
                self.solution.show_queens(columns, "one of those that are counted")
        else:
            if kind == "LinearOrdering":
                self.ordered = self.figure(
                    *(Pixels, self.solution_page, "Weights in the best order"),
                    key="ordered",
                    across="position",
                    down="position ahead",
                )
                self.ordered.hint("The matrix in the best order is shown once there is one.")
            self.solution = Listing(
                "Solution", theme=theme, key="solution", empty="The best solution is shown once there is one."
            )
        self._solution_unit = self.solution.unit
        self.add(self.solution, self.solution_page)

    def on_started(self, event: Started) -> None:
        for index, label in enumerate(event.devices):
            self.explored.put(label, 0.0, self.theme.colour(index))
        if event.resumed:  # devices count from here on; the checkpoint may be older than what was reported last
            self.explored.put_whole(None)
            self.drop_tile("Leaves explored")
            self.explored.set_unit("% of all leaves; grey: before it was resumed")
            self.steals.set_unit("since it was resumed")

    # --- events -------------------------------------------------------------------------------------------------

    def _explored_here(self, event: Metric) -> None:
        if event.device is not None:
            self.explored.put(event.device, event.value, self.theme.colour(self.device_index(event.device)))

    def _stealing(self, event: Metric) -> None:
        if event.device is not None and self.device_page is not None:
            self.device_page.timeline.add_share(event.device, "of it, stealing or waiting", event.time, event.value)

    def _explored(self, event: Metric) -> None:
        self.explored.put_whole(event.value)
        self.tile("Leaves explored").show_value(share_text(event.value))

    def _insertions(self, event: Metric) -> None:
        """Schedules are improved without a tree: a curve of its own, and why the figures of the tree are empty."""
        if not self.tried.curves:
            self._explain("The exact search does not take so many jobs: a schedule is improved instead.")
        self.tried.series("all devices").append(event.time, event.value)

    def _exchanged(self, event: Metric) -> None:
        if len(self.devices) > 1:
            curve = self.steals.series("between devices", self.theme.colour(7), self.theme.dash(2), step=True)
            curve.append(event.time, event.value)

    def on_trace(self, event: Trace) -> None:
        """The open nodes by level; a search of less than a second reports none."""
        if event.name == "open_nodes_by_level":
            self.levels.put(event.values)

    def on_incumbent(self, event: Incumbent) -> None:
        self.draw_best(self.best, event, "incumbent")
        if event.solution is not None and event.objective is not None:
            self._show_solution(event.solution)
            if self.solution is not None:
                self.solution.set_unit(f"{self._solution_unit}; {value_text(event.objective)} so far")

    def on_finished(self, event: Finished) -> None:
        if event.bound is not None and self.sense != "count":
            self.best.series("bound", step=True).append(event.time, event.bound)
        if event.gap is not None and self.sense != "count":
            self.best.set_unit(f"gap {gap_text(event.gap)}")
        if (nodes := event.counters.get("nodes")) is not None:
            self.tile("Nodes").show_value(value_text(nodes))
            if "Leaves explored" not in dict(self.summary()):
                self.explored.hint(NOTHING_REPORTED)
            if not nodes and event.status == "optimal" and event.objective == event.bound:
                self._explain_root("the first solution optimal")
            elif not nodes and event.status == "bound_proved":
                self._explain_root("that no solution is below upper_bound")
        if (tried := event.counters.get("insertions")) is not None:
            self.tile("Jobs tried").show_value(short_number_text(tried))
        self.levels.set_unit("when last counted")
        if self.solution is not None and event.solution is not None:
            self.solution.set_unit(self._solution_unit)
        self._show_solution(event.solution)

    def _explain_root(self, proved: str) -> None:
        """Say in the figures of the search that there was none to do."""
        self._explain(f"The bound at the root proves {proved}: there was nothing to search.")

    def _explain(self, text: str) -> None:
        """Say in the figures of the search why they are empty."""
        self.explored.hint(text)
        for plot in (self.active, self.nodes, self.steals, self.stealing, self.share):
            plot.explain(text)

    def on_result(self, result: Result, processed: Any) -> None:
        """The solution, where the event was without it."""
        self._prepare_solution()
        if result.solution is not None:
            self._show_solution(result.solution.tolist())

    def _show_solution(self, values: list[Any] | None) -> None:
        self._prepare_solution()
        if self.solution is None or values is None:
            return
        order = np.asarray(values, np.int64)
        if isinstance(self.solution, Gantt):
            times = np.atleast_2d(self.problem.times)  # type: ignore[union-attr]
            self.solution.show_schedule(times, order, str(getattr(self.problem, "kind", "flowshop")))
        elif isinstance(self.solution, Tour):
            self.solution.show_tour(self.problem.costs, order)  # type: ignore[union-attr]
        elif isinstance(self.solution, Listing):
            self.solution.put(["position", "item"], list(enumerate(order.tolist())))
        if self.ordered is not None:
            matrix, unit = ordered_weights(self.problem.weights, order)  # type: ignore[union-attr]
            self.ordered.show_matrix(matrix, top=float(matrix.max()) or 1.0)
            self.ordered.set_unit(f"{unit}, 0 to {value_text(matrix.max().item())}")
            self.ordered.refresh()
        self.solution.refresh()
