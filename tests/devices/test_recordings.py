"""Work that is recorded and played: the same commands in the same order, and what has no place in a recording."""

import numpy as np
import pytest

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
