"""The length of slices follows the time they take, within its limits."""

from engine.devices.pool.slices import SliceLength


def test_a_slice_grows_at_most_twofold_and_shrinks_at_once():
    length = SliceLength(start=10, seconds=0.05)
    length.took(0.001)
    assert length.amount == 20
    length.took(1.0)
    assert length.amount == 1
    length.took(0.02, amount=100)
    assert length.amount == 200


def test_limits_hold():
    length = SliceLength(start=5, least=3, most=8, seconds=0.1)
    length.took(10.0)
    assert length.amount == 3
    for _ in range(5):
        length.took(1e-9)
    assert length.amount == 8
