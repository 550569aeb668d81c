"""The programs of branch and bound: their constants, and the shapes in which a device runs them."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....devices import Capabilities, Device, Program
from ....devices.kernels.record import Record
from ....devices.kernels.rendered import rendered_text
from ....devices.kernels.variants import unique_variants
from ..heuristics.greedy import greedy_constants, greedy_shape
from ..masks import bytes_for, digit_type, word_type
from ..tree import LARGEST_FLOWSHOP, LARGEST_TREE, DeviceTree, Tree

CONTROL = Record(
    "control",
    active="i32",  # IVMs with work
    least_active="i32",  # a launch ends early when fewer are active
    steps="i32",  # most nodes an IVM decomposes in a launch
    thieves="i32",  # idle IVMs listed
    stolen="i32",  # intervals split so far
    victims=("i32", LARGEST_FLOWSHOP),  # IVMs listed by the shallowest level with an open sibling
)
"""What a device's search is controlled by, and what is listed for stealing."""

COUNTERS = Record(
    "counters",
    nodes="u64",
    leaves="u64",
    pushed="u64",  # children that were not pruned
    solutions="u64",
    length="u64",  # of all intervals, in this round
    active="u64",  # IVMs with work at its beginning
)
"""What a device's search has done, and two sums of the present round."""

_IVMS_PER_CORE = 16
_LOCAL_BYTES = 44 * 1024
_REGISTERS = 1 << 16
_SUBTREE_STEPS = 1 << 14
_DEEP_BYTES = 1 << 27


@dataclass(frozen=True)
class Shapes:
    """How a tree is searched on one device."""

    block: int  # work-items a group of every kernel
    groups_per_unit: int  # groups of `explore` that a compute unit should hold, which limits their registers
    ivms: int  # a multiple of block
    exports: int  # slots beyond them, through which work leaves the device
    # How the state of an earlier node is restored: from a stack of all levels in a work-item's own memory ("stack");
    # from device memory, with the states of nodes with several open children ("saved"); by placing the path's items
    # again ("rebuild"); or by removing items one by one ("retract").
    backtrack: str
    steps: int  # nodes an IVM decomposes in a launch at first
    ramp_steps: int  # and while most are idle
    lanes: int = 1  # work-items of `explore` an IVM; where there are several, they are a group
    cooperative: bool = False  # whether the kernels are those of a CooperativeTree
    workspace_words: int = 0  # 32-bit words of device memory that an IVM needs besides
    rows_in_local: bool = True  # whether explore.mako keeps the rows of the running IVMs in local memory

    @property
    def slots(self) -> int:
        """All places for an interval."""
        return self.ivms + self.exports

    def bytes_for(self, tree: Tree) -> int:
        """Device memory of a search: by slot and level, by IVM the children of ``pte_peb`` and the workspace."""
        word = bytes_for(tree.items)
        digit = digit_type(tree.items).itemsize
        own = (12 + digit) * tree.items + 4 + 4 * self.workspace_words
        return self.slots * (tree.items * (word + 4 + 7 * digit) + 2 * word + 24) + self.ivms * own


def shapes_for(capabilities: Capabilities, tree: Tree, device_tree: DeviceTree, ivms: int | None = None) -> Shapes:
    """One IVM a group on CPUs, on GPUs as many as registers and local memory hold, a multiple of a group's."""
    cooperative = device_tree.cooperative
    if not capabilities.simt:
        count = ivms or capabilities.compute_units * _IVMS_PER_CORE
        return Shapes(
            *(1, 1, count, min(1024, max(16, 2 * count)), "stack", 1024, 16),
            cooperative=cooperative is not None,
            workspace_words=0 if cooperative is None else cooperative.workspace_words,
        )
    if cooperative is not None:
        fitting = capabilities.local_memory_per_unit // (cooperative.local_bytes + 1024)
        groups = max(1, min(32, fitting, _REGISTERS // (cooperative.registers * cooperative.lanes)))
        block = min(128, capabilities.max_block)
        count = -(-(ivms or capabilities.compute_units * groups) // block) * block
        return Shapes(
            *(block, groups, count, min(4096, count), "rebuild", 64, 4),
            lanes=cooperative.lanes,
            cooperative=True,
            workspace_words=cooperative.workspace_words,
        )
    table = device_tree.table.nbytes if device_tree.local_table else 0
    rows_in_local = tree.items <= 64
    own = 0  # local memory of an IVM
    if rows_in_local:
        entries = 16 * _quads(tree, device_tree)
        own = entries if _subtree_level(tree, device_tree) else bytes_for(tree.items) * tree.leaf_depth
    block = min(128, capabilities.max_block)
    while block > 32 and block * own + table > min(_LOCAL_BYTES, capabilities.local_memory):
        block //= 2
    fitting = capabilities.local_memory_per_unit // (block * own + table + 1024)
    groups = max(1, min(device_tree.threads_per_unit // block, fitting, 32))
    saves = device_tree.saved_words > 0
    backtrack = "retract" if device_tree.retract else "saved" if saves else "rebuild"
    steps = _SUBTREE_STEPS if _subtree_level(tree, device_tree) else 64
    words = 4 * _saved_quads(tree, device_tree) * max(1, tree.leaf_depth) if saves else 0
    one = Shapes(block, groups, 1, 1, backtrack, steps, 4, workspace_words=words, rows_in_local=rows_in_local)
    count = ivms or capabilities.compute_units * groups * block
    if ivms is None and tree.items > LARGEST_TREE:  # deep trees, of which little is searched
        count = min(count, _DEEP_BYTES // one.bytes_for(tree))
    count = -(-count // block) * block
    return dataclasses.replace(one, ivms=count, exports=min(16384, count))


def _saved_quads(tree: Tree, device_tree: DeviceTree) -> int:
    """Four-word entries of a saved node: its state and the set of its items, in words of 32 bits."""
    return -(-(device_tree.saved_words + -(-tree.items // 32)) // 4)


def _subtree_level(tree: Tree, device_tree: DeviceTree) -> int:
    """The level from which on nodes are searched to their end without an entry in the IVM; 0 if there is none."""
    levels = device_tree.subtree_levels
    return max(1, tree.leaf_depth - levels) if levels and tree.leaf_depth > 1 else 0


def _quads(tree: Tree, device_tree: DeviceTree) -> int:
    """Four-word entries of local memory an IVM needs: its rows above the bottom level, or the stack below that."""
    # a stack holds an end mark and siblings, of which a level with a single open item has none
    depths = range(_subtree_level(tree, device_tree), tree.leaf_depth)
    stacks = [-(-depth // 4) + tree.items - depth for depth in depths]
    return max(1, -(-tree.leaf_depth // 4), *stacks)


def template_of(device_tree: DeviceTree) -> str:
    """The template with the kernels that decompose nodes."""
    return "branch_and_bound/explore" + ("" if device_tree.cooperative is None else "_cooperative")


def begin_builds(device: Device, tree: Tree, ivms: int | None) -> None:
    """Begin to compile what a search will need, where a backend does so in the background."""
    functions = tree.device(device.capabilities)
    programs_of(device, tree, functions, shapes_for(device.capabilities, tree, functions, ivms))


def programs_of(device: Device, tree: Tree, functions: DeviceTree, shapes: Shapes) -> tuple[Program, Program]:
    """The programs that decompose nodes, and that share them out."""
    explore = device.program(template_of(functions), **constants_of(tree, functions, shapes))
    return explore, device.program("branch_and_bound/steal", **steal_constants_of(tree, shapes))


def constants_of(tree: Tree, device_tree: DeviceTree, shapes: Shapes) -> dict[str, Any]:
    """What ``explore.mako``, or the tree's own template in its place, is rendered with."""
    common = steal_constants_of(tree, shapes)
    counts = "below" if tree.counts_below else tree.counts
    cooperative = device_tree.cooperative
    if cooperative is not None:
        return {
            **common,
            "lanes": shapes.lanes,
            "groups_per_unit": shapes.groups_per_unit,
            "counts": counts,
            "problem": cooperative.template,
            "stores_levels": cooperative.workspace_words > 0,
            **cooperative.constants,
        }
    source = rendered_text(device_tree.source, **common, **device_tree.constants)
    subtree_level = _subtree_level(tree, device_tree)
    return {
        "branching": "forward",
        **common,
        "subtree_level": subtree_level,
        "quads": _quads(tree, device_tree) if subtree_level else 0,
        "ramp_steps": shapes.ramp_steps,
        **device_tree.constants,
        "problem": device_tree.template,
        "source": source,
        "local_table": device_tree.local_table,
        "table_words": len(device_tree.table) if device_tree.local_table else 0,  # of others it may change: prepare
        "counts": counts,
        "poll": device_tree.poll,
        "groups_per_unit": shapes.groups_per_unit,
        "backtrack": shapes.backtrack,
        "rows_in_local": shapes.rows_in_local,
        "mask_words": -(-tree.items // 32),
        "saved_quads": _saved_quads(tree, device_tree),
    }


def steal_constants_of(tree: Tree, shapes: Shapes) -> dict[str, Any]:
    """What ``steal.mako`` is rendered with, and every other template also."""
    return {
        "items": tree.items,
        "leaf_depth": tree.leaf_depth,
        "mask": word_type(tree.items),
        "block": shapes.block,
        "control": CONTROL,
        "counters": COUNTERS,
    }


def child_constants_of(tree: Tree, functions: DeviceTree, shapes: Shapes) -> dict[str, Any]:
    """What ``bound_in_parallel.mako`` is rendered with."""
    functions = dataclasses.replace(functions, cooperative=None)
    constants = constants_of(tree, functions, shapes)
    unused = {"local_table", "table_words", "poll", "groups_per_unit", "backtrack", "quads", "ramp_steps"}
    unused |= {"rows_in_local", "mask_words", "saved_quads"}
    return {name: value for name, value in constants.items() if name not in unused} | {
        "refines": functions.refines,
        "subtree_level": 0,
    }


@unique_variants
def kernel_variants(capabilities: Capabilities) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every template of this solver with constants that a device of these capabilities may ask for."""
    for tree in _trees():
        device_tree = tree.device(capabilities)
        shapes = shapes_for(capabilities, tree, device_tree)
        functions = tree.child_functions(capabilities)
        if functions is not None:
            yield "branch_and_bound/bound_in_parallel", child_constants_of(tree, functions, shapes)
        yield template_of(device_tree), constants_of(tree, device_tree, shapes)
        yield "branch_and_bound/steal", steal_constants_of(tree, shapes)
    for machines, largest in ((5, 99), (20, 99), (40, 1 << 16)):
        times = np.full((machines, 3), largest)
        shape = greedy_shape(capabilities, machines)
        yield "branch_and_bound/flowshop_greedy", greedy_constants(times, shape, capabilities)


def _trees() -> Sequence[Tree]:
    """Small trees that between them use every template and every branch of it."""
    from ..problems.atsp import ATSP
    from ..problems.flowshop import Flowshop
    from ..problems.linear_ordering import LinearOrdering
    from ..problems.quadratic_assignment import QuadraticAssignment
    from ..problems.queens import Queens
    from ..problems.schedules import BlockingFlowshop, FlowTime
    from ..problems.tardiness import Tardiness

    small = [[3, 1, 2], [2, 2, 9], [1, 4, 1]]
    return (
        Queens(15).tree(),
        *(ATSP(small).tree(bound) for bound in ("partial", "cheapest_arcs")),
        *(ATSP(np.ones((n, n))).tree(bound) for n, bound in ((40, "assignment"), (9, "subtour"), (40, "subtour"))),
        *(Flowshop(small).tree(bound, "max_sum") for bound in ("one_machine", "two_machine", "mixed")),
        *(Flowshop.taillard(21).tree("one_machine", rule) for rule in ("forward", "min_branch")),
        Flowshop([[5000] * 40] * 5).tree("mixed", "auto"),
        *(Flowshop([[5] * jobs] * 3).tree("one_machine", "auto") for jobs in (70, 130, 257)),
        FlowTime(small).tree(),
        BlockingFlowshop(small).tree(),
        QuadraticAssignment(small, small).tree(),
        Tardiness([3, 1, 2], [2, 9, 4], [1, 4, 1]).tree(),
        *(LinearOrdering(np.arange(n * n).reshape(n, n)).tree() for n in (3, 70)),
    )
