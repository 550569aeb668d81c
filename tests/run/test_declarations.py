"""What the solvers declare agrees: one meaning a name, and every declaration complete."""

from collections import defaultdict

from engine.solvers import discover

SOLVERS = {name: solver for name, solver in discover().items() if name != "counting"}


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
