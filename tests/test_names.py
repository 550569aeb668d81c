"""Names: what the package offers, files of tests with names of their own, imports inside the engine."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import engine

pytestmark = pytest.mark.smoke

WITHOUT_OPTIONAL_PACKAGES = """
import importlib.util, inspect, pydoc, sys
from importlib.machinery import PathFinder

class Hidden(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        found = None if name.partition(".")[0] in ("sklearn", "cvxpy", "arviz", "ioh", "distributed") else "next"
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

original = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in ("sklearn", "cvxpy") else original(name, package)
sys.meta_path.insert(0, Hidden)
import quintet, engine
members = dict(inspect.getmembers(quintet))
assert "Knapsack" in members and "HorseshoeClassifier" not in members, sorted(members)
assert "Knapsack" in pydoc.render_doc(engine)
try:
    quintet.HorseshoeClassifier
except ModuleNotFoundError as error:
    print(error)
exec("from quintet import *")
assert Knapsack is engine.Knapsack and solve is engine.solve
"""


def test_what_needs_an_optional_package_says_so_and_hides_nothing_else():
    done = subprocess.run([sys.executable, "-c", WITHOUT_OPTIONAL_PACKAGES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "HorseshoeClassifier needs the package sklearn, which is not installed (Quintet's extra statistics has it)\n"
    )


def test_no_two_modules_of_the_tests_have_the_same_name_and_none_imports_from_a_file_of_tests():
    paths = [path for path in Path(__file__).parent.rglob("*.py") if path.name not in ("__init__.py", "conftest.py")]
    assert [name for name, count in Counter(path.name for path in paths).items() if count > 1] == []
    imports = re.compile(r"^\s*((from|import) [\w.]*\btest_\w+|sys\.path\b.*(insert|append|=))", re.M)
    assert [path.name for path in paths if imports.search(path.read_text(encoding="utf-8"))] == []


ENGINE = Path(engine.__file__).parent


def test_imports_inside_the_engine_are_relative_and_its_strings_name_no_module_of_it():
    absolute = re.compile(r"""^\s*(from engine[. ]|import engine\b)|["']engine(\.\w+)+["']""", re.MULTILINE)
    code = re.compile(r'(?s)r?""".*?"""')  # not what docstrings show
    found = [str(path) for path in ENGINE.rglob("*.py") if absolute.search(code.sub("", path.read_text("utf-8")))]
    assert found == []
