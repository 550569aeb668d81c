"""What can be decided and checked before a device is opened: sizes, memory, and how each device counts."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from ...base.result import Result
from ...devices import DeviceInfo
from ...errors import OptionError, OutOfDeviceMemory
from ...util.text import bytes_text
from .device.local_search import choose_improvement
from .device.memory import largest_buffer, node_bytes, required_bytes
from .fitness import Fitness, Function, Snippet
from .fitness.autocorrelation import Autocorrelation
from .fitness.reduction import Reduced, reduced
from .fitness.tables import Decomposable
from .options import MOST_INDIVIDUALS, Counting, Migration, Options, Parameters, Rule, resolve
from .problem import BOA

_SMALLEST, _FEWEST = 64, 8  # first populations: where evaluations are not limited, and any
_HOST_MEMORY = 512e6
_SHARED_BITS = 5e9  # of a population, from which GPUs that read each other's memory share it

_INDIVIDUALS_PER_GENE: dict[Rule, float] = {"steepest": 4, "tabu": 0.25, "anneal": 0.125}
"""The first of ever larger populations; thorough searches of few individuals solve more than short ones of many."""

_MIXED_PER_GENE, _MOST_MIXED = 1.0, 1024
"""The same for ascents whose ends partition crossover combines, and the most of them."""

_MOST_LINKS = 64
"""Links of a gene to others, on average, up to which partition crossover is worth its time."""

_MOST_SEARCHED = 256
"""The same for searches that go on after a local optimum, which take long where there are many genes."""

_LEAST_ANNEALED, _ANNEALED_PER_GENE = 128, 0.025
"""The same for annealing with partition crossover: at equal work, few individuals with many sweeps came further, but of
10 000 and more genes 512 individuals, which a GPU anneals as fast as 128, needed fewer generations."""

_OF_BOTH = ("search", "initial", "target", "max_evaluations")  # options that do not ask for the network
_SEQUENCES = 4096  # of low autocorrelation, in the first population: many short searches

_MOST_WALKED, _FEWEST_WALKED, _WALKED_GENES = 64, 16, 160_000
"""The same for walks: of 5000 variables 32 individuals came further than 16, 64, 128 or 256 with as many flips."""


def initial_individuals(problem: BOA, options: Options) -> NDArray[np.uint8]:
    """What the initial population begins with, shape (s, n): the option ``initial``, then the problem's seeds."""
    if options.initial is None:
        return problem.seeds
    if len(options.initial) != problem.n or set(options.initial) - {0, 1}:
        raise OptionError(f"initial must be {problem.n} zeros and ones; got {len(options.initial)} values")
    return np.concatenate([np.array([options.initial], np.uint8), problem.seeds])


def reduced_problem(problem: BOA, options: Options) -> tuple[BOA, Options]:
    """The problem that is searched, and the options for it: without genes that can be eliminated exactly."""
    fitness = problem.fitness
    if not isinstance(fitness, Decomposable) or isinstance(fitness, Reduced) or options.local_search == "none":
        return problem, options
    smaller = reduced(fitness)
    if smaller is None:
        return problem, options
    seeds = initial_individuals(problem, options)[:, smaller.kept]
    return ReducedProblem(problem, smaller, seeds), options.model_copy(update={"initial": None})


class ReducedProblem(BOA):
    """What is searched in place of a problem, whose results it gives."""

    def __init__(self, problem: BOA, fitness: Reduced, seeds: NDArray[np.uint8]) -> None:
        super().__init__(fitness, seeds=seeds, name=problem.name)
        self._problem = problem

    @override
    def answer(self, result: Result) -> Result:
        return self._problem.answer(result)


def uses_pyramid(fitness: Fitness, options: Options) -> bool:
    """Whether the pyramid searches: of ``auto`` for a Python function, unless an option of the network is set."""
    if options.search == "network" or (options.search == "auto" and not isinstance(fitness, Function)):
        return False
    given = [name for name, value in Options() if name not in _OF_BOTH and getattr(options, name) != value]
    if options.search == "auto":
        return not given
    if given:
        raise OptionError(f"{given[0]} is an option of the network; it cannot be set with search = pyramid")
    if isinstance(fitness, Snippet):
        raise OptionError("search = pyramid evaluates on the host: give the function in Python in place of a C snippet")
    return True


def validate(problem: BOA, options: Options, devices: Sequence[DeviceInfo]) -> None:
    """Check the rules that join the problem, the options and the devices."""
    if uses_pyramid(problem.fitness, options):
        initial_individuals(problem, options)
        return
    _check_local_search(problem, options)
    if options.mixing == "partition" and choose_improvement(problem.fitness, options) is None:
        raise OptionError("mixing = partition needs a function given by tables, and local search")
    initial_individuals(problem, options)
    for info in devices:
        counting_for(options, info)
    parameters = parameters_for(problem, options, first_population(problem, options), seed=0)
    islands = migration_for(options, parameters, len(devices)).islands
    begun = islands * parameters.population
    if options.max_evaluations is not None and begun > options.max_evaluations:
        raise OptionError(
            f"max_evaluations must be at least the {begun:,} individuals that a run begins with; got "
            f"{options.max_evaluations:,}"
        )
    if islands == 1:
        sharing = range(len(devices) if shares_population(options, devices, parameters) else 1)
        held = {place: int(place in sharing) for place in range(len(devices))}
    else:
        held = {place: len(range(place, islands, len(devices))) for place in range(len(devices))}
    by_device: dict[str, int] = {}
    for place, info in enumerate(devices):
        by_device[info.id] = by_device.get(info.id, 0) + held[place] * required_bytes(parameters, 1)
    for info in devices:
        _require(info, by_device[info.id], largest_buffer(parameters), parameters)


def _check_local_search(problem: BOA, options: Options) -> None:
    rule, fitness = options.local_search, problem.fitness
    if rule in ("auto", "none"):
        return
    if isinstance(fitness, Autocorrelation):
        if rule != "tabu":
            raise OptionError(f"local_search = {rule} is not for sequences of low autocorrelation; use tabu or auto")
    elif not isinstance(fitness, Decomposable):
        needed = f"a function given by tables; got {fitness.text}, which is known by evaluation only"
        raise OptionError(f"local_search = {rule} needs {needed}")
    elif rule == "anneal" and not fitness.is_pairwise:
        raise OptionError("local_search = anneal needs functions of at most two genes, such as cuts and spin glasses")


def shares_population(options: Options, devices: Sequence[DeviceInfo], parameters: Parameters) -> bool:
    """Whether all devices work on one population, or the first alone.

    Of 1.25 million individuals of 5000 genes two H200 that read each other's memory took 0.63 of the time of one;
    through the host two took ten times as long with 600 000 individuals of 2000 genes.
    """
    if options.share == "always" or not all(info.capabilities.simt for info in devices):
        return True
    if not all(info.capabilities.peer_access for info in devices) or len({info.language for info in devices}) > 1:
        return False
    return parameters.n * parameters.population >= _SHARED_BITS


def _require(info: DeviceInfo, needed: int, largest: int, parameters: Parameters) -> None:
    size = f"the population ({parameters.population:,} x {parameters.n:,} genes)"
    if needed > info.memory:
        raise OutOfDeviceMemory(
            f"{size} needs {bytes_text(needed)} on {info.id}, which has {bytes_text(info.memory)}; "
            "lower population or max_parents"
        )
    if largest > info.max_allocation:
        raise OutOfDeviceMemory(
            f"{size} needs one buffer of {bytes_text(largest)} on {info.id}, which allows "
            f"{bytes_text(info.max_allocation)} at once; lower population"
        )


def parameters_for(problem: BOA, options: Options, population: int, seed: int, chain: int = 0) -> Parameters:
    """Sizes and rules of a run with a given population; see :func:`engine.solvers.boa.options.resolve`."""
    improvement = choose_improvement(problem.fitness, options)
    mixes = improvement is not None and mixes_parts(problem.fitness, options)
    return resolve(options, problem.n, population, seed, chain, improvement, mixes)


def mixes_parts(fitness: Fitness, options: Options) -> bool:
    """Whether to cross parts over: local optima of densely linked functions differ in one connected part only."""
    if not isinstance(fitness, Decomposable) or options.mixing == "none":
        return False
    widths = fitness.widths.astype(np.int64)
    return options.mixing == "partition" or int((widths * (widths - 1)).sum()) <= _MOST_LINKS * fitness.n


def first_population(problem: BOA, options: Options) -> int:
    """Individuals of the first population; the known ones must be among them."""
    known = len(problem.seeds)
    if isinstance(options.population, str):
        improvement = choose_improvement(problem.fitness, options)
        each, most = 4.0, MOST_INDIVIDUALS
        if improvement is not None:
            each = _INDIVIDUALS_PER_GENE.get(improvement.rule, 0.0)
            mixes = mixes_parts(problem.fitness, options)
            if improvement.rule == "tabu":
                most = _MOST_SEARCHED
            elif improvement.rule == "anneal":
                most = max(_LEAST_ANNEALED, int(_ANNEALED_PER_GENE * problem.n)) if mixes else _MOST_SEARCHED
            elif improvement.rule == "steepest" and mixes:
                each, most = _MIXED_PER_GENE, _MOST_MIXED
        size = max(_SMALLEST, min(int(each * problem.n), most))
        if isinstance(problem.fitness, Autocorrelation):
            size = _SEQUENCES
        if improvement is not None and improvement.rule == "walk":
            size = max(_FEWEST_WALKED, min(_MOST_WALKED, _WALKED_GENES // problem.n))
        size = min(max(size, 2 * known), MOST_INDIVIDUALS)
        islands = options.islands if isinstance(options.islands, int) else 1
        if options.max_evaluations is not None and size * islands > options.max_evaluations:
            size = max(_FEWEST, known, options.max_evaluations // (2 * islands))  # half of them are left for offspring
        return size
    if options.population < known:
        raise OptionError(
            f"population must be at least the number of known individuals, {known}; got {options.population}"
        )
    return options.population


def migration_for(options: Options, parameters: Parameters, devices: int) -> Migration:
    """How many populations there are (``devices``: as many as these), and what passes between them."""
    islands = devices if isinstance(options.islands, str) else options.islands
    migrants = max(1, math.floor(options.migration_fraction * parameters.population))
    return Migration(islands, options.migration_interval, min(migrants, parameters.selected, parameters.offspring))


def counting_for(options: Options, info: DeviceInfo) -> Counting:
    """How a device counts."""
    tensor = info.capabilities.bit_tensor_cores
    if options.counting == "tensor" and not tensor:
        raise OptionError(
            "counting = tensor needs an NVIDIA GPU of compute capability 8.0 or more, which "
            f"{info.id} ({info.name}) is not: use popcount or auto"
        )
    if options.counting == "auto":
        return "tensor" if tensor else "popcount"
    return options.counting


def nodes_at_once(parameters: Parameters, info: DeviceInfo, free: int, populations: int) -> int:
    """How many nodes a device learns at a time: in half of what each of its populations may take of its free memory."""
    each = node_bytes(parameters)
    if not each:
        return parameters.n
    available = free / 2 / max(1, populations)
    if info.capabilities.host_visible_memory:
        available = min(available, _HOST_MEMORY)
    return max(1, min(parameters.n, int(available // each)))
