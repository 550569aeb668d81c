"""How large a search will be, before it: nodes by stochastic enumeration, seconds at the node rate of these devices."""

import contextlib
import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.context import QuietContext
from ...base.estimate import Estimate
from ...devices import Device, DevicePool
from ...devices.pool.group import WorkerGroup
from ...errors import ProblemError
from .heuristics.search import first_solution, is_searched
from .intervals import cut
from .options import Options
from .problems.flowshop import Flowshop
from .search.messages import Report, Task
from .search.sampling import SamplePlan, TreeSampler, error_factor, plan_for
from .search.worker import SearchWorker
from .tree import INFINITY, PermutationProblem, Tree
from .validate import tree_of

_SECONDS = 0.3
_SAMPLE_SECONDS = 3.0
_FIRST_SHARE, _TRIAL_SHARE = 0.4, 0.2  # how much of a time limit is for the first solution and for the trial
_FEWEST_NODES = 8


@dataclass(frozen=True)
class _Trial:
    """A short search: nodes a second; the nodes of the whole tree, if it came to the end; the best value known then."""

    rate: float
    nodes: int | None
    upper: int


class _Estimator:
    """Estimates and trial searches on one device, on its thread."""

    def __init__(self, device: Device, tree: Tree, options: Options, initial: int) -> None:
        self._device = device
        self._tree = tree
        self._options = options
        self._initial = initial
        self._rate = math.inf

    def estimates(self, upper: int, seed: int, end: float, seconds: float) -> tuple[NDArray[np.float64], float]:
        """Estimates of all nodes, and the coarseness of their plan; no pass but the first begins after ``end``."""
        items = self._tree.items
        plan = plan_for(items, self._device.capabilities.simt)
        plan = plan.within(seconds, self._rate, items) or SamplePlan(plan.passes, _FEWEST_NODES, _FEWEST_NODES)
        sampler = TreeSampler(self._device, self._tree, self._options, self._initial, plan)
        with contextlib.closing(sampler):
            return sampler.estimates(upper, seed, lambda: time.monotonic() >= end), plan.coarseness(items)

    def trial(self, seconds: float) -> _Trial:
        """Search for a moment, after compiling, and measure the last turns."""
        with contextlib.closing(SearchWorker(self._device, self._tree, self._options, self._initial)) as worker:
            worker.warm_up()
            trial = self._measured(worker, seconds)
        self._rate = trial.rate
        return trial

    def _measured(self, worker: SearchWorker, seconds: float) -> _Trial:
        left, upper, rate, before = cut(self._tree.items, 0), self._initial, 0.0, 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            report: Report = worker.turn(Task(upper, left, seconds=seconds / 8))
            left = report.returned
            if report.found is not None:
                upper = min(upper, report.found.value)
            rate = (report.nodes - before) / max(report.seconds, 1e-9)
            before = report.nodes
            if not report.active and not len(left):
                whole = report.nodes / max(time.perf_counter() - began, 1e-9)
                return _Trial(whole, report.nodes if upper == self._initial else None, upper)
        return _Trial(rate, None, upper)


def estimate(
    problem: PermutationProblem, options: Options, pool: DevicePool, seed: int, seconds: float = math.inf
) -> Estimate:
    """Estimate the search below the first solution, ``upper_bound``, or a better one found while rates are measured."""
    if problem.only_solution() is not None:
        return Estimate("nodes", 0.0, 0.0, 0.0, 0.0)
    if isinstance(problem, Flowshop) and not is_searched(problem, options):
        raise ProblemError(
            f"there is no search of {problem.name} to estimate: its tree would not end, and the schedule is improved "
            "until the time limit"
        )
    tree = tree_of(problem, options)
    began = time.monotonic()

    def expired() -> bool:
        return time.monotonic() >= began + _FIRST_SHARE * seconds

    given, lower = getattr(options, "upper_bound", None), tree.lower_bound()
    if tree.counts or given is not None:
        initial = INFINITY if given is None else min(int(given), INFINITY)
    else:
        solution, found = first_solution(problem, options, QuietContext(seed), expired, pool)
        initial, lower = INFINITY if solution is None else tree.evaluate(solution), max(lower, found)
    if lower < initial:
        tree.prepare(expired)
    if initial <= max(lower, tree.lower_bound()) and not tree.counts:
        return Estimate("nodes", 0.0, 0.0, 0.0, 0.0)
    with WorkerGroup(pool.members, _Estimator, [(tree, options, initial)] * len(pool)) as group:
        trials = group.map(_Estimator.trial, [(min(_SECONDS, _TRIAL_SHARE * seconds),)] * len(pool))
        rate = sum(trial.rate for trial in trials if trial is not None)
        exact = next((trial.nodes for trial in trials if trial is not None and trial.nodes is not None), None)
        upper = min(trial.upper for trial in trials if trial is not None)
        if exact is not None:
            low = amount = high = float(exact)
        else:
            left = min(_SAMPLE_SECONDS, (1 - _FIRST_SHARE - _TRIAL_SHARE) * seconds)
            seeds = [(upper, seed * len(pool) + index, began + seconds, left) for index in range(len(pool))]
            samples = [one for one in group.map(_Estimator.estimates, seeds) if one is not None]
            values = np.concatenate([part for part, _ in samples])
            coarseness = np.array([np.mean([one for _, one in samples])])
            factor = error_factor(values[None, :], tree.items, coarseness=coarseness)
            amount = float(values.mean())
            low, high = amount / factor, amount * factor
    return Estimate("nodes", amount, low, high, rate)
