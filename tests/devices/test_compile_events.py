"""Compilation of kernels is reported by the run that waits for it."""

import pytest

import engine
from engine.events import Compiling, Metric, from_json, to_json


@pytest.mark.usefixtures("_nothing_compiled")
def test_compiled_templates_are_reported_before_the_first_values():
    seen = []
    engine.solve(engine.Queens(8), backend="opencl", on_event=seen.append)
    compiling = [event for event in seen if isinstance(event, Compiling)]
    assert [event.count for event in compiling] == list(range(1, len(compiling) + 1)) != []
    assert {event.template.partition("/")[0] for event in compiling} <= {"branch_and_bound", "common"}
    assert all(from_json(to_json(event)) == event for event in compiling)
    metrics = [place for place, event in enumerate(seen) if isinstance(event, Metric)]
    assert not metrics or seen.index(compiling[0]) < metrics[0]
