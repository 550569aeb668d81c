"""Every public function and class has an example in its docstring, and the examples do what they show."""

import doctest
import importlib
import inspect
import warnings

import pytest

import engine
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
