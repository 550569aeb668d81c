"""The curves' memory: fixed room, no peak lost, nothing forgotten but what a resumed run takes back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.util.text import short_number_text, short_seconds_text
from gui.plot.axes import duration, next_end, next_range
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


def test_a_short_series_takes_little_room_and_a_longer_one_keeps_its_points():
    assert filled([0.0] * 10).nbytes <= 2048
    times, values = filled(list(range(1000))).points()
    assert values.tolist() == list(range(1000))
    assert times.tolist() == [place / 10 for place in range(1000)]


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


def test_a_window_reaches_one_point_past_either_side():
    window = filled([float(k) for k in range(100)]).window(begin=2.05, end=4.05)
    assert (window.time[0], window.time[-1]) == (2.0, 4.1)


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


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_a_value_axis_holds_its_values_and_stays_while_they_fit(low, size):
    first = next_range((0.0, 0.0), (low, low + size))
    assert first[0] <= low <= low + size <= first[1]
    assert next_range(first, (low, low + size)) == first
    assert next_range(first, (low + 0.1 * size, low + size)) == first


def test_numbers_are_said_in_little_room():
    assert [duration(3729), duration(65), duration(0.25, 0.05)] == ["1:02:09", "1:05", "0.25 s"]
    assert [short_seconds_text(0.00085), short_seconds_text(3.21)] == ["850 µs", "3.21 s"]
    assert [short_number_text(value) for value in (12_345_678, 999.96e6, 0.00123)] == ["12.3M", "1G", "0.00123"]
    assert [short_number_text(value) for value in (math.nan, 2.5e17)] == ["–", "2.5e+17"]
