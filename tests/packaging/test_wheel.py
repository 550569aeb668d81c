"""The wheel, installed: two top-level names, no clash with packages called kernels and gui, and all its data.

The source distribution: all that the tests need.
"""

import ast
import os
import pickle
import subprocess
import sys
import tarfile

import engine
from tests.support.installation import ROOT, built
from tests.support.patience import PATIENCE


def run(code, *paths):
    """Run Python elsewhere, with these folders first on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    about = {"cwd": paths[0], "env": environment, "capture_output": True, "text": True, "timeout": 5 * PATIENCE}
    done = subprocess.run([sys.executable, "-c", code], **about)
    assert done.returncode == 0, done.stderr
    return done.stdout


FOLDERS = ("docs", "engine", "gui", "kernels", "packaging", "quintet", "samples", "tests")
FILES = ("BENCHMARKS.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "mkdocs.yml")


def test_the_source_distribution_has_what_the_tests_need(tmp_path):
    with tarfile.open(built("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    needed = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert len(needed) > 1000
    assert {*needed, *FILES, "pyproject.toml", "PKG-INFO"} - names == set()


def test_what_was_pickled_by_either_name_is_read_by_both(installed, tmp_path):
    error = pickle.dumps(engine.OptionError("no such option"))
    code = f"import pickle, quintet; print(type(pickle.loads({error!r})) is quintet.errors.OptionError)"
    assert installed.execute(code, tmp_path).out == "True\n"
    code = "import pickle, quintet; print(pickle.dumps(quintet.errors.OptionError('x')))"
    assert type(pickle.loads(ast.literal_eval(installed.execute(code, tmp_path).out))) is engine.OptionError


def test_an_editable_installation_takes_the_folders_beside_engine(tmp_path):
    parts = ("kernels", "gui", "samples")
    for name in parts:  # of other people
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("whose = 'another'\n")
    code = f"from engine.util.paths import folder_of, load_app; print(*map(folder_of, {parts}), load_app().__path__[0])"
    assert run(code, tmp_path, ROOT).split() == [str(ROOT / part) for part in (*parts, "gui")]


def test_two_packages_are_at_top_level_and_are_one(installed):
    names = {path.name for path in installed.site.iterdir() if not path.name.endswith(".dist-info")}
    assert names - {"packages.pth", "__pycache__"} == {"engine", "quintet"}
    code = """
import quintet as qt, engine
import engine.devices.pool.pool, engine.errors
from engine.errors import OptionError
assert qt is engine
assert qt.devices.pool.pool is engine.devices.pool.pool
assert qt.errors is engine.errors and OptionError is engine.OptionError
assert engine.errors.__spec__.name == engine.errors.__name__ == "quintet.errors"
assert qt.Knapsack is engine.Knapsack and dir(qt) == dir(engine)
try:
    import engine.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(code, installed.site) == "No module named 'engine.nothing'\n"
