"""The checker that shares no code with the engine agrees with the sample proofs and refutes altered ones."""

import ast
import hashlib
import json
import re
import sys
from pathlib import Path

import pytest

from tools import check_flowshop_proof as checker

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "samples" / "proofs"


def test_it_is_short_and_imports_the_standard_library_alone():
    source = Path(checker.__file__).read_text(encoding="utf-8")
    assert source.count("\n") <= 300
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "engine").partition(".")[0])
    assert names <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", ["ta001", "ta003", "ta064", "ta071"])
def test_small_trees_have_the_nodes_and_leaves_of_the_samples(name, capsys):
    assert checker.main([str(PROOFS / f"{name}.json")]) == 0
    assert "the whole tree, searched again" in capsys.readouterr().out


def test_an_instance_is_made_again_from_its_seed(capsys):
    assert checker.main([str(PROOFS / "ta001.json"), "--seed", "873654221"]) == 0
    assert checker.main([str(PROOFS / "ta001.json"), "--seed", "873654222"]) == 1
    assert "REFUTED: the times are not those of Taillard's generator" in capsys.readouterr().out


def with_larger_subtree(proof):
    min(proof["subtrees"], key=lambda subtree: subtree["nodes"])["nodes"] += 1


@pytest.mark.parametrize(
    ("name", "alter", "rule"),
    [
        ("ta001", lambda proof: proof["schedule"].reverse(), "the schedule has the makespan"),
        ("ta001", lambda proof: proof.update(nodes=8), r"the tree has \(7, 0\) nodes and leaves"),
        ("ta001", lambda proof: proof["explored"].append(proof["explored"].pop() - 1), "do not add up to 20!"),
        ("VFR30_10_4", with_larger_subtree, r"has \(\d+, \d+\) nodes"),
        ("VFR30_10_4", lambda proof: proof["subtrees"][0].update(path=list(range(8))), "the search does not visit"),
        ("ta001", lambda proof: proof["instance"]["times"][0].reverse(), "times do not match their digest"),
        ("ta001", lambda proof: proof.pop("nodes"), "not a proof file: KeyError"),
    ],
)
def test_an_altered_proof_is_refuted_although_its_digest_is_right(name, alter, rule, tmp_path, capsys):
    proof = json.loads((PROOFS / f"{name}.json").read_text(encoding="utf-8"))
    alter(proof)
    content = {field: value for field, value in proof.items() if field != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    path = tmp_path / "altered.json"
    path.write_text(json.dumps({**content, "digest": hashlib.sha256(text.encode()).hexdigest()}), encoding="utf-8")
    assert checker.main([str(path), "--nodes", "300"]) == 1
    assert re.search(f"REFUTED: .*{rule}", capsys.readouterr().out)


def test_what_is_no_proof_is_said_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "cut.json"
    path.write_text((PROOFS / "ta001.json").read_text(encoding="utf-8")[:500], encoding="utf-8")
    assert checker.main([str(path), str(tmp_path / "none.json")]) == 1
    assert capsys.readouterr().out.count("REFUTED: not a proof file") == 2
