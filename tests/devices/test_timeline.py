import numpy as np

from engine.devices import Communicator, DevicePool, WorkerGroup
from engine.devices.monitor.timeline import profiled

N = 1 << 16


class _Scaling:
    """A worker that scales a vector, reads it, and exchanges with the others."""

    def __init__(self, device):
        self.device = device
        self.source = device.put(np.arange(N, dtype=np.float64))
        self.target = device.empty(N, np.float64)

    def work(self, communicator, rank):
        program = self.device.program("numerics/vector", value="f64", block=64)
        shape = {"row0": 0, "columns": N, "first": 0, "width": N, "rows": 1, "batch_rows": 1, "s_batch": N}
        choice = {"mode": 0, "by_row": 0}
        program.scale_copy(64, 64, A=self.source, s=self.target, target=self.target, **shape, **choice)
        self.device.copy(self.source, self.target)
        found = self.device.get(self.source)
        communicator.all_gather(rank, None)
        return float(found.sum())


def _run(device):
    communicator = Communicator(2)
    with DevicePool([device.info] * 2) as pool, WorkerGroup(pool.members, _Scaling) as group:
        return [value or 0.0 for value in group.map(_Scaling.work, [(communicator, 0), (communicator, 1)])]


def test_commands_are_recorded_in_order_with_their_sizes(device):
    with profiled() as timeline:
        sums = _run(device)
    assert sums == [N * (N - 1) / 2] * 2
    assert [one.label for one in timeline.devices] == [device.info.id, f"{device.info.id}#2"]
    for one in timeline.devices:
        assert [command.kind for command in one.commands] == ["upload", "kernel", "copy", "download"]
        assert [command.name for command in one.commands if command.kind == "kernel"] == ["scale_copy"]
        assert [command.nbytes for command in one.commands] == [8 * N, 0, 8 * N, 8 * N]
        ends = [command.end for command in one.commands]
        assert ends == sorted(ends)
        assert all(command.begin <= command.end for command in one.commands)
        kinds = {span.kind for span in one.host}
        assert kinds == {"task", "device", "exchange"}
