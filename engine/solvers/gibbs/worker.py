"""One device's part of a run: the iterations of every chain, and the factorisations they need.

Everything runs on the device's thread. With several devices each has some of the rows and all of what has the size of
beta; sums over rows are exchanged, and every device repeats what follows from them, with the same random numbers. Only
large matrices are shared out: each chain's is factorised by one device, which lets the others have what it solved for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.devices import Buffer, Device, StreamEvent
from engine.errors import DeviceError
from engine.numerics.linear_algebra import LinearAlgebra, linear_algebra
from engine.numerics.memory import Memory
from engine.solvers.gibbs.chains import Chains, Settings
from engine.solvers.gibbs.design import Design
from engine.solvers.gibbs.exchange import Exchange, Part, Party
from engine.solvers.gibbs.layout import LARGE_FROM, SHARDS, share_of_chains
from engine.solvers.gibbs.recorder import Recorded, Recorder
from engine.solvers.gibbs.rows import Rows
from engine.solvers.gibbs.slices import Slices

__all__ = ["Worker"]

STREAM_SCALES, STREAM_NOISE = 1, 4
_JITTER = 1e-12
_MOST_LANES = 4
_LIBRARY_FROM = {"cpu": 257, "gpu": 2049}
"""Columns from which LAPACK and cuSOLVER are faster than the kernels, which factorise all chains' matrices together."""


@dataclass
class _Group:
    """Chains whose matrices are factorised together, on a lane of their own."""

    lane: int
    first: int
    count: int
    algebra: LinearAlgebra
    matrix: Buffer
    rhs: Buffer
    noise: Buffer | None
    status: Buffer


class Worker:
    """State on one device.

    Parameters
    ----------
    device : Device
    design : Design
    settings : Settings
    shards : (int, int)
        Which shards of the rows are this device's.
    number : int
        Its number among the devices.
    exchange : Exchange or None
        None for a single device.

    Attributes
    ----------
    rows : Rows
    chains : Chains
    slices : Slices or None
        Of the kernel ``ellipse``.
    """

    def __init__(
        self,
        device: Device,
        design: Design,
        settings: Settings,
        shards: tuple[int, int],
        number: int = 0,
        exchange: Exchange | None = None,
    ) -> None:
        self.device, self.design, self.settings = device, design, settings
        self.layout = layout = design.layout
        self._memory = memory = Memory(device)
        self._algebras: list[LinearAlgebra] = []
        self._beside = device.capabilities.kind != "cpu"
        most = SHARDS * settings.chains * layout.width
        party = Party(memory, exchange, number, most) if exchange is not None else None
        self.rows = Rows(memory, design, shards, settings.streaming, party)
        self.launcher = self.rows.launcher
        self.chains = Chains(memory, self.rows, settings)
        q, chains = layout.columns, settings.chains
        self.scale, self.prior = memory.empty((chains, q)), memory.empty((chains, q))
        self.diagonal, self.gram = memory.empty(q), memory.empty((q, q))
        self.latent_diagonal, self.latent_gram = self.diagonal, self.gram
        self.partial = memory.empty(max(1, self.rows.strips) * chains * layout.width, np.float32)
        self.shards = memory.empty((SHARDS, chains * layout.width))
        self.failed = memory.zeros(1, np.int32)
        self._recorder = Recorder(memory, self.rows, self.chains, settings)
        self._slices = None
        if settings.kernel == "ellipse":
            self._slices = Slices(memory, self.rows, self.chains, settings)
            self.latent_gram, self.latent_diagonal = memory.empty((q, q)), memory.empty(q)
        self._shares = party is not None and q >= LARGE_FROM
        self._counts = self._shares or number == 0
        self._owned = share_of_chains(q, chains, number, party.parties if party is not None else 1)
        own = settings.provider is None and q < _LIBRARY_FROM.get(device.capabilities.kind, 0)
        algebra = self._algebra("kernels" if own else settings.provider)
        self._groups = self._grouped(algebra)
        self._gram_algebra = self._algebra(None) if own else algebra
        self.rows.load()
        if self._slices is not None:
            self._slices.take_intercept()

    @property
    def slices(self) -> Slices:
        """What the kernel ``ellipse`` moves by."""
        assert self._slices is not None
        return self._slices

    def release(self) -> None:
        """Give the memory back."""
        self.device.sync()
        for algebra in self._algebras:
            algebra.close()
        self._memory.release()

    def _algebra(self, provider: str | None) -> LinearAlgebra:
        self._algebras.append(linear_algebra(self.device, provider))  # type: ignore[arg-type]
        return self._algebras[-1]

    def _grouped(self, algebra: LinearAlgebra) -> list[_Group]:
        """This device's chains: large matrices in lanes of their own where lanes overlap; small ones together.

        The kernels get all of them together: they take as many launches for many matrices as for one.
        """
        q, (first, last) = self.layout.columns, self._owned
        alone = self._beside and q >= LARGE_FROM and algebra.provider != "kernels"
        each = 1 if alone else max(1, last - first)
        groups: list[_Group] = []
        for begin in range(first, last, each):
            count = min(each, last - begin)
            lane = 1 + (begin - first) % _MOST_LANES if self._beside else 0
            room = [self._memory.empty(shape) for shape in ((count, q, q), (count, q))]
            noise = self._memory.empty((count, q)) if self.settings.kernel == "ellipse" else None
            status = self._memory.empty(count, np.int32)
            own = self._algebra(algebra.provider) if groups else algebra
            groups.append(_Group(lane, begin, count, own, room[0], room[1], noise, status))
        return groups

    # --- X'X ----------------------------------------------------------------------------------------------------

    def make_gram(self, weighted: bool) -> NDArray[np.float64]:
        """See :meth:`Rows.make_gram`; the weights are the stand-in's. On a single device the matrix is taken over."""
        weight = self.slices.weight if weighted else None
        parts = self.rows.make_gram(self._gram_algebra, self.gram, weight)
        if self.rows.party is None:
            self._take_gram(weighted)
        return parts

    def set_gram(self, gram: NDArray[np.float64], weighted: bool) -> None:
        """Take the matrix over from the coordinator."""
        self.device.put(gram, self.gram)
        self._take_gram(weighted)

    def _take_gram(self, weighted: bool) -> None:
        """Let the matrix that was made be that of the draws; X'X itself is kept for the latent iterations."""
        q = self.layout.columns
        self.launcher.spread("take_diagonal", q, self.gram, self.diagonal, q)
        if not weighted and self.latent_gram is not self.gram:
            self.device.copy(self.latent_gram, self.gram)
            self.device.copy(self.latent_diagonal, self.diagonal)

    def score(self, beta: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """See :meth:`Rows.score`."""
        return self.rows.score(beta)

    # --- solving with a fixed prior, for the start --------------------------------------------------------------

    def factorise(self, prior: NDArray[np.float64]) -> None:
        """L of (gram + diag(prior)), scaled, in the first group's first matrix; for the first device."""
        group = self._groups[0]
        scale = 1.0 / np.sqrt(self.device.get(self.diagonal) + prior)
        self.device.put(np.tile(scale, self.settings.chains), self.scale)
        self._build(group)
        group.algebra.cholesky(group.matrix, group.status)
        if self.device.get(group.status).any():
            raise DeviceError("X'X plus its prior has no Cholesky factor")
        self._scale_of_start = scale

    def precondition(self, vectors: NDArray[np.float64], half: bool = False) -> NDArray[np.float64]:
        """(gram + diag(prior))^-1 v of one vector; with ``half`` L^-T v, a draw if v is normal. Shape (q,)."""
        group, q = self._groups[0], self.layout.columns
        rhs = np.zeros((group.count, q))
        rhs[0] = vectors if half else vectors * self._scale_of_start
        self.device.put(rhs, group.rhs)
        if not half:
            group.algebra.solve_lower(group.matrix, group.rhs)
        group.algebra.solve_lower_transposed(group.matrix, group.rhs)
        solved: NDArray[np.float64] = self.device.get(group.rhs)[0] * self._scale_of_start
        return solved

    def curvature(self) -> NDArray[np.float64]:
        """The diagonal of X'X times the curvature of log Phi at 0, 2 / pi: about that of the log-likelihood."""
        curvature: NDArray[np.float64] = self.device.get(self.diagonal) * (2.0 / np.pi)
        return curvature

    # --- an iteration -------------------------------------------------------------------------------------------

    def iterate(self, step: int) -> None:
        """One iteration of every chain.

        ``ellipse`` does the slices in even iterations, and in odd ones what ``px`` does: where the likelihood is far
        from any Gaussian the first makes short moves, and where classes are rare the second does.
        """
        if self.settings.kernel == "ellipse" and step % 2 == 0:
            self._iterate_ellipse(step)
        else:
            self._iterate_latent(step)

    def _build(self, group: _Group, gram: Buffer | None = None) -> None:
        q = self.layout.columns
        arguments = (gram or self.gram, self.scale, group.matrix, q, group.first, _JITTER)
        self.launcher.groups("build_precision", group.count * q, *arguments)

    def _update_scales(self, step: int, diagonal: Buffer) -> None:
        design, settings, chains = self.design, self.settings, self.chains
        self.launcher.groups(
            "update_scales",
            settings.chains,
            *(chains.beta, chains.local, chains.nu, chains.whole, self.scale, self.prior, diagonal),
            *(self.layout.columns, design.first, settings.prior_precision, settings.tau_scale**-2),
            *(int(settings.kernel == "ellipse"), settings.seed, STREAM_SCALES, step),
        )

    def _mark(self) -> StreamEvent | None:
        """A mark where lanes are used: on CPUs the pass over the rows has every core, and one order costs less."""
        return self.device.record_event() if self._beside else None

    def _after(self, mark: StreamEvent | None) -> None:
        if mark is not None:
            self.device.wait_for_event(mark)

    def _factorise_all(self, scaled: StreamEvent | None) -> None:
        """Each group's matrix on its lane, after the scales are known."""
        for group in self._groups:
            with self.device.stream(group.lane):
                self._after(scaled)
                group.algebra.cholesky(group.matrix, group.status)
                if self._counts:
                    self.launcher.groups("count_failures", 1, group.status, group.count, self.failed)

    def _share(self, narrow: Buffer, *values: Buffer) -> None:
        """Let every device have what each chain's owner has in its rows of ``values``, each of shape (chains, q)."""
        party = self.rows.party
        if party is None or not self._shares:
            return
        q, chains, (first, last) = self.layout.columns, self.chains.count, self._owned
        party.swap(*(Part(buffer, first * q, last * q) for buffer in values))
        for number, buffer in enumerate(values):
            arguments = (buffer, narrow, q, self.layout.stride, chains * number)
            self.launcher.groups("narrow_coefficients", chains, *arguments)

    def _scales_beside(self, step: int, gram: Buffer, diagonal: Buffer) -> StreamEvent | None:
        """lambda, tau, nu, xi given beta, and the matrices, on the first group's lane."""
        device = self.device
        begun = self._mark()
        with device.stream(int(self._beside)):
            self._after(begun)
            self._update_scales(step, diagonal)
            for group in self._groups:
                self._build(group, gram)
            return self._mark()

    def _iterate_latent(self, step: int) -> None:
        """The paper: latent normals and beta; lambda, tau and the factorisation run beside the pass over the rows."""
        device, layout, settings, launcher = self.device, self.layout, self.settings, self.launcher
        q, chains = layout.columns, self.chains
        scaled = self._scales_beside(step, self.latent_gram, self.latent_diagonal)
        self.rows.sweep("draw", chains.narrow, self.partial, chains.count, settings.seed, step)
        self._factorise_all(scaled)
        self.rows.gather("f32", self.partial, chains.count * layout.width, self.shards)
        gathered = self._mark()
        done: list[StreamEvent | None] = []
        for group in self._groups:
            with device.stream(group.lane):
                self._after(gathered)
                launcher.groups(
                    "prepare_solution",
                    group.count,
                    *(self.shards, SHARDS, chains.count, layout.width, self.scale, group.rhs, q, group.first),
                )
                group.algebra.solve_lower(group.matrix, group.rhs)
                launcher.groups(
                    "add_noise",
                    group.count,
                    *(
                        group.rhs,
                        q,
                        group.first,
                        self.shards,
                        SHARDS,
                        chains.count,
                        layout.width,
                        layout.rows,
                        chains.whole,
                    ),
                    *(int(settings.kernel != "gibbs"), settings.seed, STREAM_NOISE, step),
                )
                group.algebra.solve_lower_transposed(group.matrix, group.rhs)
                launcher.groups(
                    "finish_coefficients",
                    group.count,
                    *(group.rhs, self.scale, chains.beta, group.status, chains.beta, chains.narrow),
                    *(q, layout.stride, group.first, 0),
                )
                done.append(self._mark())
        for mark in done:
            self._after(mark)
        self._share(chains.narrow, chains.beta)

    def _iterate_ellipse(self, step: int) -> None:
        """An elliptical slice about the stand-in for the likelihood, then beta and tau together."""
        device, layout, settings, launcher = self.device, self.layout, self.settings, self.launcher
        slices, chains = self.slices, self.chains
        q = layout.columns
        scaled = self._scales_beside(step, self.gram, self.diagonal)
        self._factorise_all(scaled)
        done: list[StreamEvent | None] = []
        for group in self._groups:
            assert group.noise is not None
            with device.stream(group.lane):
                launcher.groups(
                    "prepare_solution",
                    group.count,
                    *(slices.reference, SHARDS, 1, layout.width, self.scale, group.rhs, q, group.first),
                )
                group.algebra.solve(group.matrix, group.rhs)
                device.zero(group.noise)
                launcher.groups(
                    "add_noise",
                    group.count,
                    *(group.noise, q, group.first, group.noise, 0, chains.count, 0, layout.rows, chains.whole),
                    *(0, settings.seed, STREAM_NOISE, step),
                )
                group.algebra.solve_lower_transposed(group.matrix, group.noise)
                for rhs, out, first in ((group.rhs, slices.middle, 0), (group.noise, slices.along, chains.count)):
                    launcher.groups(
                        "finish_coefficients",
                        group.count,
                        *(rhs, self.scale, chains.beta, group.status, out, slices.lines_narrow),
                        *(q, layout.stride, group.first, first),
                    )
                done.append(self._mark())
        for mark in done:
            self._after(mark)
        self._share(slices.lines_narrow, slices.middle, slices.along)
        slices.move(step)

    # --- batches ------------------------------------------------------------------------------------------------

    def advance(self, first: int, count: int, kept_from: int) -> Recorded:
        """Begin ``count`` iterations from number ``first`` on, and return the draws of the batch before.

        A batch is of at most ``settings.batch`` iterations.

        An iteration is recorded if it is a multiple of ``thin`` behind ``kept_from``, or before it.

        Returns
        -------
        iterations : list of int
            Which iterations the rows are, none if there was no batch before.
        draws : ndarray, shape (rows, chains, numbers)
        failed : int
            Factorisations that have failed on this device so far; what all devices do, the first one counts.
        """
        self._recorder.begin()
        for step in range(first, first + count):
            self.iterate(step)
            if step < kept_from or (step - kept_from + 1) % self.settings.thin == 0:
                self._recorder.record(step)
        self._recorder.send(self.failed)
        return self._recorder.collect(last=False)

    def collect(self) -> Recorded:
        """Wait for the last batch and return its draws."""
        return self._recorder.collect(last=True)
