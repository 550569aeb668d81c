"""How the problems of ``engine.map`` are divided into tasks."""

import pytest

from engine.api.map import BatchProgress
from engine.base.batch import Item
from engine.base.result import Result, Status
from engine.errors import AuditError
from engine.execution.dask.batches import MapRun, _load_items, _MapTasks

TASKS = _MapTasks(None, {}, None)


def answered(work, seconds_each, last=None):
    """The answer to a task, of its first items only if it was asked to end."""
    found = {item.index: Result(Status.OPTIMAL, item.index, None, None) for item in _load_items(work["items"])[:last]}
    return TASKS.finish((found, seconds_each * len(found)))


def tasks_of(count, slots, seconds_each):
    """How many items each task has, if tasks are answered in turn."""
    run = MapRun([Item(place, f"file-{place}") for place in range(count)], BatchProgress(count, []))
    sizes, out = [], []
    while not run.finished:
        while len(out) < slots and (work := run.take(slots - len(out), 3.0)) is not None:
            out.append(work)
            sizes.append(len(work["indices"]))
        work = out.pop(0)
        run.accept(work, answered(work, seconds_each))
    return sizes, run


def test_small_problems_are_in_few_slices_and_all_solved():
    sizes, run = tasks_of(10_000, 4, 5e-5)
    assert sum(sizes) == 10_000
    assert len(sizes) <= 20
    assert all(run.entries[place].objective == place for place in range(10_000))


def test_items_of_a_slice_that_ended_early_or_was_lost_are_handed_out_again():
    run = MapRun([Item(place, f"file-{place}") for place in range(20)], BatchProgress(20, []))
    one, two = run.take(2, 3.0), run.take(1, 3.0)
    run.accept(one, answered(one, 1.0, last=2))
    run.put_back(two)
    handed_out = []
    while (work := run.take(2, 3.0)) is not None:
        handed_out += work["indices"]
    assert sorted([*handed_out, *one["indices"][:2]]) == list(range(20))
    with pytest.raises(AuditError, match="entries of other problems"):
        run.accept({"indices": [7], "items": b""}, answered(one, 1.0))
