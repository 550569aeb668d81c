"""Work that is recorded and played: the same commands in the same order, and what has no place in a recording."""

import contextlib
import logging
from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

from engine.devices.cuda import graph as cuda_graph
from engine.devices.cuda.graph import GraphRecording
from engine.devices.graph import Recordings, record
from engine.errors import KernelArgumentError, RecordingError

KERNELS = """
KERNEL add(GLOBAL i32* values, const GLOBAL i32* more, i32 times, f32 share)
{
    values[GLOBAL_ID] += times * more[GLOBAL_ID] + (i32)share;
}
"""


def buffers(running, template):
    """A kernel that was launched before, and two buffers: zeros, and 0 to 7."""
    values, more = running.put(np.zeros(8, np.int32)), running.put(np.arange(8, dtype=np.int32))
    add = running.program(template).add
    add(1, 8, values=values, more=more, times=0, share=0.0)
    return add, values, more


def on(device, template, work):
    name = template("recordings", KERNELS)
    return device.submit(lambda running: work(running, *buffers(running, name))).result()


def test_what_was_recorded_is_done_by_every_play_and_not_before(device, trial_template):
    def work(running, add, values, more):
        with running.record() as recording:
            add(1, 8, values=values, more=more, times=3, share=1.0)
        found = [running.get(values).tolist()]
        for _ in range(2):
            recording.play()
            found.append(running.get(values).tolist())
        running.put(np.full(8, 2, np.int32), more)  # what changes is in a buffer
        recording.play()
        add(1, 8, values=values, more=more, times=1, share=0.0)
        assert recording.launches == 1
        return [*found, running.get(values).tolist()]

    numbers = np.arange(8)
    expected = [0 * numbers, 3 * numbers + 1, 6 * numbers + 2, 6 * numbers + 2 + 7 + 2]
    assert on(device, trial_template, work) == [one.tolist() for one in expected]


def test_several_streams_copies_and_zeros_are_recorded(device, trial_template):
    def work(running, add, values, more):
        beside = running.put(np.full(8, 100, np.int32))
        with running.record() as recording:
            begun = running.record_event()
            with running.stream(2):
                running.wait_for_event(begun)
                running.zero(beside)
                add(1, 8, values=beside, more=more, times=5, share=0.0)
                done = running.record_event()
            add(1, 8, values=values, more=more, times=1, share=0.0)
            running.wait_for_event(done)
            running.copy(values, beside, 0, 4, 2)
        for _ in range(3):
            recording.play()
        assert running.queue.stream == 0
        return [*running.get(values).tolist(), *running.get(beside).tolist()]

    expected = [20, 25, *(3 * np.arange(2, 8)).tolist(), *(5 * np.arange(8)).tolist()]
    assert on(device, trial_template, work) == expected


def test_what_needs_the_host_is_refused_in_plain_words(device, trial_template):
    def work(running, add, values, more):
        before, host = running.record_event(), np.zeros(8, np.int32)
        refused = {
            "a wait of the host": lambda: running.sync(),
            "a copy to the host": lambda: running.get(values),
            "a copy from the host": lambda: running.put_async(host, values),
            "an allocation": lambda: running.empty(3, np.int32),
            "the release of a buffer": lambda: running.release(values),
        }
        for what, act in refused.items():
            rule = f"{what} cannot be part of a recording on {running.info.id}"
            with pytest.raises(RecordingError, match=rule), running.record():
                act()
        if not running.capabilities.graphs:  # there the driver refuses, in its words
            with pytest.raises(RecordingError, match="an event from before it"), running.record():
                running.wait_for_event(before)
        with pytest.raises(KernelArgumentError, match="times must be int32"), running.record():
            add(1, 8, values=values, more=more, times=1 << 40, share=0.0)
        running.sync()
        add(1, 8, values=values, more=more, times=1, share=0.0)
        return running.get(values).tolist()

    assert on(device, trial_template, work) == list(range(8))


def test_a_recording_holds_until_a_buffer_of_its_time_is_released(device, trial_template):
    def work(running, add, values, more):
        with running.record() as recording:
            add(1, 8, values=values, more=more, times=1, share=0.0)
        running.release(running.put(np.zeros(4)))
        recording.play()
        running.release(more)
        assert not recording.valid
        with pytest.raises(RecordingError, match="a buffer of that time has been released"):
            recording.play()

    on(device, trial_template, work)


def test_a_recording_may_be_of_several_devices_that_wait_for_each_other(opencl, trial_template):
    if opencl.info.capabilities.kind != "cpu":
        pytest.skip("other devices share no context")
    name = trial_template("recordings", KERNELS)

    def work(first):
        second = type(first)(first.info)
        try:
            (add, values, more), (other, results, _) = buffers(first, name), buffers(second, name)
            with record(first, second) as recording:
                add(1, 8, values=values, more=more, times=2, share=0.0)
                second.wait_for_event(first.record_event())
                other(1, 8, values=results, more=values, times=1, share=0.0)
                first.wait_for_event(second.record_event())
                first.zero(more)
            for _ in range(2):
                recording.play()
            first.sync()
            assert recording.launches == 2
            with record(first, second), pytest.raises(RecordingError, match="while another one is made"):
                recording.play()
            return second.get(results).tolist()
        finally:
            second.close()

    assert opencl.submit(work).result() == (2 * 2 * np.arange(8)).tolist()


def test_work_is_recorded_the_second_time_and_anew_when_asked(device, trial_template, caplog):
    def work(running, add, values, more):
        recordings, given = Recordings(running), list[int]()

        def act(times):
            given.append(times)
            add(1, 8, values=values, more=more, times=times, share=0.0)

        for _ in range(5):
            for times in (1, 10):
                recordings.run(times, lambda times=times: act(times))
        assert given == [1, 10, 1, 10]
        recordings.forget()
        for _ in range(3):
            recordings.run(1, lambda: act(100))  # what the key does not name has changed
        assert given == [1, 10, 1, 10, 100, 100]
        return running.get(values).tolist(), recordings.refused

    found, refused = on(device, trial_template, work)
    assert found == (355 * np.arange(8)).tolist()
    assert not refused
    assert not caplog.records


class _Status(Enum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


def _driver():
    """The functions of ``cuda.bindings.driver`` that recordings call: a graph is a list of commands."""
    done, commands = _Status.CUDA_SUCCESS, []
    made = SimpleNamespace(calls=[], commands=commands, capture=done, CUresult=_Status, CUstream=int)
    made.CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    answers = {
        "cuStreamBeginCapture": lambda stream, mode: (done,),
        "cuStreamEndCapture": lambda stream: (made.capture, 5 if made.capture is done else None),
        "cuGraphInstantiate": lambda graph, flags: (done, commands),
        "cuGraphDestroy": lambda graph: (done,),
        "cuGraphLaunch": lambda graph, stream: ([command() for command in graph], (done,))[1],
        "cuGraphExecDestroy": lambda graph: (done,),
    }

    def counted(name):
        return lambda *given: (made.calls.append(name.removeprefix("cu")), answers[name](*given))[1]

    for name in answers:
        setattr(made, name, counted(name))
    return made


@pytest.fixture
def graphs(opencl, monkeypatch):
    """An OpenCL device that says it has graphs, and what stands for the driver."""
    driver, kind = _driver(), opencl.submit(lambda running: type(running.queue)).result()
    monkeypatch.setattr(cuda_graph, "_driver", lambda: driver)
    monkeypatch.setattr(GraphRecording, "add", lambda self, command: driver.commands.append(command))
    monkeypatch.setattr(kind, "library_stream", lambda self: contextlib.nullcontext(77))
    monkeypatch.setattr(kind, "count_launches", lambda self, more: None, raising=False)
    monkeypatch.setattr(kind, "new_recording", lambda self: GraphRecording(self))
    return opencl, driver


def test_a_graph_is_captured_once_launched_often_and_destroyed(graphs, trial_template):
    member, driver = graphs

    def work(running, add, values, more):
        recordings = Recordings(running)
        for _ in range(4):
            recordings.run("", lambda: add(1, 8, values=values, more=more, times=1, share=0.0))
        found = running.get(values).tolist()
        recordings.forget()
        return found

    assert on(member, trial_template, work) == [4 * i for i in range(8)]
    made = ["StreamBeginCapture", "StreamEndCapture", "GraphInstantiate", "GraphDestroy"]
    assert driver.calls == [*made, *3 * ["GraphLaunch"], "GraphExecDestroy"]


def test_a_capture_that_fails_is_said_once_and_the_work_goes_on(graphs, trial_template, caplog):
    member, driver = graphs
    driver.capture = _Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED

    def work(running, add, values, more):
        recordings = Recordings(running)
        for key in "aabbb":
            recordings.run(key, lambda: add(1, 8, values=values, more=more, times=1, share=0.0))
        return running.get(values).tolist()

    with caplog.at_level(logging.WARNING, "quintet"):
        assert on(member, trial_template, work) == [5 * i for i in range(8)]
    assert driver.calls == ["StreamBeginCapture", "StreamEndCapture"]
    (record,) = caplog.records
    assert "could not capture the work: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" in record.message
