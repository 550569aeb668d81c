"""What the solvers declare agrees: one meaning a name, and every declaration complete."""

from collections import defaultdict

import pytest

from engine.base.schema import HISTORY
from engine.solvers import discover

SOLVERS = {name: solver for name, solver in discover().items() if name != "counting"}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_every_solver_declares_checks_results_and_checkpoints(solver):
    assert solver.validate is not None
    schema = solver.schema
    assert schema.checkpoint.version >= 1
    assert schema.checkpoint.state.model_config.get("extra") == "forbid"
    for specs in (schema.arrays, schema.counters, schema.history, schema.checkpoint.arrays, solver.metrics):
        names = [spec.name for spec in specs]
        assert len(names) == len(set(names))
    assert all(spec.title for spec in schema.counters)
    assert all(spec.title or index == 0 for index, spec in enumerate(schema.history))
    assert HISTORY not in [spec.name for spec in schema.arrays]
    assert "solution" not in [spec.name for spec in schema.arrays]


def test_a_name_has_one_unit_over_all_solvers():
    units = defaultdict(dict)
    for name, solver in SOLVERS.items():
        for kind, specs in (("counter", solver.schema.counters), ("metric", solver.metrics)):
            for spec in specs:
                units[kind, spec.name][name] = spec.unit
    several = {name: found for name, found in units.items() if len(set(found.values())) > 1}
    assert several == {}
    for (kind, name), found in units.items():
        if name == "exchanged_bytes":
            assert set(found.values()) == {"bytes"}, kind
        assert name != "exchanged", f"{kind} of {sorted(found)}: bytes are exchanged_bytes; say of what otherwise"
