"""Local search of functions given by tables: how it is chosen, and the arrays that its kernel reads.

The gain of a gene is what flipping it adds to the key; in a quadratic form a flip changes those of its neighbours.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Buffer, Launcher
from ....devices.pool.slices import SliceLength
from ....numerics.philox import stream_word
from ..fitness import Fitness
from ..fitness.autocorrelation import Autocorrelation
from ..fitness.tables import Decomposable, quadratic_form, starts_of
from ..options import STREAM_IMPROVE, STREAM_IMPROVE_INITIAL, Improvement, Options, Parameters, Rule
from .annealing import FEW_NEIGHBOURS, annealing_arrays
from .memory import PopulationMemory
from .partition import PartitionCrossover
from .programs import SEARCH, Form, LocalSearchProgram, Programs, improve_bytes, needs_scratch

_MOST_FLIPS = (1 << 24) - 1
_PART_WORK, _LEAST_PART = 1 << 22, 16  # gains to look through in the first of several launches; flips in each
_FLIPS_PER_GENE: dict[Rule, int] = {"steepest": 4, "tabu": 20, "anneal": 1000, "walk": 20}
_FLIPS_OF_SEQUENCES = 20  # per element
_LARGE, _SPARSE = 500, 64  # genes, and mean neighbours of a gene: what annealing is chosen for


def choose_improvement(fitness: Fitness, options: Options) -> Improvement | None:
    """The local search that the options ask for, or that suits the function; None for none.

    A walk where most tables can be at their maximum at once (clauses). Of pairs of genes, and without partition
    crossover where functions share no gene, tabu search, which crosses valleys; for many genes of few neighbours
    annealing, whose steps take no search for the best gene. Else steepest ascent: many cheap local optima inform the
    network and partition crossover better than few good ones.
    """
    rule = options.local_search
    n = fitness.n
    if isinstance(fitness, Autocorrelation) and rule in ("auto", "tabu"):
        flips = min(options.flips or _FLIPS_OF_SEQUENCES * n, _MOST_FLIPS)
        return Improvement("tabu", flips, max(1, n // 8), max(1, n // 4), options.local_search_share or 1.0)
    if rule == "none" or not isinstance(fitness, Decomposable):
        return None
    if rule == "auto":
        if not fitness.is_pairwise and _share_of_maxima(fitness) >= 0.5:
            rule = "walk"
        elif fitness.is_pairwise:
            rule = "anneal" if n >= _LARGE and _mean_degree(fitness) <= _SPARSE else "tabu"
        elif options.mixing == "none" and int(np.bincount(fitness.genes, minlength=n).max()) <= 1:
            rule = "tabu"
        else:
            rule = "steepest"
    each = _FLIPS_PER_GENE[rule]
    if rule == "anneal" and _mean_degree(fitness) > FEW_NEIGHBOURS:
        each *= 4
    flips = options.flips or each * n
    tenure = max(1, min(n // 4, 10 + n // 100))
    return Improvement(
        rule,
        flips if rule == "anneal" else min(flips, _MOST_FLIPS),
        tenure,
        max(1, min(10, n // 4)),
        options.local_search_share or 1.0,
    )


def _mean_degree(fitness: Decomposable) -> float:
    """Functions of two genes that a gene takes part in, on average."""
    return 2 * int((fitness.widths == 2).sum()) / fitness.n


def _share_of_maxima(fitness: Decomposable) -> float:
    """Which share of a table's entries is its maximum, the mean over the functions."""
    starts, _ = fitness.distinct_tables
    sizes = np.diff(np.append(starts, len(fitness.tables)))
    largest = np.repeat(np.maximum.reduceat(fitness.tables, starts), sizes)
    return float((np.add.reduceat((fitness.tables == largest).astype(np.int64), starts) / sizes).mean())


def improve_program(fitness: Decomposable | Autocorrelation, improvement: Improvement) -> LocalSearchProgram:
    """What the kernel is compiled for."""
    if isinstance(fitness, Autocorrelation):
        return LocalSearchProgram("tabu", "autocorrelation", False, fitness.n, 0)
    form: Form = "pairs" if fitness.is_pairwise and improvement.rule != "walk" else "tables"
    wide = 4 * fitness.largest_sum >= 2**31
    return LocalSearchProgram(improvement.rule, form, wide, fitness.n, len(fitness.table_starts))


def gain_arrays(fitness: Decomposable | Autocorrelation, program: LocalSearchProgram) -> dict[str, NDArray[Any]]:
    """The kernel's arrays by the names of its parameters."""
    if isinstance(fitness, Autocorrelation):
        return {}
    sums = np.int64 if program.wide else np.int32
    if program.form == "pairs":
        linear, starts, neighbours, couplings = quadratic_form(fitness)
        return {
            "linear": linear.astype(sums),
            "neighbour_starts": starts,
            "neighbours": neighbours,
            "couplings": couplings.astype(sums),
        }
    functions = np.repeat(np.arange(len(fitness.widths)), fitness.widths)
    places = np.arange(len(fitness.genes)) - fitness.scope_starts[functions]
    order = np.argsort(fitness.genes, kind="stable")
    arrays = {
        "genes": fitness.genes,
        "scope_starts": fitness.scope_starts,
        "table_starts": fitness.table_starts,
        "tables": fitness.tables.astype(sums),
        "incident_starts": starts_of(fitness.genes, fitness.n),
        "incidents": ((functions << 4) | places)[order].astype(np.int32),
    }
    if program.rule == "walk":
        arrays["maxima"] = fitness.largest_of(fitness.tables).astype(sums)
    return arrays


class LocalSearch:
    """Improves individuals on one device; ``interrupted``: whether the run is to end, so the rest is left undone."""

    def __init__(
        self,
        memory: PopulationMemory,
        programs: Programs,
        parameters: Parameters,
        fitness: Decomposable | Autocorrelation,
        program: LocalSearchProgram,
        interrupted: Callable[[], bool],
    ) -> None:
        assert parameters.improvement is not None
        assert programs.improve is not None
        self._memory, self._programs, self._parameters = memory, programs, parameters
        self._improvement = parameters.improvement
        self._block = programs.shapes.improve_block(fitness.n)
        arrays = gain_arrays(fitness, program)
        self._launch = Launcher(
            rows=memory.population_rows,
            n=parameters.n,
            seed=parameters.seed,
            status=memory.status,
            tenure=self._improvement.tenure,
            tenure_spread=self._improvement.tenure_spread,
            functions=program.functions,
            **{name: memory.put(array) for name, array in arrays.items()},
        )
        self._temperatures: dict[int, Buffer] = {}
        self._span = ("first_sweep", "last_sweep") if program.rule == "anneal" else ("first_flip", "last_flip")
        self._whole = self._improvement.flips
        self._ends: list[int] = []  # sweeps after which an individual is combined with what it was before
        self._before: Buffer | None = None
        if program.rule == "anneal":
            self._whole = self._add_annealing(arrays)
        self._state_words = 2 * -(-(SEARCH.dtype.itemsize // 4 + -(-fitness.n // 32) + fitness.n) // 2)
        self._states: Buffer | None = None
        self._crossover = None
        if parameters.mixes and isinstance(fitness, Decomposable):
            self._crossover = PartitionCrossover(memory, programs, parameters, fitness)
        self._interrupted = interrupted
        self._least = programs.shapes.improve_least(fitness.n)
        self._length = SliceLength(start=self._least, least=self._least)
        work = _PART_WORK // (8 if program.rule == "anneal" else 1)  # a try takes longer than a look
        # A walk's launch begins with the gains of all genes, which takes as long as a flip of each on one work-item.
        shortest = max(_LEAST_PART, fitness.n // (4 * self._block)) if program.rule == "walk" else _LEAST_PART
        self._part = SliceLength(start=max(shortest, work // fitness.n), least=shortest)
        words, scratch = 0, needs_scratch(programs.shapes, program)
        self._groups = programs.shapes.improve_groups(scratch)
        if scratch:
            words = -(-improve_bytes(program, fitness.n + 31, program.functions + 31) // 8) * 2
        self._launch.share(scratch=memory.empty(max(1, self._groups * words), np.uint32), scratch_words=words)

    def _add_annealing(self, arrays: dict[str, NDArray[Any]]) -> int:
        """The arguments that annealing takes besides; returns its number of sweeps."""
        form = (arrays["neighbour_starts"], arrays["neighbours"], arrays["couplings"])
        found = annealing_arrays(*form, self._improvement.flips, self._parameters.mixes)
        sweeps = int(found.pop("sweeps"))
        self._ends = found.pop("ends")
        self._temperatures = {
            STREAM_IMPROVE_INITIAL: self._memory.put(found.pop("temperatures")),
            STREAM_IMPROVE: self._memory.put(found.pop("temperatures_offspring")),
        }
        for name, value in found.items():
            self._launch.share(**{name: self._memory.put(value) if isinstance(value, np.ndarray) else value})
        return sweeps

    def improve_population(self, first: int, last: int) -> bool:
        """Improve words first .. last - 1 of the initial population; False if the search was interrupted."""
        memory, count = self._memory, self._parameters.population
        part = (32 * first, min(32 * last, count), count)
        return self._improve(memory.population, memory.words, *part, STREAM_IMPROVE_INITIAL, 0)

    def improve_offspring(self, generation: int, first: int, last: int) -> bool:
        """Improve words first .. last - 1 of the offspring; False if the search was interrupted."""
        memory, count = self._memory, self._parameters.offspring
        part = (32 * first, min(32 * last, count), count)
        return self._improve(memory.offspring, memory.offspring_words, *part, STREAM_IMPROVE, generation)

    def _improve(self, planes: Buffer, stride: int, first: int, last: int, count: int, stream: int, step: int) -> bool:
        """Improve those of the individuals first .. last - 1 of ``count`` that are to be improved."""
        parameters, shapes, transpose = self._parameters, self._programs.shapes, self._programs.transpose
        end = min(last, self._improvement.count(count))
        if end <= first:
            return True
        row_words = -(-parameters.n // 32)
        part = {"planes": planes, "stride": stride, "first": first, "last": last}
        groups = shapes.spread((last - first) * row_words, shapes.block)
        self._launch(transpose.turn_planes, groups, shapes.block, **part)
        finished = self._search(first, end, stream, step)
        if finished and stream == STREAM_IMPROVE and self._crossover is not None:
            self._crossover.combine(first, end, step)
        groups = shapes.spread(-(-(last - first) // 32) * row_words, shapes.block)
        self._launch(transpose.turn_rows, groups, shapes.block, **part)
        return finished

    def _search(self, first: int, end: int, stream: int, step: int) -> bool:
        """Improve rows first .. end - 1 in launches, or parts of one, between which it can end; False if it did."""
        while first < end:
            if len(self._ends) > 1:
                count = min(end - first, self._least)
                if not self._anneal_in_rounds(first, first + count, stream, step):
                    return False
            elif self._part.amount < self._whole:
                count = min(end - first, self._least)
                if not self._improve_in_parts(first, first + count, stream, step):
                    return False
            else:
                count = min(end - first, self._length.amount)
                began = time.perf_counter()
                self._improve_rows(first, first + count, stream, step, 0, self._whole)
                if first + count < end:
                    self._memory.device.sync()
                    seconds = time.perf_counter() - began
                    self._length.took(seconds, count)
                    if count <= self._least:
                        self._part.took(seconds, self._whole)
            first += count
            if first < end and self._interrupted():
                return False
        return True

    def _anneal_in_rounds(self, first: int, last: int, stream: int, step: int) -> bool:
        """Anneal rows first .. last - 1, then in short rounds, after which components that got worse are taken back."""
        assert self._crossover is not None
        row_words = -(-self._parameters.n // 32)
        if self._before is None:
            self._before = self._memory.empty(self._least * row_words, np.uint32)
        if not self._improve_in_parts(first, last, stream, step, self._ends[0]):
            return False
        device, rows = self._memory.device, self._memory.population_rows
        began, since = time.perf_counter(), self._ends[0]
        for begin, end in itertools.pairwise(self._ends):
            device.copy(self._before, rows, 0, first * row_words, (last - first) * row_words)
            self._improve_rows(first, last, stream, step, begin, end)
            self._crossover.combine_own(self._before, first, last)
            if end - since >= self._part.amount:
                device.sync()
                self._part.took(time.perf_counter() - began, end - since)
                began, since = time.perf_counter(), end
                if self._interrupted() and end < self._whole:
                    return False
        return True

    def _improve_in_parts(self, first: int, last: int, stream: int, step: int, whole: int = 0) -> bool:
        """Improve rows first .. last - 1 by several launches; False if the search was interrupted between them."""
        done, whole = 0, whole or self._whole
        while done < whole:
            part = min(self._part.amount, whole - done)
            began = time.perf_counter()
            self._improve_rows(first, last, stream, step, done, done + part)
            self._memory.device.sync()
            self._part.took(time.perf_counter() - began, part)
            done += part
            if done < self._whole and self._interrupted():
                return False
        return True

    def _improve_rows(self, first: int, last: int, stream: int, step: int, begin: int, end: int) -> None:
        """Launch flips (of annealing: sweeps) begin .. end - 1 of rows first .. last - 1."""
        improve, memory, parameters = self._programs.improve, self._memory, self._parameters
        assert improve is not None
        varying: dict[str, Any] = {self._span[0]: begin, self._span[1]: end}
        if self._temperatures:
            varying["temperatures"] = self._temperatures[stream]
        if self._improvement.rule in ("tabu", "walk"):
            in_parts = begin > 0 or end < self._whole
            if in_parts and self._states is None:
                self._states = memory.empty(self._least * self._state_words, np.uint32)
            varying |= {
                "states": memory.population_rows if self._states is None else self._states,
                "state_words": self._state_words if in_parts else 0,
                "keeps_state": int(end < self._whole),
            }
        stream = stream_word(stream, parameters.chain)
        place = {"first": first, "last": last, "stream": stream, "step": step}
        self._launch(improve, min(last - first, self._groups), self._block, **place, **varying)
