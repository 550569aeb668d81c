"""Writing a run's state to its folder, reading it, and checking what was read."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.context import RunContext
from ...errors import RunFolderError
from .device.state import STALLED, STATUS, PopulationState
from .islands import Islands
from .network import Network
from .options import Parameters, padded_words
from .record import Record
from .schema import CheckpointState

_NETWORK = ("parents", "parent_count", "totals")


def save(run: RunContext, record: Record, islands: Islands) -> None:
    """Keep the record, and the states of all islands in arrays whose first axis is the island."""
    states = islands.states()
    arrays: dict[str, NDArray[Any]] = {
        "numbers": np.array(list(states), np.int64),
        "planes": np.stack([state.planes for state in states.values()]),
        "keys": np.stack([state.keys for state in states.values()]),
        "status": np.stack([STATUS.numbers(state.status) for state in states.values()]),
        **{name: np.stack([getattr(state.network, name) for state in states.values()]) for name in _NETWORK},
    }
    run.save_checkpoint(arrays | record.arrays(), record.state(islands.step).model_dump())


def restore(run: RunContext, record: Record, populations: int) -> tuple[int, dict[int, PopulationState]] | None:
    """Step and states of a checkpoint by island, if there is one; the record takes over what it says of the run."""
    if run.restored is None:
        return None
    arrays, given = run.restored.arrays, run.restored.state
    state = given if isinstance(given, CheckpointState) else CheckpointState.model_validate(given)
    record.restore(arrays, state)
    _audit_best(record)
    numbers = arrays["numbers"].tolist()
    if not numbers or sorted(set(numbers)) != numbers or not 0 <= numbers[0] <= numbers[-1] < state.islands:
        raise RunFolderError(f"the checkpoint's islands {numbers} are not among {state.islands} islands")
    if state.populations >= populations:
        raise RunFolderError(
            f"the checkpoint is of population {state.populations + 1}; the run has at most {populations}"
        )
    if arrays["status"].shape[1] != len(STATUS.names):
        raise RunFolderError(f"the status in the checkpoint must have {len(STATUS.names)} fields")
    states = {}
    for place, island in enumerate(numbers):
        planes, keys = arrays["planes"][place], arrays["keys"][place]
        status = STATUS.view(np.ascontiguousarray(arrays["status"][place]))
        parents, parent_count, totals = (arrays[name][place] for name in _NETWORK)
        states[island] = PopulationState(planes, keys, status, Network(parents, parent_count, totals))
    return state.step, states


def _audit_best(record: Record) -> None:
    fitness, best = record.fitness, record.best
    assert best is not None
    if best.shape != (fitness.n,) or not np.isin(best, (0, 1)).all():
        raise RunFolderError(f"the best individual of the checkpoint must hold {fitness.n} zeros and ones")
    if fitness.is_checked and int(fitness.keys(best[None])[0]) != record.best_key:
        raise RunFolderError("the best individual of the checkpoint does not have the value that it is said to have")


def audit(parameters: Parameters, states: Mapping[int, PopulationState], step: int) -> None:
    """Check the populations of a checkpoint against the sizes of the run and against each other."""
    for island, state in states.items():
        fault = _fault(parameters, state, step)
        if fault is not None:
            raise RunFolderError(f"the checkpoint of island {island} is inconsistent: {fault}")


def _fault(parameters: Parameters, state: PopulationState, step: int) -> str | None:
    """What is wrong with a restored population, or None."""
    n, network, status = parameters.n, state.network, dict(zip(STATUS.names, state.status.tolist(), strict=True))
    if state.keys.shape != (parameters.population,) or state.planes.shape[0] != n:
        return f"its population must have {parameters.population} individuals of {n} genes"
    if state.planes.shape[1] != padded_words(parameters.population):
        return "its bit planes are too short or too long"
    if not 0 <= status["reason"] <= STALLED or not 0 <= status["generation"] <= step:
        return "its status is unknown"
    individual = status["individual"]
    if not 0 <= individual < parameters.population or int(state.keys[individual]) < status["best"]:
        return "its best individual is not the best"
    if int(state.keys[individual]) > status["best"]:  # others may be better, once individuals have immigrated
        return "its best value is not that of its individuals"
    depth = max(1, parameters.max_parents)
    if network.parents.shape != (n, depth) or network.totals.shape != (n, 2 << parameters.max_parents):
        return f"its network must have {n} nodes of at most {parameters.max_parents} parents"
    if ((network.parent_count < 0) | (network.parent_count > parameters.max_parents)).any():
        return "a node has an impossible number of parents"
    used = np.arange(depth) < network.parent_count[:, None]
    if ((network.parents < 0) | (network.parents >= np.arange(n)[:, None]))[used].any():
        return "a node has a parent that does not come before it"
    if (network.totals < 0).any():
        return "a count is negative"
    return None
