"""The estimate beside the preview of a problem: made by a child process, stopped, and in words."""

import sys

import pytest

import engine
from gui.problem.estimate import SECONDS, EstimateBox
from tests.support.app import SAMPLES
from tests.support.interaction import load


@pytest.mark.full
def test_a_branch_and_bound_problem_is_estimated_with_the_options_of_the_form(qtbot, open_window, tmp_path):
    small = (SAMPLES / "branch_and_bound" / "queens-14.txt").read_text()
    (tmp_path / "queens-20.txt").write_text(small.replace("14", "20"))  # too many for a search within an estimate
    window = open_window()
    load(qtbot, window, SAMPLES / "knapsack" / "unicauca.txt")
    estimate = window.home.preview.estimate
    assert not estimate.isVisible()  # its solver makes none
    load(qtbot, window, tmp_path / "queens-20.txt")
    window.run_tabs.show_home()
    assert estimate.isVisible()
    window.pane.set_values({}, {"seed": 5})
    words = list(estimate.words())
    assert words[words.index("estimate") + 1].endswith("queens-20.txt")
    assert words[words.index("--seed") + 1] == "5"
    estimate.button.click()
    assert estimate.button.text() == "Stop"
    qtbot.waitUntil(lambda: not estimate.running, timeout=240_000)
    expected = engine.estimate(engine.Queens(20), seed=5, time_limit=SECONDS)
    assert "nodes/s on these devices" in estimate.answer.text()
    assert estimate.answer.text().startswith("About ")
    assert expected.unit in estimate.answer.text()
    load(qtbot, window, SAMPLES / "knapsack" / "unicauca.txt")
    assert estimate.answer.text() == ""


def script(tmp_path, text):
    path = tmp_path / "estimate.py"
    path.write_text(text)
    return [sys.executable, str(path)]


def test_an_estimate_is_stopped(qtbot, tmp_path):
    estimate = EstimateBox()
    qtbot.addWidget(estimate)
    words = script(tmp_path, "import time; time.sleep(3600)")
    estimate.words = lambda: words
    estimate.button.click()
    qtbot.waitUntil(lambda: estimate._query._process.processId() > 0, timeout=120_000)
    estimate.button.click()
    assert not estimate.running
    assert (estimate.button.text(), estimate.answer.text()) == ("Estimate", "")


@pytest.mark.parametrize(
    ("text", "answer"),
    [("import sys; sys.exit('error: no device 9')", "No device 9"), ("print('hello')", "The estimate cannot be read")],
    ids=["an error", "no JSON"],
)
def test_an_estimate_that_fails_says_why(qtbot, tmp_path, text, answer):
    estimate = EstimateBox()
    qtbot.addWidget(estimate)
    words = script(tmp_path, text)
    estimate.words = lambda: words
    estimate.button.click()
    qtbot.waitUntil(lambda: not estimate.running, timeout=120_000)
    assert estimate.answer.text() == answer
