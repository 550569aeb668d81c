"""What a user must know of an answer is a Python warning of a class of ours, besides the notice to observers."""

import html

import pytest

import engine
from tests.support.counting import Counting
from tests.support.patience import wait_until


def test_what_a_user_must_know_is_a_python_warning_at_their_own_line():
    def fails(event):
        raise ValueError("no room for beads")

    with pytest.warns(engine.ObserverWarning, match="no room for beads") as caught:
        engine.solve(Counting(20), on_event=fails)
    assert [warning.filename for warning in caught] == [__file__]


def test_warnings_are_in_the_answer_and_in_what_is_saved_of_it(tmp_path):
    def fails(event):
        raise ValueError("no room for <beads>")

    with engine.Engine() as owner:
        run = owner.start(Counting(20), hold=10, on_event=fails, run_folder=tmp_path / "r")
        wait_until(lambda: run.warned)
        run.stop()
        with pytest.warns(engine.ObserverWarning):
            result = run.wait()
    assert [warning.kind for warning in result.warnings] == ["ObserverWarning"]
    assert all(html.escape(warning.message) in result._repr_html_() for warning in result.warnings)
    assert result.to_dict()["warnings"][0] == result.warnings[0]._asdict()
    assert engine.load(tmp_path / "r").warnings == result.warnings
    assert engine.solve(Counting(20)).warnings == ()
