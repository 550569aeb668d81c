import pytest

from tests.support.needs import DEVICE
from tools.soak.forge import CASES, SOUND, outcomes


@DEVICE
@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_forged_checkpoint_is_refused_or_harmless(name):
    found = list(outcomes(name, places=3, cases=20, seed=3))
    assert len(found) == 20
    assert [(what, outcome) for what, outcome in found if not outcome.startswith(SOUND)] == []
    assert any(outcome.startswith("refused") for _, outcome in found)
