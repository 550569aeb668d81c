"""Claims about `quintet reproduce flowshop` on files: each search belongs to its instance and its options."""

import shutil

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.errors import ProofError
from engine.generators.branch_and_bound import write_flowshop
from engine.solvers.branch_and_bound.proofs import prove
from engine.solvers.branch_and_bound.proofs.prove import Prover
from engine.solvers.branch_and_bound.proofs.record import Proof, times_digest
from engine.solvers.branch_and_bound.proofs.verify import verify


def flowshop(seed, jobs=10, machines=10):
    return engine.Flowshop(np.random.default_rng(seed).integers(1, 99, (machines, jobs)), "x")


class Stopped(Prover):
    """Ends before the search below the schedule's makespan, or right after it, before the proof is written."""

    searched = False

    def _start(self, *arguments, **options):
        if not self.searched:
            raise KeyboardInterrupt
        return super()._start(*arguments, **options)

    def _record(self, *arguments):
        raise KeyboardInterrupt


def interrupted(owner, folder, problem, searched, **options):
    prover = Stopped(owner, folder, dict(options))
    prover.searched = searched
    with pytest.raises(KeyboardInterrupt):
        prover.prove(problem, None, 30.0)


@pytest.mark.full
@pytest.mark.parametrize("searched", [False, True])
def test_unfinished_work_is_not_taken_for_that_of_another_instance_of_its_name(device, tmp_path, searched):
    with engine.Engine(devices=[device.info.id]) as owner:
        interrupted(owner, tmp_path, flowshop(1), searched)
        for other in (flowshop(2), flowshop(3, jobs=9)):
            proof = Prover(owner, tmp_path).prove(other, None, 30.0)
            expected = owner.solve(other)
            assert proof.value == other.evaluate(proof.schedule) == expected.objective
            alone = owner.solve(other, upper_bound=proof.initial)
            assert (proof.nodes, proof.leaves) == (alone.counters["nodes"], alone.counters["leaves"])


@pytest.mark.full
def test_unfinished_work_is_not_continued_with_other_options(device, tmp_path):
    problem = flowshop(1)
    with engine.Engine(devices=[device.info.id]) as owner:
        interrupted(owner, tmp_path, problem, True, branching="min_branch")
        proof = Prover(owner, tmp_path, {"branching": "max_sum"}).prove(problem, None, 30.0)
        alone = owner.solve(problem, upper_bound=proof.initial, branching="max_sum")
        other = owner.solve(problem, upper_bound=proof.initial, branching="min_branch")
    assert alone.counters["nodes"] != other.counters["nodes"]
    assert (proof.branching, proof.nodes) == ("max_sum", alone.counters["nodes"])


@pytest.mark.full
def test_a_folder_of_another_search_is_refused(device, tmp_path):
    """Renamed by hand, say."""
    with engine.Engine(devices=[device.info.id]) as owner:
        interrupted(owner, tmp_path / "first", flowshop(1), True)
        interrupted(owner, tmp_path / "second", flowshop(2), True)
        (found,) = (tmp_path / "first").glob("*.run")
        (wanted,) = (tmp_path / "second").glob("*.run")
        shutil.rmtree(wanted)
        found.rename(wanted)
        with pytest.raises(ProofError, match="is of another instance"):
            Prover(owner, tmp_path / "second").prove(flowshop(2), None, 30.0)


def test_a_shorter_schedule_in_a_sampled_subtree_is_reported(device, tmp_path, monkeypatch):
    def found(*_):
        raise ValueError("there is a solution of value 3 below the path [1]")

    monkeypatch.setattr(prove, "sampled_subtrees", found)
    with (
        engine.Engine(devices=[device.info.id]) as owner,
        pytest.raises(ProofError, match="is not optimal: there is a solution of value 3"),
    ):
        Prover(owner, tmp_path).prove(flowshop(1), None, 30.0)


def test_a_proof_that_is_there_must_be_of_this_instance(tmp_path, capsys):
    folder = ["--folder", str(tmp_path / "proofs")]
    for seed, part in ((1, "a"), (2, "b")):
        (tmp_path / part).mkdir()
        write_flowshop(flowshop(seed, 7, 5), tmp_path / part / "x.txt")
    assert command_line(["reproduce", "flowshop", str(tmp_path / "a" / "x.txt"), *folder]) == 0
    assert "is optimal" in capsys.readouterr().out
    assert command_line(["reproduce", "flowshop", str(tmp_path / "b" / "x.txt"), *folder]) == 1
    assert "is the proof of another instance of this name" in capsys.readouterr().out
    proof = Proof.read(tmp_path / "proofs" / "x.json")
    assert proof.instance.digest == times_digest(flowshop(1, 7, 5).times)


def test_every_instance_of_a_file_is_proved(tmp_path, capsys):
    parts = []
    for seed in (1, 2, 3):
        write_flowshop(flowshop(seed, 7, 5), tmp_path / "part.txt")
        parts.append((tmp_path / "part.txt").read_text())
    file = tmp_path / "three.txt"
    file.write_text("".join(parts))
    words = ["reproduce", "flowshop", "--folder", str(tmp_path / "proofs")]
    assert command_line([*words, str(file), "--instance", "2"]) == 0
    assert [path.name for path in (tmp_path / "proofs").glob("*.json")] == ["three-2.json"]
    assert command_line([*words, str(file)]) == 0
    found = {path.stem: Proof.read(path) for path in (tmp_path / "proofs").glob("*.json")}
    assert sorted(found) == ["three-1", "three-2", "three-3"]
    for seed in (1, 2, 3):
        assert found[f"three-{seed}"].instance.digest == times_digest(flowshop(seed, 7, 5).times)
    capsys.readouterr()
    assert command_line([*words, f"{file}=1000"]) == 2
    assert "holds 3 instances; choose the one of makespan 1000 by --instance" in capsys.readouterr().err


@pytest.mark.full
def test_a_lower_bound_is_proved_without_a_schedule(device, tmp_path, capsys):
    file, path = tmp_path / "x.txt", tmp_path / "proofs" / "x.json"
    write_flowshop(flowshop(4), file)
    with engine.Engine(devices=[device.info.id]) as owner:
        optimum = int(owner.solve(flowshop(4)).objective)
        nodes = owner.solve(flowshop(4), upper_bound=optimum).counters["nodes"]
        assert nodes > 0
    words = ["reproduce", "flowshop", "--folder", str(path.parent), "--devices", device.info.id, "--bound-only"]
    assert command_line([*words, f"{file}={optimum}"]) == 0
    assert f"x: no schedule is shorter than {optimum}; {nodes:,} nodes" in capsys.readouterr().out
    assert [one.name for one in path.parent.iterdir()] == ["x.json"]
    proof = Proof.read(path)
    assert (proof.schedule, proof.value, proof.initial, proof.nodes) == ([], optimum, optimum, nodes)
    assert command_line(["verify", str(path), "--whole", "--devices", device.info.id]) == 0
    output = capsys.readouterr().out
    assert f"it proves that no schedule is shorter than {optimum}; it contains none of this makespan" in output
    assert f"the same {nodes:,} nodes" in output
    with engine.Engine(devices=[device.info.id]) as owner:
        for change, message in (
            ({"value": optimum + 1, "initial": optimum + 1}, "not optimal|not visit|nodes, not|leaves, not"),
            ({"value": optimum - 1}, f"what is proved is {optimum}, not {optimum - 1}"),
        ):
            proof.model_copy(update=change).signed().write(tmp_path / "false.json")
            with pytest.raises(ProofError, match=message):
                list(verify(tmp_path / "false.json", owner, whole=True))
    # A makespan above the optimum is improved, which makes it a proof with a schedule.
    assert command_line([*words, f"{file}={optimum + 1}"]) == 0
    assert "is there" in capsys.readouterr().out
    assert command_line([*words[:-1], f"{file}={optimum}"]) == 0
    assert f"x: {optimum} is optimal" in capsys.readouterr().out
    assert flowshop(4).evaluate(Proof.read(path).schedule) == optimum
    path.unlink()
    assert command_line([*words, f"{file}={optimum + 1}"]) == 0
    assert f"x: {optimum} is optimal (known before: {optimum + 1})" in capsys.readouterr().out
    path.unlink()
    assert command_line([*words, f"{file}=3"]) == 1
    assert "has no schedule of makespan 3: its lower bound is" in capsys.readouterr().out
    assert command_line([*words, str(file)]) == 2
