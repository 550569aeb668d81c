"""``engine.map`` on a cluster: classes of the script and files reach the workers."""

import sys

import engine
from engine.errors import InputError
from engine.events import Progress
from tests.support.environment import ROOT


class Own(engine.Knapsack):
    """A class of the user's script, which workers do not have; see the test."""


def test_a_class_of_the_script_goes_to_the_workers(clustered, monkeypatch):
    monkeypatch.setattr(Own, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Own", Own, raising=False)
    given = [Own([60, 100, 120], [10, 20, 30], capacity) for capacity in (30, 50)]
    batch = clustered.map([*given, engine.Knapsack([60], [10], 50)])
    assert batch.failures == {}
    assert [result.objective for result in batch.results] == [160, 220, 60]


def test_files_are_those_of_the_folder_where_the_batch_is_started(clustered, tmp_path, monkeypatch):
    clustered.executor.connect()  # the workers start in another folder
    text = (ROOT / "samples" / "branch_and_bound" / "queens-14.txt").read_text()
    (tmp_path / "eight.txt").write_text(text.replace("14", "8"))
    monkeypatch.chdir(tmp_path)
    seen = []
    batch = clustered.map(["eight.txt", "nowhere.txt", engine.Queens(6)], on_event=seen.append)
    assert [result.objective for result in batch.results] == [92, 4]
    assert list(batch.failures) == [1]
    assert isinstance(batch.failures[1].error, InputError)
    assert [row["problem"] for row in batch.table()][:2] == ["eight.txt", "nowhere.txt"]
    assert [event.done for event in seen if isinstance(event, Progress)][-1] == 3
    batch = clustered.map(["nowhere.txt"])
    assert list(batch.failures) == [0]
