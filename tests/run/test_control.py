"""Ctrl-C before, while and after a run is started; signals that pause and resume it."""

import os
import queue
import signal
from contextlib import nullcontext
from unittest.mock import Mock

import pytest

from engine.cli.control import Controls
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE

pytestmark = POSIX


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("starting", [False, True])
def test_the_first_interrupt_stops_a_run_and_the_second_aborts(starting):
    run = Mock()
    with Controls() as controls:
        with controls.starting() if starting else nullcontext():
            if starting:
                interrupt()
            controls.attach(run)
        if not starting:
            interrupt()
        assert [name for name, *_ in run.method_calls] == ["notice", "stop"]
        assert controls.interrupted
        with pytest.raises(KeyboardInterrupt):
            interrupt()


@pytest.mark.parametrize("starting", [False, True])
def test_an_interrupt_before_a_run_starts_aborts_and_so_does_the_second_while_it_starts(starting):
    with Controls() as controls, controls.starting() if starting else nullcontext():
        if starting:
            interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert controls.interrupted == starting


def test_two_signals_pause_and_resume_the_attached_run():
    said = queue.SimpleQueue()
    run = Mock()
    run.pause, run.resume = lambda: said.put("pause"), lambda: said.put("resume")
    before = [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)]
    with Controls() as controls:
        os.kill(os.getpid(), signal.SIGUSR1)  # of no run yet
        controls.attach(run)
        for number, word in ((signal.SIGUSR1, "pause"), (signal.SIGUSR2, "resume")):
            os.kill(os.getpid(), number)
            assert said.get(timeout=PATIENCE) == word
        assert said.empty()
    assert [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)] == before
