"""``import engine``: quick, light, and complete."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import counting
import pytest

import engine
from engine.solvers import discover

ROOT = Path(__file__).parent.parent.parent
CHECK = """
import sys
import engine
heavy = {"pyopencl", "pycuda", "cuda", "PySide6", "rich", "click", "scipy", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
dir(engine)
heavy = {"pyopencl", "pycuda", "cuda", "PySide6"} & set(sys.modules)
assert not heavy, heavy
"""


def test_import_engine_brings_no_backend_and_no_screen() -> None:
    subprocess.run([sys.executable, "-c", CHECK], cwd=ROOT, check=True, timeout=60)


def test_the_pinned_names_are_there() -> None:
    for name in ("solve", "resume", "Engine", "devices", "solvers", "Result", "Status", "errors", "__version__"):
        assert hasattr(engine, name)
        assert name in dir(engine)
    assert callable(engine.devices)
    assert engine.devices() == [counting.ABACUS]
    assert "counting" in engine.solvers()


def test_problem_classes_are_found_by_looking() -> None:
    assert engine.Counting is counting.Counting
    assert "Counting" in dir(engine)
    with pytest.raises(AttributeError, match="module 'engine' has no attribute 'Abacus'"):
        engine.Abacus  # noqa: B018


def test_a_solver_may_offer_more(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(name for name in discover() if name != "counting")
    package = importlib.import_module(f"engine.solvers.{name}")
    monkeypatch.setattr(package, "PUBLIC", {"linprog_like": len}, raising=False)
    assert engine.linprog_like is len
    assert "linprog_like" in dir(engine)
