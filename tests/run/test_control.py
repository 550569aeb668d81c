"""Ctrl-C before, while and after a run is started; signals that pause and resume it."""

import os
import queue
import signal

import pytest

from engine.cli.control import Controls
from tests.support.needs import POSIX
from tests.support.patience import PATIENCE

pytestmark = POSIX


class Target:
    """What a run does when it is controlled, as words."""

    def __init__(self):
        self.words = []

    def pause(self):
        self.words.append("pause")

    def resume(self):
        self.words.append("resume")

    def stop(self):
        self.words.append("stop")

    def notice(self, message, level="info"):
        self.words.append(message.partition(" ")[0])


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_while_a_run_starts_stops_it_once_it_is_attached():
    target = Target()
    with Controls() as controls, controls.starting():
        interrupt()
        controls.attach(target)
    assert target.words == ["stopping", "stop"]
    assert controls.interrupted


def test_a_second_interrupt_while_a_run_starts_aborts():
    with Controls() as controls, controls.starting():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_an_interrupt_before_a_run_starts_aborts():
    with Controls() as controls:
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert not controls.interrupted


def test_interrupts_of_an_attached_run():
    target = Target()
    with Controls() as controls:
        controls.attach(target)
        interrupt()
        assert target.words == ["stopping", "stop"]
        with pytest.raises(KeyboardInterrupt):
            interrupt()


def test_two_signals_pause_and_resume_the_attached_run():
    said = queue.SimpleQueue()

    class Paused(Target):
        def pause(self):
            said.put("pause")

        def resume(self):
            said.put("resume")

    before = [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)]
    with Controls() as controls:
        os.kill(os.getpid(), signal.SIGUSR1)  # of no run yet
        controls.attach(Paused())
        for number, word in ((signal.SIGUSR1, "pause"), (signal.SIGUSR2, "resume")):
            os.kill(os.getpid(), number)
            assert said.get(timeout=PATIENCE) == word
        assert said.empty()
    assert [signal.getsignal(number) for number in (signal.SIGUSR1, signal.SIGUSR2)] == before
