"""The devices that a child process lists: one answer, whatever becomes of the process."""

import sys

import pytest

from gui.window.device_query import DeviceQuery

LISTED = """print('Welcome!'); print('{"devices": [{"id": "opencl:0"}], "missing": {"cuda": "no driver"}}')"""
ANSWERS = {
    "a list after a greeting": ([sys.executable, "-c", LISTED], [[{"id": "opencl:0"}], {"cuda": "no driver"}]),
    "no list": ([sys.executable, "-c", "print('hello')"], ["the device list cannot be read"]),
    "an error": ([sys.executable, "-c", "import sys; sys.exit('no such driver')"], ["no such driver"]),
    "a crash": ([sys.executable, "-c", "import os; os.kill(os.getpid(), 11)"], ["the device list cannot be read"]),
}


def answers(qtbot, words):
    """All that a query reports within a while."""
    query, seen = DeviceQuery(words), []
    query.found.connect(lambda *found: seen.append(list(found)))
    query.failed.connect(lambda message: seen.append([message]))
    qtbot.waitUntil(lambda: bool(seen), timeout=120_000)
    qtbot.wait(50)
    query.close()
    return seen


@pytest.mark.parametrize("case", ANSWERS)
def test_a_query_answers_once(qtbot, case):
    words, expected = ANSWERS[case]
    assert answers(qtbot, words) == [expected]


def test_a_command_that_does_not_exist_fails_once_with_a_reason(qtbot):
    [[message]] = answers(qtbot, ["/no/such/command"])
    assert message != "the device list cannot be read"
