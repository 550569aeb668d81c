"""The dashboard of the Bayesian optimization algorithm: fitness, entropy, time, the network and the population."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.problem import Problem
from engine.base.result import Result
from engine.base.schema import HISTORY, Schema
from engine.events import Finished, Metric, Trace
from engine.util.text import value_text
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
        page = self.page("Evolution", columns=3)
        by_generation = partial(self.figure, LivePlot, page, across="generation")
        self.fitness = by_generation("Fitness", y_title="fitness", key="fitness", from_zero=False, wide=2)
        self.entropy = by_generation("Entropy of a gene", "bits", key="entropy", top=1.0)
        self.seconds = self.figure(
            *(StackedPlot, page, "Time of a generation", "%"), across="generation", key="seconds", shares=True
        )
        self.model = by_generation("Network", "edges, genes", y_title="count", key="edges")
        self.population = self.figure(
            LivePlot, page, "Population", "and evaluations", y_title="count", log=True, key="population"
        )
        self.follow(self.population, "population", "evaluations")
        self.search = by_generation("Local search", "flips per evaluation", key="local search", optional=True)
        self._places: dict[str, tuple[LivePlot, str]] = {
            "best": (self.fitness, "best"),
            "mean": (self.fitness, "mean"),
            "worst": (self.fitness, "worst"),
            "entropy": (self.entropy, "mean of all genes"),
            "edges": (self.model, "edges"),
            "open_genes": (self.model, "genes not yet fixed"),
        } | {f"{phase}_seconds": (self.seconds, phase) for phase in _PHASES}
        self._group = self.group("generations", self._generation)
        for name in (*self._places, "generations", *_SEARCH):
            self.route(name, self._measure)
        self._searched = (0.0, 0.0)
        self._network_of = 0
        self._genes = int(getattr(self.problem, "n", 0))
        self.network = self.figure(NetworkView, self.page("Network", columns=1), "Learned network", key="network")
        self.solution: AssignmentView | None = None
        graph = getattr(self.problem, "graph", lambda: None)()
        if graph is not None and self._genes <= AssignmentView.MOST:
            solution_page = self.page("Solution", columns=1)
            self.solution = self.figure(
                AssignmentView, solution_page, "Best solution", "sides of the graph", key="solution"
            )
            self.solution.show_network(self._genes, graph)
        pixels = partial(self.figure, Pixels, self.page("Population", columns=2), across="gene")
        self.individuals = pixels("Individuals", "bits", key="individuals", down="individual", binary=True)
        self.genes = pixels("Entropy of every gene", "bits", key="gene entropy", down="snapshot")
        self.individuals.hint(f"Some individuals are shown after the first generation{_LARGE}.")
        self.genes.hint(f"Shown after the first generation{_LARGE}.")
        self.network.hint(f"The network is shown when the first one has been learned{_LARGE}.")
        self._entropies: list[list[float]] = []
        self._every = 1
        self._skipped = 0
        self.add_device_page()

    # --- events -------------------------------------------------------------------------------------------------

    def _measure(self, event: Metric) -> None:
        self._group.add(event.time, event.name, event.value)
        if event.name == "generations":
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

    def bound_title(self) -> str:
        """The optimum, where the problem states it: only formulas have a bound that may be out of reach."""
        return "Bound" if getattr(self.problem, "optimum", None) is None else "Known optimum"

    def on_trace(self, event: Trace) -> None:
        if event.name == "edges":
            before = self._network_of if event.iteration > self._network_of else 0  # else, of another population
            self._network_of = event.iteration
            of, since = f"generation {event.iteration} of its population", f"generation {before}" * bool(before)
            self._show_network(np.asarray(event.values, np.int64).reshape(-1, 2), of, since)
        elif event.name == "population" and self._genes:
            words = np.asarray(event.values, np.uint32).reshape(self._genes, -1)
            bits = np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")
            self._show_individuals(bits.T[:_INDIVIDUALS])
        elif event.name == "solution" and self.solution is not None:
            self.solution.show_sides(np.asarray(event.values))
        elif event.name == "gene_entropy":
            self._genes = len(event.values)
            self._show_entropies(event.values)

    def _show_network(self, edges: NDArray[np.int64], of: str = "", since: str = "") -> None:
        if self._genes:
            weights = np.asarray(self._entropies[-1]) if self._entropies else None
            self.network.show_network(self._genes, edges, weights, of, since)

    def _show_individuals(self, bits: NDArray[Any]) -> None:
        self.individuals.show_matrix(bits)
        self.individuals.set_unit(f"{len(bits)} of the population, by gene")

    def _show_entropies(self, values: list[float]) -> None:
        self._skipped += 1
        if self._skipped < self._every and self._entropies:
            return
        self._skipped = 0
        self._entropies.append(values)
        if len(self._entropies) > _ENTROPY_ROWS:
            self._entropies = self._entropies[::2]
            self._every *= 2
        self.genes.show_matrix(np.asarray(self._entropies))
        self.genes.set_unit(f"0 to 1 bit, a row for each of {len(self._entropies)} snapshots")

    def on_finished(self, event: Finished) -> None:
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
        return partial(_postprocess, self.run.schema, self.sense == "minimize")

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
    """Curves by the names of the history's columns, over the generations of all populations; islands are merged."""
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
