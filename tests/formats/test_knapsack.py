"""Claims about the knapsack text formats: what is read is what the file says, and every fault is one sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ProblemError
from engine.formats import knapsack as formats
from engine.formats.source import read_head
from engine.solvers import recognize
from tests.support.examples import examples

pytestmark = pytest.mark.smoke

INT64 = st.integers(-(2**63), 2**63 - 1)
NATURAL = st.integers(0, 2**63 - 1)

TEXTS = {
    "jooken": "3\n0 60 10\n1 100 20\n2 120 30\n50\n",
    "bounded": "3\n0 60 10 2\n1 100 20 1\n2 120 30 0\n50\n",
    "kplib": "\n3\n50\n\n60 10\n100 20\n120 30\n",
    "unicauca": "3 50\n60 10\n100 20\n120 30\n",
    "capacity-last": "3\n60 10\n100 20\n120 30\n50\n",
    "pisinger-csv": (
        "knapPI_1_3\nn 3\nc 50\nz 220\ntime 0.01\n1,60,10,0\n2,100,20,1\n3,120,30,1\n-----\n\nknapPI_2\nn 1\n"
    ),
}


@pytest.mark.parametrize("format", formats.FORMATS)
@pytest.mark.parametrize(
    "dress",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", " \t\n"),
        lambda text: text.replace("\n", "\n\n  \n"),
        lambda text: "\ufeff" + text,
        lambda text: "# made by hand\n#\n" + text,
        lambda text: text.replace(" ", "\t \v\f"),
    ],
)
def test_harmless_differences_change_nothing(format, dress):
    text = dress(TEXTS[format])
    parsed = formats.parse(text.encode(), "some.kp")
    assert formats.recognize(text) == parsed.format == format
    assert [parsed.profits.tolist(), parsed.weights.tolist()] == [[60, 100, 120], [10, 20, 30]]
    assert (parsed.capacity, parsed.optimum) == (50, 220 if format == "pisinger-csv" else None)
    assert (None if parsed.counts is None else parsed.counts.tolist()) == ([2, 1, 0] if format == "bounded" else None)
    assert parsed.profits.dtype == parsed.weights.dtype == np.int64


@pytest.mark.parametrize("format", formats.FORMATS)
@examples(30)
@given(items=st.lists(st.tuples(INT64, INT64), min_size=1, max_size=12), capacity=INT64, optimum=NATURAL)
def test_what_is_written_is_read_back(tmp_path_factory, format, items, capacity, optimum):
    path = tmp_path_factory.mktemp("round") / "instance.kp"
    profits, weights = (np.array(column, np.int64) for column in zip(*items, strict=True))
    formats.write(path, profits, weights, capacity, format, optimum=optimum)
    parsed = formats.read(path)
    assert (parsed.format, parsed.capacity) == (format, capacity)
    assert [parsed.profits.tolist(), parsed.weights.tolist()] == [profits.tolist(), weights.tolist()]
    assert parsed.optimum == (optimum if optimum and format == "pisinger-csv" else None)


FAULTS = [
    # text, what the sentence says, the line
    ("", "the file is empty", 1),
    ("profit,weight\n1,2\n", "a table of items says no capacity: give it as capacity (--capacity)", 1),
    ("abc\n", "the number of items must be an integer; got 'abc'", 1),
    ("3\n0 60 10\n1 100 20\n2 120 30\n", "the capacity is missing", 4),
    (f"1\n0 {2**63} 1\n50\n", f"the profit of item 0 must fit a 64-bit signed integer; got '{2**63}'", 2),
    (f"{10**18}\n0 5 1\n5\n", "item 1 'id profit weight' must stand here", 3),
    ("2\n0 60 10\n0 100 20\n50\n", "the id of item 1 must be 1 (ids count up by one from 0); got 0", 3),
    ("\n3\n50\n\n60 10\n100 20\n1 2\n3 4\n", "has ended, but the file continues: '3 4'", 8),
    ("\n3\nx\n\n60 10\n100 20\n1 2\n", "the capacity must be an integer; got 'x'", 3),
    ("name\nn 1\nc 50\nz 0\ntime 0\n", "the block ends too early: item 0 is missing (there should be 1 item)", 5),
    ("name\nn 1\nc 50\nz 0\ntime 0\n1,2,3,0\n2,2,3,0\n", "the block of 1 item has ended", 7),
    ("name\nn 1\nc 50\nz 0\ntime 0\n\n1,2,w,0\n", "the weight of item 0 must be an integer; got 'w'", 7),
    ("name\nn 3\nc 50\nz 1\n-----\n", "'time <number>' must stand here; got '-----'", 5),
    ("name\nn 1\nc 50\nz 0\ntime 0\n1,2,3,2\n", "the x of item 0 must be 0 or 1; got 2", 6),
    ("1\n0 5 \0\n5\n", "the file is not UTF-8 text; it holds the byte 0x00", 2),
]


@pytest.mark.parametrize(("text", "rule", "line"), FAULTS)
def test_a_fault_is_one_sentence_with_file_and_line(text, rule, line):
    with pytest.raises(ProblemError) as caught:
        formats.parse(text.encode(), "some.kp")
    message = str(caught.value)
    assert rule in message
    assert message.endswith(f"(some.kp, line {line})")
    assert caught.value.line == line
    assert "\n" not in message
    assert len(message) < 240


def test_only_knapsack_instances_are_recognized_among_all_public_data(shared_data):
    files = [path for path in shared_data.rglob("*") if path.is_file()]
    claimed = {path for path in files if formats.recognize(read_head(path, 4096)) is not None}
    instances = {path for path in files if path.suffix == ".kp" and "knapsack" in path.parts}
    assert claimed == instances | {path for path in files if path.parent.name in ("low-dimensional", "large_scale")}


def test_a_table_of_items_is_read_by_its_titles_with_a_capacity(tmp_path):
    (path := tmp_path / "items.csv").write_text('# shop\nWeight;"name; cm";profit;count\n3;"a";1.5;2\n4;b;2;1\n')
    problem = recognize(path).read(path, capacity=7)
    assert (problem.weights.tolist(), problem.counts.tolist(), problem.capacity) == ([3, 4], [2, 1], 7)
    assert problem.in_units(int(problem.profits[0])) == 1.5
    with pytest.raises(ProblemError, match="column 'weight' must hold numbers; got 'x'"):
        formats.parse(b"weight,profit\n1,1\nx,1\n", capacity=7)
