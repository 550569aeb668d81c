"""The flowshop's tables for kernels: processing times in the order that each kind of device reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..masks import bytes_for
from ..tree import CooperativeTree, DeviceTree
from .flowshop_tree import FlowshopTree

if TYPE_CHECKING:
    from ....devices import Capabilities

_LANES = 16
_TOGETHER = 8  # vectors that a loop over the machines keeps in registers
_COOPERATIVE_LANES = 32
_LOCAL_BYTES = 48 * 1024


def _constants(tree: FlowshopTree) -> dict[str, Any]:
    return {
        "machines": tree.machines,
        "branching": tree.branching,
        "bounds": tree.bound_name,
        "pairs": 0 if tree.pairs is None else len(tree.pairs.first),
        "groups": 0 if tree.pairs is None else -(-len(tree.pairs.first) // _LANES),
    }


def vector_functions(tree: FlowshopTree) -> DeviceTree:
    """For CPUs: explicit vectors with one job a lane."""
    vectors = -(-tree.items // _LANES)
    if vectors > _TOGETHER:
        vectors = -(-vectors // _TOGETHER) * _TOGETHER
    table = _lanes(tree, np.dtype(np.int16 if tree.short else np.int32), vectors * _LANES)
    constants = _constants(tree)
    constants |= {"value": "i16" if tree.short else "i32", "vectors": vectors, "johnson_at": len(table)}
    if tree.pairs is not None:
        table = np.concatenate([table, _in_lanes(_johnson(tree), tree.items).ravel()])
    return DeviceTree(
        "branch_and_bound/flowshop_lanes", "", constants, table, False, refines=tree.bound_name == "mixed"
    )


def scalar_functions(tree: FlowshopTree, capabilities: Capabilities) -> DeviceTree:
    """One job after another: both its ends in one word, where the device has functions on the two halves of a word."""
    ptx = (
        not capabilities.packed_i16
        and capabilities.inline_ptx
        and (capabilities.compute_capability or (0, 0)) >= (9, 0)
    )
    packed = tree.short and (capabilities.packed_i16 or ptx)
    stride = tree.machines | 1
    table = _words(tree, stride, packed)
    constants = {**_constants(tree), "packed": packed, "stride": stride, "johnson_at": len(table), "ptx": ptx}
    local = tree.bound_name == "one_machine" and table.nbytes <= 16384
    johnson = _johnson(tree)
    if tree.pairs is not None:
        table = np.concatenate([table, johnson.ravel()])
    return DeviceTree(
        *("branch_and_bound/flowshop", "", constants, table, local),
        saved_words=(tree.machines + -(-tree.machines // 2)) * (1 if packed else 2),
        child_bounds=True,
        refines=tree.bound_name == "mixed",
        cooperative=_cooperative(tree, johnson, capabilities) if tree.pairs is not None else None,
        threads_per_unit=_threads(tree.machines if packed else 2 * tree.machines),
    )


def _threads(words: int) -> int:
    """IVMs a multiprocessor: as many as keep two states of so many words each, and as much again, in registers."""
    return 1024 if words <= 6 else 768 if words <= 12 else 512


def _lanes(tree: FlowshopTree, value: np.dtype[Any], lanes: int) -> NDArray[np.int32]:
    """Rows of all jobs by machine, padded; then columns of all machines by job; then heads, tails, totals."""
    rows = np.zeros((tree.machines, lanes), value)
    rows[:, : tree.items] = tree.times
    parts = [rows.ravel(), tree.times.T.ravel(), tree.heads, tree.tails, tree.totals]
    flat = np.concatenate([part.astype(value) for part in parts])
    flat = np.concatenate([flat, np.zeros(-len(flat) % (64 // value.itemsize), value)])  # whole vectors follow
    return flat.view(np.int32)


def _words(tree: FlowshopTree, stride: int, packed: bool) -> NDArray[np.int32]:
    """By job all machines, at an odd stride; heads, tails, totals. Packed: machine i, m - 1 - i in the high half."""
    columns = np.zeros((tree.items, stride), np.int64)
    if not packed:
        columns[:, : tree.machines] = tree.times.T
        parts = [columns.ravel(), tree.heads, tree.tails, tree.totals]
        return np.concatenate(parts).astype(np.int32)
    columns[:, : tree.machines] = tree.times.T | tree.times[::-1].T << 16
    parts = [columns.ravel(), tree.heads | tree.tails[::-1] << 16, tree.totals | tree.totals[::-1] << 16]
    return np.concatenate(parts).astype(np.uint32).view(np.int32)


def _johnson(tree: FlowshopTree) -> NDArray[np.int32]:
    """By pair of machines, those far apart first: u, v, 0, 0, then of each job in order itself, lag, and both times."""
    pairs = tree.pairs
    if pairs is None or not len(pairs.first):
        return np.zeros((0, 4 * (tree.items + 1)), np.int32)
    order = np.argsort(-(pairs.second - pairs.first), kind="stable")
    rows = np.arange(len(order))[:, None]
    jobs = pairs.order[order]
    lags = pairs.lag[order][rows, jobs]
    first, second = tree.times[pairs.first[order]][rows, jobs], tree.times[pairs.second[order]][rows, jobs]
    body = np.stack([jobs, lags, first, second], axis=2).reshape(len(order), -1)
    heads = np.stack([pairs.first[order], pairs.second[order], 0 * order, 0 * order], axis=1)
    return np.concatenate([heads, body], axis=1).astype(np.int32)


def _in_lanes(rows: NDArray[np.int32], items: int) -> NDArray[np.int32]:
    """The same for 16 pairs at once, the last in lanes that are left: all u, all v; of each job lags, times, sets."""
    if not len(rows):
        return rows
    count = -(-len(rows) // _LANES) * _LANES
    padded = rows[np.minimum(np.arange(count), len(rows) - 1)].reshape(-1, _LANES, items + 1, 4)
    ends = padded[:, :, 0, :2].transpose(0, 2, 1)
    jobs = padded[:, :, 1:, 0].astype(np.int64)
    words = [np.where(jobs // 32 == word, 1 << jobs % 32, 0).astype(np.uint32) for word in range(-(-items // 32))]
    times = padded[:, :, 1:, 1:].transpose(0, 2, 3, 1)
    masks = np.stack([word.view(np.int32).transpose(0, 2, 1) for word in words], axis=2)
    steps = np.concatenate([times, masks], axis=2)
    return np.concatenate([ends.reshape(len(ends), -1), steps.reshape(len(steps), -1)], axis=1).astype(np.int32)


def _cooperative(tree: FlowshopTree, johnson: NDArray[np.int32], capabilities: Capabilities) -> CooperativeTree | None:
    """The kernels of ``flowshop_cooperative.mako``; None where a group would need too much local memory."""
    stride = tree.machines | 1
    pairs = len(johnson)
    columns = np.zeros((tree.items, stride), np.int32)
    columns[:, : tree.machines] = tree.times.T
    ends = johnson[:, 0] | johnson[:, 1] << 16
    front = np.concatenate([columns.ravel(), tree.heads, tree.tails, ends]).astype(np.int32)
    front = np.concatenate([front, np.zeros(-len(front) % 4, np.int32)])  # whole entries follow
    jobs, lags, first, second = johnson[:, 4:].reshape(pairs, tree.items, 4).transpose(2, 1, 0).astype(np.int64)
    if tree.short:
        entries = np.stack([lags | first << 16, second | jobs << 16], axis=2).astype(np.uint32).view(np.int32)
    else:
        entries = np.stack([lags, first, second, jobs], axis=2).astype(np.int32)
    constants = {
        "machines": tree.machines,
        "branching": tree.branching,
        "bounds": tree.bound_name,
        "pairs": pairs,
        "packed": tree.short,
        "stride": stride,
        "johnson_at": len(front),
        "poll": 4,
    }
    both = tree.bound_name == "two_machine" and tree.branching != "forward"
    pair = 4 if tree.short else 8
    kept = pair * (tree.items * (stride + 1 + (_COOPERATIVE_LANES if both else 0)) + tree.machines)
    local = kept + 4 * tree.machines + bytes_for(tree.items) * tree.leaf_depth + 48
    if local > min(_LOCAL_BYTES, capabilities.local_memory):
        return None
    table = np.concatenate([front, entries.ravel()])
    name = "branch_and_bound/flowshop_cooperative"
    return CooperativeTree(name, constants, table, _COOPERATIVE_LANES, local, max(64, -(-(tree.items + 44) // 8) * 8))
