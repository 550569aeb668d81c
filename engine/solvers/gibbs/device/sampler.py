"""The workers of a run together: what the coordinator asks of all devices."""

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ....devices import DevicePool, Member
from ....devices.pool.group import Communicator, WorkerGroup
from ....errors import DeviceError
from ..design.lines import Lines
from ..design.matrix import Design
from ..options import Settings
from ..schema import CheckpointState
from .chains import Recorded
from .worker import Worker

Floats = NDArray[np.float64]


class Sampler:
    """The state of every chain on every device of a pool, or on those that are ``left``; a context manager."""

    def __init__(
        self,
        pool: DevicePool,
        design: Design,
        settings: Settings,
        left: list[Member] | None = None,
        *,
        tolerant: bool = False,  # a device that fails ends it, and is named in a DeviceLost
        between: Callable[[], None] = lambda: None,  # called between passes, on the devices' threads; may raise
    ) -> None:
        self.design, self.settings = design, settings
        members = pool.members if left is None else left
        self.has_spare = tolerant and len(members) > 1
        members = members[:1] if settings.single_device else members
        count = len(members)
        communicator = Communicator(count) if count > 1 else None
        direct = count > 1 and left is None and pool.enable_peers()  # a device that has failed can enable nothing
        arguments = [(design, settings, number, count, communicator, direct, between) for number in range(count)]
        self.workers = WorkerGroup(members, Worker, arguments, tolerant=tolerant)
        if communicator is not None:
            self.workers.on_failure(communicator.abort)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        with contextlib.suppress(DeviceError):
            self.workers.each(lambda worker: worker.device.sync())  # no device reads another's memory any more
        self.workers.__exit__(*error)

    @property
    def streamed(self) -> list[str]:
        """Labels of the devices that X is sent to at every pass."""
        found = self.workers.each(lambda worker: worker.rows.streamed)
        return [member.label for member, streamed in zip(self.workers.members, found, strict=True) if streamed]

    def exchanged_bytes(self) -> int:
        """Bytes that devices have received from others."""
        peers = self.workers.each(lambda worker: worker.rows.peer)
        return sum(peer.exchanged_bytes for peer in peers if peer is not None)

    # --- what the coordinator asks for ----------------------------------------------------------------------------

    def solve(self, vector: Floats, transposed: bool) -> Floats:
        """Half of a solution with the matrix of :meth:`factorise`; see :meth:`Matrices.solve_fixed`."""
        return self.workers.first(lambda worker: worker.matrices.solve_fixed(vector, transposed))

    def factorise(self, prior: Floats) -> None:
        """Factorise X'X + diag(prior) on the first device."""
        self.workers.first(lambda worker: worker.matrices.factorise_fixed(prior))

    def make_gram(self, weighted: bool) -> None:
        """X'X, or X'WX, on every device; nothing where the kernel needs none."""
        if self.settings.wide or self.settings.options.kernel == "cg":
            return
        parts = self.workers.each(Worker.make_gram, weighted)
        if len(parts) > 1:
            gram = np.zeros((self.design.layout.columns,) * 2)
            for shard in itertools.chain(*parts):
                gram += shard
            self.workers.each(lambda worker: worker.whole_matrices.set_gram(gram))

    def gram(self) -> Floats:
        """The last matrix of :meth:`make_gram`, lower triangle; shape (q, q)."""
        return self.workers.first(lambda worker: worker.device.get(worker.whole_matrices.gram))

    def score(self, beta: Floats) -> tuple[Floats, float]:
        """Gradient and value of the log-likelihood."""
        return self.workers.each(lambda worker: worker.rows.score(beta))[0]

    def set_state(self, state: dict[str, Floats]) -> None:
        """Every chain."""
        self.workers.each(Worker.set_state, state)

    def state(self) -> dict[str, Floats]:
        """Every chain."""
        return self.workers.first(lambda worker: worker.chains.state())

    def advance(self, first: int, count: int, kept_from: int) -> Recorded:
        """Begin some iterations; the draws of the batch before, which all devices have alike."""
        return _joined(self.workers.each(Worker.advance, first, count, kept_from))

    def collect(self) -> Recorded:
        """Wait for the last batch and return its draws."""
        return _joined(self.workers.each(lambda worker: worker.recorder.collect(last=True)))

    # --- the kernel hmc -------------------------------------------------------------------------------------------

    def weigh_at(self, beta: Floats) -> Floats:
        """Let W be the curvature of the rows at one beta; returns it, shape (rows,)."""
        self.workers.each(lambda worker: worker.hamiltonian.weigh_at(beta))
        return np.asarray(self.adapted()["weight"])

    def take_weights(self) -> None:
        """Let W be the mean curvature since the last call, and X'WX the matrix of the metric."""
        self.workers.each(lambda worker: worker.hamiltonian.take_weights())
        self.make_gram(weighted=True)

    def set_lines(self, lines: Lines) -> None:
        """The lines along which the chains are moved."""
        self.workers.each(lambda worker: worker.hamiltonian.set_lines(lines))

    def set_auxiliary(self, auxiliary: Floats) -> None:
        """Let the family's own parameters of every chain be these; shape (count,)."""
        self.workers.each(Worker.set_auxiliary, auxiliary)

    def margins_at(self, beta: Floats) -> Floats:
        """The margins X beta of all rows at one beta; W becomes the curvature there."""
        if self.settings.wide:
            return self.workers.first(lambda worker: worker.wide.margins_at(beta))
        self.workers.each(lambda worker: worker.hamiltonian.weigh_at(beta))
        return self.margins()

    def margins(self) -> Floats:
        """The margins of all rows for the first chain, as of the last pass; that of :meth:`weigh_at` for example."""
        return np.concatenate(self.workers.each(lambda worker: worker.hamiltonian.margins()))[: self.design.layout.rows]

    def set_small(self, small: NDArray[np.bool_]) -> None:
        """The columns whose coefficients are rescaled together with tau, but for the others; shape (q,)."""
        self.workers.each(Worker.set_small, small)

    def adapt(self, averaging: bool, restart: float | None = None) -> None:
        """Choose the length of steps, from ``restart`` on if given, and add curvatures up or not."""
        self.workers.each(lambda worker: worker.hamiltonian.adapt(averaging, restart))

    def choose_steps(self, last: bool) -> tuple[float, int]:
        """The length and number of the steps; with ``last`` they are final."""
        return self.workers.each(lambda worker: worker.hamiltonian.choose_steps(last))[0]

    def adapted(self) -> dict[str, Any]:
        """What was chosen so far, of all rows."""
        parts = self.workers.each(lambda worker: worker.hamiltonian.adapted())
        joined = {name: np.concatenate([part[name] for part in parts]) for name in ("weight", "curvature")}
        return {**parts[0], **joined}

    def snapshot(self) -> tuple[dict[str, Floats], dict[str, Any]]:
        """Every chain, and what the kernel ``hmc`` has chosen."""
        return self.state(), self.adapted() if self.settings.options.kernel == "hmc" else {}

    def restore(self, arrays: dict[str, Any], saved: CheckpointState) -> None:
        """The inverse of :meth:`adapted`, and the matrix of the metric."""
        self.workers.each(lambda worker: worker.hamiltonian.restore(arrays, saved))
        self.make_gram(weighted=True)


def _joined(found: list[Recorded]) -> Recorded:
    iterations, draws, _ = found[0]
    return iterations, draws, sum(failed for _, _, failed in found)
