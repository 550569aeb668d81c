"""One device's part of a run: its rows, all chains, their matrices, and the iterations of one kernel.

Everything runs on the device's thread. With several devices each has some of the rows and all of what has the size of
beta; sums over rows are exchanged, and every device repeats what follows from them, with the same random numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....devices import Device
from ....devices.pool.group import Communicator
from ....numerics.exchange import Peer
from ....numerics.memory import Memory
from ..design.layout import SHARDS, share_of
from ..design.matrix import Design
from ..moves.conjugate import ConjugateMoves
from ..moves.hamiltonian import HamiltonianMoves
from ..moves.latent import LatentMoves
from ..moves.wide import DiagonalMatrices, WideMoves
from ..options import Settings
from .chains import Chains, DrawBuffer, Recorded
from .conjugate_rows import ConjugateRows
from .matrices import Matrices
from .records import AUXILIARIES, CHAIN
from .rows import Rows
from .sparse_rows import SparseRows


class Worker:
    """State on one device."""

    def __init__(
        self,
        device: Device,
        design: Design,
        settings: Settings,
        number: int = 0,
        count: int = 1,
        communicator: Communicator | None = None,
        direct: bool = False,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self.device, self.design, self.settings = device, design, settings
        self.layout = layout = design.layout
        self._memory = memory = Memory(device)
        shards = share_of(number, count)
        strips = layout.bounds[shards[1]] - layout.bounds[shards[0]]
        most: dict[Any, int] = {
            np.float64: (SHARDS + 2) * settings.chains * layout.width,
            np.float32: settings.chains * strips * layout.strip_rows,
            CHAIN.dtype: settings.chains,
        }
        peer = None if communicator is None else Peer(memory, communicator, number, direct, most)
        of_dense = ConjugateRows if settings.options.kernel == "cg" else Rows
        kind_of_rows = SparseRows if design.storage == "sparse" else of_dense
        self.rows = kind_of_rows(memory, design, settings, shards, peer, between)
        self.chains = Chains(memory, self.rows, settings)
        self.recorder = DrawBuffer(memory, self.rows, self.chains, settings)
        self.matrices: Matrices | DiagonalMatrices
        self.moves: HamiltonianMoves | LatentMoves | WideMoves | ConjugateMoves
        if isinstance(self.rows, SparseRows | ConjugateRows) and settings.options.kernel == "cg":
            self.matrices = DiagonalMatrices(memory, self.rows, settings)
            self.moves = ConjugateMoves(memory, self.rows, self.chains, self.matrices, settings)
        elif settings.wide:
            self.matrices = DiagonalMatrices(memory, self.rows, settings)
            self.moves = WideMoves(memory, self.rows, self.chains, self.matrices, settings)
        else:
            self.matrices = Matrices(memory, self.rows, settings, number)
            kind = HamiltonianMoves if settings.options.kernel == "hmc" else LatentMoves
            self.moves = kind(memory, self.rows, self.chains, self.matrices, settings)
        dense = isinstance(self.rows, ConjugateRows)
        if dense and isinstance(self.moves, ConjugateMoves):
            self.moves.load()  # the rows take what memory is left, or stay on the host
        self.rows.load()
        if not dense and isinstance(self.moves, ConjugateMoves):
            self.moves.load()

    @property
    def hamiltonian(self) -> HamiltonianMoves:
        """The moves of the kernel ``hmc``."""
        assert isinstance(self.moves, HamiltonianMoves)
        return self.moves

    @property
    def wide(self) -> WideMoves:
        """The moves of the kernels ``gibbs`` and ``px`` with more columns than rows."""
        assert isinstance(self.moves, WideMoves)
        return self.moves

    def set_auxiliary(self, auxiliary: NDArray[np.float64]) -> None:
        """Let the family's own parameters of every chain be these; shape (count,)."""
        records = np.zeros(self.settings.chains, AUXILIARIES.dtype)
        records["value"][:, : len(auxiliary)] = auxiliary
        self.device.put(records, self.chains.auxiliary)
        assert isinstance(self.moves, HamiltonianMoves | WideMoves)
        self.moves.auxiliary.prime()

    def set_small(self, small: NDArray[np.bool_]) -> None:
        """The columns whose coefficients are rescaled together with tau, but for the others; shape (q,)."""
        assert isinstance(self.moves, HamiltonianMoves | ConjugateMoves)
        self.moves.rescale.set_small(small)

    def close(self) -> None:
        """Give the memory back."""
        self.device.sync()
        self.matrices.close()
        wide = self.moves.latent if isinstance(self.moves, HamiltonianMoves) else self.moves
        if isinstance(wide, WideMoves):
            wide.close()
        self._memory.release()

    # --- X'X and the start ----------------------------------------------------------------------------------------

    @property
    def whole_matrices(self) -> Matrices:
        """Those of a kernel that has matrices of the columns."""
        assert isinstance(self.matrices, Matrices)
        return self.matrices

    def make_gram(self, weighted: bool) -> NDArray[np.float64]:
        """X'X, or X'WX with the weights of the kernel ``hmc``, or those of the problem if any; shard by shard."""
        return self.whole_matrices.make_gram(self.hamiltonian.weight if weighted else self.rows.own_weight)

    def set_state(self, state: dict[str, NDArray[np.float64]]) -> None:
        """Every chain from the host."""
        self.chains.set_state(state)
        if isinstance(self.moves, HamiltonianMoves):  # of the others nothing depends on the iteration before
            self.moves.prime()

    # --- batches --------------------------------------------------------------------------------------------------

    def advance(self, first: int, count: int, kept_from: int) -> Recorded:
        """Begin at most REFRESH iterations; returns the draws of the batch before, with this device's failures."""
        self.recorder.begin()
        for step in range(first, first + count):
            self.moves.iterate(step)
            if step < kept_from or (step - kept_from + 1) % self.settings.options.thin == 0:
                self.recorder.record(step)
        self.recorder.send(self.matrices.failed)
        return self.recorder.collect(last=False)

    def passes(self) -> int:
        """Passes over X of the kernel ``cg`` so far."""
        return self.moves.passes if isinstance(self.moves, ConjugateMoves) else 0
