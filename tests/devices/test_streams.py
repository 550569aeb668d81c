"""Lanes: work that may overlap keeps the order that marks give it, on every device."""

import numpy as np

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
