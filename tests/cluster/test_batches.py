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
