"""Put extremes into checkpoints whose digests are right: each is refused in a sentence, or the answer is right.

Counts of what the run has done, which nothing else in a checkpoint contradicts, are believed.

``python -m tools.soak.forge --cases 500 [CASE ...]``

Prints what fell short and the outcomes of each case; exits with 1 after a wrong answer, another error, a signal or a
hang. Kernels are checked (``QUINTET_CHECKED``) where the device is PoCL's.
"""

import faulthandler
import math
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import click
import numpy as np
from numpy.typing import NDArray

import engine
from engine.devices.pool.slices import SliceLength
from engine.errors import AuditError, RunFolderError
from engine.runs.folder.run_folder import RunFolder
from engine.runs.folder.storage import Checkpoint
from engine.runs.run import Run
from engine.solvers.boa.fitness.tables import qubo
from tests.support.environment import ROOT
from tests.support.forged import changed, checked
from tests.support.lasting import signed, slow_device, small_knapsack, small_program
from tests.support.patience import PATIENCE

SOUND = ("refused", "withheld", "right", "unfinished", "believed")
"""What may become of a run."""


_HANG_SECONDS = 4 * PATIENCE
_LIMIT_SECONDS = 20.0  # of a linear program, which may be far from its optimum; of others PATIENCE
_RANDOM = np.random.default_rng(5)
_X = _RANDOM.normal(size=(24, 3))
_SQUARE = _RANDOM.integers(1, 60, (11, 11)) * (1 - np.eye(11, dtype=np.int64))
_TIMES = _RANDOM.integers(1, 40, (4, 10))
_LIKELY = (_X[:, 0] + _RANDOM.normal(size=24) > 0).astype(int)


@dataclass(frozen=True)
class Case:
    """A small problem, and which of the checkpoints of its run is changed, as a share of them.

    ``believed``: scalars that say what the run has done, which nothing in the checkpoint contradicts.
    """

    problem: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)
    at: float = 0.6
    believed: tuple[str, ...] = ()


def _choice():
    weights = np.random.default_rng(8).integers(20, 300, 30)
    return engine.MultipleChoiceKnapsack(weights + 9, weights, np.arange(30) // 3, 1200)


def _tardiness():
    times = np.random.default_rng(4).integers(1, 40, 14)
    return engine.Tardiness(times, np.arange(1, 15), np.random.default_rng(5).integers(1, 160, 14))


def _regression(family):
    y = {"normal": _X[:, 0], "counts": np.arange(24.0) % 4, "ordinal": np.arange(24) % 3}[family]
    return engine.HorseshoeRegression(_X, y, family=family)


def _pairs():
    random = np.random.default_rng(6)
    return qubo(40, [(i, j, float(random.integers(-50, 50))) for i in range(40) for j in range(i)])


def _sampling(**options):
    return {"draws": 200, "warmup": 60, "chains": 2, **options}


_BITS = {"population": 200, "max_generations": 6, "local_search": "none"}

_FROM_NOTHING = {"ivms": 4, "initial": "infinity"}

CASES = {
    "rows": Case(small_knapsack, {"reduce": False, "variant": "rows"}, 0.3),
    "tiles": Case(small_knapsack, {"reduce": False, "variant": "tiles"}),
    "sparse": Case(small_knapsack, {"reduce": False, "variant": "sparse"}, believed=("values",)),
    "choice": Case(_choice),
    "queens": Case(lambda: engine.Queens(13), {"ivms": 8}, believed=("counters.solutions",)),
    "flowshop": Case(lambda: engine.FlowTime(_TIMES), _FROM_NOTHING),
    "blocking": Case(lambda: engine.BlockingFlowshop(_TIMES), _FROM_NOTHING),
    "tardiness": Case(_tardiness, _FROM_NOTHING),
    "tour": Case(lambda: engine.ATSP(_SQUARE), _FROM_NOTHING),
    "assignment": Case(lambda: engine.QuadraticAssignment(_SQUARE, _SQUARE.T), _FROM_NOTHING),
    "ordering": Case(lambda: engine.LinearOrdering(_RANDOM.integers(0, 9, (14, 14))), _FROM_NOTHING),
    "probit": Case(lambda: engine.HorseshoeProbit(_X, _LIKELY), _sampling()),
    "latent": Case(lambda: engine.HorseshoeProbit(_X, _LIKELY), _sampling(kernel="gibbs")),
    "gradients": Case(lambda: engine.HorseshoeProbit(_X, _LIKELY), _sampling(kernel="cg")),
    "logit": Case(lambda: engine.HorseshoeLogit(_X, _LIKELY), _sampling()),
    "normal": Case(lambda: _regression("normal"), _sampling()),
    "counts": Case(lambda: _regression("counts"), _sampling()),
    "ordinal": Case(lambda: _regression("ordinal"), _sampling()),
    "trap": Case(lambda: engine.BOA("trap", 30), _BITS),
    "tables": Case(lambda: engine.BOA(_pairs()), _BITS),
    "islands": Case(lambda: engine.BOA("trap", 30), {**_BITS, "islands": 2, "migration_interval": 2}),
    "mpc": Case(small_program, {"method": "mpc"}),
    "pdhg": Case(small_program, {"method": "pdhg"}),
    "pdas": Case(small_program, {"method": "pdas"}),
}


def interrupted(name, path):
    """The folder of the case's run, one of its checkpoints, and its result; the folder's own checkpoint is the last."""
    case, seen = CASES[name], list[Checkpoint]()

    def keep(run, arrays, state):
        values = dict(state if isinstance(state, dict) else state.model_dump())
        if _has_begun(arrays, values):
            seen.append(Checkpoint({key: np.array(array) for key, array in arrays.items()}, values, 1.0))

    with (
        engine.Engine(devices=slow_device()) as owner,
        mock.patch.multiple(Run, save_checkpoint=keep, checkpoint_due=lambda _: True),
        mock.patch.object(SliceLength, "took"),  # slices stay as short as the first one
    ):
        whole = owner.solve(case.problem(), seed=7, run_folder=path, **case.options)
    if not seen:
        raise LookupError(f"{name}: the run has had no checkpoint")
    return RunFolder.open(path), seen[int(case.at * len(seen))], whole


def _has_begun(arrays, state):
    """Whether a checkpoint holds work of the run's own method."""
    if "explored" in arrays:
        return len(arrays["begin"]) > 0 and arrays["explored"].any()
    done = [state.get(name) for name in ("cells", "step", "iteration", "pdhg_iteration")]
    return any(done) or state.get("phase") == "items"


@dataclass(frozen=True)
class Change:
    """A checkpoint, and what was changed in it."""

    what: str
    arrays: dict[str, NDArray[Any]]
    state: dict[str, Any]


def changes(arrays, state, most_places=6):
    """Every extreme in elements of every array and in every scalar; other forms; what is missing."""
    for key, array in arrays.items():
        for what, forged in changed(array, most_places):
            yield Change(f"{key}{what}", arrays | {key: forged}, state)
        for other, given in arrays.items():
            if other > key and given.dtype == array.dtype and given.shape == array.shape:
                yield Change(f"{key} and {other} swapped", arrays | {key: given, other: array}, state)
        yield Change(f"{key} missing", {name: given for name, given in arrays.items() if name != key}, state)
    yield Change("one array more", arrays | {"beads": np.zeros(3)}, state)
    for what, changed_state in _changed_scalars(state):
        yield Change(what, arrays, changed_state)


def _changed_scalars(state):
    numbers = (-(2**70), -(2**31), -1, 0, 1, 3, 10**6, 2**31 - 1, 2**31, 2**40, 2**63, 2**70)
    for key, value in state.items():
        values = [None, "beads", [], {}, True, False, *numbers, math.nan, math.inf, -math.inf, 1e300, -0.5]
        for given in values:
            yield f"{key} = {given!r}", state | {key: given}
        yield f"{key} missing", {name: given for name, given in state.items() if name != key}
        if isinstance(value, dict):
            yield from ((f"{key}.{what}", state | {key: inner}) for what, inner in _changed_scalars(value))
        elif isinstance(value, str):
            for given in ("row", "tiles", "items", "latent", "hmc", "cg", "presolved", "given", "balanced"):
                yield f"{key} = {given!r}", state | {key: given}
        elif isinstance(value, int) and not isinstance(value, bool):
            for given in (value - 1, value + 1, 2 * value, -value):
                yield f"{key} = {given!r}", state | {key: given}
    yield "a value more", state | {"beads": 3}


def outcomes(name, places, cases, seed):
    """Resume a run from so many changed checkpoints (None: all), in another process; each change and its outcome.

    One of ``SOUND``; or ``WRONG``, ``FOREIGN`` or ``ENDED``, and a reason.
    """
    first = 0
    while True:
        given = ["--child", name, str(places), str(cases or 0), str(seed), str(first)]
        words = [sys.executable, "-m", "tools.soak.forge", *given]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=checked())
        *whole, rest = done.stdout.split("\n")
        for line in whole:
            what, _, outcome = line.partition("\t")
            yield what, outcome
        if done.returncode == 0:
            return
        first += len(whole) + 1
        yield rest.rstrip("\t") or "the start", f"ENDED {done.returncode}: {done.stderr[-600:]}"
        if not rest:
            return


def work(name, places, cases, seed, first):
    """In the child: a line for each change, of which the outcome comes later than the rest; too late is a hang."""
    with tempfile.TemporaryDirectory() as home:
        folder, kept, whole = interrupted(name, Path(home) / "kept")
        every = list(changes(kept.arrays, kept.state, places))
        random.Random(seed).shuffle(every)
        with engine.Engine(devices=slow_device()) as owner:
            for change in every[first : cases or None]:
                print(f"{change.what}\t", end="", flush=True)
                faulthandler.dump_traceback_later(_HANG_SECONDS, exit=True)
                path = Path(home) / "changed"
                signed(folder, path, change.arrays, change.state)
                word, why = _outcome(owner, path, whole)
                if word == "WRONG" and change.what.startswith(CASES[name].believed or "-"):
                    word = "believed"
                print(f"{word} {why}".replace("\n", " ").rstrip(), flush=True)
                shutil.rmtree(path)


def _outcome(owner, path, whole):
    try:
        limit = _LIMIT_SECONDS if isinstance(whole.objective, float) else PATIENCE
        result = owner.resume(path, time_limit=limit).wait()
    except RunFolderError as error:
        return "refused", str(error)
    except AuditError as error:
        return "withheld", str(error)
    except BaseException as error:
        return "FOREIGN", f"{type(error).__name__}: {error}"
    if isinstance(whole.objective, float) and result.status in ("iteration_limit", "time_limit"):
        return "unfinished", ""  # of a linear program: a start far away may take longer than its limits
    fault = _fault(result, whole)
    return ("WRONG", fault) if fault else ("right", "")


def _fault(result, whole):
    """How an answer differs from that of the run that was not stopped; empty if it is right."""
    if whole.status != "iteration_limit" and result.status != whole.status:
        return f"status {result.status}, not {whole.status}"
    if result.objective is None:  # of a posterior
        bad = [name for name in ("beta", "log_tau", "mean", "sd") if not np.isfinite(result.arrays[name]).all()]
        return f"{bad} not finite" if bad else ""
    if whole.status == "iteration_limit":  # of a heuristic: the engine has checked that the solution has its value
        return ""
    near = isinstance(whole.objective, float) and np.isclose(result.objective, whole.objective, rtol=1e-6)
    same = near or result.objective == whole.objective
    return "" if same else f"objective {result.objective}, not {whole.objective}"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--cases", type=int, help="Changes of each checkpoint, drawn at random; all by default.")
@click.option("--places", default=6, show_default=True, help="Elements of each array that are changed.")
@click.option("--seed", default=0, show_default=True)
def main(names: tuple[str, ...], cases: int | None, places: int, seed: int) -> None:
    """Forge the checkpoints of the cases NAMES, of all by default."""
    failures = 0
    for name in names or sorted(CASES):
        counted: Counter[str] = Counter()
        for what, outcome in outcomes(name, places, cases, seed):
            word = outcome.split(" ", 1)[0]
            counted[word] += 1
            if word not in SOUND:
                failures += 1
                click.echo(f"{name}: {what}: {outcome}")
        click.echo(f"{name}: {dict(counted)}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        warnings.simplefilter("ignore")
        work(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        main()
