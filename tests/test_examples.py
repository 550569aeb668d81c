"""Examples of public names and the blocks of the README do what they show, and its commands exist."""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import warnings
from pathlib import Path

import pytest

import engine
from engine.cli import COMMANDS
from tests.support.needs import opencl_device, package
from tests.support.public_names import members

PACKAGES = {
    "IOHAlgorithm": "ioh",
    "NevergradOptimizer": "nevergrad",
    "PymooAlgorithm": "pymoo",
    "network_graph": "networkx",
    "to_arviz": "arviz",
}
"""What an example needs besides what its name needs to be there at all."""


def documented():
    """The docstrings of the package, of its public functions, classes and methods, and of its objects' classes."""
    found = {"engine": engine, **dict(members())}
    if "QUINTET" in dir(engine) and importlib.util.find_spec("cvxpy"):
        found["QUINTET"] = type(engine.QUINTET)
    return {name: inspect.getdoc(value) or "" for name, value in found.items()}


DOCUMENTED = documented()


def test_every_public_function_and_class_has_an_example():
    assert [name for name, text in DOCUMENTED.items() if "." not in name and ">>> " not in text] == []
    assert [name for name, text in DOCUMENTED.items() if ">>> " in text.partition("Examples\n--------\n")[0]] == [
        "engine"
    ]


@pytest.fixture(scope="module")
def opened(unoptimized):
    """A device that stays open, so that an example finds what others compiled."""
    opencl_device()
    with engine.Engine("opencl", ["opencl:0"]) as owner:
        owner.solve(engine.Queens(4))
        yield


@pytest.mark.few(36)
@pytest.mark.parametrize("name", [name for name, text in DOCUMENTED.items() if ">>> " in text])
def test_an_example_does_what_it_shows(name, opened, tmp_path, monkeypatch):
    if name in PACKAGES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            package(PACKAGES[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUINTET_BACKEND", "opencl")
    monkeypatch.setenv("QUINTET_DEVICES", "opencl:0")
    test = doctest.DocTestParser().get_doctest(DOCUMENTED[name], {}, name, None, None)
    lines = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=lines.append)
    assert outcome.attempted
    assert not outcome.failed, "".join(lines)


TEXT = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", TEXT, re.DOTALL | re.MULTILINE)
"""The code of each block, and what the text block below it says that it prints."""


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    opencl_device()
    monkeypatch.chdir(tmp_path)
    names = {}
    assert len(BLOCKS) >= 2
    for block, printed in BLOCKS:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(block, "README.md", "exec"), names)
        assert not printed or shown.getvalue() == printed
    assert any(printed for _, printed in BLOCKS)


def test_every_command_it_names_exists():
    named = set(re.findall(r"\bquintet ([a-z]+)", TEXT.split("## Command line")[1]))
    assert {"solve", "resume", "gui"} <= named <= set(COMMANDS)
