"""The dashboard of linear programming: convergence, steps, conditioning, time, and the solution with its duals."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.problem import Problem
from engine.base.result import Result
from engine.base.schema import HISTORY, Schema
from engine.events import Finished, Metric, Progress
from engine.util.text import counted, gap_text, short_number_text, short_seconds_text, value_text
from gui.panels.base import Panel
from gui.plot.charts import Bars, Pixels
from gui.plot.figure import Figure
from gui.plot.listing import Listing
from gui.plot.live import LivePlot
from gui.plot.series import Series
from gui.plot.stacked import StackedPlot
from gui.problem.preview_data import shades, sparsity_pattern
from gui.runs.view import NO_SOLUTION

_TRIANGLE = 256  # rows of the picture of a dense factor
# by metric
_PHASES = {"kernels": "compiling"} | {phase: phase for phase in ("products", "form", "factor", "solve")}


class LinearProgramPanel(Panel):
    """Objectives, gap and infeasibilities by iteration, step sizes, condition, the race, time, values and duals."""

    solver = "linprog"

    def build(self) -> None:
        plot = partial(self.figure, LivePlot, self.page("Convergence", columns=3), across="iteration")
        self.objectives = plot("Objectives", y_title="objective", key="objective", from_zero=False, whole=True, wide=2)
        relative = partial(plot, unit="relative, of the iterates", y_title="relative", log=True)
        self.gap = relative("Duality gap and mu", key="gap")
        self.infeasibilities = relative("Infeasibilities", key="infeasibilities")
        self.steps = plot(
            "Step lengths", "share of the largest feasible step", y_title="step length", key="steps", top=1.0
        )
        self.spread = plot(
            "Condition number of D", "the scaling matrix", y_title="condition number", key="spread", log=True
        )
        self._places = {
            "primal_objective": (self.objectives, "primal"),
            "dual_objective": (self.objectives, "dual"),
            "duality_gap": (self.gap, "gap"),
            "mu": (self.gap, "mu"),
            "primal_infeasibility": (self.infeasibilities, "primal"),
            "dual_infeasibility": (self.infeasibilities, "dual"),
            "primal_step": (self.steps, "primal"),
            "dual_step": (self.steps, "dual"),
            "spread_of_d": (self.spread, "D"),
        }
        self._group = self.group("iteration", self._iteration)
        for name in self._places:
            self.route(name, self._measure)
        table = partial(self.figure, Listing, self.page("Solution", columns=2))
        empty = "Values, reduced costs and duals are listed when the run ends."
        self.variables = table("Variables", key="variables", empty=empty)
        self.rows = table("Rows", key="rows", empty=empty)
        self.race = race = self.page("Race", columns=2)
        self._show_race(False)
        self.errors = self.figure(
            LivePlot, race, "Error of each method", "relative", log=True, key="race", y_title="error"
        )
        self.follow(self.errors, "interior_error", "pdhg_error", names=["interior point", "pdhg"])
        for name in ("interior_error", "pdhg_error"):
            self.route(name, lambda _event: self._show_race(len(self.errors.curves) > 1))
        empty = "The methods of a race are listed when the run ends; HiGHS reports nothing while it works."
        self.racers = self.figure(Listing, race, "Methods", key="racers", empty=empty)
        pattern = partial(self.figure, Pixels, self.page("Factor", columns=2))
        self.matrix = pattern("Matrix A", "nonzeros", key="matrix", across="variable", down="row")
        eliminated = "row of A, in the order of elimination"
        self.factor = pattern("Factor L of A D Aᵀ", key="factor", across=eliminated, down=eliminated)
        for pixels in (self.matrix, self.factor):
            pixels.hint("The pattern is shown when the run ends.")
        more = self.page("Time", columns=2)
        self.totals = self.figure(Bars, more, "Time of each part in total", "% of the measured time", wide=2)
        self.totals.hint("The time of each part is shown when the run ends.")
        self.seconds = self.figure(StackedPlot, more, "Time of each part", "s", key="seconds")
        self.shares = self.figure(StackedPlot, more, "Share of each part", "%", key="shares", shares=True)
        for phase, name in _PHASES.items():
            self.follow(self.seconds, f"seconds_{phase}", names=[name])
            self.follow(self.shares, f"seconds_{phase}", names=[name])
        self.add_device_page()

    def _show_race(self, shown: bool) -> None:
        """Show the page of the race where there is one."""
        self.pages.setTabVisible(self.pages.indexOf(self.race), shown)

    def plots(self) -> list[Figure]:
        """All figures; those of the race only where there was one."""
        shown = self.pages.isTabVisible(self.pages.indexOf(self.race))
        return [figure for figure in super().plots() if shown or figure not in (self.errors, self.racers)]

    # --- events -------------------------------------------------------------------------------------------------

    def _measure(self, event: Metric) -> None:
        self._group.add(event.time, event.name, event.value)

    def _iteration(self, iteration: float, values: dict[str, float]) -> None:
        for name, value in values.items():
            plot, title = self._places[name]
            plot.series(title).append(iteration, value)

    def on_progress(self, event: Progress) -> None:
        """The iteration that the measures of this moment belong to."""
        if event.phase == "iterations":
            self.tile("Iteration").show_value(value_text(event.done))
            self._group.add(event.time, "iteration", event.done)
        elif event.done:
            self.tile("Iteration").show_value(f"{event.phase}, {value_text(event.done)}")

    def on_finished(self, event: Finished) -> None:
        counters = event.counters
        self._group.flush()
        if event.status in NO_SOLUTION:
            self._explain_certificate(event.status)
        elif event.status == "optimal" and not counters.get("iterations") and not counters.get("pdhg_iterations"):
            self._explain("HiGHS has solved the program before an iteration was needed; see the tab Solution.")
        if event.gap is not None and self.gap.curves_have_data:
            self.gap.set_unit(f"relative, of the iterates; of the result {gap_text(event.gap)}")
        done = [counters[name] for name in ("iterations", "pdhg_iterations", "highs_iterations") if counters.get(name)]
        if done:
            self.tile("Iteration").show_value(value_text(done[0]))
        for name, title in (
            ("primal_infeasibility", "Primal infeasibility"),
            ("dual_infeasibility", "Dual infeasibility"),
        ):
            if name in counters:
                self.tile(title).show_value(short_number_text(float(counters[name])))
        parts = {"prepare": "prepare"} | _PHASES
        self._show_totals({name: float(counters.get(f"seconds_{part}") or 0.0) for part, name in parts.items()})

    def _explain(self, text: str) -> None:
        """Say why there are no iterations where there are none."""
        self.totals.hint(text)
        for plot in {plot for plot, _ in self._places.values()} | {self.seconds, self.shares}:
            plot.explain(text)

    def _explain_certificate(self, status: str) -> None:
        """Say on the pages that stay empty what there is instead of a solution."""
        self._explain(f"No iteration was needed to prove that the program is {status}; see the tab Solution.")
        self.variables.explain(f"The program is {status}: no values are optimal.")
        self.rows.explain(f"The program is {status}: no activities are optimal.")

    def _show_totals(self, seconds: dict[str, float]) -> None:
        """The shares of the whole run, from its counters: a fast run ends before its first report."""
        total = sum(seconds.values())
        if total > 0:
            drawn = {curve.name: curve.colour for curve in self.seconds.curves}  # a part has one colour
            others = (colour for colour in self.theme.lines if colour not in drawn.values())
            for phase, value in seconds.items():
                colour = drawn.get(phase) or next(others)
                self.totals.put(f"{phase}, {short_seconds_text(value)}", value / total, colour)

    # --- the result ---------------------------------------------------------------------------------------------

    def postprocessor(self) -> Callable[[Result, Problem | None], Any]:
        return partial(_postprocess, self.run.schema)

    def on_result(self, result: Result, processed: Any) -> None:
        for name, series in processed["curves"].items():
            if name in self._places and len(series):
                plot, title = self._places[name]
                plot.series(title).replace(series)
                plot.fit(at_once=False)
        if "winner" in processed:
            self.tile("Winner").show_value(processed["winner"])
        for listing, name in ((self.variables, "variables"), (self.rows, "rows"), (self.racers, "racers")):
            if name in processed:
                headers, rows, unit = processed[name]
                listing.put(headers, rows)
                listing.set_unit(unit)
        for pixels, name in ((self.matrix, "matrix"), (self.factor, "factor")):
            if name in processed:
                shown, size, unit = processed[name]
                pixels.show_matrix(shown, size=size)
                pixels.set_unit(unit)
        if "factor" not in processed:
            self.factor.hint(processed["no factor"])
        if "matrix" not in processed:
            self.matrix.hint("The problem of this run is not at hand.")
        racers = processed["racers"][1] if "racers" in processed else ()
        self._show_race(max(len(racers), len(self.errors.curves)) > 1)


def _postprocess(schema: Schema | None, result: Result, problem: Any) -> dict[str, Any]:
    """Series by the names of the history's columns; headers, rows and a remark of each table."""
    made: dict[str, Any] = {"curves": {}}
    if schema is not None and len(result.arrays.get(HISTORY, ())):
        iteration = schema.column(result, "iteration")
        for column in schema.history:
            if column.name != "iteration":
                made["curves"][column.name] = Series.of(iteration, schema.column(result, column.name))
    arrays = result.arrays
    if len(arrays.get("racers", ())):
        made |= _postprocess_race(arrays)
    made |= _postprocess_factor(result)
    if problem is None:
        return made
    pattern = sparsity_pattern(problem.A)
    made["matrix"] = pattern.matrix, problem.A.shape, f"{value_text(problem.nonzeros)} nonzeros"
    if result.solution is None:
        return made | _postprocess_certificate(arrays, problem)
    names = problem.names or [f"x{j}" for j in range(problem.n)]
    columns = [result.solution, problem.lower, problem.upper, problem.c]
    if "reduced_costs" in arrays:
        columns.append(arrays["reduced_costs"])
    nonzero = _count_nonzero(result.solution)
    made["variables"] = (
        ["variable", "value", "lower", "upper", "cost", "reduced cost"][: 1 + len(columns)],
        [(name, *map(_number, values)) for name, *values in zip(names, *columns, strict=True)],
        f"{value_text(problem.n)}, {value_text(nonzero)} of them not 0",
    )
    if "activities" in arrays and "row_duals" in arrays:
        names = problem.row_names or [f"r{i}" for i in range(problem.m)]
        columns = [arrays["activities"], problem.row_lower, problem.row_upper, arrays["row_duals"]]
        binding = _count_nonzero(arrays["row_duals"])
        made["rows"] = (
            ["row", "activity", "lower", "upper", "dual"],
            [(name, *map(_number, values)) for name, *values in zip(names, *columns, strict=True)],
            f"{value_text(problem.m)}, {value_text(binding)} of them with a dual",
        )
    return made


def _postprocess_factor(result: Result) -> dict[str, Any]:
    """What a sparse factor looks like; else, in words, what there was instead."""
    counters, arrays = result.counters, result.arrays
    entries, fronts = arrays.get("factor_entries", np.zeros((0, 0))), arrays.get("factor_fronts", np.zeros((0, 3)))
    rows, nonzeros = int(counters.get("rows") or 0), int(counters.get("factor_nonzeros") or 0)
    text = f"{value_text(nonzeros)} entries"
    if len(fronts):
        _, pivots, size = fronts[np.argmax(fronts[:, 2])].tolist()
        text += (
            f" in {counted(len(fronts), 'front')}, the largest of {value_text(size)} rows, {value_text(pivots)} pivots"
        )
    if entries.size:
        return {"factor": (shades(entries), (rows, rows), f"{text}; {counted(rows, 'row')}")}
    if len(fronts):
        return {"no factor": f"The host's library does not tell which rows its factor has: {text}."}
    if nonzeros:
        return {"no factor": f"The pattern of the factor was not kept: {text}."}
    if counters.get("factorizations"):
        shown = np.tril(np.ones((min(rows, _TRIANGLE),) * 2))
        return {"factor": (shown, (rows, rows), f"dense: a full lower triangle of {counted(rows, 'row')}")}
    return {"no factor": "No method has computed a factor."}


def _count_nonzero(values: NDArray[Any]) -> int:
    """Those that are not 0 up to the accuracy of an interior point."""
    sizes = np.abs(values)
    return int(np.count_nonzero(sizes > 1e-6 * max(1.0, float(sizes.max(initial=0.0)))))


def _postprocess_certificate(arrays: Mapping[str, NDArray[Any]], problem: Any) -> dict[str, Any]:
    """What proves that there is no optimum: the rows that it combines, or the variables that it changes."""
    made: dict[str, Any] = {}
    if "farkas" in arrays:
        names, farkas = problem.row_names or [f"r{i}" for i in range(problem.m)], arrays["farkas"]
        made["rows"] = (
            ["row", "multiplier", "lower", "upper"],
            [
                (names[i], _number(farkas[i]), _number(problem.row_lower[i]), _number(problem.row_upper[i]))
                for i in np.flatnonzero(farkas).tolist()
            ],
            f"certificate of infeasibility: {np.count_nonzero(farkas):,} of {counted(problem.m, 'row')}",
        )
    if "ray" in arrays:
        names, ray = problem.names or [f"x{j}" for j in range(problem.n)], arrays["ray"]
        made["variables"] = (
            ["variable", "change", "lower", "upper", "cost"],
            [
                (names[j], *(_number(values[j]) for values in (ray, problem.lower, problem.upper, problem.c)))
                for j in np.flatnonzero(ray).tolist()
            ],
            f"certificate of unboundedness: {np.count_nonzero(ray):,} of {counted(problem.n, 'variable')}",
        )
    return made


def _postprocess_race(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The methods of a race, the winner first, and how far each came."""
    names, errors = arrays["racers"].tolist(), arrays["racer_errors"].tolist()
    outcomes = arrays["racer_outcomes"].tolist() if "racer_outcomes" in arrays else [""] * len(names)
    rows = [(name, _number(error), outcome) for name, error, outcome in zip(names, errors, outcomes, strict=True)]
    made: dict[str, Any] = {"racers": (["method", "error of its best point", "outcome"], rows, "")}
    return made | {"winner": names[0]} if outcomes[0] == "won" else made


def _number(value: float) -> float | None:
    """A bound that is not there is an empty cell."""
    return float(value) if np.isfinite(value) else None
