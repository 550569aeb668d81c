"""SciPy's own tests of ``linprog`` with its HiGHS methods, on ours: ``pytest -m full tests/linprog``."""

import warnings

import pytest

import engine
from tests.support.needs import package

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # marks that only SciPy's configuration knows
    theirs = package("scipy.optimize.tests.test_linprog")


class _OnOurs:
    @pytest.fixture(autouse=True)
    def replaced(self, device, monkeypatch):
        def linprog(c, *arguments, **keywords):
            return engine.linprog(c, *arguments, **keywords, devices=[device.info.id])

        monkeypatch.setattr(theirs, "linprog", linprog)


@pytest.mark.full
class TestSimplex(_OnOurs, theirs.TestLinprogHiGHSSimplexDual):
    """All of SciPy's tests for this method but one, which is about the methods before HiGHS."""

    test_integrality_without_highs = None


@pytest.mark.full
class TestInterior(_OnOurs, theirs.TestLinprogHiGHSIPM):
    test_integrality_without_highs = None


@pytest.mark.full
class TestMixedInteger(_OnOurs, theirs.TestLinprogHiGHSMIP):
    """SciPy's tests of integer and semi-continuous variables, but two that SciPy leaves out (`xslow`)."""

    test_mip6 = test_mip_rel_gap_passdown = None
