"""What is known of a run so far, and how a run folder keeps it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import Checkpoint, RunContext
from ...errors import RunFolderError
from .design.lines import Lines
from .design.matrix import Design
from .device.records import CHAIN
from .device.sampler import Sampler
from .draws.store import Draws
from .options import Options
from .schema import CheckpointState

__all__ = [
    "Adaptation",
    "Convergence",
    "Rate",
    "RunState",
    "Snapshot",
    "Start",
    "audit",
    "checkpoint_of",
    "restore",
    "save",
    "snapshot_of",
]

Floats = NDArray[np.float64]
_KEPT = ("draws", "statistics", "scales")
_MARK_SECONDS = 2.0


class Rate:
    """Iterations a second of late: since the last but one of marks that are some seconds apart.

    The first mark is set when the first iterations are done, for their time is that of compiling, too.
    """

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = []

    def at(self, now: float, step: int) -> float | None:
        """The rate, or None before the second call.

        Parameters
        ----------
        now : float
            Seconds of a monotonic clock.
        step : int
            Iterations done.
        """
        if not self._marks or now - self._marks[-1][0] > _MARK_SECONDS:
            self._marks = [*self._marks[-1:], (now, step)]
        since, first = self._marks[0]
        return (step - first) / (now - since) if step > first and now > since else None


@dataclass(frozen=True)
class Start:
    """Where the chains begin: about the ``mode``, with the family's own parameters and the lines found there."""

    mode: Floats = field(default_factory=lambda: np.zeros(0))
    auxiliary: Floats = field(default_factory=lambda: np.zeros(0))
    lines: Lines = field(default_factory=Lines)


@dataclass(frozen=True)
class Adaptation:
    """What the warm-up chooses: how often each column's coefficient was ``small`` beside tau; leapfrog ``steps``."""

    small: Floats = field(default_factory=lambda: np.zeros(0))
    steps: int = 0


@dataclass(frozen=True)
class Convergence:
    """What the checks have found.

    Attributes
    ----------
    passed : int
        Successive checks that were passed.
    watched : ndarray of int64
        Quantities that were furthest from convergence when all were checked.
    expected : int
        Draws that will be enough; 0 if unknown.
    value_seconds : float
        What a draw of a quantity takes in the summary, as measured by the last check.
    """

    passed: int = 0
    watched: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    expected: int = 0
    value_seconds: float = 2e-7


@dataclass
class Reports:
    """What was reported of a run, and when, in seconds of a monotonic clock."""

    rate: Rate = field(default_factory=Rate)
    traced_at: float = 0.0
    diagnosed_at: float = field(default_factory=time.monotonic)


@dataclass
class RunState:
    """A run so far: its stores of draws, its counts, and what its phases have returned.

    Attributes
    ----------
    draws, statistics, scales : Draws
        Of the coefficients in the user's units, of the fields of :data:`.device.records.CHAIN`, and of log lambda.
    traced : ndarray of int64
        Coefficients that are traced, in the numbering of the result.
    restored : Checkpoint, optional
        What this goes on from after a device was lost.
    notified : bool
        Whether the notices of the start have been given.
    snapshot : Snapshot, optional
        The last one.
    lock : Lock
        Held while draws are taken over, so that another thread can summarise them.
    """

    design: Design
    draws: Draws
    statistics: Draws
    scales: Draws | None
    traced: NDArray[np.int64]
    start: Start = field(default_factory=Start)
    adaptation: Adaptation = field(default_factory=Adaptation)
    convergence: Convergence = field(default_factory=Convergence)
    reports: Reports = field(default_factory=Reports)
    iteration: int = 0
    began_at: int = 0
    passes: int = 0
    failed: int = 0
    failed_before: int = 0
    exchanged_before: int = 0
    restored: Checkpoint | None = None
    notified: bool = False
    snapshot: Snapshot | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def kept(self) -> list[tuple[str, Draws]]:
        """The stores of draws that there are, by name."""
        return [(name, draws) for name in _KEPT if (draws := getattr(self, name)) is not None]


@dataclass(frozen=True)
class Snapshot:
    """A point from which the run can be resumed."""

    chains: dict[str, Floats]
    iteration: int
    marks: dict[str, tuple[Any, ...]]
    adapted: dict[str, Any]
    passed: int
    watched: NDArray[np.int64]
    small: Floats
    failed: int
    passes: int


def restore(
    state: RunState, arrays: dict[str, NDArray[Any]], saved: CheckpointState, options: Options, source: str
) -> None:
    """Take over a checkpoint, from the ``source`` that a message names.

    Raises
    ------
    RunFolderError
        See :func:`audit`.
    """
    state.iteration = state.began_at = saved.iteration
    state.failed = state.failed_before = saved.failed
    state.passes, state.exchanged_before = saved.passes, saved.exchanged_bytes
    none = np.zeros(0)
    state.start = Start(arrays["mode"], arrays.get("mode_auxiliary", none), state.start.lines)
    state.adaptation = Adaptation(arrays.get("small", none), saved.steps)
    state.convergence = Convergence(saved.passed, arrays["watched"])
    state.traced = arrays["traced"]
    for name, draws in state.kept():
        start = name + "."
        draws.restore({key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)})
    audit(state, arrays, options, source)


def snapshot_of(sampler: Sampler, state: RunState) -> Snapshot:
    """The run as it is now; all draws so far must have come from the devices."""
    return Snapshot(
        chains=sampler.state(),
        iteration=state.iteration,
        marks={name: draws.mark() for name, draws in state.kept()},
        adapted=sampler.adapted() if sampler.settings.kernel == "hmc" else {},
        passed=state.convergence.passed,
        watched=state.convergence.watched,
        small=state.adaptation.small,
        failed=state.failed,
        passes=state.passes,
    )


def checkpoint_of(state: RunState, snapshot: Snapshot, exchanged_bytes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A snapshot as a run folder keeps it: arrays, and scalar state.

    Parameters
    ----------
    state : RunState
        Of the same run; it may have gone on.
    exchanged_bytes : int
        Between devices, so far.
    """
    adapted = dict(snapshot.adapted)
    arrays: dict[str, Any] = {
        **snapshot.chains,
        "mode": state.start.mode,
        "traced": state.traced,
        "watched": snapshot.watched,
    }
    if len(snapshot.small):
        arrays["small"] = snapshot.small
    if adapted:
        arrays["mode_auxiliary"] = state.start.auxiliary
    arrays.update({name: adapted.pop(name) for name in ("weight", "curvature", "control") if name in adapted})
    for name, draws in state.kept():
        arrays.update({f"{name}.{key}": array for key, array in draws.arrays_at(snapshot.marks[name]).items()})
    scalars = {
        "kernel": "hmc" if adapted else ("cg" if len(snapshot.small) else "latent"),
        "iteration": snapshot.iteration,
        "passed": snapshot.passed,
        "failed": snapshot.failed,
        "passes": snapshot.passes,
        "exchanged_bytes": exchanged_bytes,
        **adapted,
    }
    return arrays, scalars


def save(run: RunContext, state: RunState, snapshot: Snapshot, exchanged_bytes: int) -> None:
    """Keep a snapshot in the run folder."""
    run.save_checkpoint(*checkpoint_of(state, snapshot, exchanged_bytes))


def audit(state: RunState, arrays: dict[str, NDArray[Any]], options: Options, folder: str) -> None:
    """Check what was restored against the problem and the options.

    Parameters
    ----------
    state : RunState
        With what was taken over.
    folder : path-like
        For the message.

    Raises
    ------
    RunFolderError
        If the numbers cannot be those of a run of this problem with these options.
    """
    layout = state.design.layout
    iteration, kept = state.iteration, max(0, state.iteration - options.warmup) // options.thin
    tau_precision = CHAIN.view(arrays["chain_state"])["tau_precision"]
    rules = {
        "the chains have another shape than the problem": arrays["beta"].shape == (options.chains, layout.columns)
        and arrays["chain_state"].shape == (options.chains, len(CHAIN.names))
        and arrays["mode"].shape == (layout.columns,),
        "a precision is not above 0": bool((arrays["local_precision"] > 0).all() and (tau_precision > 0).all()),
        "the number of draws does not match the iteration": state.draws.count == kept
        and all(draws.count == kept for _, draws in state.kept()),
        "the iteration is outside the run": 0 <= iteration <= options.warmup + options.most_draws * options.thin,
        "a traced coefficient does not exist": bool(
            ((arrays["traced"] >= 0) & (arrays["traced"] <= state.design.problem.X.shape[1])).all()
        ),
        "draws are missing, or have other moments": all(draws.is_whole() for _, draws in state.kept()),
    }
    if "weight" in arrays:
        good = arrays["weight"].shape == (layout.strips * layout.strip_rows,) and bool((arrays["weight"] >= 0).all())
        start = arrays["mode_auxiliary"]
        known = start.shape == (len(state.design.auxiliary_names()),) and bool(np.isfinite(start).all())
        rules["the start of the family's own parameters is not that of this problem"] = known
        rules["the weights of the rows differ from this problem's"] = good
    if "small" in arrays:
        small = arrays["small"]
        shares = small.shape == (layout.columns,) and bool((np.abs(small - 0.5) <= 0.5).all())
        rules["the shares of small coefficients differ from this problem's"] = shares
    for fault, holds in rules.items():
        if not holds:
            raise RunFolderError(f"the checkpoint in {folder} cannot be resumed: {fault}")
