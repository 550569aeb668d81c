"""What the solvers declare agrees: one meaning a name, and every declaration complete."""

import ast
import importlib
import inspect
from collections import defaultdict
from pathlib import Path

import pytest

import engine
from engine.api.places import EXECUTORS
from engine.base.schema import HISTORY
from engine.base.solver import LazyImport
from engine.cli import _HIDDEN, COMMANDS
from engine.runs.folder.run_folder import RunFolder
from engine.solvers import discover

SOLVERS = {name: solver for name, solver in discover().items() if name != "counting"}
RECORDED = sorted((Path(__file__).parents[2] / "samples" / "recorded").iterdir())


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


@pytest.mark.parametrize("folder", RECORDED, ids=[folder.name for folder in RECORDED])
def test_the_recorded_runs_are_as_declared(folder):
    opened = RunFolder.open(folder)
    declared = [*opened.solver.metrics]
    names = {event.name for event in opened.events() if event.type == "metric"}
    assert names <= {spec.name for spec in declared}


def _named_code():
    """Every module and name that a string of the package names, to be imported when it is used."""
    found = [(f"engine.{module}", name) for module, name in EXECUTORS.values()]
    found += [(module, name) for name, (module, _) in COMMANDS.items()]
    found += [(module, name) for name, module in _HIDDEN.items()]
    root = Path(engine.__file__).parent
    for path in root.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "LazyImport(" not in source and "of_module(" not in source:
            continue
        own = ".".join(("engine", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        package = own if path.name == "__init__.py" else own.rpartition(".")[0]
        known = {"__name__": own, "__package__": package, "PACKAGE": "engine"}
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in ("LazyImport", "of_module"):
                module, *names = call.args[:4] if ast.unparse(call.func).endswith("of_module") else call.args[:2]
                used = {part.id for part in ast.walk(module) if isinstance(part, ast.Name)}
                if used and used <= known.keys():
                    where = eval(compile(ast.Expression(module), str(path), "eval"), known)
                    found += [(where, ast.literal_eval(name)) for name in names if isinstance(name, ast.Constant)]
    return found


def test_every_string_that_names_code_names_what_there_is():
    named = _named_code()
    assert len(named) > 60
    for module, name in named:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:  # of an optional package
            if str(error.name).startswith("engine"):
                raise
        else:
            assert hasattr(found, name), (module, name)


ARGUMENTS = {"solve": 4, "validate": 3, "solve_on_host": 4, "estimate": 5, "solve_batch": 4, "bench": 1, "tune": 1}


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
def test_what_a_solver_declares_takes_the_arguments_that_it_is_called_with(solver):
    for field, count in ARGUMENTS.items():
        declared = getattr(solver, field)
        if declared is not None:
            function = declared.load() if isinstance(declared, LazyImport) else declared
            inspect.signature(function).bind(*range(count))
