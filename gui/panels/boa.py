"""The dashboard of the Bayesian optimization algorithm: fitness, entropy, time, the network and the population."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.events import Finished, Metric, Trace
from engine.problem import Problem
from engine.results import Result
from engine.solvers.boa.schema import SNAPSHOT_GENES
from gui.panels.base import Panel
from gui.panels.devices import DevicesPage
from gui.pictures.network import NetworkView
from gui.plot.axes import number_text, seconds_text
from gui.plot.charts import Pixels
from gui.plot.live import LivePlot
from gui.plot.series import Series
from gui.plot.stacked import StackedPlot

__all__ = ["BOAPanel"]

_PHASES = ("selection", "learning", "sampling", "evaluation", "replacement")
_ENTROPY_ROWS = 400
_INDIVIDUALS = 64


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
        self.seconds.value_text = seconds_text  # the areas are shares, the legend says seconds
        for phase in _PHASES:
            self.follow(self.seconds, f"{phase}_seconds", names=[phase])
        self.model = self.add(
            LivePlot("Network", "edges, genes", y_title="count", theme=theme, key="edges", across="generation"), page
        )
        self.population = self.add(
            LivePlot("Population", "and evaluations", y_title="count", log=True, theme=theme, key="population"), page
        )
        self.follow(self.population, "population", "evaluations")
        for name in ("best", "mean", "worst", "entropy", "edges", "open_genes"):
            self.route(name, self._of_generation)
        self.route("generation", self._generation)
        self._last = self._offset = 0.0
        self._genes = int(getattr(self.problem, "n", 0))
        model = self.page("Network", columns=1)
        self.network = self.add(
            NetworkView("Learned network", "edges between genes", theme=theme, key="network"), model
        )
        people = self.page("Population", columns=2)
        self.individuals = self.add(
            Pixels(
                "Individuals", "bits", theme=theme, key="individuals", across="gene", down="individual", binary=True
            ),
            people,
        )
        self.genes = self.add(
            Pixels("Entropy of every gene", "bits", theme=theme, key="gene entropy", across="gene", down="look"),
            people,
        )
        if self._genes > SNAPSHOT_GENES:
            for figure in (self.network, self.individuals, self.genes):
                figure.hint(f"Shown while a run goes on for up to {number_text(SNAPSHOT_GENES)} genes only.")
        else:
            self.individuals.hint("Some of the population are shown after the first generation.")
            self.genes.hint("Shown after the first generation.")
        self._entropies: list[list[float]] = []
        self._generations: list[float] = []
        self._every = 1
        self._skipped = 0
        self.device_page = DevicesPage(self)

    # --- events -------------------------------------------------------------------------------------------------

    def _generation(self, event: Metric) -> None:
        if event.value < self._last:
            self._offset += self._last + 1
        self._last = event.value
        self.tile("Generation").show_value(number_text(self._offset + event.value))

    def _of_generation(self, event: Metric) -> None:
        plot, name = {
            "best": (self.fitness, "best"),
            "mean": (self.fitness, "mean"),
            "worst": (self.fitness, "worst"),
            "entropy": (self.entropy, "mean of all genes"),
            "edges": (self.model, "edges"),
            "open_genes": (self.model, "genes not yet fixed"),
        }[event.name]
        plot.series(name).append(self._offset + self._last, event.value)

    def on_metric(self, event: Metric) -> None:
        """Metrics without a plot: those that later versions add."""

    def on_trace(self, event: Trace) -> None:
        """Pictures of the population and its network."""
        if event.name == "edges":
            self._show_network(np.asarray(event.values, np.int64).reshape(-1, 2))
        elif event.name == "population" and self._genes:
            words = np.asarray(event.values, np.uint32).reshape(self._genes, -1)
            bits = np.unpackbits(words.astype("<u4").view(np.uint8), axis=1, bitorder="little")
            self._show_individuals(bits.T[:_INDIVIDUALS])
        elif event.name == "gene_entropy":
            self._genes = len(event.values)
            self._show_entropies(self._offset + event.iteration, event.values)

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
        self.genes.set_unit(f"bits, a row for each of {len(self._entropies)} looks")

    def on_finished(self, event: Finished) -> None:
        """Counts of the whole run."""
        for name, title in (("evaluations", "Evaluations"), ("population", "Population")):
            if name in event.counters:
                self.tile(title).show_value(number_text(event.counters[name]))

    def postprocessor(self) -> Callable[[Result, Problem], Any]:
        """The curves over all generations."""
        return functools.partial(_postprocess, self.sense == "minimize")

    def on_result(self, result: Result, processed: Any) -> None:
        """Every generation of the history, the last network and the last individuals."""
        self._genes = self._genes or (0 if result.solution is None else len(result.solution))
        places = {
            "best": self.fitness,
            "mean": self.fitness,
            "worst": self.fitness,
            "edges": self.model,
            "genes not yet fixed": self.model,
            "mean of all genes": self.entropy,
        }
        for name, series in processed.items():
            places[name].series(name).replace(series)
            places[name].fit(at_once=False)
        if len(result.arrays.get("edges", ())):
            self._show_network(result.arrays["edges"])
        bits = result.arrays.get("population")
        if bits is not None and bits.size:
            self._show_individuals(bits)


def _postprocess(minimize: bool, result: Result, problem: Problem) -> dict[str, Series]:
    """Curves by their names of what was kept of every generation, in place of what was told ten times a second."""
    history = result.arrays.get("history")
    if history is None or not len(history):
        return {}
    generation, island = history[:, 1], history[:, 9] if history.shape[1] > 9 else np.zeros(len(history))
    first = history[island == island[0]]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(first[:, 1]) < 0) + 1])
    offsets: dict[float, float] = {}
    offset = 0.0
    for place, start in enumerate(starts.tolist()):
        offsets[float(first[start, 0])] = offset
        stop = starts[place + 1] if place + 1 < len(starts) else len(first)
        offset += float(first[start:stop, 1].max()) + 1
    x = np.array([offsets.get(float(size), 0.0) for size in history[:, 0]]) + generation
    better = np.minimum if minimize else np.maximum
    worse = np.maximum if minimize else np.minimum
    columns = (
        ("best", 3, better),
        ("mean", 4, None),
        ("worst", 5, worse),
        ("edges", 6, None),
        ("genes not yet fixed", 7, None),
        ("mean of all genes", 8, None),
    )
    places, inverse = np.unique(x, return_inverse=True)
    made: dict[str, Series] = {}
    for name, column, merge in columns:
        if column >= history.shape[1] or (column == 8 and history.shape[1] < 10):
            continue
        values = history[:, column]
        if merge is None:
            merged = np.bincount(inverse, values) / np.bincount(inverse)
        else:
            merged = np.full(len(places), -np.inf if merge is np.maximum else np.inf)
            merge.at(merged, inverse, values)
        made[name] = Series.of(places, merged)
    return made
