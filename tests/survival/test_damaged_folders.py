"""Every solver's run folder with a changed byte: the change is detected, or what is read is the same."""

import random
import shutil
from collections import Counter

import pytest

import engine
from tests.support.examples import seed_of_tests
from tests.support.lasting import CASES, content, damaged, differences, slow_device, solve_whole, stopped
from tests.support.needs import DEVICE

DEVICES = slow_device()
SEED = seed_of_tests()
BYTES = 15
pytestmark = DEVICE


@pytest.mark.few(1)
@pytest.mark.parametrize("name", sorted(CASES))
def test_a_changed_byte_of_any_file_is_detected_or_harmless(name, tmp_path):
    print(f"QUINTET_TEST_SEED={SEED}")
    moments = random.Random(f"{SEED} {name}")
    folder = stopped(name, tmp_path / "kept", DEVICES, checkpoints=2)
    kept, changed = folder.path, tmp_path / "changed"
    shutil.copytree(kept, changed)
    whole = content(kept)
    assert len(list(kept.glob("checkpoint-*.json"))) == 2
    newest = max(kept.glob("checkpoint-*.json")).stem
    fallen_back = set()
    for file in sorted(kept.iterdir()):
        data, outcomes = file.read_bytes(), Counter[str]()
        for position in {0, len(data) - 1, *moments.sample(range(len(data)), min(BYTES, len(data)))}:
            outcomes[damaged(changed / file.name, data, position, moments.randrange(8), whole)] += 1
        if outcomes["the checkpoint before"]:
            fallen_back.add(file)
        expected = "harmless"
        if file.stem == newest:
            expected = "the checkpoint before"
        elif file.stem in ("run", "problem", "result"):
            expected = "refused"
        assert set(outcomes) == {expected}, f"{file.name}: {outcomes}"
        if file.name == f"{newest}.npz":
            result = engine.resume(changed)  # the last change is still there
            assert differences(name, result, solve_whole(name, DEVICES)) == []
            shutil.rmtree(changed)
            shutil.copytree(kept, changed)
        (changed / file.name).write_bytes(data)
    assert {file.stem for file in fallen_back} == {newest}
