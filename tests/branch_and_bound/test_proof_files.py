"""Claims about proof files: they are made in parts, checked in full, and refused where anything is altered."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.errors import ProofError
from engine.generators.branch_and_bound import write_flowshop
from engine.solvers.branch_and_bound.problems.flowshop_best_known import published_flowshops
from engine.solvers.branch_and_bound.proofs.prove import Prover
from engine.solvers.branch_and_bound.proofs.record import Proof, Subtree, times_digest
from engine.solvers.branch_and_bound.proofs.verify import check_audit, check_schedule, problem_of, verify


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """The proof of Taillard's fifth instance (20 jobs, 5 machines)."""
    folder = tmp_path_factory.mktemp("proofs")
    assert command_line(["reproduce", "flowshop", "ta005", "--folder", str(folder)]) == 0
    return folder / "ta005.json"


def test_a_proof_is_checked_by_the_command(proved, capsys):
    proof = Proof.read(proved)
    assert (proof.value, proof.initial, proof.instance.name) == (1235, 1235, "ta005")
    assert len({tuple(subtree.path) for subtree in proof.subtrees}) == 8
    assert max(subtree.nodes for subtree in proof.subtrees) <= proof.nodes // 64
    assert [path.name for path in proved.parent.iterdir()] == ["ta005.json"]  # nothing unfinished is left
    assert command_line(["verify", str(proved), "--seed", "5"]) == 0
    output = capsys.readouterr().out
    for part in ("matches its digest", "the makespan 1235", "add up to 20!", "8 recorded subtrees", "8 other random"):
        assert part in output
    assert f"the same {proof.nodes:,} nodes" in output


def test_the_proofs_among_the_samples_are_sound():
    """Without the searches: those of every instance take seconds on a GPU."""
    paths = sorted((Path(__file__).parents[2] / "samples" / "proofs").glob("*.json"))
    bounds = {}
    assert len(paths) >= 151
    rows = {name: known for name, known in published_flowshops().items() if known.lower_source.endswith(".json")}
    assert sorted(rows) == [path.stem for path in paths]
    for path in paths:
        proof = Proof.read(path)
        assert (proof.instance.name, proof.value) == (path.stem, rows[path.stem].lower)
        assert not rows[path.stem].schedule
        problem = problem_of(proof)
        check_schedule(proof, problem)
        check_audit(proof, problem)
        if not proof.schedule:
            bounds[path.stem] = proof.value
            assert proof.value == engine.Flowshop.taillard_best_known(int(path.stem[2:]))
        # The number of nodes is the same in every search, unless a better schedule is found on the way.
        assert proof.initial == proof.value or (path.stem == "VFR30_15_1" and proof.initial > proof.value)
    without_schedule = (82, 83, 84, 90, *range(104, 108), 110, 111, 112, *range(114, 121))
    assert sorted(bounds) == [f"ta{number:03d}" for number in without_schedule]


@pytest.mark.host
def test_a_file_altered_in_any_field_is_refused(proved, tmp_path):
    document = json.loads(proved.read_text())
    path = tmp_path / "altered.json"
    for field, value in document.items():
        if isinstance(value, dict):
            other = {**value, "x": 0}
        else:
            other = value + (1 if isinstance(value, (int, float)) else value[-1:] or "x")
        missing = {name: value for name, value in document.items() if name != field}
        for changed in ({**document, field: other}, missing):
            path.write_text(json.dumps(changed))
            if changed is not missing or field not in ("format", "solver", "problem"):  # which have only one value
                with pytest.raises(ProofError):
                    Proof.read(path)
    path.write_text(json.dumps(document, indent=3))  # the same content
    assert Proof.read(path) == Proof.read(proved)


@pytest.mark.host
def test_a_false_proof_with_a_right_digest_fails_a_check(device, proved, tmp_path):
    proof, path = Proof.read(proved), tmp_path / "false.json"
    instance, subtree, problem = proof.instance, proof.subtrees[0], engine.Flowshop(proof.instance.times)
    times = [[instance.times[0][0] + 1, *instance.times[0][1:]], *instance.times[1:]]
    swapped = [[*proof.schedule[:i], *proof.schedule[i : i + 2][::-1], *proof.schedule[i + 2 :]] for i in range(19)]
    longer = next(order for order in swapped if problem.evaluate(order) > proof.value)
    value = problem.evaluate(longer)
    changes = [
        ({"instance": instance.model_copy(update={"times": times})}, "do not match the digest"),
        ({"instance": instance.model_copy(update={"name": "ta006"})}, "times differ from Taillard's instance ta006"),
        ({"value": 1234, "initial": 1234}, "has the makespan 1235, not 1234"),
        ({"initial": 1234}, "contradict each other"),
        ({"schedule": [0] * 20}, "none of this instance"),
        ({"schedule": longer, "value": value, "initial": value}, "not optimal|nodes, not|does not visit"),
        ({"explored": [*proof.explored[:-1], 1]}, "add up to"),
        ({"bound": "none"}, "no such search"),
        ({"nodes": proof.nodes + 1}, f"{proof.nodes} nodes, not {proof.nodes + 1}"),
        ({"leaves": proof.leaves + 1}, f"{proof.leaves} leaves, not {proof.leaves + 1}"),
        ({"subtrees": [subtree.model_copy(update={"nodes": subtree.nodes + 1})]}, f"has {subtree.nodes} nodes, not"),
        ({"subtrees": [Subtree(path=[3, 3], nodes=1)]}, "not a path"),
        ({"subtrees": []}, "contains no subtrees"),
    ]
    with engine.Engine(devices=[device.info.id]) as owner:
        for change, message in changes:
            proof.model_copy(update=change).signed().write(path)
            with pytest.raises(ProofError, match=message):
                list(verify(path, owner, samples=2, whole=True))


@pytest.mark.parametrize("times", [[[3]], [[3, 1, 2]], [[9, 9, 9, 9], [1, 1, 1, 1]]])
def test_a_makespan_equal_to_the_lower_bound_is_proved_without_a_search(device, times, tmp_path):
    problem = engine.Flowshop(times, "tight")
    path = tmp_path / "tight.json"
    with engine.Engine(devices=[device.info.id]) as owner:
        proof = Prover(owner, tmp_path / "unfinished").prove(problem, None, 5.0)
        assert (proof.nodes, proof.subtrees) == (0, [])
        proof.write(path)
        assert f"no schedule is shorter than the lower bound, which is {proof.value}" in list(verify(path, owner))[-1]
    loose = engine.Flowshop([[1, 5, 2], [4, 1, 3]])
    order = [1, 0, 2]
    assert loose.tree().lower_bound() < loose.evaluate(order)
    false = {"schedule": order, "value": loose.evaluate(order), "initial": loose.evaluate(order)}
    with pytest.raises(ProofError, match="nothing was searched, but the lower bound"):
        check_audit(proof.model_copy(update=false), loose)


@pytest.mark.full
def test_an_interrupted_proof_continues(device, tmp_path):
    slow = not device.info.capabilities.simt
    number, makespan, nodes = (30, 2178, 2_415_747) if slow else (23, 2326, 2_862_841_447)
    problem = engine.Flowshop.taillard(number)
    with engine.Engine(devices=[device.info.id]) as owner:
        prover = Prover(owner, tmp_path, checkpoint_interval=0.05)
        assert prover.prove(problem, makespan, 0.0) is None
        proof, seconds = None, 0.2
        while proof is None and seconds < 1000.0:
            proof = prover.prove(problem, makespan, seconds)
            seconds *= 2  # a busy machine takes some of them to begin
    assert (proof.value, proof.nodes) == (makespan, nodes)
    assert proof.digest == proof.content_digest()


def test_a_makespan_that_is_not_possible_is_reported(capsys, tmp_path):
    problem = engine.Flowshop([[3, 4, 5], [5, 4, 3]])
    file = tmp_path / "small.txt"
    write_flowshop(problem, file)
    words = ["reproduce", "flowshop", "--folder", str(tmp_path / "proofs")]
    assert command_line([*words, f"{file}=14"]) == 1
    assert "has no schedule of makespan 14" in capsys.readouterr().out
    assert command_line([*words, f"{file}=17"]) == 0
    assert "15 is optimal (known before: 17)" in capsys.readouterr().out
    wrong = (*((*words, name) for name in ("ta121", f"{file}=x")), ("verify", str(file)), ("verify", "none.json"))
    assert [command_line([*given]) for given in wrong] == [2] * 4


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
    file, parts = tmp_path / "two.txt", ""
    for seed in (1, 2):
        write_flowshop(flowshop(seed, 7, 5), file)
        parts += file.read_text()
    file.write_text(parts)
    words = ["reproduce", "flowshop", "--folder", str(tmp_path / "proofs")]
    assert command_line([*words, str(file), "--instance", "2"]) == 0
    assert [path.name for path in (tmp_path / "proofs").glob("*.json")] == ["two-2.json"]
    assert command_line([*words, str(file)]) == 0
    found = {path.stem: Proof.read(path).instance.digest for path in (tmp_path / "proofs").glob("*.json")}
    assert found == {f"two-{seed}": times_digest(flowshop(seed, 7, 5).times) for seed in (1, 2)}
    capsys.readouterr()
    assert command_line([*words, f"{file}=1000"]) == 2
    assert "holds 2 instances; choose the one of makespan 1000 by --instance" in capsys.readouterr().err


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
    path.unlink()
    assert command_line([*words, f"{file}={optimum + 1}"]) == 0
    assert f"x: {optimum} is optimal (known before: {optimum + 1})" in capsys.readouterr().out
    assert flowshop(4).evaluate(Proof.read(path).schedule) == optimum
    assert command_line([*words, str(file)]) == 2
