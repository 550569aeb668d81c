"""The workers of a run as one: they are told the same and answer for their rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import wait
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.devices import Device, DevicePool
from engine.errors import OptionError
from engine.solvers.gibbs.chains import Settings
from engine.solvers.gibbs.design import Design
from engine.solvers.gibbs.exchange import Exchange
from engine.solvers.gibbs.kernels import STRETCHES
from engine.solvers.gibbs.layout import SHARDS, share_of, share_of_chains
from engine.solvers.gibbs.recorder import Recorded
from engine.solvers.gibbs.worker import Worker

__all__ = ["Sampler", "required_bytes"]

T = TypeVar("T")
Floats = NDArray[np.float64]


def required_bytes(design: Design, settings: Settings, devices: int, with_rows: bool) -> int:
    """Device memory that a run takes on one of so many devices, with or without its share of the rows."""
    layout, chains = design.layout, settings.chains
    strips = layout.strips / devices
    rows = int(strips * layout.strip_rows)
    q = layout.columns
    owned = share_of_chains(q, chains, 0, devices)[1]  # the first device has the most
    item = 4 if design.storage == "float32" else 2
    matrices = 8 * q * q * (owned + 3)
    sums = 4 * int(strips + 1) * chains * layout.width + 64 * chains * layout.width
    lines = 4 * rows * (3 * chains + 6 + STRETCHES) if settings.kernel == "ellipse" else 0
    widened = 8 * min(1 << 24, rows * layout.stride)
    return (rows * layout.stride * item if with_rows else 0) + matrices + sums + lines + widened


class Sampler:
    """The state of every chain on every device of a pool; a context manager."""

    def __init__(self, pool: DevicePool, design: Design, settings: Settings) -> None:
        if len(pool) > SHARDS:
            raise OptionError(f"the Gibbs sampler uses up to {SHARDS} devices; got {len(pool)}")
        self.design, self.settings = design, settings
        self._members = pool.members
        count = len(self._members)
        streaming = settings.streaming != "never"
        pool.require_memory(
            {m.label: required_bytes(design, settings, count, not streaming) for m in self._members},
            f"the sampler of {design.layout.columns} columns and {settings.chains} chains",
            "use fewer chains, storage = float16 or more devices",
            8 * design.layout.columns**2,
        )
        self._exchange = Exchange(count, pool.enable_peers()) if count > 1 else None
        self._workers: dict[str, Worker] = {}

        def make(device: Device, party: int, label: str) -> None:
            shards = share_of(party, count)
            self._workers[label] = Worker(device, design, settings, shards, party, self._exchange)

        self._on_all(lambda number, member: member.submit(make, number, member.label))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._exchange is not None:
            self._exchange.abort()
        made = [member for member in self._members if member.label in self._workers]
        wait([member.submit(lambda device: device.sync()) for member in made])  # nobody reads another's memory any more
        futures = [
            member.submit(lambda device, worker: worker.release(), self._workers[member.label]) for member in made
        ]
        wait(futures)
        if error is None:
            for future in futures:
                future.result()

    def _on_all(self, submit: Callable[[int, Any], Any]) -> list[Any]:
        """Answers of all devices; the first real error once all are done, so that nobody waits for one that failed."""
        futures = [submit(number, member) for number, member in enumerate(self._members)]
        if self._exchange is not None:
            for future in futures:
                future.add_done_callback(self._watch)
        wait(futures)
        errors = [error for future in futures if (error := future.exception()) is not None]
        for error in errors:
            if not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [future.result() for future in futures]

    def _watch(self, future: Any) -> None:
        if future.exception() is not None and self._exchange is not None:
            self._exchange.abort()

    def each(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """``function(worker, ...)`` on every device's thread."""

        def call(device: Device, label: str) -> T:
            return function(self._workers[label], *arguments)

        return self._on_all(lambda number, member: member.submit(call, member.label))

    def first(self, function: Callable[..., T], *arguments: Any) -> T:
        """``function(worker, ...)`` on the first device's thread: what needs no other."""
        member = self._members[0]
        return member.submit(lambda device: function(self._workers[member.label], *arguments)).result()

    @property
    def streamed(self) -> list[str]:
        """Labels of the devices that X is sent to at every pass."""
        return [label for label, worker in self._workers.items() if worker.rows.streamed]

    # --- what the coordinator asks for --------------------------------------------------------------------------

    def make_gram(self, weighted: bool) -> Floats:
        """X'X, or X'WX at the reference: on every device, and here (full, symmetric)."""
        parts = self.each(Worker.make_gram, weighted)
        if self._exchange is None:
            gram = self.each(lambda worker: worker.device.get(worker.gram))[0]
        else:
            gram = np.zeros((self.design.layout.columns,) * 2)
            for part in parts:
                for shard in part:
                    gram += shard
            self.each(Worker.set_gram, gram, weighted)
        lower = np.tril(gram)
        return np.asarray(lower + np.tril(lower, -1).T)

    def score(self, beta: Floats) -> tuple[Floats, float]:
        """Gradient and value of the log-likelihood."""
        return self.each(Worker.score, beta)[0]

    def state(self) -> dict[str, Floats]:
        """Every chain."""
        return dict(self.each(lambda worker: worker.chains.state())[0])

    def reference_rows(self) -> dict[str, Any]:
        """The stand-in for the likelihood and the averages so far, of all rows."""

        def of_one(worker: Worker) -> tuple[dict[str, Any], int, bool, int]:
            slices = worker.slices
            return slices.reference_rows(), slices.averaged, slices.averaging, worker.rows.count

        parts = self.each(of_one)
        found = [part for part in parts if part[3]]
        joined: dict[str, Any] = {
            name: np.concatenate([part[0][name] for part in found], axis=-1) for name in ("slope", "weight", "averages")
        }
        return {**joined, "averaged": parts[0][1], "averaging": parts[0][2]}

    def advance(self, first: int, count: int, kept_from: int) -> Recorded:
        """See :meth:`Worker.advance`; every device has the same draws."""
        return _together(self.each(Worker.advance, first, count, kept_from))

    def collect(self) -> Recorded:
        """See :meth:`Worker.collect`."""
        return _together(self.each(Worker.collect))


def _together(found: list[Recorded]) -> Recorded:
    """The draws, which all devices have, and the failures of all."""
    iterations, draws, _ = found[0]
    return iterations, draws, sum(failed for _, _, failed in found)
