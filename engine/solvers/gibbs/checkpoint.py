"""What is known of a run so far, and how a run folder keeps it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import Checkpoint, RunContext
from ...errors import RunFolderError
from .design.lines import Lines
from .design.matrix import Design
from .device.records import CHAIN
from .draws.store import Draws
from .options import Options
from .schema import CheckpointState, name_in_checkpoints

Floats = NDArray[np.float64]
_KEPT = ("draws", "statistics", "scales")
_BEGINNING = CheckpointState(kernel="latent", iteration=0, passed=0, failed=0, passes=0, exchanged_bytes=0)


@dataclass(frozen=True)
class Start:
    """Where the chains begin: about the ``mode``, with the family's own parameters and the lines found there."""

    mode: Floats = field(default_factory=lambda: np.zeros(0))
    auxiliary: Floats = field(default_factory=lambda: np.zeros(0))
    traced: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # coefficients, as results number
    lines: Lines = field(default_factory=Lines)


@dataclass(frozen=True)
class Adaptation:
    """What the warm-up chooses: how often each column's coefficient was ``small`` beside tau; leapfrog ``steps``."""

    small: Floats = field(default_factory=lambda: np.zeros(0))
    steps: int = 0


@dataclass(frozen=True)
class Convergence:
    """What the checks have found."""

    passed: int = 0  # successive checks
    watched: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # were furthest from convergence
    expected: int = 0  # draws that will be enough; 0 if unknown
    value_seconds: float = 4e-7  # to diagnose and summarise a draw of a quantity, by what the last check took


@dataclass(frozen=True)
class Snapshot:
    """A point from which the run can be resumed: arrays and scalars of a checkpoint, and the stores as they were."""

    arrays: dict[str, Any]
    scalars: dict[str, Any]
    stores: dict[str, Draws]


@dataclass(frozen=True)
class RunState:
    """A run so far, passed and returned: its stores of draws, its counts, and what its phases have found."""

    design: Design
    draws: Draws  # of the coefficients in the user's units
    statistics: Draws  # of the fields of CHAIN, then the family's own parameters
    scales: Draws | None  # of log lambda
    warmup: int  # iterations; less than asked for where a time limit leaves too little for draws
    start: Start = field(default_factory=Start)
    adaptation: Adaptation = field(default_factory=Adaptation)
    convergence: Convergence = field(default_factory=Convergence)
    iteration: int = 0
    passes: int = 0
    failed: int = 0
    origin: CheckpointState = _BEGINNING  # what it goes on from
    snapshot: Snapshot | None = None

    def stores(self) -> dict[str, Draws]:
        """The stores of draws that there are, by name."""
        return {name: draws for name in _KEPT if (draws := getattr(self, name)) is not None}


def restore(state: RunState, checkpoint: Checkpoint, options: Options, source: str) -> RunState:
    """A run as of a checkpoint, all but the chains, from the ``source`` that a message names."""
    arrays, saved = checkpoint.arrays, CheckpointState.model_validate(checkpoint.state, from_attributes=True)
    none = np.zeros(0)
    stores: dict[str, Any] = {
        name: draws.with_arrays({key.removeprefix(f"{name}."): array for key, array in arrays.items()})
        for name, draws in state.stores().items()
    }
    restored = replace(
        state,
        origin=saved,
        iteration=saved.iteration,
        failed=saved.failed,
        passes=saved.passes,
        warmup=options.warmup if saved.warmup is None else saved.warmup,
        start=Start(arrays["mode"], arrays.get("mode_auxiliary", none), arrays["traced"], state.start.lines),
        adaptation=Adaptation(arrays.get("small", none), saved.steps),
        convergence=Convergence(saved.passed, arrays["watched"]),
        **stores,
    )
    audit(restored, arrays, options, source)
    return restored


def snapshot_of(state: RunState, chains: dict[str, Floats], adapted: dict[str, Any]) -> Snapshot:
    """The run as it is now; all draws so far must have come from the devices."""
    start, small = state.start, state.adaptation.small
    arrays = {**chains, "mode": start.mode, "traced": start.traced, "watched": state.convergence.watched}
    arrays |= {"small": small} if len(small) else {}
    arrays |= {"mode_auxiliary": start.auxiliary} if adapted else {}
    arrays |= {name: value for name, value in adapted.items() if isinstance(value, np.ndarray)}
    scalars = {name: value for name, value in adapted.items() if name not in arrays}
    scalars |= {"kernel": "hmc" if adapted else "cg" if len(small) else "latent", "passed": state.convergence.passed}
    scalars |= {name: getattr(state, name) for name in ("iteration", "failed", "passes")}
    scalars |= {"warmup": state.warmup} if state.iteration >= state.warmup else {}
    return Snapshot(arrays, scalars, state.stores())


def checkpoint_of(state: RunState, snapshot: Snapshot, exchanged_bytes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A snapshot as a run folder keeps it, arrays and scalars; the bytes are those since the run's origin."""
    arrays = dict(snapshot.arrays)
    for name, draws in snapshot.stores.items():
        arrays |= {f"{name}.{key}": array for key, array in draws.arrays().items()}
    return arrays, {**snapshot.scalars, "exchanged_bytes": state.origin.exchanged_bytes + exchanged_bytes}


def save(run: RunContext, state: RunState, exchanged_bytes: int) -> None:
    """Keep the last snapshot in the run folder."""
    if state.snapshot is not None:
        run.save_checkpoint(*checkpoint_of(state, state.snapshot, exchanged_bytes))


def audit(state: RunState, arrays: dict[str, NDArray[Any]], options: Options, folder: str) -> None:
    """Check what was restored against the problem and the options."""
    layout = state.design.layout
    iteration, kept = state.iteration, max(0, state.iteration - state.warmup) // options.thin
    tau_precision = CHAIN.view(arrays["chain_state"])["tau_precision"]
    rules = {
        "it was made by another kernel": state.origin.kernel == name_in_checkpoints(options.kernel),
        "the chains have another shape than the problem": arrays["beta"].shape == (options.chains, layout.columns)
        and arrays["chain_state"].shape == (options.chains, len(CHAIN.names))
        and arrays["mode"].shape == (layout.columns,),
        "a precision is not above 0": bool((arrays["local_precision"] > 0).all() and (tau_precision > 0).all()),
        "the number of draws does not match the iteration": state.draws.count == kept
        and all(draws.count == kept for draws in state.stores().values()),
        "the iteration is outside the run": 0 <= iteration <= state.warmup + options.most_draws * options.thin,
        "a traced coefficient does not exist": bool(
            ((arrays["traced"] >= 0) & (arrays["traced"] <= state.design.problem.X.shape[1])).all()
        ),
        "draws are missing, or have other moments": all(draws.is_whole() for draws in state.stores().values()),
    }
    if "weight" in arrays:
        good = arrays["weight"].shape == (layout.pitch,) and bool((arrays["weight"] >= 0).all())
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
