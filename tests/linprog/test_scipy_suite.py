"""SciPy's own tests of ``linprog`` with ``method="highs-ds"``, on ours: ``pytest -m slow tests/linprog``."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import engine
from engine.devices import Member

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # marks that only SciPy's configuration knows
    theirs = pytest.importorskip("scipy.optimize.tests.test_linprog")


@pytest.mark.full
class TestOurs(theirs.TestLinprogHiGHSSimplexDual):  # type: ignore[misc, name-defined]
    """All of SciPy's tests for this method but one: ours refuses integrality instead of ignoring it."""

    @pytest.fixture(autouse=True)
    def replaced(self, device: Member, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let SciPy's tests call ``engine.linprog``."""

        def linprog(c: Any, *arguments: Any, **keywords: Any) -> Any:
            return engine.linprog(c, *arguments, **keywords, devices=[device.info.id])

        monkeypatch.setattr(theirs, "linprog", linprog)

    def test_integrality_without_highs(self) -> None:
        with pytest.raises(engine.ProblemError, match="integrality must be zero"):
            engine.linprog([1.0], integrality=[1])
