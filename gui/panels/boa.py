"""The dashboard of the Bayesian optimization algorithm: fitness, entropy, time, the network and the population."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.problem import Problem
from engine.base.result import Result
from engine.base.schema import HISTORY, Schema
from engine.events import Finished, Metric, Trace
from engine.util.text import short_seconds_text, value_text
from gui.panels.base import Panel
from gui.pictures.assignment import AssignmentView
from gui.pictures.network import NetworkView
from gui.plot.charts import Pixels
from gui.plot.live import LivePlot
from gui.plot.series import Series
from gui.plot.stacked import StackedPlot

_PHASES = ("selection", "learning", "sampling", "improvement", "evaluation", "replacement")
_ENTROPY_ROWS = 400
_INDIVIDUALS = 64
_MEANS = ("mean", "entropy", "edges", "open_genes")
_SEARCH, _FLIPS = ("flips", "evaluations"), "genes flipped"
_LARGE = ",\nor at the end of the run if there are very many genes"


class BOAPanel(Panel):
    """Best and mean fitness a generation, entropy, where the time goes, the learned network, the individuals."""

    solver = "boa"

    def build(self) -> None:
        """The pages."""
        theme = self.theme
        page = self.page("Evolution", columns=3)
        self.fitness = self.add(
            LivePlot("Fitness", y_title="fitness", theme=theme, key="fitness", across="generation", from_zero=False),
            page,
            wide=2,
        )
        self.entropy = self.add(
            LivePlot("Entropy of a gene", "bits", theme=theme, key="entropy", across="generation", top=1.0), page
        )
        self.seconds = self.add(StackedPlot("Time of a generation", "%", theme=theme, key="seconds", shares=True), page)
        self.seconds.value_text = short_seconds_text  # the areas are shares, the legend shows seconds
        for phase in _PHASES:
            self.follow(self.seconds, f"{phase}_seconds", names=[phase])
        self.model = self.add(
            LivePlot("Network", "edges, genes", y_title="count", theme=theme, key="edges", across="generation"), page
        )
        self.population = self.add(
            LivePlot("Population", "and evaluations", y_title="count", log=True, theme=theme, key="population"), page
        )
        self.follow(self.population, "population", "evaluations")
        self._evolution = page
        self._search_plot: LivePlot | None = None
        self._places = {
            "best": (self.fitness, "best"),
            "mean": (self.fitness, "mean"),
            "worst": (self.fitness, "worst"),
            "entropy": (self.entropy, "mean of all genes"),
            "edges": (self.model, "edges"),
            "open_genes": (self.model, "genes not yet fixed"),
        }
        self._group = self.group("generations", self._generation)
        for name in (*self._places, "generations", *_SEARCH):
            self.route(name, self._measure)
        self._searched = (0.0, 0.0)
        self._generations_done = 0.0
        self._genes = int(getattr(self.problem, "n", 0))
        model = self.page("Network", columns=1)
        self.network = self.add(
            NetworkView("Learned network", "edges between genes", theme=theme, key="network"), model
        )
        self.solution: AssignmentView | None = None
        graph = getattr(self.problem, "graph", lambda: None)()
        if graph is not None and self._genes <= AssignmentView.MOST:
            self.solution = self.add(
                AssignmentView("Best solution", "sides of the graph", theme=theme, key="solution"),
                self.page("Solution", columns=1),
            )
            self.solution.show_network(self._genes, graph)
        population_page = self.page("Population", columns=2)
        self.individuals = self.add(
            Pixels(
                "Individuals", "bits", theme=theme, key="individuals", across="gene", down="individual", binary=True
            ),
            population_page,
        )
        self.genes = self.add(
            Pixels("Entropy of every gene", "bits", theme=theme, key="gene entropy", across="gene", down="snapshot"),
            population_page,
        )
        self.individuals.hint(f"Some individuals are shown after the first generation{_LARGE}.")
        self.genes.hint(f"Shown after the first generation{_LARGE}.")
        self.network.hint(f"The network is shown when the first one has been learned{_LARGE}.")
        self._entropies: list[list[float]] = []
        self._generations: list[float] = []
        self._every = 1
        self._skipped = 0
        self.add_device_page()

    # --- events -------------------------------------------------------------------------------------------------

    def _measure(self, event: Metric) -> None:
        self._group.add(event.time, event.name, event.value)
        if event.name == "generations":
            self._generations_done = event.value
            self.tile("Generations").show_value(value_text(event.value))

    def _generation(self, generations: float, values: dict[str, float]) -> None:
        """The values of one generation; x counts the generations of all populations."""
        known = self._group.values
        if known.keys() >= set(_SEARCH) and not values.keys().isdisjoint(_SEARCH):
            flips, evaluations = (known[name] for name in _SEARCH)
            if flips > 0 and evaluations > self._searched[1]:
                share = (flips - self._searched[0]) / (evaluations - self._searched[1])
                self.search.series(_FLIPS).append(generations, share)
                self._searched = (flips, evaluations)
        for name, value in values.items():
            if name in self._places:
                plot, title = self._places[name]
                plot.series(title).append(generations, value)

    @property
    def search(self) -> LivePlot:
        """What local search does; made when it has flipped a gene, as many runs have none."""
        if self._search_plot is None:
            plot = LivePlot(
                "Local search", "flips per evaluation", theme=self.theme, key="local search", across="generation"
            )
            self._search_plot = self.add(plot, self._evolution)
        return self._search_plot

    def bound_title(self) -> str:
        """The optimum, where the problem states it: only formulas have a bound that may be out of reach."""
        return "Bound" if getattr(self.problem, "optimum", None) is None else "Known optimum"

    def on_trace(self, event: Trace) -> None:
        """Pictures of the population and its network."""
        if event.name == "edges":
            self._show_network(np.asarray(event.values, np.int64).reshape(-1, 2))
        elif event.name == "population" and self._genes:
            words = np.asarray(event.values, np.uint32).reshape(self._genes, -1)
            bits = np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")
            self._show_individuals(bits.T[:_INDIVIDUALS])
        elif event.name == "solution" and self.solution is not None:
            self.solution.show_sides(np.asarray(event.values))
        elif event.name == "gene_entropy":
            self._genes = len(event.values)
            self._show_entropies(self._generations_done, event.values)

    def _show_network(self, edges: NDArray[np.int64]) -> None:
        if self._genes:
            weights = np.asarray(self._entropies[-1]) if self._entropies else None
            self.network.show_network(self._genes, edges, weights)
            self.network.set_unit(f"{len(edges)} edges between {self._genes} genes")

    def _show_individuals(self, bits: NDArray[Any]) -> None:
        self.individuals.show_matrix(bits)
        self.individuals.set_unit(f"{len(bits)} of the population, by gene")

    def _show_entropies(self, generation: float, values: list[float]) -> None:
        self._skipped += 1
        if self._skipped < self._every and self._entropies:
            return
        self._skipped = 0
        self._entropies.append(values)
        self._generations.append(generation)
        if len(self._entropies) > _ENTROPY_ROWS:
            self._entropies, self._generations = self._entropies[::2], self._generations[::2]
            self._every *= 2
        self.genes.show_matrix(np.asarray(self._entropies))
        self.genes.set_unit(f"bits, a row for each of {len(self._entropies)} snapshots")

    def on_finished(self, event: Finished) -> None:
        """Counts of the whole run."""
        self._group.flush()
        for name, title in (
            ("generations", "Generations"),
            ("evaluations", "Evaluations"),
            ("population", "Population"),
        ):
            if name in event.counters:
                self.tile(title).show_value(value_text(event.counters[name]))
        if event.counters.get("generations") == 0:
            self._explain_no_generation(event.status == "optimal")

    def _explain_no_generation(self, solved: bool) -> None:
        text = "No generation was needed: the optimum is in the first population."
        if not solved:
            text = "The run ended before the first generation was complete."
        self.seconds.empty = text
        for figure in (self.seconds, self.network, self.individuals, self.genes):
            figure.hint(text)

    def postprocessor(self) -> Callable[[Result, Problem | None], Any]:
        """The curves over all generations."""
        return functools.partial(_postprocess, self.run.schema, self.sense == "minimize")

    def on_result(self, result: Result, processed: Any) -> None:
        """Every generation of the history, the last network and the last individuals."""
        self._genes = self._genes or (0 if result.solution is None else len(result.solution))
        for name, series in processed.items():
            plot, title = (self.search, _FLIPS) if name == "flips" else self._places[name]
            plot.series(title).replace(series)
            plot.fit(at_once=False)
        if len(result.arrays.get("edges", ())):
            self._show_network(result.arrays["edges"])
        if self.solution is not None and result.solution is not None:
            self.solution.show_sides(result.solution)
        bits = result.arrays.get("population")
        if bits is not None and bits.size:
            self._show_individuals(bits)


def _postprocess(schema: Schema | None, minimize: bool, result: Result, problem: Problem | None) -> dict[str, Series]:
    """Curves by the names of the history's columns, over the generations of all populations.

    Several islands have a row each for a generation: the best of them, the worst, and means of the rest are shown.
    """
    if schema is None or not len(result.arrays.get(HISTORY, ())):
        return {}
    generation, attempt = schema.column(result, "generation"), _attempts(schema, result)
    lengths = [generation[attempt == number].max() for number in range(int(attempt.max()) + 1)]
    x = np.concatenate([[0.0], np.cumsum(lengths)])[attempt] + generation
    order = np.stack([attempt, generation], axis=1)
    keys, first, inverse = np.unique(order, axis=0, return_index=True, return_inverse=True)
    better = np.minimum if minimize else np.maximum
    worse = np.maximum if minimize else np.minimum
    made: dict[str, Series] = {}
    for name, merge in (("best", better), ("worst", worse), *((name, None) for name in _MEANS)):
        values = schema.column(result, name)
        if merge is None:
            merged = np.bincount(inverse, values) / np.bincount(inverse)
        else:
            merged = np.full(len(keys), -np.inf if merge is np.maximum else np.inf)
            merge.at(merged, inverse, values)
        made[name] = Series.of(x[first], merged)
    made |= _local_search(schema, result, x[first], inverse)
    return made


def _local_search(
    schema: Schema, result: Result, x: NDArray[np.float64], place: NDArray[np.int64]
) -> dict[str, Series]:
    """Genes that local search flipped for each evaluation of a generation, from the sums over the run so far."""
    if not schema.column(result, "flips").any():
        return {}
    made = []
    for name in _SEARCH:
        total = np.zeros(len(x))
        np.maximum.at(total, place, schema.column(result, name))
        made.append(np.diff(total, prepend=0.0))
    return {"flips": Series.of(x, made[0] / np.maximum(1, made[1]))}


def _attempts(schema: Schema, result: Result) -> NDArray[np.int64]:
    """For each row of the history, which population it belongs to, counted from 0."""
    if len(np.unique(schema.column(result, "island"))) == 1:
        generation = schema.column(result, "generation")
        return np.cumsum(np.diff(generation, prepend=generation[0]) < 0)
    sizes, first, inverse = np.unique(schema.column(result, "population"), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse] if len(sizes) else np.zeros(0, np.int64)
