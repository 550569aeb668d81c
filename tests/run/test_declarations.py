"""What the solvers declare agrees: one meaning a name, and every declaration complete."""

import ast
import importlib
from collections import defaultdict
from pathlib import Path

import engine
from engine.api.places import EXECUTORS
from engine.cli import _HIDDEN, COMMANDS
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
