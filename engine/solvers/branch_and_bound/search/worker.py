"""One device's part of a search, turn by turn on its thread: how long its slices are, and which variant searches."""

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ....devices import Device, StreamEvent
from ....devices.pool.slices import SLICE_SECONDS, SliceLength
from ..heuristics.chains import ScheduleSearch
from ..intervals import Units
from ..options import Options
from ..tree import LARGEST_TREE, Tree
from .children import ChildBounding
from .frontier import LEVELS, FrontierSnapshot
from .ivms import Ivms
from .messages import Found, IntervalMessage, Report, Sample, State, Task
from .profile import depth_profile
from .sampling import TreeSampler, short_plan_for

_MOST_STEPS = 1 << 18
_MOST_ROUNDS = 64
_FEWEST_STEPS = 16
_FIRST_STEPS = 64
_LAUNCHES = 4
_BEGIN_AFTER = 1.0
_SHARE, _SHARE_OF_VAIN = 0.5, 0.1
_VAIN_SECONDS = 10.0
_SAMPLE_SECONDS = 0.3
_RISING = 1.2


class _Improving:
    """A search for better solutions between turns, after a second: half of the time, a tenth once it is in vain.

    Of many jobs at once, and half of the time throughout.
    """

    def __init__(self, make: Callable[[], ScheduleSearch | None], tree: Tree) -> None:
        self._make: Callable[[], ScheduleSearch | None] | None = make
        self._sides = (0,) * tree.leaf_depth
        self._many = tree.items > LARGEST_TREE
        self._improver: ScheduleSearch | None = None
        self._searched = self._owed = self._vain = 0.0

    def after(self, report: Report, upper: int, halted: Callable[[], bool]) -> Report:
        """The report of a turn, with what was found after it."""
        self._searched += report.seconds
        if self._make is not None and (self._many or self._searched >= _BEGIN_AFTER):
            self._improver, self._make = self._make(), None
        if self._improver is None:
            return report
        below = upper if report.found is None else min(upper, report.found.value)
        share = _SHARE if self._many or self._vain < _VAIN_SECONDS else _SHARE_OF_VAIN
        self._owed += report.seconds * share / (1 - share)
        began = time.perf_counter()
        better = self._improver.better(self._owed, below, halted) if self._owed > 0 else None
        seconds = time.perf_counter() - began
        self._owed -= seconds
        self._vain = 0.0 if better is not None else self._vain + seconds
        found = report.found if better is None else Found(*better, self._sides)
        return dataclasses.replace(report, found=found)

    def close(self) -> None:
        """Free the device's memory."""
        if self._improver is not None:
            self._improver.close()


class SearchWorker:
    """The search of one device, with ``seed`` also beside the tree; it compiles when it is opened or first used."""

    def __init__(
        self, device: Device, tree: Tree, options: Options, initial: int, seed: int | None = None, rank: int = 0
    ) -> None:
        self.device = device
        self._tree, self._options, self._initial = tree, options, initial
        self._simt = device.capabilities.simt
        self._variant = options.variant
        self._rate = self._rate_before = 0.0
        self._rounds = 2 if options.variant == "pte_peb" else 8  # whose rounds are long
        self._sampler: TreeSampler | None = None
        self._random = np.random.default_rng(0)
        self._improving: _Improving | None = None
        if seed is not None:
            self._improving = _Improving(functools.partial(tree.improver, device, seed, rank), tree)

    @functools.cached_property
    def _ivms(self) -> Ivms:
        ivms = Ivms(self.device, self._tree, self._options, self._initial)
        # Where lanes do not hide it, a costly bound would make a long first slice.
        self._steps = self._step_control(ivms.shapes.steps if self._simt else _FIRST_STEPS)
        ivms.steps = self._steps.amount
        return ivms

    @functools.cached_property
    def _children(self) -> ChildBounding:
        functions = self._tree.child_functions(self.device.capabilities)
        assert functions is not None
        return ChildBounding(self._ivms, functions)

    def open(self, warm_up: bool) -> int:
        """Take memory, and compile if ``warm_up`` says so; how many IVMs there are."""
        count = self._ivms.shapes.ivms
        if warm_up:
            self.warm_up()
        return count

    def _step_control(self, start: int) -> SliceLength:
        """The number of nodes that an IVM may decompose in a launch, beginning with ``start``; 1 without trigger."""
        if not self._options.steal_trigger:
            return SliceLength(1, most=1)
        return SliceLength(start, least=_FEWEST_STEPS, most=_MOST_STEPS)

    def close(self) -> None:
        """Free the device's memory."""
        made = vars(self)
        for part in (self._improving, self._sampler, made.get("_children"), made.get("_ivms")):
            if part is not None:
                part.close()

    def warm_up(self) -> None:
        """Run all once without any work: some drivers finish compiling a kernel at its first launch."""
        ivms = self._ivms
        if not ivms.shapes.cooperative:
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

    def units(self, message: IntervalMessage) -> Units:
        """The intervals of a message that lies in this device's memory."""
        return message.units(self.device)

    def discard(self) -> None:
        """Forget all intervals and counters."""
        self._ivms.discard()

    def turn(
        self, task: Task, interrupted: Callable[[], bool] | None = None, halted: Callable[[], bool] = lambda: False
    ) -> Report:
        """Take up intervals, search, give some away; ``interrupted`` ends it after a round, ``halted`` in a slice."""
        ivms = self._ivms
        began = time.perf_counter()
        ivms.release_delivered()
        ivms.set_upper(task.upper)
        returned = ivms.take(task.units, task.messages)
        stealing = 0.0
        active = ivms.active()
        exported: Sequence[Units | IntervalMessage] = ()
        if task.return_all:
            exported = ivms.return_all(len(task.peers))
            active = 0
        elif task.prompt:
            exported = self._give(task, active)
        if exported:
            stealing = time.perf_counter() - began
        elif active:
            stealing = self._explore(task.seconds, (lambda: True) if task.prompt else interrupted, halted)
            active = ivms.active()
            exported = self._give(task, active)
        remaining = ivms.measure()
        control, done = self.device.get(ivms.control)[0], self.device.get(ivms.counters)[0]
        seconds = time.perf_counter() - began
        sampled = None if task.sample is None else self._sampled(task.sample, task.upper, halted)
        report = Report(
            seconds=seconds,
            stealing=stealing,
            variant=self._variant,
            active=active,
            **{name: int(done[name]) for name in ("nodes", "leaves", "pushed", "solutions")},
            steals=int(control["stolen"]) - ivms.given,
            open=remaining,
            found=ivms.improvement(),
            returned=returned,
            exported=exported,
            frontier=ivms.frontier() if task.snapshot else None,
            remaining=sampled,
            sampling=time.perf_counter() - began - seconds,
            coarseness=1.0 if self._sampler is None else self._sampler.plan.coarseness(self._tree.items),
            profile=depth_profile(ivms, self._random) if task.profile and not halted() else None,
        )
        if self._improving is None or task.return_all:
            return report
        return self._improving.after(report, task.upper, halted)

    def _sampled(
        self, sample: Sample, upper: int, halted: Callable[[], bool] = lambda: False
    ) -> NDArray[np.float64] | None:
        """Estimates of the nodes that are left, from a sample of the open ones; None if that would take too long."""
        items = self._tree.items
        whole = short_plan_for(items, self._simt)
        plan = whole.within(_SAMPLE_SECONDS, self._rate, items)
        # a device too slow for a whole sample takes none while its node rate rises, as it does while few IVMs have work
        if plan is None or (plan != whole and self._rate > _RISING * self._rate_before):
            return None
        plan = plan.within_host(_SAMPLE_SECONDS, items)
        if self._sampler is not None and plan.drawn(items) >= 2 * self._sampler.plan.drawn(items):
            self._sampler.close()
            self._sampler = None
        if self._sampler is None:
            self._sampler = TreeSampler(self.device, self._tree, self._options, self._initial, plan)
        frontier = self._ivms.frontier(items)
        return self._sampler.remaining(frontier, upper, sample.seed, sample.units, sample.weight, halted)

    def _give(self, task: Task, active: int) -> Sequence[Units | IntervalMessage]:
        """Give intervals to those that asked, if there are any to spare."""
        return self._ivms.give(task.wanted, task.peers) if task.wanted and active >= task.least else ()

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
        ahead = self._simt and seconds >= SLICE_SECONDS
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
        stealing = min(elapsed, one * rounds)
        nodes = ivms.nodes() - before
        self._rate, self._rate_before = max(self._rate, nodes / max(elapsed, 1e-9)), self._rate
        self._adapt(elapsed, seconds, nodes, rounds)
        return stealing

    def _await_round(self, before_last: StreamEvent | None, ahead: bool) -> StreamEvent | None:
        """Wait for the last round, or with ``ahead`` for the one before: the device always has one to do."""
        if not ahead:
            self.device.sync()
            return None
        last = self.device.record_event()
        if before_last is not None:
            self.device.synchronize_event(before_last)
        return last

    def _adapt(self, elapsed: float, seconds: float, nodes: int, rounds: int) -> None:
        """Make the next slice about as long as it should be, from slices in which many IVMs have work."""
        ivms = self._ivms
        active, shapes = ivms.active(), ivms.shapes
        if 2 * active >= shapes.ivms:
            self._steps.seconds = seconds / _LAUNCHES
            self._steps.took(elapsed, nodes / active)
            ivms.ramp_steps = shapes.ramp_steps
        else:
            if self._steps.amount > shapes.steps:
                self._steps = self._step_control(shapes.steps)
            if self._options.strategy != "siblings":  # the others may leave most IVMs idle for long
                ivms.ramp_steps = min(2 * ivms.ramp_steps, self._steps.amount)
        ivms.steps = self._steps.amount
        if elapsed > 1.5 * seconds:
            self._rounds = max(2, rounds // 2)
        elif elapsed < seconds / 2 and rounds == self._rounds:
            self._rounds = min(_MOST_ROUNDS, 2 * self._rounds)

    def _search(self) -> None:
        """One launch of the current variant."""
        self._ivms.begin_round()
        (self._ivms if self._variant == "pte" else self._children).explore()
