"""Events are JSON lines and back, whatever is in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import events

pytestmark = pytest.mark.smoke

NUMBERS = st.floats() | st.integers(-(2**70), 2**70)
FLOATS = st.floats()
TIMES = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
TEXT = st.text()
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
ANY = {
    "options": st.dictionaries(TEXT, PLAIN, max_size=3),
    "metrics": st.lists(st.dictionaries(TEXT, PLAIN, max_size=3), max_size=2),
    "solution": st.none() | st.lists(NUMBERS, max_size=4) | st.lists(st.lists(FLOATS, max_size=2), max_size=2),
}
KINDS = [getattr(events, name) for name in events.__all__ if name[0].isupper() and name != "Event"]


def built(kind):
    """An event with values of their types in all of its fields."""
    fields = {name: ANY.get(name, ...) for name in kind.model_fields if name not in ("time", "type")}
    return st.builds(kind, time=TIMES, **fields)


@given(st.one_of([built(kind) for kind in KINDS]))
def test_an_event_is_one_line_and_comes_back_the_same(event):
    line = events.to_json(event)
    assert "\n" not in line
    again = events.from_json(line)
    assert type(again) is type(event)
    assert repr(again) == repr(event)  # types of numbers, and not-a-number, too


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
