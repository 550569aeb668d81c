"""SciPy's own tests of ``linprog`` with its HiGHS methods, on ours: ``pytest -m full tests/linprog``."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import engine
from engine.devices import Member
from tests.support.needs import package

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # marks that only SciPy's configuration knows
    theirs = package("scipy.optimize.tests.test_linprog")


class _OnOurs:
    @pytest.fixture(autouse=True)
    def replaced(self, device: Member, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let SciPy's tests call ``engine.linprog``."""

        def linprog(c: Any, *arguments: Any, **keywords: Any) -> Any:
            return engine.linprog(c, *arguments, **keywords, devices=[device.info.id])

        monkeypatch.setattr(theirs, "linprog", linprog)


@pytest.mark.full
class TestSimplex(_OnOurs, theirs.TestLinprogHiGHSSimplexDual):  # type: ignore[misc, name-defined]
    """All of SciPy's tests for this method but one, which is about the methods before HiGHS."""

    test_integrality_without_highs = None


@pytest.mark.full
class TestInterior(_OnOurs, theirs.TestLinprogHiGHSIPM):  # type: ignore[misc, name-defined]
    """The same for HiGHS's interior-point method."""

    test_integrality_without_highs = None


@pytest.mark.full
class TestMixedInteger(_OnOurs, theirs.TestLinprogHiGHSMIP):  # type: ignore[misc, name-defined]
    """SciPy's tests of integer and semi-continuous variables, but two that SciPy leaves out (`xslow`)."""

    test_mip6 = test_mip_rel_gap_passdown = None
