"""What is known of a run so far, over all its populations: reported live, kept in checkpoints, and made the result."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from ...base.result import Result, Status
from ...errors import AuditError
from .device.state import STATUS, PopulationState
from .fitness import Fitness
from .fitness.reduction import Reduced
from .fitness.tables import Decomposable
from .islands import Islands, Round
from .network import bit_planes, edge_list, individuals
from .options import Parameters
from .population import Snapshot
from .schema import COLUMNS, GRAPH_GENES, SCHEMA, SNAPSHOT_GENES, CheckpointState
from .scores import ENTROPY_UNIT

_SNAPSHOT_SECONDS, _SNAPSHOT_SHARE = 0.2, 0.02  # of the run's time, so that long runs do not drown in snapshots
_SNAPSHOT_INDIVIDUALS = 64
_ISLAND = SCHEMA.column_index("island")
_COUNTS = tuple(name for name in CheckpointState.model_fields if name != "step")


@dataclass
class Record:
    """Best individual, counts, history, and the last snapshot of a population.

    ``missing``: evaluations counted of a first population that the end of the run left undone.
    """

    fitness: Fitness
    algorithm: str = "Bayesian optimization algorithm"
    best_key: int | None = None
    best: NDArray[np.uint8] | None = None
    evaluations: int = 0
    flips: int = 0
    generations: int = 0
    populations: int = 0
    stagnant: int = 0
    before: int | None = None
    population: int = 0
    islands: int = 1
    missing: int = 0
    rows: list[list[float]] = field(default_factory=list)
    snapshot: Snapshot | None = None
    members: NDArray[np.uint8] | None = None
    _present: dict[int, list[float]] = field(default_factory=dict)
    _island_flips: dict[int, int] = field(default_factory=dict)
    _resumed: bool = False
    _snapshot_at: float = -math.inf
    _shown_key: int | None = None

    @property
    def value(self) -> int | float | None:
        """The best value so far."""
        return None if self.best_key is None else self.fitness.value(self.best_key)

    @property
    def bound(self) -> int | float | None:
        """What no value is better than: the known optimum or bound, unless a better value has been found."""
        best = self.fitness.best_key
        return None if best is None or self.is_surpassed else self.fitness.value(best)

    @property
    def is_surpassed(self) -> bool:
        """Whether a better value has been found than the optimum that the problem states."""
        best = self.fitness.best_key
        return best is not None and self.best_key is not None and self.best_key > best

    def notice_if_surpassed(self, run: RunContext) -> None:
        """Tell the user that the known optimum is wrong, if it is."""
        if self.is_surpassed:
            stated = self.fitness.value(self.fitness.best_key or 0)
            text = f"the value {self.value} is better than the optimum that the problem states, {stated}"
            run.notice(f"{text}, which is therefore wrong", level="warning")

    def violated(self) -> tuple[int, int | float] | None:
        """What the best individual so far violates, as the problem reports it."""
        if self.best_key is None or not isinstance(self.fitness, Decomposable):
            return None
        return self.fitness.violated(self.best_key)

    # --- during the run -----------------------------------------------------------------------------------------

    def begin(self, parameters: Parameters, islands: int) -> None:
        """A population, or one for each island, begins or, after the program was started again, continues."""
        if not self._resumed:
            self.before = self.best_key
            self._island_flips.clear()
        self._resumed = False
        self._present.clear()
        self.population, self.islands = parameters.population, islands

    def end(self) -> None:
        """A population has ended: note whether it was better than those before."""
        self.populations += 1
        improved = self.before is None or (self.best_key is not None and self.best_key > self.before)
        self.stagnant = 0 if improved else self.stagnant + 1

    def take(self, run: RunContext, islands: Islands, done: Round) -> None:
        """Take over what a slice did, and report it."""
        self.missing += done.missing
        if done.best is not None:
            self._take_individual(run, done.best)
        if not len(done.history):
            return
        parameters, fitness = islands.parameters, self.fitness
        for place, (row, island) in enumerate(zip(done.history.tolist(), done.islands.tolist(), strict=True)):
            values = dict(zip(STATUS.names, row, strict=True))
            self.evaluations += parameters.offspring if values["generation"] else parameters.population
            self.generations += values["generation"] > 0
            self.flips += values["flips"] - self._island_flips.get(island, 0)
            self._island_flips[island] = values["flips"]
            if done.means:
                mean = done.means[place]
            else:
                mean = (-1 if fitness.minimize else 1) * values["sum"] / parameters.population / fitness.scale
            self.rows.append(
                [
                    *(parameters.population, values["generation"], self.evaluations),
                    *(fitness.value(values["best"]), mean, fitness.value(values["worst"])),
                    *(values["edges"], values["open"], values["entropy"] * ENTROPY_UNIT / parameters.n),
                    *(island, self.flips),
                ]
            )
        best = int(done.history["best"].max())
        if self.best_key is None or best > self.best_key:
            self.best_key, self.best = best, islands.best()
            run.incumbent(self.value, self.bound)
        self._present.update((int(row[_ISLAND]), row) for row in self.rows[-len(done.history) :])
        self._report(run, islands, done)
        if run.elapsed - self._snapshot_at >= max(_SNAPSHOT_SECONDS, _SNAPSHOT_SHARE * run.elapsed):
            self.take_snapshot(run, islands)

    def _take_individual(self, run: RunContext, bits: NDArray[np.uint8]) -> None:
        """Keep an individual that is in no population, if it is better than all before."""
        key = int(self.fitness.keys(bits[None])[0])
        if self.best_key is None or key > self.best_key:
            self.best_key, self.best = key, bits
            run.incumbent(self.value, self.bound)

    def _report(self, run: RunContext, islands: Islands, done: Round) -> None:
        """The last generation of every island: the best, worst and latest of all, and means of the rest."""
        present = np.array([row for island, row in self._present.items() if island in islands.numbers])
        values = dict(zip(COLUMNS, present.mean(axis=0), strict=True))
        better, worse = (np.min, np.max) if self.fitness.minimize else (np.max, np.min)
        latest = [(name, np.max) for name in ("generation", "evaluations", "flips")]
        for name, of_all in (*latest, ("best", better), ("worst", worse)):
            values[name] = of_all(present[:, SCHEMA.column_index(name)])
        del values["island"]
        for name, value in values.items():
            run.metric(name, float(value))
        run.metric("generations", self.generations)
        for phase, seconds in done.seconds.items():
            run.metric(f"{phase}_seconds", seconds)

    def take_row(self, run: RunContext, row: Mapping[str, float], members: NDArray[np.uint8]) -> None:
        """Take over and report a row of the history of a search without network, and some of its individuals."""
        self.members = members
        self.rows.append([float(row.get(name, 0)) for name in COLUMNS])
        for name, value in row.items():
            run.metric(name, float(value))

    def take_snapshot(self, run: RunContext, islands: Islands) -> None:
        """Read a network and some individuals, and report them where that is little."""
        if islands.step == 0:
            return
        self.snapshot = snapshot = islands.snapshot()
        self._snapshot_at = run.elapsed
        fitness = self.fitness
        n = fitness.function.n if isinstance(fitness, Reduced) else fitness.n
        if self._shown_key != self.best_key and self.best is not None and n <= GRAPH_GENES:
            if isinstance(fitness, Decomposable) and int(fitness.widths.max()) == 2:
                run.trace("solution", snapshot.generation, fitness.whole(self.best[None])[0].tolist())
            self._shown_key = self.best_key
        if n <= SNAPSHOT_GENES:
            entropies = np.zeros(n)
            entropies[fitness.whole_genes] = gene_entropies(snapshot)
            words = snapshot.planes.shape[1]
            shown = fitness.whole(individuals(snapshot.planes, 32 * words))
            run.trace("gene_entropy", snapshot.generation, entropies.round(4).tolist())
            run.trace("edges", snapshot.generation, self._edges().ravel().tolist())
            run.trace("population", snapshot.generation, bit_planes(shown, words).ravel().tolist())

    def _order(self) -> NDArray[np.int32]:
        """The genes in sampling order."""
        if self.snapshot is None:
            return np.zeros(0, np.int32)
        return self.fitness.whole_genes[self.snapshot.order].astype(np.int32)

    def _edges(self) -> NDArray[np.int32]:
        if self.snapshot is None:
            return np.zeros((0, 2), np.int32)
        network = self.snapshot.network
        return edge_list(self._order(), network.parents, network.parent_count)

    # --- checkpoints --------------------------------------------------------------------------------------------

    def state(self, step: int) -> CheckpointState:
        """The scalars that a checkpoint keeps, the step of the islands among them."""
        return CheckpointState.model_validate({name: getattr(self, name) for name in _COUNTS} | {"step": step})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a checkpoint keeps."""
        assert self.best is not None
        return {"best": self.best, "rows": np.array(self.rows, np.float64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: CheckpointState) -> None:
        """The inverse of :meth:`arrays` and :meth:`state`."""
        for name in _COUNTS:
            setattr(self, name, getattr(state, name))
        self.best, self.rows = arrays["best"], arrays["rows"].tolist()
        self._resumed = True

    def continue_from(self, states: Mapping[int, PopulationState]) -> None:
        """Count on from the flips that the populations of a checkpoint have made."""
        self._island_flips = {island: int(state.status["flips"]) for island, state in states.items()}

    # --- the answer ---------------------------------------------------------------------------------------------

    def result(self, status: Status) -> Result:
        """The answer, once the host has found the same value for it."""
        fitness = self.fitness
        if self.best is None or self.best_key is None:
            return Result(status=status, objective=None, bound=None, solution=None)
        if fitness.is_checked:
            again = int(fitness.keys(self.best[None])[0])
            if again != self.best_key:
                raise AuditError(
                    f"the best string has the value {fitness.value(again)}, but the devices found {self.value}"
                )
        edges, n, violated = self._edges(), len(self.best), self.violated()
        planes = np.zeros((n, 0), np.uint32) if self.snapshot is None else self.snapshot.planes
        drawn = individuals(planes, min(_SNAPSHOT_INDIVIDUALS, self.population))
        return Result(
            status=status,
            objective=self.value,
            bound=self.bound,
            solution=fitness.whole(self.best[None])[0],
            counters={
                "evaluations": self.evaluations - self.missing,
                "flips": self.flips,
                "generations": self.generations,
                "population": self.population,
                "populations": max(1, self.populations),
                "islands": self.islands,
                "edges": len(edges),
                **({} if violated is None else {"unsatisfied_hard": violated[0], "unsatisfied_weight": violated[1]}),
            },
            arrays={
                "edges": edges,
                "order": self._order(),
                "population": fitness.whole(drawn if self.members is None else self.members),
                "history": np.array(self.rows),
                "algorithm": np.array(self.algorithm),
            },
        )


def gene_entropies(snapshot: Snapshot) -> NDArray[np.float64]:
    """Entropy in bits of each gene among the individuals that the network was learned from."""
    network = snapshot.network
    cells = np.arange(network.totals.shape[1])
    used = cells < (2 << network.parent_count)[:, None]
    ones = (network.totals * (used & (cells % 2 == 1))).sum(axis=1)
    share = ones / np.maximum(1, (network.totals * used).sum(axis=1))
    inside = np.clip(share, 1e-12, 1 - 1e-12)
    entropy = np.zeros(len(snapshot.order))
    entropy[snapshot.order] = -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
    return np.where(entropy < 1e-9, 0.0, entropy)
