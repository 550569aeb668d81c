"""Checkpoints that contradict themselves or the run are refused before a device continues from them."""

import dataclasses
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from engine.base.context import Checkpoint
from engine.base.result import Status
from engine.errors import AuditError, RunFolderError
from engine.runs.run import Run
from engine.solvers.boa.checkpoint import audit, restore
from engine.solvers.boa.device.state import STATUS, PopulationState
from engine.solvers.boa.fitness.tables import Decomposable
from engine.solvers.boa.network import Network
from engine.solvers.boa.options import Options, resolve
from engine.solvers.boa.record import Record
from engine.solvers.boa.schema import CheckpointState

PARAMETERS = resolve(Options(max_parents=2), 6, 40, seed=1)


def state():
    status = np.zeros((), STATUS.dtype)
    keys = np.arange(40)
    status["best"] = status["individual"] = 39
    parents = np.array([[0, 0], [0, 0], [1, 0], [2, 0], [3, 0], [4, 0]], np.int32)
    network = Network(parents, np.array([0, 1, 2, 1, 0, 2], np.int32), np.zeros((6, 8), np.int32))
    return PopulationState(np.zeros((6, 16), np.uint32), keys, status, network)


def with_status(name, value):
    def changed(given):
        given.status[name] = value
        return given

    return changed


def with_network(**arrays):
    return lambda given: dataclasses.replace(given, network=dataclasses.replace(given.network, **arrays))


FITNESS = Decomposable(2, [[0], [1]], [[0, 1], [0, 2]])
BEST = np.array([1, 1], np.uint8)
KEY = int(FITNESS.keys(BEST[None])[0])


def restored(record, stagnant="stagnant", **changed):
    counts = {"step": 3, stagnant: 1, "evaluations": 8, "flips": 0, "generations": 1, "populations": 1}
    given = CheckpointState(**({"best_key": KEY, "before": 1, "population": 4, "islands": 1} | counts | changed))
    arrays = {
        "best": BEST,
        "rows": np.zeros((0, 11)),
        "numbers": np.zeros(0, np.int64),
        "status": np.zeros((0, 11), np.int64),
    }
    restore(cast(Run, SimpleNamespace(restored=Checkpoint(arrays, given, 0.0))), record, 9)


@pytest.mark.parametrize("off", [-1, 1])
def test_neither_a_checkpoint_nor_an_answer_may_have_another_value_than_was_found(off):
    with pytest.raises(RunFolderError, match="does not have the value that it is said to have"):
        restored(Record(FITNESS), best_key=KEY + off)
    with pytest.raises(AuditError, match="but the devices found"):
        Record(FITNESS, best_key=KEY + off, best=BEST).result(Status.OPTIMAL)


@pytest.mark.parametrize("name", ["stagnant", "barren"])  # the second in folders of version 0.1
def test_a_resumed_population_is_compared_with_those_before_it(name):
    record = Record(FITNESS)
    with pytest.raises(RunFolderError, match="islands"):  # that is looked at last
        restored(record, name)
    assert record.stagnant == 1
    record.begin(PARAMETERS, 1)
    assert record.before == 1
    record.end()
    assert record.stagnant == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: dataclasses.replace(given, keys=given.keys[:39]), "must have 40 individuals of 6 genes"),
        (lambda given: dataclasses.replace(given, planes=given.planes[:, :1]), "bit planes are too short"),
        (with_status("reason", 7), "its status is unknown"),
        (with_status("generation", 10), "its status is unknown"),
        (with_status("individual", 40), "its best individual is not the best"),
        (with_status("best", 38), "its best value is not that of its individuals"),
        (with_network(parents=np.zeros((6, 3), np.int32)), "6 nodes of at most 2 parents"),
        (with_network(parent_count=np.array([0, 1, 3, 1, 0, 2], np.int32)), "impossible number of parents"),
        (with_network(parent_count=np.array([1, 1, 2, 1, 0, 2], np.int32)), "does not come before it"),
        (with_network(parents=np.full((6, 2), 5, np.int32)), "does not come before it"),
        (with_network(totals=np.full((6, 8), -1, np.int32)), "a count is negative"),
    ],
)
def test_an_impossible_state_is_refused(change, message):
    audit(PARAMETERS, {3: state()}, 9)
    with pytest.raises(RunFolderError, match=message):
        audit(PARAMETERS, {3: change(state())}, 9)
