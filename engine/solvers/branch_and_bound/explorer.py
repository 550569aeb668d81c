"""One device's part of a search, turn by turn: how long its slices are, and which variant searches.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from engine.devices import Capabilities, Device
from engine.errors import OptionError
from engine.solvers.branch_and_bound.exchange import Exchange
from engine.solvers.branch_and_bound.intervals import Units
from engine.solvers.branch_and_bound.ivms import Ivms
from engine.solvers.branch_and_bound.kernels import Kernels, Shapes, as_parallel, shapes_for
from engine.solvers.branch_and_bound.options import Options
from engine.solvers.branch_and_bound.parallel import BoundInParallel
from engine.solvers.branch_and_bound.proof import View
from engine.solvers.branch_and_bound.tree import Tree
from engine.solvers.branch_and_bound.turns import Found, Parcel, Report, State, Task

__all__ = ["Explorer"]

_STOLEN = 4
_MOST_STEPS = 1 << 18
_MOST_ROUNDS = 64
_FEWEST_STEPS = 16
_FIRST_STEPS = 64
_LAUNCHES = 4
_BEFORE_COMPARING = 0.5
_PARALLEL_STEPS = 16


class Explorer:
    """The search on one device.

    Parameters
    ----------
    device : Device
    tree : Tree
    options : Options
    initial : int
        The initial upper bound, on which branching depends.
    capabilities : Capabilities, optional
        What kernels and shapes are chosen by, if not the device's own.
    """

    def __init__(
        self, device: Device, tree: Tree, options: Options, initial: int, capabilities: Capabilities | None = None
    ) -> None:
        used_as = capabilities or device.capabilities
        half = tree.device(used_as, device.language)
        self.device = device
        self.shapes: Shapes = shapes_for(used_as, tree, half, options.ivms)
        parallel = tree.device(as_parallel(used_as), device.language)
        if options.variant == "pte_peb" and not parallel.child_bounds:
            raise OptionError("variant = 'pte_peb' needs a problem whose kernel functions include child_bounds")
        self._variant = options.variant if options.variant != "auto" else "pte"
        self._to_compare = options.variant == "auto" and half.costly and half.together is None and parallel.child_bounds
        self._rates: dict[str, float] = {}
        self._searched = 0.0
        self._mark: tuple[int, float] | None = None
        self._parallel_table = parallel.table
        self._parallel: BoundInParallel | None = None
        self._rounds = 8
        kernels = Kernels(device, tree, half, parallel, self.shapes)
        trigger = max(1, round(options.steal_trigger * 1000))
        self._ivms = Ivms(device, tree, half, kernels, self.shapes, initial, options.strategy, trigger)
        self._exchange = Exchange(self._ivms)
        if used_as.kind == "cpu":  # where a costly bound would make a long first slice
            self._ivms.steps = _FIRST_STEPS

    def release(self) -> None:
        """Give the memory back."""
        if self._parallel is not None:
            self._parallel.close()
        self._exchange.release()
        self._ivms.release()

    def warm_up(self) -> None:
        """Compile what a turn needs, and run it once without any work.

        Some drivers finish a kernel when it is first launched, which may take longer than a whole search elsewhere.
        """
        ivms = self._ivms
        ivms.kernels.compile("initialize", "explore")
        if self.shapes.lanes == 1:
            ivms.initialize(ivms.found_path, ivms.thieves, 0)
        ivms.pack(ivms.found_path, 0, 1)
        ivms.measure()
        ivms.steal()
        self._search()
        self.device.sync()

    def state(self) -> State:
        """The search at rest, unchanged."""
        return self._ivms.state()

    def view(self) -> View:
        """The open nodes near the root."""
        return self._ivms.view()

    def turn(self, task: Task, interrupted: Callable[[], bool] | None = None) -> Report:
        """Take up intervals, search for a while, give some away.

        Parameters
        ----------
        task : Task
        interrupted : callable, optional
            Asked after every round of stealing and searching; where it says so, the turn ends early.
        """
        ivms = self._ivms
        began = time.perf_counter()
        self._exchange.forget_outgoing()
        ivms.tell_upper(task.upper)
        returned = self._exchange.take(task.units, task.parcels)
        stealing = 0.0
        active = ivms.active()
        exported: Sequence[Units | Parcel] = ()
        if task.surrender:
            exported = self._exchange.surrender(len(task.peers))
            active = 0
        elif task.prompt:
            exported = self._give(task, active)
        if exported:
            stealing = time.perf_counter() - began
        elif active:
            self._compare()
            stealing = self._explore(task.seconds, (lambda: True) if task.prompt else interrupted)
            active = ivms.active()
            exported = self._give(task, active)
        remaining = ivms.measure()
        control = self.device.get(ivms.control, 0, 8)
        counters = self.device.get(ivms.counters)
        nodes, leaves, pushed, solutions = (int(value) for value in counters[:4])
        return Report(
            seconds=time.perf_counter() - began,
            stealing=stealing,
            active=active,
            nodes=nodes,
            leaves=leaves,
            pushed=pushed,
            solutions=solutions,
            stolen=int(control[_STOLEN]) - self._exchange.given,
            open=remaining,
            found=self._improvement(),
            returned=returned,
            exported=exported,
            view=ivms.view() if task.look else None,
        )

    def _give(self, task: Task, active: int) -> Sequence[Units | Parcel]:
        """Give intervals to those that asked, if there are any to spare."""
        return self._exchange.give(task.wanted, task.peers) if task.wanted and active >= task.least else ()

    def _improvement(self) -> Found | None:
        return self._ivms.improvement()

    def _explore(self, seconds: float, interrupted: Callable[[], bool] | None) -> float:
        """Rounds of stealing and searching; returns the seconds spent stealing."""
        ivms = self._ivms
        before = ivms.nodes()
        began = time.perf_counter()
        ivms.steal()
        self.device.sync()
        one = time.perf_counter() - began
        self._search()
        rounds = 1
        while rounds < self._rounds:
            if interrupted is not None:
                self.device.sync()
                if interrupted() or time.perf_counter() - began > 1.5 * seconds:
                    break
            ivms.steal()
            self._search()
            rounds += 1
        self.device.sync()
        elapsed = time.perf_counter() - began
        self._searched += elapsed
        stealing = min(elapsed, one * rounds)
        self._adapt(elapsed, seconds, ivms.nodes() - before, rounds)
        return stealing

    def _adapt(self, elapsed: float, seconds: float, nodes: int, rounds: int) -> None:
        """Make the next slice about as long as it should be.

        A launch that nobody ends early should take a part of a slice; where launches end early for stealing, more of
        them fit. IVMs are much faster while few are at work, so only a slice with many tells how fast they are.
        """
        ivms = self._ivms
        active = ivms.active()
        if 2 * active >= self.shapes.ivms:
            fitting = int(seconds / _LAUNCHES * nodes / (elapsed * active))
            ivms.steps = max(_FEWEST_STEPS, min(fitting, 2 * ivms.steps, _MOST_STEPS))
        else:
            ivms.steps = min(ivms.steps, self.shapes.steps)
        if elapsed > 1.5 * seconds:
            self._rounds = max(2, rounds // 2)
        elif elapsed < seconds / 2 and rounds == self._rounds:
            self._rounds = min(_MOST_ROUNDS, 2 * self._rounds)

    def _compare(self) -> None:
        """Where both variants may pay: a slice of each once most IVMs are at work, then the faster one."""
        if not self._to_compare or self._searched < _BEFORE_COMPARING:
            return
        nodes = self._ivms.nodes()
        if self._mark is not None:
            self._rates[self._variant] = (nodes - self._mark[0]) / max(1e-9, self._searched - self._mark[1])
        if len(self._rates) == 2:
            self._variant = "pte" if self._rates["pte"] >= self._rates["pte_peb"] else "pte_peb"
            self._to_compare = False
        elif self._rates and self._variant == "pte":
            self._variant, self._mark = "pte_peb", None  # whose first slice is spent compiling
            self._ivms.steps, self._rounds = _PARALLEL_STEPS, 2
        else:
            self._mark = (nodes, self._searched)

    def _search(self) -> None:
        """One launch of the present variant."""
        self._ivms.begin_round()
        if self._variant == "pte":
            self._ivms.explore()
            return
        if self._parallel is None:
            self._parallel = BoundInParallel(self._ivms, self._parallel_table)
        self._parallel.explore()
