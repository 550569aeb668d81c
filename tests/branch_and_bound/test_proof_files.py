"""Claims about proof files: they are made in parts, checked in full, and refused where anything is altered."""

import json
from pathlib import Path

import pytest

import engine
from engine.cli import command_line
from engine.errors import ProofError
from engine.solvers.branch_and_bound.proofs.prove import Prover
from engine.solvers.branch_and_bound.proofs.record import Proof, Subtree
from engine.solvers.branch_and_bound.proofs.verify import check_audit, check_schedule, problem_of, verify

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """The proof of Taillard's fifth instance (20 jobs, 5 machines)."""
    folder = tmp_path_factory.mktemp("proofs")
    assert command_line(["reproduce", "flowshop", "ta005", "--folder", str(folder)]) == 0
    return folder / "ta005.json"


def test_a_proof_is_checked_by_the_command(proved, capsys):
    proof = Proof.read(proved)
    assert (proof.value, proof.initial, proof.instance.name) == (1235, 1235, "ta005")
    assert len(proof.subtrees) == 8
    assert [path.name for path in proved.parent.iterdir()] == ["ta005.json"]  # nothing unfinished is left
    assert command_line(["verify", str(proved), "--seed", "5"]) == 0
    output = capsys.readouterr().out
    for part in ("matches its digest", "the makespan 1235", "add up to 20!", "8 recorded subtrees", "8 other random"):
        assert part in output
    assert f"the same {proof.nodes:,} nodes" in output


def test_a_proof_that_is_there_is_not_made_again(proved, capsys):
    before = proved.read_bytes()
    assert command_line(["reproduce", "flowshop", "ta5", "--folder", str(proved.parent)]) == 0
    assert "is there" in capsys.readouterr().out
    assert proved.read_bytes() == before


def test_the_proofs_among_the_samples_are_sound():
    """Without the searches: those of every instance take seconds on a GPU."""
    paths = sorted((Path(__file__).parents[2] / "samples" / "proofs").glob("*.json"))
    bounds = {}
    assert len(paths) >= 151
    for path in paths:
        proof = Proof.read(path)
        assert proof.instance.name == path.stem
        problem = problem_of(proof)
        check_schedule(proof, problem)
        check_audit(proof, problem)
        if not proof.schedule:
            bounds[path.stem] = proof.value
            assert proof.value == engine.Flowshop.taillard_best_known(int(path.stem[2:]))
        # The number of nodes is the same in every search, unless a better schedule is found on the way.
        assert proof.initial == proof.value or (path.stem == "VFR30_15_1" and proof.initial > proof.value)
    assert bounds == {"ta082": 6183, "ta083": 6252, "ta084": 6254, "ta090": 6404}  # proved without a schedule


def altered(value):
    """Another value of the same type."""
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, dict):
        return {**value, "x": 0}
    return value + (value[-1:] or "x")


def test_a_file_altered_in_any_field_is_refused(proved, tmp_path):
    document = json.loads(proved.read_text())
    path = tmp_path / "altered.json"
    for field in Proof.model_fields:
        path.write_text(json.dumps({**document, field: altered(document[field])}))
        with pytest.raises(ProofError):
            Proof.read(path)
        missing = {name: value for name, value in document.items() if name != field}
        path.write_text(json.dumps(missing))
        if field not in ("format", "solver", "problem"):  # which have only one value
            with pytest.raises(ProofError):
                Proof.read(path)
    for place in range(0, 400, 7):
        text = proved.read_text()
        path.write_text(text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :])
        with pytest.raises(ProofError):
            Proof.read(path)
    path.write_text(json.dumps(document, indent=3))  # the same content
    assert Proof.read(path) == Proof.read(proved)


def with_shorter_claim(proof):
    """A schedule that is not optimal, claimed to be: the first two jobs swapped until that is worse."""
    problem = engine.Flowshop(proof.instance.times)
    for first in range(19):
        order = list(proof.schedule)
        order[first], order[first + 1] = order[first + 1], order[first]
        value = problem.evaluate(order)
        if value > proof.value:
            return {"schedule": order, "value": value, "initial": value}
    raise AssertionError


def changes(proof):
    times = [list(row) for row in proof.instance.times]
    times[0][0] += 1
    subtree = proof.subtrees[0]
    instance = proof.instance
    return {
        "times": ({"instance": instance.model_copy(update={"times": times})}, "do not match the digest"),
        "name": (
            {"instance": instance.model_copy(update={"name": "ta006"})},
            "the processing times differ from Taillard's instance ta006",
        ),
        "value": ({"value": 1234, "initial": 1234}, "has the makespan 1235, not 1234"),
        "initial": ({"initial": 1234}, "contradict each other"),
        "schedule": ({"schedule": [0] * 20}, "none of this instance"),
        "explored": ({"explored": [*proof.explored[:-1], 1]}, "add up to"),
        "levels": ({"explored": proof.explored[:-1]}, "levels"),
        "bound": ({"bound": "none"}, "no such search"),
        "nodes": ({"nodes": proof.nodes + 1}, f"{proof.nodes} nodes, not {proof.nodes + 1}"),
        "leaves": ({"leaves": proof.leaves + 1}, f"{proof.leaves} leaves, not {proof.leaves + 1}"),
        "subtree": (
            {"subtrees": [subtree.model_copy(update={"nodes": subtree.nodes + 1})]},
            f"has {subtree.nodes} nodes, not {subtree.nodes + 1}",
        ),
        "path": ({"subtrees": [Subtree(path=[3, 3], nodes=1)]}, "not a path"),
        "leaf": ({"subtrees": [Subtree(path=list(range(20)), nodes=1)]}, "not a path"),
        "none": ({"subtrees": []}, "contains no subtrees"),
        "claim": (with_shorter_claim(proof), "not optimal|nodes, not|does not visit"),
    }


@pytest.mark.parametrize(
    "name",
    ["times", "name", "value", "initial", "schedule", "explored", "levels", "bound", "nodes", "leaves", "subtree",
     "path", "leaf", "none", "claim"],
)  # fmt: skip
def test_a_false_proof_with_a_right_digest_fails_a_check(device, proved, tmp_path, name):
    proof = Proof.read(proved)
    change, message = changes(proof)[name]
    path = tmp_path / "false.json"
    proof.model_copy(update=change).signed().write(path)
    with engine.Engine(devices=[device.info.id]) as owner, pytest.raises(ProofError, match=message):
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
    from engine.generators.branch_and_bound import write_flowshop

    problem = engine.Flowshop([[3, 4, 5], [5, 4, 3]])
    file = tmp_path / "small.txt"
    write_flowshop(problem, file)
    folder = ["--folder", str(tmp_path / "proofs")]
    assert command_line(["reproduce", "flowshop", f"{file}=14", *folder]) == 1
    assert "has no schedule of makespan 14" in capsys.readouterr().out
    assert command_line(["reproduce", "flowshop", f"{file}=17", *folder]) == 0
    assert "15 is optimal (known before: 17)" in capsys.readouterr().out
    assert command_line(["reproduce", "flowshop", "ta121"]) == 2
    assert command_line(["reproduce", "flowshop", f"{file}=x"]) == 2
    assert command_line(["verify", str(file)]) == 2
    assert command_line(["verify", str(tmp_path / "none.json")]) == 2
