"""The plan that solvers share: rooms and verbs, a map in each package, kernels one can read, options with a reason."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import engine
from engine.solvers import discover

ROOT = Path(__file__).parents[1]
SOLVERS = ("boa", "branch_and_bound", "gibbs", "knapsack", "linprog")
ROOMS = ("options", "schema", "solve", "validate", "checkpoint")
VERBS = {"solve": ("solve",), "validate": ("validate",), "checkpoint": ("save", "restore", "audit")}

TABLES = {
    "active": "the number of open nodes, then their slots",
    "levels": "the number of levels, then where each begins",
    "own_totals": "counts of the configurations of a node, by number",
    "pair": "the counts of zeros and ones under one configuration",
    "f": "a row of the table, by capacity",
}
"""Arrays whose places are numbers of things, not fields: a literal index names the thing."""


def templates():
    for path in sorted((ROOT / "kernels").rglob("*.mako")):
        yield path.relative_to(ROOT / "kernels").as_posix(), path.read_text(encoding="utf-8").split("\n")


def signatures(lines):
    """The lines of each kernel up to that which ends with its opening brace."""
    for number, line in enumerate(lines):
        if line.startswith("KERNEL "):
            yield lines[number : next(i for i, text in enumerate(lines[number:], number + 1) if text.endswith(" {"))]


@pytest.mark.smoke
@pytest.mark.parametrize("solver", SOLVERS)
def test_packages_have_the_same_rooms_with_the_same_verbs(solver):
    folder, package = ROOT / "engine" / "solvers" / solver, f"{engine.__name__}.solvers.{solver}"
    missing = {room for room in ROOMS if not (folder / f"{room}.py").is_file()}
    for room in set(VERBS) - missing:
        module = importlib.import_module(f"{package}.{room}")
        missing |= {f"{room}.{verb}" for verb in VERBS[room] if not callable(getattr(module, verb, None))}
    if not (folder / "problem.py").is_file() and not (folder / "problems").is_dir():
        missing.add("problem")
    if not list(folder.rglob("programs.py")):
        missing.add("programs")
    assert not missing


@pytest.mark.smoke
@pytest.mark.parametrize("solver", SOLVERS)
def test_packages_begin_with_a_map_of_where_each_step_is(solver):
    text = importlib.import_module(f"{engine.__name__}.solvers.{solver}").__doc__ or ""
    assert 6 <= sum(line.startswith("- ") for line in text.split("\n")) <= 14
    folder = ROOT / "engine" / "solvers" / solver
    for name in re.findall(r"``([\w./]+)``", text):
        if "/" in name or name.endswith(".mako"):
            places = [ROOT / name, ROOT / "kernels" / solver / name, ROOT / "kernels" / f"{name}.mako"]
            places += [folder / name, folder / f"{name}.py"]
            assert any(place.exists() for place in places), name


@pytest.mark.smoke
def test_state_on_devices_is_read_by_name():
    """No element of global memory is a field that only its number tells: ``state[3]``, ``chains[8 * c + 7]``."""
    found = set()
    for name, lines in templates():
        text = re.sub(r"//.*", "", "\n".join(lines))
        arrays = set(re.findall(r"GLOBAL\s+\w+\s*\*+\s*(?:RESTRICT\s+)?(\w+)", text)) - set(TABLES)
        for array, _ in re.findall(r"\b(\w+)\[([1-9]\d*|\d+ \* [^\[\]+]+ \+ \d+)\]", text):
            found |= {(name, array)} if array in arrays else set()
    assert not found


@pytest.mark.smoke
def test_lines_of_kernels_fit_a_screen_and_functions_open_at_the_end_of_their_signature():
    assert [name for name, lines in templates() if any(len(line) > 132 for line in lines)] == []
    assert [name for name, lines in templates() if re.search(r"\)\n\{", "\n".join(lines))] == []


@pytest.mark.smoke
def test_signatures_of_kernels_have_no_conditions():
    condition = re.compile(r"^\s*% (if|else|endif)|\$\{[^}]* if [^}]* else ")
    for name, lines in templates():
        assert not [line for signature in signatures(lines) for line in signature if condition.search(line)], name


@pytest.mark.smoke
def test_templates_and_kernels_are_short():
    for name, lines in templates():
        assert len(lines) <= 351, name
        starts = [number for number, line in enumerate(lines) if line.startswith("KERNEL ")]
        assert not [number for number in starts if lines.index("}", number) - number >= 200], name


def uses():
    return tomllib.loads((ROOT / "tests" / "uses.toml").read_text(encoding="utf-8"))


@pytest.mark.smoke
@pytest.mark.parametrize("solver", list(uses()))
def test_every_option_has_a_paper_a_record_or_a_user(solver):
    """``paper: what it is there``, ``record: words of a record``, or ``user: why a user must be able to say it``."""
    records = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "records").glob("*.json"))
    reasons = uses()[solver]
    assert set(reasons) == set(discover()[solver].option_names)
    for option, reason in reasons.items():
        kind, _, words = reason.partition(": ")
        assert kind in ("paper", "record", "user"), option
        assert words.strip(), option
        assert kind != "record" or words in records, f"{option}: {words!r} is in no record"
