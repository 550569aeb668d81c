from types import SimpleNamespace

import pytest

from tests.support import needs


@pytest.fixture(scope="module")
def first_device():
    """One device for the mutants, whose kernels are compiled for each: they test the test, not the device."""
    return SimpleNamespace(info=needs.first_device())
