"""Many coefficients, and tau, drawn anew at once as if columns were orthogonal: ``kernels/gibbs/independence.mako``."""

import math
from collections.abc import Callable

from ....devices import Buffer, Launcher
from ....numerics.memory import Memory
from ..design.layout import SHARDS
from ..device.chains import Chains
from ..device.records import RENEWAL
from ..device.rows import Rows
from ..options import Options, Settings

STREAM_INDEPENDENCE = 18
_FEWEST_COLUMNS = 256
_TARGET = 0.4


def are_independent(columns: int, options: Options) -> bool:
    """Whether ``hmc`` has such moves: with priors whose lambda has Cauchy's tails or nearly so."""
    return columns >= _FEWEST_COLUMNS and options.prior not in ("lasso", "ridge")


class IndependenceMoves:
    """Moves of all chains, each one pass over the rows, from the score of where they are."""

    def __init__(self, memory: Memory, rows: Rows, chains: Chains, settings: Settings) -> None:
        self._program, block = rows.programs.with_long_block("independence"), rows.programs.long_block
        self._size, self._stream = (chains.count, block), settings.stream(STREAM_INDEPENDENCE)
        self._proposed = memory.empty((chains.count, rows.layout.columns))
        self._renewal = memory.zeros(chains.count, RENEWAL.dtype)
        self._least = -math.log(rows.layout.columns)

    def move(self, launch: Launcher, shards: Buffer, take: Callable[[], None], adapting: bool) -> None:
        """Propose, ``take`` the sums at what is proposed into the shards, and accept or not; then adapt the share."""
        own = {"proposed": self._proposed, "renewal": self._renewal, "stream": self._stream}
        launch(self._program.propose_coefficients, *self._size, **own)
        take()
        launch(self._program.accept_coefficients, *self._size, shards=shards, shard_count=SHARDS, **own)
        if adapting:
            launch(self._program.adapt_share, 1, 1, renewal=self._renewal, target=_TARGET, least=self._least)
