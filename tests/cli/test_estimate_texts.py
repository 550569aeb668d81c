"""What ``quintet estimate`` prints of numbers of any size."""

import pytest

from engine.base.estimate import Estimate
from engine.cli.estimating import _sentences
from engine.util.text import seconds_text, short_number_text


@pytest.mark.parametrize(("amount", "shown"), [(12_345.0, "12,000"), (3.4e215, "3.4e+215"), (float("inf"), "inf")])
def test_an_estimate_of_any_size_is_a_short_sentence(amount, shown):
    text = _sentences("flowshop", Estimate("nodes", amount, 0.5 * amount, amount * 2, 1e6))
    assert f"{shown} nodes" in text
    assert max(map(len, text.splitlines())) < 100


def test_what_no_metric_prefix_reaches_is_a_power_of_ten():
    assert [short_number_text(value) for value in (999.0, 12.3e6, 3e17, 3e20)] == ["999", "12.3M", "3e+17", "3e+20"]
    assert seconds_text(1e40).endswith("e+32 years")
