"""The state of devices that is reported while they work: on any machine, with or without NVML."""

from types import SimpleNamespace

import numpy as np

from engine.devices.monitor.health import Health
from engine.events import DeviceStatus
from tests.support.patience import wait_until


def pool_of(member):
    """What the sampler needs of a pool, around a device that is open already."""
    return SimpleNamespace(members=[member])


def test_copies_from_and_to_the_host_are_counted_in_bytes_since_the_sample_before(device):
    array = np.zeros(1000, np.int32)

    def copies(opened):
        buffer = opened.put(array)
        opened.put_async(array, buffer)
        opened.get_async(buffer, array)
        opened.get(buffer, 0, 100)
        opened.sync()
        opened.release(buffer)

    health = Health(pool_of(device))
    device.submit(copies).result()
    sample = health.sample()[device.label]
    assert (sample["to_device"], sample["from_device"]) == (8000, 4400)
    sample = health.sample()[device.label]
    assert (sample["to_device"], sample["from_device"], sample["compiling"]) == (0, 0, 0)


def test_a_run_that_lasts_reports_the_health_of_its_devices(device):
    import engine

    statuses = []
    with engine.Engine(backend=device.info.language, devices=[device.info.id]) as owner:
        run = owner.start(
            engine.Queens(30), on_event=lambda e: statuses.append(e) if isinstance(e, DeviceStatus) else 0
        )
        wait_until(lambda: statuses)
        run.stop()
        run.wait()
    assert statuses
    assert all(status.device == device.info.id and 0 <= (status.busy or 0) <= 100 for status in statuses)
