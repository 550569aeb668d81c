"""Lanes: work that may overlap keeps the order that marks give it, on every device."""

import gc
import threading
from typing import ClassVar

import numpy as np

from engine.devices import DevicePool
from engine.devices.buffer import Events

SLOW = """
// One work-item counts for a while, so that work of another stream could overtake it; then every value grows by 1.
KERNEL slow(GLOBAL i32* values, i32 count, i32 rounds)
{
    u32 state = (u32)values[0] + 1u;
    for (i32 round = 0; round < rounds; ++round)
        state = state * 1664525u + 1013904223u;
    for (i32 i = 0; i < count; ++i)
        values[i] += 1 + (state == 12345u ? 1000000 : 0);
}

KERNEL doubled(const GLOBAL i32* values, GLOBAL i32* out)
{
    out[GLOBAL_ID] = 2 * values[GLOBAL_ID];
}
"""
ROUNDS = 20_000_000


def kernels(running, template):
    program = running.program(template)
    return program.slow, program.doubled


def test_a_stream_that_waits_for_an_event_sees_what_came_before_it(device, trial_template):
    template = trial_template("streams_after", SLOW)

    def work(running):
        slow, doubled = kernels(running, template)
        values, beside, last = running.put(np.arange(64, dtype=np.int32)), *(running.empty(64, np.int32) for _ in "ab")
        slow(1, 1, values=values, count=64, rounds=ROUNDS)
        begun = running.record_event()
        with running.stream(1):
            running.wait_for_event(begun)
            doubled(4, 16, values=values, out=beside)
            slow(1, 1, values=beside, count=64, rounds=ROUNDS)
            done = running.record_event()
        running.wait_for_event(done)
        doubled(4, 16, values=beside, out=last)
        return [running.get(beside), running.get(last)]

    beside, last = device.submit(work).result()
    assert np.array_equal(beside, 2 * (np.arange(64) + 1) + 1)
    assert np.array_equal(last, 2 * beside)


def test_copies_without_waiting_are_in_order_with_their_stream(device, trial_template):
    template = trial_template("streams_later", SLOW)

    def work(running):
        slow, _ = kernels(running, template)
        source, target = running.staging(16, np.int32), running.staging(8, np.int32)
        source[:] = np.arange(16)
        target[:] = -1
        with running.stream(2):
            values = running.empty(20, np.int32)
            running.zero(values)
            running.put_async(source, values, 4)
            slow(1, 1, values=values, count=20, rounds=ROUNDS)
            running.get_async(values, target, 10)
            done = running.record_event()
        running.synchronize_event(done)
        return [target.copy(), running.get(values, 0, 4)]

    target, rest = device.submit(work).result()
    assert target.tolist() == list(range(7, 15))
    assert rest.tolist() == [1, 1, 1, 1]


def test_sync_and_release_wait_for_every_stream(device, trial_template):
    template = trial_template("streams_sync", SLOW)

    def work(running):
        slow, _ = kernels(running, template)
        staging = running.staging(4, np.int32)
        with running.stream(1):
            values = running.put(np.zeros(4, np.int32))
            slow(1, 1, values=values, count=4, rounds=ROUNDS)
            running.get_async(values, staging)
        running.sync()
        copy = staging.copy()
        with running.stream(3):
            slow(1, 1, values=values, count=4, rounds=ROUNDS)
        running.release(values)
        return copy

    assert device.submit(work).result().tolist() == [1, 1, 1, 1]


def test_a_device_with_work_on_streams_closes(device, trial_template):
    template = trial_template("streams_close", SLOW)

    def work(running):
        slow, _ = kernels(running, template)
        with running.stream(1):
            values = running.put(np.zeros(4, np.int32))
            slow(1, 1, values=values, count=4, rounds=ROUNDS)
            running.get_async(values, running.staging(4, np.int32))

    with DevicePool([device.info]) as pool:
        pool.members[0].submit(work).result()


# --- marks outlive their device, and die on any thread ---------------------------------------------------------------


class FakeEvent:
    dropped_on: ClassVar[list[int]] = []

    def __del__(self):
        self.dropped_on.append(threading.get_ident())


def test_events_are_used_again_and_dropped_where_they_are_cleared():
    FakeEvent.dropped_on.clear()
    events = Events(FakeEvent)
    first, second = events.take(), events.take()
    assert events[first] is not events[second]
    held = id(events[first])
    others = [first]
    del first
    ended = threading.Thread(target=others.clear)  # the last to have the event
    ended.start()
    ended.join()
    assert FakeEvent.dropped_on == []
    third = events.take()
    assert id(events[third]) == held
    assert len(events) == 2
    cleared = threading.Thread(target=events.clear)
    cleared.start()
    cleared.join()
    assert FakeEvent.dropped_on == [cleared.ident] * 2
    del second, third  # nothing is left for them to give back
    assert events[events.take()] is not None
    assert len(events) == 1


def test_marks_may_be_left_to_another_thread_and_to_the_end(device):
    kept = []

    def work(running):
        values = running.put(np.arange(8, dtype=np.int32))
        for _ in range(100):
            kept.append(running.record_event())
            running.wait_for_event(kept[-1])
        running.synchronize_event(kept[-1])
        return running.get(values)

    with DevicePool([device.info]) as pool:
        assert np.array_equal(pool.members[0].submit(work).result(), np.arange(8))
        del kept[::2]
        assert np.array_equal(pool.members[0].submit(work).result(), np.arange(8))
    kept.clear()
    gc.collect()
