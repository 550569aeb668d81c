"""Events are JSON lines and back, whatever is in them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import events

pytestmark = pytest.mark.smoke

NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**70), 2**70)
FLOATS = st.floats(allow_nan=False)
TIMES = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
TEXT = st.text()
PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
KINDS = {
    events.Started: {
        "solver": TEXT,
        "problem": TEXT,
        "name": TEXT,
        "description": TEXT,
        "sense": TEXT,
        "options": st.dictionaries(TEXT, PLAIN, max_size=3),
        "backend": TEXT,
        "devices": st.lists(TEXT, max_size=2),
        "device_names": st.lists(TEXT, max_size=2),
        "seed": st.integers(0, 2**64),
        "metrics": st.lists(st.dictionaries(TEXT, PLAIN, max_size=3), max_size=2),
        "resumed": st.booleans(),
    },
    events.StateChanged: {"state": st.sampled_from(["running", "paused", "stopping"])},
    events.Progress: {"phase": TEXT, "done": FLOATS, "total": FLOATS, "unit": TEXT, "limit": st.booleans()},
    events.Compiling: {"device": TEXT, "template": TEXT, "count": st.integers(1, 99)},
    events.Metric: {"name": TEXT, "value": FLOATS, "device": st.none() | TEXT},
    events.Incumbent: {"objective": st.none() | NUMBERS, "bound": st.none() | NUMBERS, "gap": st.none() | FLOATS},
    events.Trace: {"name": TEXT, "chain": st.integers(0, 9), "iteration": st.integers(0), "values": st.lists(FLOATS)},
    events.DeviceStatus: {"device": TEXT, "power": st.none() | FLOATS, "memory_used": st.none() | FLOATS},
    events.Notice: {"level": st.sampled_from(["info", "warning"]), "message": TEXT},
    events.Finished: {
        "status": TEXT,
        "objective": st.none() | NUMBERS,
        "bound": st.none() | NUMBERS,
        "gap": st.none() | FLOATS,
        "seconds": FLOATS,
        "counters": st.dictionaries(TEXT, NUMBERS, max_size=3),
        "solution": st.none()
        | st.lists(st.integers(), max_size=4)
        | st.lists(st.lists(FLOATS, max_size=2), max_size=2),
    },
    events.Failed: {"error": TEXT, "message": TEXT, "exit_code": st.integers(0, 255)},
}


@given(st.one_of([st.builds(kind, time=TIMES, **fields) for kind, fields in KINDS.items()]))
def test_an_event_is_one_line_and_comes_back_the_same(event):
    line = events.to_json(event)
    assert "\n" not in line
    again = events.from_json(line)
    assert type(again) is type(event)
    assert again == event
    assert again.model_dump() == event.model_dump()
    for name, value in event:
        assert type(getattr(again, name)) is type(value)


def test_not_a_number_survives():
    again = events.from_json(events.to_json(events.Metric(time=0, name="x", value=math.nan)))
    assert math.isnan(again.value)


@pytest.mark.parametrize("time", ["NaN", "Infinity", "-1.0", "1e999"])
def test_a_time_that_no_clock_shows_is_no_event(time):
    with pytest.raises(ValueError, match="not an event"):
        events.from_json(f'{{"time":{time},"type":"metric","name":"x","value":1}}')


def test_text_that_no_file_can_hold_is_replaced():
    line = events.to_json(events.Notice(time=0, level="info", message="caf\udce9.txt"))
    line.encode()
    assert events.from_json(line).message == "caf?.txt"


@given(st.builds(events.Finished, time=TIMES, status=TEXT, objective=NUMBERS), st.data())
def test_a_line_cut_short_is_refused(event, data):
    line = events.to_json(event).encode()
    with pytest.raises(ValueError, match="not an event"):
        events.from_json(line[: data.draw(st.integers(0, len(line) - 1))])
