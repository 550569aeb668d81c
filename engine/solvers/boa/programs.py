"""The kernels of the BOA solver: which shapes a device runs them in, and how they are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.devices import Buffer, Capabilities, Device
from engine.devices.variants import CPU, GPU, SMALL_GPU, Variant, each_once
from engine.solvers.boa.fitness import Fitness, Hierarchy, Snippet
from engine.solvers.boa.options import Counting
from engine.solvers.boa.scores import ENTROPY_UNIT
from engine.solvers.boa.tables import Decomposable, onemax, trap

__all__ = ["HISTORY_FIELDS", "Launcher", "Shapes", "kernel_variants", "offers_tensor", "shapes_for"]

HISTORY_FIELDS = ("reason", "generation", "best", "individual", "improved", "worst", "sum", "edges", "open", "entropy")
"""What a row of the history holds, in order (see summarise.mako)."""

_TENSOR_FROM = (8, 0)
_STAGES = 3
_MOST_PARENTS_ELSEWHERE = 3


@dataclass(frozen=True)
class Shapes:
    """How the kernels are cut for one device.

    Attributes
    ----------
    serial : bool
        One work-item a group, for CPUs.
    block, group, node_block, evaluate_block, rival_block, histogram_block : int
        Work-items a group: of elementwise kernels, of kernels that are one group, of those with a group a node, a word
        of individuals, an offspring, and of the histogram.
    sample_block, sample_words : int
        Work-items a group of sampling, and words of 32 individuals it makes.
    tile_words, tile_genes : int
        What a group of gathering and merging moves.
    count_each : int
        Rows and candidates a work-item of the tiled count has; a tile is 16 times that each way.
    count_depth, count_together : int
        Words of a plane staged at a time; candidates a serial row goes through at a time.
    groups : int
        How many groups elementwise kernels are launched with at most.
    units : int
        Compute units; with fewer tiles than four for each, tiles are halved each way.
    """

    serial: bool
    block: int
    group: int
    node_block: int
    evaluate_block: int
    rival_block: int
    histogram_block: int
    sample_block: int
    sample_words: int
    tile_words: int
    tile_genes: int
    count_each: int
    count_depth: int
    count_together: int
    groups: int
    units: int


def shapes_for(capabilities: Capabilities) -> Shapes:
    """The shapes that suit a device."""
    units = capabilities.compute_units
    if capabilities.kind == "cpu":
        return Shapes(True, 64, 1, 1, 1, 1, 1, 1, 16, 16, 16, 4, 16, 4, 8 * units, units)
    group = 1024 if capabilities.max_block >= 1024 else 256
    return Shapes(False, 256, group, 128, 256, 64, 128, 256, 8, 32, 32, 4, 16, 1, 32 * units, units)


def offers_tensor(capabilities: Capabilities) -> bool:
    """Whether the 1-bit product on tensor cores works: NVIDIA's devices of compute capability 8.0 on."""
    architecture = capabilities.compute_capability
    return architecture is not None and architecture >= _TENSOR_FROM


_ROWS = ("buffer", "int32", "int32", *("buffer",) * 4, "int32", "int32", "int32", "buffer")

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "draw_population": ("buffer", "int32", "int32", "int32", "uint64", "uint32"),
    "select_best": ("buffer", "int32", "int32", "buffer", "buffer", "buffer"),
    "run_tournaments": ("buffer", "int32", "int32", "buffer", "uint64", "uint32", "uint32", "buffer"),
    "gather_planes": ("buffer", "int32", "buffer", "int32", "buffer", "int32", "buffer", "int32", "buffer"),
    "merge_planes": (
        *("buffer", "int32", "buffer", "int32", "buffer", "int32", "buffer", "buffer", "int32", "buffer"),
    ),
    "count_pairs": _ROWS,
    "count_rows": _ROWS,
    "choose_parents": (
        *("buffer", "buffer", "int32", "int32", "int32", "int32", *("buffer",) * 6),
        *("int32", "int32", "int32", "int32", "buffer"),
    ),
    "open_nodes": ("int32", "int32", "int32", "buffer", "buffer", "buffer"),
    "extend_masks": ("buffer", "int32", "buffer", "buffer", "buffer", "int32", "int32", "int32", "buffer"),
    "count_configurations": ("buffer", "int32", "int32", "buffer", "buffer", "buffer", "buffer"),
    "make_probabilities": ("buffer", "buffer", "int32", "buffer", "buffer"),
    "plan_levels": ("buffer", "buffer", "int32", "buffer", "buffer", "buffer", "buffer"),
    "sample_offspring": (
        *(*("buffer",) * 6, "int32", "int32", "buffer", "int32", "int32"),
        *("uint64", "uint32", "uint32", "buffer"),
    ),
    "summarise": (
        *("buffer", "int32", "buffer", "buffer", "int32", "int64", "int32", "int32", "int32", "int32"),
        *("buffer", "buffer", "int32", "buffer"),
    ),
    "read_individual": ("buffer", "int32", "int32", "buffer", "buffer"),
    "read_sample": ("buffer", "int32", "int32", "int32", "buffer"),
    "turn_planes": ("buffer", "int32", "int32", "int32", "buffer", "buffer"),
    "find_nearest": (
        *("buffer", "buffer", "int32", "int32", "buffer", "buffer", "int32", "uint64", "uint32", "uint32"),
        *("buffer", "buffer", "buffer"),
    ),
    "settle": ("buffer", "buffer", "buffer", "int32", "buffer", "buffer"),
}

_TEMPLATES = {
    "draw_population": "initialise",
    "select_best": "select",
    "run_tournaments": "select",
    "gather_planes": "gather",
    "merge_planes": "gather",
    "choose_parents": "learn",
    "open_nodes": "learn",
    "extend_masks": "learn",
    "count_configurations": "network",
    "make_probabilities": "network",
    "plan_levels": "network",
    "sample_offspring": "sample",
    "summarise": "summarise",
    "read_individual": "summarise",
    "read_sample": "summarise",
    "turn_planes": "nearest",
    "find_nearest": "nearest",
    "settle": "nearest",
}


def _counting_template(shapes: Shapes, counting: Counting) -> str:
    if counting == "popcount":
        return "count_serial" if shapes.serial else "count_tiled"
    return f"count_{counting}"


def _constants(
    shapes: Shapes, entry: str, max_parents: int, laplace: bool, tournament: int, level: int
) -> tuple[int, dict[str, Any]]:
    """Work-items a group, and what the template is rendered with."""
    template = _TEMPLATES[entry]
    k = max_parents
    if template == "select":
        group = shapes.group if entry == "select_best" else min(shapes.group, 256)
        return group, {"block": group, "items": 1 if shapes.serial else 4, "tournament": tournament}
    if template == "gather":
        return shapes.node_block, {"block": shapes.node_block, "tile": shapes.tile_words, "genes": shapes.tile_genes}
    if template == "learn":
        sizes = {"choose_parents": shapes.node_block, "open_nodes": shapes.group, "extend_masks": shapes.node_block}
        return sizes[entry], {
            "block": shapes.node_block,
            "group": shapes.group,
            "level": level,
            "max_parents": max(1, k),
        }
    if template == "network":
        group = shapes.group if entry == "plan_levels" else shapes.node_block
        return group, {"block": shapes.node_block, "group": shapes.group, "max_parents": k, "laplace": laplace}
    if template == "sample":
        return shapes.sample_block, {"block": shapes.sample_block, "columns": shapes.sample_words, "max_parents": k}
    if template == "summarise":
        constants = {"max_parents": k, "fields": len(HISTORY_FIELDS), "one_bit": round(1 / ENTROPY_UNIT)}
        return shapes.group, {"block": shapes.group, **constants}
    if template == "nearest":
        group = shapes.rival_block if entry == "find_nearest" else shapes.block
        return group, {"block": shapes.block, "group": shapes.rival_block}
    return shapes.block, {"block": shapes.block}


def _fitness_kernel(fitness: Fitness, shapes: Shapes) -> tuple[str, int, tuple[str, ...], dict[str, Any]]:
    """Template, work-items a group, further arguments and constants of a fitness evaluated on devices."""
    if isinstance(fitness, Decomposable):
        more = ("buffer", "buffer", "buffer", "buffer", "int32", "int64")
        constants = {
            "block": shapes.evaluate_block,
            "sum": "i32" if fitness.narrow else "i64",
            "width": fitness.width if fitness.width <= 8 else 0,
        }
        return "evaluate_tables", shapes.evaluate_block, more, constants
    if isinstance(fitness, Hierarchy):
        return "evaluate_hierarchy", shapes.block, ("int32",), {"block": shapes.block, **fitness.constants}
    assert isinstance(fitness, Snippet)
    sign = "-" if fitness.minimize else ""
    return (
        "evaluate_snippet",
        shapes.block,
        (),
        {"block": shapes.block, "n": fitness.n, "code": fitness.code, "sign": sign},
    )


class Launcher:
    """Compiles and launches the kernels on one device; made and used on its thread."""

    def __init__(
        self,
        device: Device,
        shapes: Shapes,
        *,
        max_parents: int,
        laplace: bool,
        tournament: int,
        counting: Counting,
        fitness: Fitness | None,
    ) -> None:
        if device.capabilities.kind == "cpu" and not shapes.serial and max_parents > _MOST_PARENTS_ELSEWHERE:
            raise ValueError(f"a CPU's compiler takes minutes for the shapes of GPUs with {max_parents} parents")
        self.device = device
        self.shapes = shapes
        self._rendering = (max_parents, laplace, tournament)
        self._max_parents = max_parents
        self._counting: Counting = counting
        self._fitness = fitness

    @property
    def by_node(self) -> bool:
        """Whether rows are counted node by node, not each by itself."""
        return self._counting == "histogram"

    def spread(self, entry: str, items: int, *arguments: Buffer | int, level: int = 0) -> None:
        """Launch a kernel whose work-items share ``items``."""
        block, constants = _constants(self.shapes, entry, *self._rendering, level)
        self._launch(entry, min(-(-items // block), self.shapes.groups), block, constants, arguments)

    def groups(self, entry: str, groups: int, *arguments: Buffer | int, level: int = 0) -> None:
        """Launch a kernel with a number of groups of its own."""
        block, constants = _constants(self.shapes, entry, *self._rendering, level)
        self._launch(entry, groups, block, constants, arguments)

    def _launch(
        self, entry: str, groups: int, block: int, constants: dict[str, Any], arguments: tuple[Buffer | int, ...]
    ) -> None:
        kernel = self.device.kernel(f"boa/{_TEMPLATES[entry]}", entry, _ARGUMENTS[entry], **constants)
        self.device.launch(kernel, groups, block, *arguments)

    def tiles(self, entry: str, words: int, genes: int, *arguments: Buffer | int) -> None:
        """Launch a kernel that moves planes tile by tile."""
        shapes = self.shapes
        self.groups(entry, -(-words // shapes.tile_words) * -(-genes // shapes.tile_genes), *arguments)

    def count(
        self, mode: str, lines: int, n: int, *arguments: Buffer | int, histogram: tuple[Buffer | int, ...]
    ) -> None:
        """Count pairs, or the rows of a level: ``lines`` of them at most, against n candidates."""
        shapes = self.shapes
        template = _counting_template(shapes, self._counting)
        types = _ARGUMENTS[f"count_{mode}"]
        if self._counting == "histogram":
            block = shapes.histogram_block
            constants: dict[str, Any] = {"block": block, "max_level": max(0, self._max_parents - 1)}
            types, arguments, groups = (*types, "buffer", "int32", "int32"), (*arguments, *histogram), lines
        elif template == "count_serial":
            block, constants, groups = 1, {"together": shapes.count_together}, lines
        elif template == "count_tiled":
            each = shapes.count_each
            if _tiles(lines, n, 16 * each) < 4 * shapes.units:
                each //= 2
            block, constants, groups = 256, {"each": each, "depth": shapes.count_depth}, _tiles(lines, n, 16 * each)
        else:
            block, constants, groups = 256, {"stages": _STAGES}, _tiles(lines, n, 128)
        kernel = self.device.kernel(f"boa/{template}", f"count_{mode}", types, **constants)
        self.device.launch(kernel, groups, block, *arguments)

    def evaluate(
        self, planes: Buffer, stride: int, first: int, count: int, keys: Buffer, status: Buffer, *more: Buffer | int
    ) -> None:
        """Keys of the individuals ``first`` (a multiple of 32) to ``count - 1``."""
        assert self._fitness is not None
        template, block, types, constants = _fitness_kernel(self._fitness, self.shapes)
        kernel = self.device.kernel(
            f"boa/{template}",
            "evaluate",
            ("buffer", "int32", "int32", "int32", "buffer", "buffer", *types),
            **constants,
        )
        each = 32 if isinstance(self._fitness, Decomposable) else block
        self.device.launch(
            kernel, max(0, -(-(count - first) // each)), block, planes, stride, first, count, keys, status, *more
        )


def _tiles(lines: int, n: int, edge: int) -> int:
    return -(-lines // edge) * -(-n // edge)


@each_once
def kernel_variants() -> Iterator[Variant]:
    """Every template of this solver with sets of constants that cover what devices ask for."""
    for capabilities in (GPU, SMALL_GPU, CPU):
        shapes = shapes_for(capabilities)
        wanted: list[tuple[str, dict[str, Any]]] = []
        for entry, template in _TEMPLATES.items():
            if capabilities is SMALL_GPU and template not in ("select", "network", "summarise"):
                continue
            for k in (0, 3) if template in ("network", "summarise") else (3,):
                for level in range(k) if template == "learn" else (0,):
                    wanted.append((template, _constants(shapes, entry, k, k == 3, 2, level)[1]))
        fitnesses: list[Fitness] = [onemax(4), trap(10), Hierarchy("hiff", 8), Hierarchy("htrap", 27)]
        fitnesses += [Decomposable(4, [[0], [1, 2]], [[0, 0.5], [0, 1e9, 2, 3]]), Snippet("fitness = BIT(0);", 4)]
        for fitness in fitnesses:
            template, _, _, constants = _fitness_kernel(fitness, shapes)
            wanted.append((template, constants))
        wanted.append(("count_histogram", {"block": shapes.histogram_block, "max_level": 2}))
        if shapes.serial:
            wanted.append(("count_serial", {"together": shapes.count_together}))
        else:
            sizes = (shapes.count_each, shapes.count_each // 2)
            wanted += [("count_tiled", {"each": each, "depth": shapes.count_depth}) for each in sizes]
            wanted.append(("count_tensor", {"stages": _STAGES}))
        for template, constants in wanted:
            yield f"boa/{template}", constants
