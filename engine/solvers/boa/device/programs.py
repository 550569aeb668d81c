"""The programs of the BOA solver: their templates, constants and launch shapes for a device."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ....devices import Capabilities, Device, Kernel, Program, Record
from ....devices.kernels.variants import unique_variants
from ..fitness import Fitness, Function, Hierarchy, Snippet
from ..fitness.autocorrelation import Autocorrelation
from ..fitness.tables import Decomposable, onemax, trap
from ..options import Counting, Parameters, Rule
from ..scores import ENTROPY_UNIT
from .state import CONVERGED, STALLED, STATUS, TARGET

SEARCH = Record("search", value="i64", best_value="i64", is_saved="i32")
"""What an individual's local search continues with, before its genes; see tabu.mako."""

_STAGES = 3
_MOST_PARENTS_ELSEWHERE = 3
_IMPROVE_LOCAL_BYTES = 40 * 1024


@dataclass(frozen=True)
class Shapes:
    """How the kernels are cut for one device; blocks are work-items a group."""

    simt: bool  # whether work-items run in lock-step lanes; otherwise a group is one work-item
    block: int  # of elementwise kernels
    group: int  # of kernels that are one group
    node_block: int  # of kernels with a group for each node
    evaluate_block: int  # of kernels with a group for each word of individuals
    histogram_block: int
    sample_block: int
    sample_words: int  # of 32 individuals, that a group of sampling makes
    tile_words: int  # what a group of gathering and merging moves
    tile_genes: int
    count_each: int  # rows and candidates a work-item of the tiled count has; a tile is 16 times that each way
    count_depth: int  # words of a plane staged at a time
    count_candidates: int  # that a work-item of the serial count handles at a time
    groups: int  # with which elementwise kernels are launched at most
    units: int  # compute units; with fewer tiles than four for each, tiles are halved each way
    improve_local_bytes: int  # local memory that a group of the local search may use

    def spread(self, items: int, block: int) -> int:
        """Groups of ``block`` work-items that share ``items``."""
        return min(-(-items // block), self.groups)

    def tiles(self, words: int, genes: int) -> int:
        """Groups of a kernel that moves planes tile by tile."""
        return -(-words // self.tile_words) * -(-genes // self.tile_genes)

    def improve_groups(self, scratch: bool) -> int:
        """Groups of the local search at most; ``scratch``: their arrays are in global memory."""
        return 8 * self.units if scratch else 32 * self.units if self.simt else 1 << 20

    @property
    def partition_block(self) -> int:
        """Work-items a group of partition crossover."""
        return 256 if self.simt else 1

    def improve_least(self, genes: int) -> int:
        """Individuals that a launch of the local search should have, to keep the device busy."""
        return self.units * (1024 // self.improve_block(genes) if self.simt else 1)

    def improve_block(self, genes: int) -> int:
        """Work-items a group of the local search: few where there are few genes, so that more groups run at once."""
        if not self.simt:
            return 1
        return 32 if genes <= 128 else 64 if genes <= 512 else 128 if genes <= 2048 else 256


def shapes_for(capabilities: Capabilities) -> Shapes:
    """The shapes that suit a device."""
    units = capabilities.compute_units
    local = min(capabilities.local_memory, _IMPROVE_LOCAL_BYTES)
    if not capabilities.simt:
        return Shapes(False, 64, 1, 1, 1, 1, 1, 16, 16, 16, 4, 16, 4, 8 * units, units, local)
    group = 1024 if capabilities.max_block >= 1024 else 256
    return Shapes(True, 256, group, 128, 256, 128, 256, 8, 32, 32, 4, 16, 1, 32 * units, units, local)


Form = Literal["pairs", "tables", "autocorrelation"]


@dataclass(frozen=True)
class LocalSearchProgram:
    """What the local search of a function given by tables is compiled for."""

    rule: Rule
    form: Form  # how the function is given: couplings of genes, tables, or the correlations of a sequence
    wide: bool  # whether gains need 64 bits
    genes: int
    functions: int


Spec = tuple[str, dict[str, Any]]
"""A template of this solver and the constants it is rendered with."""


def _spec(template: str, **constants: Any) -> Spec:
    return template, {"status": STATUS, **constants}


def _specs(shapes: Shapes, max_parents: int, laplace: bool, pair_table: bool = True) -> dict[str, Spec]:
    """Every program but those of the function, for counting and local search, by the name in :class:`Programs`."""
    block, group, node, k = shapes.block, shapes.group, shapes.node_block, max_parents
    reasons = {"target_reached": TARGET, "converged": CONVERGED, "stalled": STALLED}
    return {
        "initialise": _spec("initialise", block=block),
        "select": _spec("select", block=group, items=4 if shapes.simt else 1),
        "gather": _spec("gather", block=node, tile=shapes.tile_words, genes=shapes.tile_genes),
        "network": _spec("network", block=node, group=group, max_parents=k, laplace=laplace),
        "sample": _spec("sample", block=shapes.sample_block, columns=shapes.sample_words, max_parents=k),
        "summarise": _spec("summarise", block=group, max_parents=k, one_bit=round(1 / ENTROPY_UNIT), **reasons),
        "transpose": _spec("transpose", block=block),
        "nodes": _spec("nodes", block=node, group=group, max_parents=k, pair_table=pair_table),
        **{
            f"learn{level}": _spec("learn", block=node, level=level, max_parents=k, pair_table=pair_table)
            for level in range(k)
        },
    }


def _fitness_spec(fitness: Fitness, shapes: Shapes) -> Spec:
    """The program that evaluates a fitness on devices."""
    if isinstance(fitness, Decomposable):
        width = fitness.width if fitness.width <= 8 else 0
        sum_type = "i32" if fitness.fits_i32 else "i64"
        return _spec("evaluate_tables", block=shapes.evaluate_block, sum=sum_type, width=width)
    if isinstance(fitness, Hierarchy):
        return _spec("evaluate_hierarchy", block=shapes.block, **fitness.constants)
    assert isinstance(fitness, (Autocorrelation, Snippet))
    sign = "-" if fitness.minimize else ""
    return _spec("evaluate_snippet", block=shapes.block, n=fitness.n, code=fitness.code, sign=sign)


def _partition_spec(shapes: Shapes, fitness: Decomposable) -> Spec:
    sum_type = "i32" if fitness.fits_i32 else "i64"
    return _spec("partition", block=shapes.partition_block, sum=sum_type, symmetric=fitness.is_symmetric)


def _counting_spec(shapes: Shapes, counting: Counting, max_parents: int, each: int) -> Spec:
    """The program that counts; ``each`` is the edge of a work-item's tile where counting is tiled."""
    if counting == "histogram":
        return _spec("count_histogram", block=shapes.histogram_block, max_level=max(0, max_parents - 1))
    if counting == "tensor":
        return _spec("count_tensor", stages=_STAGES)
    if shapes.simt:
        return _spec("count_tiled", each=each, depth=shapes.count_depth)
    return _spec("count_serial", candidates_each=shapes.count_candidates)


class Programs:
    """The programs of one run on one device; made and used on the device's thread.

    ``ValueError`` if the shapes are those of devices with lock-step lanes and the compiler would take minutes.
    """

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        parameters: Parameters,
        counting: Counting,
        fitness: Fitness,
        local_search: LocalSearchProgram | None,
        pair_table: bool,
    ) -> None:
        max_parents = parameters.max_parents
        if not device.capabilities.simt and shapes.simt and max_parents > _MOST_PARENTS_ELSEWHERE:
            raise ValueError(f"a CPU's compiler takes minutes for the shapes of GPUs with {max_parents} parents")
        self.shapes, self._device = shapes, device
        self._max_parents, self._counting = max_parents, counting
        self.by_node = counting == "histogram"  # rows are counted, not each by itself
        specs = _specs(shapes, max_parents, parameters.laplace, pair_table)
        made = {name: self._made(spec) for name, spec in specs.items()}
        self.initialise, self.select, self.gather = made["initialise"], made["select"], made["gather"]
        self.network, self.sample = made["network"], made["sample"]
        self.summarise, self.transpose = made["summarise"], made["transpose"]
        self.nodes = made["nodes"]
        self.learn = [made[f"learn{level}"] for level in range(max_parents)]
        self.fitness = None if isinstance(fitness, Function) else self._made(_fitness_spec(fitness, shapes))
        self.fitness_block = shapes.evaluate_block if isinstance(fitness, Decomposable) else shapes.block
        self.fitness_individuals = 32 if isinstance(fitness, Decomposable) else shapes.block
        self.partition: Program | None = None
        if parameters.mixes and isinstance(fitness, Decomposable):
            self.partition = self._made(_partition_spec(shapes, fitness))
        if counting != "popcount" or not shapes.simt:  # else its constants depend on how much is counted
            self._made(_counting_spec(shapes, counting, max_parents, shapes.count_each))
        self.improve: Kernel | None = None
        if local_search is not None:
            self.improve = self._made(improve_spec(shapes, local_search)).kernel(improve_kernel(local_search))

    def _made(self, spec: Spec) -> Program:
        template, constants = spec
        return self._device.program(f"boa/{template}", **constants)

    def count(self, mode: str, lines: int, n: int) -> tuple[Kernel, int, int]:
        """What counts pairs, or the rows of a level: kernel, groups, work-items a group."""
        shapes = self.shapes
        each = shapes.count_each
        if _tiles(lines, n, 16 * each) < 4 * shapes.units:
            each //= 2
        spec = _counting_spec(shapes, self._counting, self._max_parents, each)
        block, groups = {
            "count_histogram": (shapes.histogram_block, lines),
            "count_tensor": (256, _tiles(lines, n, 128)),
            "count_tiled": (256, _tiles(lines, n, 16 * each)),
            "count_serial": (1, lines),
        }[spec[0]]
        return self._made(spec).kernel(f"count_{mode}"), groups, block


def _tiles(lines: int, n: int, edge: int) -> int:
    return -(-lines // edge) * -(-n // edge)


# --- local search -----------------------------------------------------------------------------------------------


def local_size(count: int) -> int:
    """A size for arrays of ``count`` elements in local memory, of few different ones: four for each power of two."""
    step = max(32, (1 << max(0, count - 1).bit_length()) // 8)
    return -(-count // step) * step


def improve_bytes(search: LocalSearchProgram, genes: int, functions: int) -> int:
    """Bytes of the arrays of one individual, of so many elements each."""
    keeps_best, walk = search.rule in ("tabu", "walk"), search.rule == "walk"
    gene_bytes = (8 if search.wide else 4) + 4 * keeps_best
    correlations = 16 * genes if search.form == "autocorrelation" else 0
    return genes * gene_bytes + genes // 8 * (1 + keeps_best) + walk * functions // 8 + correlations


_RULES: dict[Rule, tuple[str, str]] = {
    "steepest": ("ascent", "climb_individuals"),
    "tabu": ("tabu", "search_individuals"),
    "walk": ("walk", "walk_individuals"),
    "anneal": ("anneal", "anneal_individuals"),
}
"""Templates and kernels of the rules of local search."""


def improve_kernel(search: LocalSearchProgram) -> str:
    """The name of the kernel that improves individuals."""
    return "search_sequences" if search.form == "autocorrelation" else _RULES[search.rule][1]


def needs_scratch(shapes: Shapes, search: LocalSearchProgram) -> bool:
    """Whether the arrays of an individual are too large for local memory, so that they are in global memory."""
    genes, functions = local_size(search.genes), local_size(search.functions)
    return improve_bytes(search, genes, functions) > shapes.improve_local_bytes


def improve_spec(shapes: Shapes, search: LocalSearchProgram) -> Spec:
    """The local search's template and constants."""
    genes = 0 if needs_scratch(shapes, search) else local_size(search.genes)
    sizes: dict[str, Any] = {"block": shapes.improve_block(search.genes), "sum": "i64" if search.wide else "i32"}
    sizes["local_genes"] = genes
    if search.rule == "anneal":
        return _spec("anneal", **sizes)
    sizes["local_functions"] = local_size(search.functions) if genes and search.rule == "walk" else 0
    if search.form == "autocorrelation":
        return _spec("tabu_sequence", search=SEARCH, **sizes)
    return _spec(_RULES[search.rule][0], search=SEARCH, form=search.form, **sizes)


# --- for the compile tests ----------------------------------------------------------------------------------------


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[Spec]:
    """Every template of this solver with sets of constants that cover what a device asks for."""
    return ((f"boa/{template}", constants) for template, constants in _wanted(capabilities))


def _wanted(capabilities: Capabilities) -> Iterator[Spec]:
    shapes = shapes_for(capabilities)
    for k in (0, 3):
        yield from _specs(shapes, k, k == 3).values()
    yield from _specs(shapes, 3, False, pair_table=False).values()
    fitnesses: list[Fitness] = [onemax(4), trap(10), Hierarchy("hiff", 8), Hierarchy("htrap", 27)]
    fitnesses += [
        Decomposable(4, [[0], [1, 2]], [[0, 0.5], [0, 1e9, 2, 3]]),
        Snippet("fitness = BIT(0);", 4),
        Autocorrelation(4),
    ]
    for fitness in fitnesses:
        yield _fitness_spec(fitness, shapes)
        if isinstance(fitness, Decomposable):
            yield _partition_spec(shapes, fitness)
    countings: list[Counting] = ["histogram", "popcount"]
    if capabilities.bit_tensor_cores or capabilities.inline_ptx:
        countings.append("tensor")
    for counting in countings:
        for each in (shapes.count_each, shapes.count_each // 2):
            yield _counting_spec(shapes, counting, 3, each)
    rules: tuple[Rule, ...] = ("steepest", "tabu", "anneal", "walk")
    searches = [LocalSearchProgram(rule, "tables" if rule == "walk" else "pairs", False, 100, 300) for rule in rules]
    searches += [
        LocalSearchProgram(rule, "pairs" if rule == "anneal" else "tables", True, 20_000, 60_000) for rule in rules
    ]
    searches.append(LocalSearchProgram("tabu", "autocorrelation", False, 60, 0))
    for search in searches:
        yield improve_spec(shapes, search)
