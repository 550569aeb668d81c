"""The kernels of branch and bound: which shapes a device runs them in, and how they are called."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.devices import Buffer, Capabilities, Device, Kernel
from engine.devices.templates import render_text
from engine.devices.variants import CPU, GPU, Variant, each_once
from engine.solvers.branch_and_bound.tree import DeviceTree, Tree

__all__ = [
    "CONTROL_WORDS",
    "COUNTERS",
    "Kernels",
    "Shapes",
    "as_parallel",
    "constants_of",
    "kernel_variants",
    "parallel_constants_of",
    "shapes_for",
]

CONTROL_WORDS = 8 + 64
"""Words of the control buffer: six that masks.mako names, then one per level."""

COUNTERS = 8
"""Words of the counter buffer: nodes, leaves, pushed, solutions, and two sums of the present round."""

_EXPLORE_IVMS_PER_UNIT_CPU = 16
_LOCAL_BYTES = 44 * 1024
_REGISTERS = 1 << 16
_BOTTOM_STEPS = 1 << 14


@dataclass(frozen=True)
class Shapes:
    """How a tree is searched on one device.

    Attributes
    ----------
    block : int
        Work-items a group of every kernel.
    groups_per_unit : int
        Groups of ``explore`` that a compute unit should hold, which limits their registers.
    ivms : int
        IVMs; a multiple of ``block``.
    exports : int
        Slots beyond them, through which work leaves the device.
    backtrack : {"stack", "rebuild", "retract"}
        How the state of an earlier node is got back: from a stack of all levels, by placing the path's items anew
        (three times as fast on an H200 as keeping states in local memory), or by taking items back one by one.
    steps, ramp_steps : int
        Nodes an IVM decomposes in a launch at first, and while most are idle.
    lanes : int
        Work-items of ``explore`` an IVM; where there are several, they are a group.
    """

    block: int
    groups_per_unit: int
    ivms: int
    exports: int
    backtrack: str
    steps: int
    ramp_steps: int
    lanes: int = 1

    @property
    def slots(self) -> int:
        """All places for an interval."""
        return self.ivms + self.exports

    def bytes_for(self, tree: Tree) -> int:
        """Device memory of a search: per slot and level a mask, two digits, a sum, a path entry and a list entry; then
        the children of variant ``pte_peb``."""
        word = 8 if tree.items > 32 else 4
        return self.slots * (tree.items * (word + 11) + 2 * word + 24) + self.ivms * (13 * tree.items + 4)


def shapes_for(capabilities: Capabilities, tree: Tree, half: DeviceTree, ivms: int | None = None) -> Shapes:
    """The shapes that suit a device: one IVM a group on CPUs, as many as registers and local memory hold on GPUs."""
    if capabilities.kind == "cpu":
        count = ivms or capabilities.compute_units * _EXPLORE_IVMS_PER_UNIT_CPU
        return Shapes(1, 1, count, min(1024, max(16, 2 * count)), "stack", 1024, 16)
    together = half.together
    if together is not None:
        fitting = capabilities.local_memory_per_unit // (together.local_bytes + 1024)
        groups = max(1, min(32, fitting, _REGISTERS // (together.registers * together.lanes)))
        block = min(128, capabilities.max_block)
        count = -(-(ivms or capabilities.compute_units * groups) // block) * block
        return Shapes(block, groups, count, min(4096, count), "rebuild", 64, 4, together.lanes)
    table = half.table.nbytes if half.local_table else 0
    own = _local_bytes(tree, half)
    block = min(128, capabilities.max_block)
    while block > 32 and block * own + table > min(_LOCAL_BYTES, capabilities.local_memory):
        block //= 2
    room = capabilities.local_memory_per_unit // (block * own + table + 1024)
    groups = max(1, min(half.threads_per_unit // block, room, 32))
    count = ivms or capabilities.compute_units * groups * block
    count = -(-count // block) * block
    backtrack = "retract" if half.retract else "rebuild"
    steps = _BOTTOM_STEPS if _bottom(tree, half) else 64
    return Shapes(block, groups, count, min(16384, count), backtrack, steps, 4)


def _bottom(tree: Tree, half: DeviceTree) -> int:
    """The level from which on nodes are searched to their end in one go; 0 if none is."""
    return max(1, tree.leaf_depth - half.bottom_levels) if half.bottom_levels and tree.leaf_depth > 1 else 0


def _quads(tree: Tree, half: DeviceTree) -> int:
    """Four-word entries of local memory an IVM needs: its rows above the bottom level, then the stack below that.

    A stack holds an end mark and siblings, of which a level with a single open item has none.
    """
    depths = range(_bottom(tree, half), tree.leaf_depth)
    stacks = [-(-depth // 4) + tree.items - depth for depth in depths]
    return max(1, -(-tree.leaf_depth // 4), *stacks)


def _local_bytes(tree: Tree, half: DeviceTree) -> int:
    """Local memory of one IVM of a GPU."""
    if _bottom(tree, half):
        return 16 * _quads(tree, half)
    return (8 if tree.items > 32 else 4) * tree.leaf_depth


def constants_of(tree: Tree, half: DeviceTree, shapes: Shapes) -> dict[str, Any]:
    """What ``explore.mako``, or the tree's own template in its place, is rendered with."""
    common = _common(tree, shapes)
    together = half.together
    if together is not None:
        shape = {"lanes": together.lanes, "groups_per_unit": shapes.groups_per_unit}
        return {**common, **shape, **together.constants}
    source = render_text(half.source, **common, **half.constants)
    bottom = _bottom(tree, half)
    return {
        "branching": "forward",
        **common,
        "bottom": bottom,
        "quads": _quads(tree, half) if bottom else 0,
        "ramp_steps": shapes.ramp_steps,
        **half.constants,
        "problem": half.template,
        "source": source,
        "local_table": half.local_table,
        "table_words": len(half.table),
        "counts": tree.counts,
        "poll": half.poll,
        "groups_per_unit": shapes.groups_per_unit,
        "backtrack": shapes.backtrack,
    }


def as_parallel(capabilities: Capabilities) -> Capabilities:
    """What to choose the functions of ``pte_peb`` by: one child a work-item, on CPUs too."""
    return dataclasses.replace(capabilities, kind="gpu")


def _common(tree: Tree, shapes: Shapes) -> dict[str, Any]:
    return {
        "items": tree.items,
        "leaf_depth": tree.leaf_depth,
        "mask": "u64" if tree.items > 32 else "u32",
        "block": shapes.block,
    }


def parallel_constants_of(tree: Tree, half: DeviceTree, shapes: Shapes) -> dict[str, Any]:
    """What ``bound_in_parallel.mako`` is rendered with."""
    half = dataclasses.replace(half, together=None)
    whole = constants_of(tree, half, shapes)
    unused = ("local_table", "table_words", "poll", "groups_per_unit", "backtrack", "quads", "ramp_steps")
    return {name: value for name, value in whole.items() if name not in unused} | {
        "refines": half.refines,
        "bottom": 0,
    }


_SIGNATURES: dict[str, str] = {
    "explore": "buffer " * 13 + "int32 int32 int32",
    "initialize": "buffer " * 12 + "int32 int32 int32",
    "count_children": "buffer buffer int32",
    "list_children": "buffer " * 5 + "int32 int32",
    "bound_children": "buffer " * 9 + "int32",
    "prune_children": "buffer " * 16 + "int32 int32 int32",
    "settle": "buffer buffer int32 int32 int32 int32",
    "list_siblings": "buffer " * 5 + "int32 int32 int32",
    "steal_siblings": "buffer " * 8 + "int32 int32 int32",
    "pack_units": "buffer " * 4 + "int32 " * 4,
    "measure": "buffer " * 7 + "int32 int32",
    "steal_over": "buffer " * 10 + "int32 " * 7,
}


class Kernels:
    """The compiled kernels of one tree on one device; made and used on its thread."""

    def __init__(self, device: Device, tree: Tree, half: DeviceTree, parallel: DeviceTree, shapes: Shapes) -> None:
        self.device = device
        self._parallel = parallel_constants_of(tree, parallel, shapes)
        self.shapes = shapes
        self._explore = constants_of(tree, half, shapes)
        self._common = _common(tree, shapes)
        self._template = "branch_and_bound/explore" if half.together is None else half.together.template
        self._compiled: dict[str, Kernel] = {}

    def _kernel(self, entry: str) -> Kernel:
        if entry not in self._compiled:
            self._compiled[entry] = self._compile(entry)
        return self._compiled[entry]

    def _compile(self, entry: str) -> Kernel:
        if entry.endswith("_children"):
            template, constants = "branch_and_bound/bound_in_parallel", self._parallel
        elif entry in ("explore", "initialize"):
            template, constants = self._template, self._explore
        else:
            template, constants = "branch_and_bound/steal", self._common
        return self.device.kernel(template, entry, _SIGNATURES[entry].split(), **constants)

    def compile(self, *entries: str) -> None:
        """Have kernels ready before they are launched."""
        for entry in entries:
            self._kernel(entry)

    def launch(self, entry: str, items: int, *arguments: Buffer | int) -> None:
        """Start a kernel with at least ``items`` work-items."""
        block = 1 if entry == "settle" else self.shapes.block
        if self.shapes.lanes > 1 and entry in ("explore", "initialize"):
            self.device.launch(self._kernel(entry), items, self.shapes.lanes, *arguments)
            return
        self.device.launch(self._kernel(entry), -(-items // block), block, *arguments)


@each_once
def kernel_variants() -> Iterator[Variant]:
    """Every template of this solver with constants that a device may ask for."""
    from engine.solvers.branch_and_bound.atsp import ATSP
    from engine.solvers.branch_and_bound.flowshop import Flowshop
    from engine.solvers.branch_and_bound.queens import Queens

    small = [[3, 1, 2], [2, 2, 9], [1, 4, 1]]
    trees: Sequence[Tree] = (
        Queens(15).tree("auto", "auto"),
        *(ATSP(small).tree(bound, "auto") for bound in ("partial", "cheapest_arcs")),
        *(Flowshop(small).tree(bound, "max_sum") for bound in ("one_machine", "two_machine", "mixed")),
        *(Flowshop.taillard(21).tree("one_machine", rule) for rule in ("forward", "min_branch", "min_min")),
        Flowshop([[5000] * 40] * 5).tree("mixed", "auto"),
    )
    for capabilities, languages in ((GPU, ("cuda", "opencl")), (CPU, ("opencl",))):
        for tree in trees:
            for language in languages:
                half = tree.device(capabilities, language)
                shapes = shapes_for(capabilities, tree, half)
                parallel = tree.device(as_parallel(capabilities), language)
                template = half.together.template if half.together else "branch_and_bound/explore"
                yield "branch_and_bound/bound_in_parallel", parallel_constants_of(tree, parallel, shapes)
                yield template, constants_of(tree, half, shapes)
                yield "branch_and_bound/steal", _common(tree, shapes)
