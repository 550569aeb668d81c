"""One device's part of a search, turn by turn: how long its slices are, and which variant searches.

Everything here runs on the device's own thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ....devices import Capabilities, Device, StreamEvent
from ....devices.pool.slices import SLICE_SECONDS, SliceLength
from ....errors import OptionError
from ..intervals import Units
from ..options import Options
from ..tree import Tree
from .children import ChildBounding
from .frontier import LEVELS, FrontierSnapshot
from .messages import Found, IntervalMessage, Report, Sample, State, Task
from .profile import depth_profile
from .programs import Shapes
from .sampling import TreeSampler, short_plan_for
from .setup import Setup
from .transfers import Transfers

__all__ = ["SearchWorker"]

_MOST_STEPS = 1 << 18
_MOST_ROUNDS = 64
_FEWEST_STEPS = 16
_FIRST_STEPS = 64
_LAUNCHES = 4
_BEFORE_COMPARING = 0.5
_PARALLEL_STEPS = 16
_SAMPLE_SECONDS = 0.3
_RISING = 1.2


def _never() -> bool:
    return False


class SearchWorker:
    """The search on one device.

    Parameters
    ----------
    device, tree, options, initial, capabilities
        See :class:`~engine.solvers.branch_and_bound.search.setup.Setup`.
    """

    def __init__(
        self, device: Device, tree: Tree, options: Options, initial: int, capabilities: Capabilities | None = None
    ) -> None:
        setup = Setup(device, tree, options, initial, capabilities)
        functions = setup.child_functions
        self.device = device
        self.shapes: Shapes = setup.shapes(options.ivms)
        if options.variant == "pte_peb" and functions is None:
            raise OptionError("variant = 'pte_peb' needs a problem whose kernel functions include child_bounds")
        self._setup = setup
        self._functions = functions
        self._variant = options.variant if options.variant != "auto" else "pte"
        costly = setup.functions.costly and setup.functions.cooperative is None
        self._to_compare = options.variant == "auto" and costly and functions is not None
        self._rates: dict[str, float] = {}
        self._searched = 0.0
        self._rate = self._rate_before = 0.0
        self._compared_from: tuple[int, float] | None = None
        self._children: ChildBounding | None = None
        self._rounds = 2 if options.variant == "pte_peb" else 8  # whose rounds are long
        self._sampler: TreeSampler | None = None
        self._random = np.random.default_rng(0)
        self._programs = setup.programs(self.shapes, children=True)
        self._ivms = setup.ivms(self._programs)
        self._transfers = Transfers(self._ivms)
        # Where lanes do not hide it, a costly bound would make a long first slice.
        self._steps = self._step_control(self.shapes.steps if setup.traits.simt else _FIRST_STEPS)
        self._ivms.steps = self._steps.amount

    def _step_control(self, start: int) -> SliceLength:
        """The number of nodes that an IVM may decompose in a launch, beginning with ``start``; 1 without trigger."""
        if not self._setup.options.steal_trigger:
            return SliceLength(1, most=1)
        return SliceLength(start, least=_FEWEST_STEPS, most=_MOST_STEPS)

    def release(self) -> None:
        """Give the memory back."""
        if self._children is not None:
            self._children.close()
        self._transfers.release()
        if self._sampler is not None:
            self._sampler.release()
        self._ivms.release()

    def warm_up(self) -> None:
        """Compile what a turn needs, and run it once without any work.

        Some drivers finish a kernel when it is first launched, which may take longer than a whole search elsewhere.
        """
        ivms = self._ivms
        if not self.shapes.cooperative:
            ivms.initialize(ivms.leaf_paths, ivms.thieves, 0)
        ivms.pack(ivms.leaf_paths, 0, 1)
        ivms.measure()
        ivms.steal()
        self._search()
        self.device.sync()

    def state(self) -> State:
        """The search at rest, unchanged."""
        return self._ivms.state()

    def frontier(self, levels: int = LEVELS) -> FrontierSnapshot:
        """The open nodes of the first levels."""
        return self._ivms.frontier(levels)

    def discard(self) -> None:
        """Forget all intervals and counters."""
        self._transfers.release()
        self._transfers.given = 0
        self._ivms.discard()

    def turn(
        self, task: Task, interrupted: Callable[[], bool] | None = None, halted: Callable[[], bool] = _never
    ) -> Report:
        """Take up intervals, search for a while, give some away.

        ``interrupted`` is asked after every round of stealing and searching, ``halted`` several times a slice and in
        a sample; where one says so, the turn ends early. A device that does not share the host's cores has more rounds
        to do meanwhile.
        """
        ivms = self._ivms
        began = time.perf_counter()
        self._transfers.release_delivered()
        ivms.set_upper(task.upper)
        returned = self._transfers.take(task.units, task.messages)
        stealing = 0.0
        active = ivms.active()
        exported: Sequence[Units | IntervalMessage] = ()
        if task.return_all:
            exported = self._transfers.return_all(len(task.peers))
            active = 0
        elif task.prompt:
            exported = self._give(task, active)
        if exported:
            stealing = time.perf_counter() - began
        elif active:
            self._compare()
            stealing = self._explore(task.seconds, (lambda: True) if task.prompt else interrupted, halted)
            active = ivms.active()
            exported = self._give(task, active)
        remaining = ivms.measure()
        control, done = self.device.get(ivms.control)[0], self.device.get(ivms.counters)[0]
        seconds = time.perf_counter() - began
        sampled = None if task.sample is None else self._sampled(task.sample, task.upper, halted)
        return Report(
            seconds=seconds,
            stealing=stealing,
            variant=self._variant,
            active=active,
            nodes=int(done["nodes"]),
            leaves=int(done["leaves"]),
            pushed=int(done["pushed"]),
            solutions=int(done["solutions"]),
            stolen=int(control["stolen"]) - self._transfers.given,
            open=remaining,
            found=self._improvement(),
            returned=returned,
            exported=exported,
            frontier=ivms.frontier() if task.snapshot else None,
            remaining=sampled,
            sampling=time.perf_counter() - began - seconds,
            coarseness=1.0 if self._sampler is None else self._sampler.plan.coarseness(self._setup.tree.items),
            profile=depth_profile(ivms, self._random) if task.profile and not halted() else None,
        )

    def _sampled(self, sample: Sample, upper: int, halted: Callable[[], bool] = _never) -> NDArray[np.float64] | None:
        """Estimates of the nodes that are left, from a sample of the open ones; None if that would take too long.

        A device is slow while few of its IVMs have work. Where it is too slow for a whole sample and its node rate
        still rises, it takes none; a sample that was made smaller is made larger once the rate has doubled.
        """
        items = self._setup.tree.items
        whole = short_plan_for(items, self._setup.traits.simt)
        plan = whole.within(_SAMPLE_SECONDS, self._rate, items)
        if plan is None or (plan != whole and self._rate > _RISING * self._rate_before):
            return None
        plan = plan.within_host(_SAMPLE_SECONDS, items)
        if self._sampler is not None and plan.drawn(items) >= 2 * self._sampler.plan.drawn(items):
            self._sampler.release()
            self._sampler = None
        if self._sampler is None:
            self._sampler = TreeSampler(self._setup, plan)
        frontier = self._ivms.frontier(items)
        return self._sampler.remaining(frontier, upper, sample.seed, sample.units, sample.weight, halted)

    def _give(self, task: Task, active: int) -> Sequence[Units | IntervalMessage]:
        """Give intervals to those that asked, if there are any to spare."""
        return self._transfers.give(task.wanted, task.peers) if task.wanted and active >= task.least else ()

    def _improvement(self) -> Found | None:
        return self._ivms.improvement()

    def _explore(self, seconds: float, interrupted: Callable[[], bool] | None, halted: Callable[[], bool]) -> float:
        """Rounds of stealing and searching; returns the seconds spent stealing."""
        ivms = self._ivms
        before = ivms.nodes()
        began = time.perf_counter()
        ivms.steal()
        self.device.sync()
        one = time.perf_counter() - began
        self._search()
        rounds = 1
        ahead = self._setup.traits.simt and seconds >= SLICE_SECONDS
        before_last: StreamEvent | None = None
        check, step = 1, 1
        while rounds < self._rounds:
            if rounds >= check:
                before_last = self._await_round(before_last, ahead)
                elapsed = time.perf_counter() - began
                if elapsed > 1.5 * seconds or halted() or (interrupted is not None and interrupted()):
                    break
                if interrupted is None:  # a quarter of a slice from now
                    step = max(1, min(2 * step, int(seconds / 4 * rounds / elapsed)))
                check = rounds + step
            ivms.steal()
            self._search()
            rounds += 1
        self.device.sync()
        elapsed = time.perf_counter() - began
        self._searched += elapsed
        stealing = min(elapsed, one * rounds)
        nodes = ivms.nodes() - before
        self._rate, self._rate_before = max(self._rate, nodes / max(elapsed, 1e-9)), self._rate
        self._adapt(elapsed, seconds, nodes, rounds)
        return stealing

    def _await_round(self, before_last: StreamEvent | None, ahead: bool) -> StreamEvent | None:
        """Wait for the last round, or with ``ahead`` for the one before it, so that the device always has one to do."""
        if not ahead:
            self.device.sync()
            return None
        last = self.device.record_event()
        if before_last is not None:
            self.device.synchronize_event(before_last)
        return last

    def _adapt(self, elapsed: float, seconds: float, nodes: int, rounds: int) -> None:
        """Make the next slice about as long as it should be.

        A launch that does not end early should take a part of a slice; where launches end early for stealing, more of
        them fit. IVMs are much faster while few have work, so only slices in which many have work are measured.
        """
        ivms = self._ivms
        active = ivms.active()
        if 2 * active >= self.shapes.ivms:
            self._steps.seconds = seconds / _LAUNCHES
            self._steps.took(elapsed, nodes / active)
            ivms.ramp_steps = self.shapes.ramp_steps
        else:
            if self._steps.amount > self.shapes.steps:
                self._steps = self._step_control(self.shapes.steps)
            if self._setup.options.strategy != "siblings":  # the others may leave most IVMs idle for long
                ivms.ramp_steps = min(2 * ivms.ramp_steps, self._steps.amount)
        ivms.steps = self._steps.amount
        if elapsed > 1.5 * seconds:
            self._rounds = max(2, rounds // 2)
        elif elapsed < seconds / 2 and rounds == self._rounds:
            self._rounds = min(_MOST_ROUNDS, 2 * self._rounds)

    def _compare(self) -> None:
        """Where both variants may pay: a slice of each once most IVMs are at work, then the faster one."""
        if not self._to_compare or self._searched < _BEFORE_COMPARING:
            return
        nodes = self._ivms.nodes()
        if self._compared_from is not None:
            self._rates[self._variant] = (nodes - self._compared_from[0]) / max(
                1e-9, self._searched - self._compared_from[1]
            )
        if len(self._rates) == 2:
            self._variant = "pte" if self._rates["pte"] >= self._rates["pte_peb"] else "pte_peb"
            self._to_compare = False
        elif self._rates and self._variant == "pte":
            self._variant, self._compared_from = "pte_peb", None  # whose first slice is spent compiling
            self._steps, self._rounds = self._step_control(_PARALLEL_STEPS), 2
            self._ivms.steps = self._steps.amount
        else:
            self._compared_from = (nodes, self._searched)

    def _search(self) -> None:
        """One launch of the current variant."""
        self._ivms.begin_round()
        if self._variant == "pte":
            self._ivms.explore()
            return
        if self._children is None:
            assert self._programs.children is not None
            assert self._functions is not None
            self._children = ChildBounding(self._ivms, self._programs.children, self._functions.table)
        self._children.explore()
