"""Workers on the devices of a pool: who is called where, whose error is raised, and what is left when one fails."""

import threading

import pytest

from engine.devices import Communicator, DevicePool, WorkerGroup
from engine.errors import DeviceLost, PeerFailed
from tests.support.faults import failing
from tests.support.needs import first_device
from tests.support.patience import PATIENCE


class Counter:
    def __init__(self, device):
        self.device, self.thread, self.total = device, threading.get_ident(), 0

    def add(self, amount):
        assert threading.get_ident() == self.thread
        self.total += amount
        return self.total

    def fail(self, others, failures, error):
        for _ in range(others):
            assert failures.acquire(timeout=PATIENCE)
        raise error

    def gather(self, communicator, rank, rounds):
        return [communicator.all_gather(rank, 10 * turn + rank) for turn in range(rounds)][-1]

    def allocate(self):
        self.device.empty(8, "int32")

    def close(self):
        pass


@pytest.fixture
def members():
    with DevicePool([first_device()] * 3) as pool:
        yield pool.members


def test_the_first_real_error_is_raised_after_all_have_ended(members):
    slow, fast = RuntimeError("slow"), RuntimeError("fast")
    failures = threading.Semaphore(0)
    with WorkerGroup(members, Counter) as workers:
        workers.on_failure(failures.release)
        with pytest.raises(RuntimeError, match="fast"):
            workers.map(
                Counter.fail, [(2, failures, slow), (0, failures, PeerFailed("no reason")), (0, failures, fast)]
            )
        assert workers.failed.is_set()
        assert workers.each(Counter.add, 1) == [1, 1, 1]  # the group can still be used


def test_who_waits_for_a_failed_device_is_let_go(members):
    communicator = Communicator(3)
    with WorkerGroup(members, Counter) as workers:
        futures = {i: workers.submit(i, Counter.gather, communicator, i, 5) for i in range(3)}
        assert workers.gather(futures) == {i: [40, 41, 42] for i in range(3)}
        workers.on_failure(communicator.abort)
        waiting = {i: workers.submit(i, Counter.gather, communicator, i, 5) for i in range(2)}
        waiting[2] = workers.submit(2, Counter.fail, 0, threading.Semaphore(), RuntimeError("lost"))
        with pytest.raises(RuntimeError, match="lost"):
            workers.gather(waiting)
        assert all(isinstance(waiting[i].exception(), PeerFailed) for i in range(2))


def test_a_tolerant_group_goes_on_without_a_lost_device(members):
    with WorkerGroup(members, Counter, tolerant=True) as workers:
        label = members[1].label
        with failing(label, at_allocation=1) as failures, pytest.raises(DeviceLost, match="fallen off") as caught:
            workers.each(Counter.allocate)
        assert failures == [1]
        assert (caught.value.index, caught.value.label) == (1, label)
        assert caught.value.results == {0: None, 2: None}
        workers.drop_member(1)
        assert workers.alive == [0, 2]
        assert workers.each(Counter.add, 3) == [3, 3]
        assert workers.map(Counter.add, [(1,), (1,), (1,)]) == [4, None, 4]
