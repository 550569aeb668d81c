"""Checkpoints that contradict themselves or the run are refused before a device continues from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.errors import RunFolderError
from engine.solvers.boa.checkpoint import audit
from engine.solvers.boa.device.programs import HISTORY_FIELDS
from engine.solvers.boa.device.state import PopulationState
from engine.solvers.boa.network import Network
from engine.solvers.boa.options import Options, resolve

PARAMETERS = resolve(Options(max_parents=2), 6, 40, seed=1)


def state() -> PopulationState:
    status = np.zeros(len(HISTORY_FIELDS), np.int64)
    keys = np.arange(40)
    status[HISTORY_FIELDS.index("best")] = status[HISTORY_FIELDS.index("individual")] = 39
    parents = np.array([[0, 0], [0, 0], [1, 0], [2, 0], [3, 0], [4, 0]], np.int32)
    network = Network(parents, np.array([0, 1, 2, 1, 0, 2], np.int32), np.zeros((6, 8), np.int32))
    return PopulationState(np.zeros((6, 16), np.uint32), keys, status, network)


def with_status(name: str, value: int) -> Callable[[PopulationState], PopulationState]:
    def changed(given: PopulationState) -> PopulationState:
        given.status[HISTORY_FIELDS.index(name)] = value
        return given

    return changed


def with_network(**arrays: Any) -> Callable[[PopulationState], PopulationState]:
    return lambda given: dataclasses.replace(given, network=dataclasses.replace(given.network, **arrays))


def test_a_consistent_state_is_accepted() -> None:
    audit(PARAMETERS, {0: state()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: dataclasses.replace(given, keys=given.keys[:39]), "must have 40 individuals of 6 genes"),
        (lambda given: dataclasses.replace(given, planes=given.planes[:5]), "must have 40 individuals of 6 genes"),
        (lambda given: dataclasses.replace(given, planes=given.planes[:, :1]), "bit planes are too short"),
        (with_status("reason", 7), "its status is unknown"),
        (with_status("generation", -1), "its status is unknown"),
        (with_status("individual", 40), "its best individual is not the best"),
        (with_status("individual", 3), "its best individual is not the best"),
        (with_status("best", 38), "its best value is not that of its individuals"),
        (with_network(parents=np.zeros((6, 3), np.int32)), "6 nodes of at most 2 parents"),
        (with_network(totals=np.zeros((6, 4), np.int32)), "6 nodes of at most 2 parents"),
        (with_network(parent_count=np.array([0, 1, 3, 1, 0, 2], np.int32)), "impossible number of parents"),
        (with_network(parent_count=np.array([1, 1, 2, 1, 0, 2], np.int32)), "does not come before it"),
        (with_network(parents=np.full((6, 2), 5, np.int32)), "does not come before it"),
        (with_network(totals=np.full((6, 8), -1, np.int32)), "a count is negative"),
    ],
)
def test_an_impossible_state_is_refused(change: Callable[[PopulationState], PopulationState], message: str) -> None:
    with pytest.raises(RunFolderError, match=message):
        audit(PARAMETERS, {3: change(state())})
