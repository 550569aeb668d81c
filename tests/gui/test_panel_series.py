"""The curves' memory: fixed room, no peak lost, nothing forgotten but what a resumed run takes back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.plot.axes import next_end
from gui.plot.series import Series

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400)


def filled(values, capacity=2048):
    series = Series(capacity)
    for place, value in enumerate(values):
        series.append(place / 10, value)
    return series


def test_an_hour_at_ten_hertz_takes_no_more_room_than_five_minutes():
    series = filled([0.0] * 3000)
    before = series.nbytes
    for place in range(3000, 36_000):
        series.append(place / 10, 0.0)
    assert series.nbytes == before <= 65_536
    assert 1024 <= len(series) <= 2048


@given(VALUES, st.sampled_from([2, 4, 16, 64]))
def test_extremes_and_means_survive_any_merging(values, capacity):
    series = filled(values, capacity)
    window = series.window()
    assert series.extent() == (min(values), max(values))
    assert window.low.min() == min(values)
    assert window.high.max() == max(values)
    assert (window.low <= window.mean + 1e-6).all()
    assert (window.mean <= window.high + 1e-6).all()
    assert series.last == values[-1]
    counts = [min(series.stride, len(values) - k * series.stride) for k in range(len(series))]
    assert np.dot(window.mean, counts) == pytest.approx(sum(values), rel=1e-9, abs=1e-3)


@given(VALUES, st.integers(1, 50))
def test_a_picture_of_few_columns_still_has_every_peak(values, columns):
    window = filled(values).window(columns=columns)
    assert len(window.time) <= max(2 * columns, columns + 2)
    assert window.low.min() == min(values)
    assert window.high.max() == max(values)


@given(VALUES, st.sampled_from([2, 4, 16, 64]))
def test_a_series_made_at_once_is_that_of_its_points_one_by_one(values, capacity):
    slow = filled(values, capacity)
    fast = Series.of(np.arange(len(values)) / 10, np.array(values), capacity)
    assert (fast.stride, len(fast), fast.last, fast.last_time) == (slow.stride, len(slow), slow.last, slow.last_time)
    for one, other in zip(fast.window()[:4], slow.window()[:4], strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-9)
    fast.append(1e6, 3.0)
    slow.append(1e6, 3.0)
    assert fast.points()[1] == pytest.approx(slow.points()[1], rel=1e-12, abs=1e-9)


def test_a_resumed_run_takes_back_what_came_after_its_checkpoint():
    series = filled([float(k) for k in range(100)])
    series.cut(4.95)
    series.append(5.0, -1.0)
    time, value = series.points()
    assert value.tolist() == [*map(float, range(50)), -1.0]
    assert time[-1] == 5.0
    series.cut(-1.0)
    assert len(series) == 0
    assert math.isnan(series.last)


def test_values_that_are_no_numbers_are_left_out():
    series = filled([1.0, math.nan, math.inf, 2.0])
    assert series.points()[1].tolist() == [1.0, 2.0]


@given(st.lists(st.floats(0.001, 1e5), min_size=2, max_size=60))
def test_a_time_axis_grows_seldom_and_always_holds_what_it_must(steps):
    end, now, changes = 0.0, 0.0, 0
    for step in steps:
        now += step
        grown = next_end(end, now)
        assert grown >= now
        changes += grown != end
        assert grown <= 1.5 * max(now, 0.1) + 0.1
        end = grown
    assert changes <= len(steps)
    assert sum(next_end(1000.0, now) != 1000.0 for now in np.linspace(0, 1000, 50)) == 0
