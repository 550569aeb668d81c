"""Change every byte of every file of a stopped run, one at a time: the change is detected, or what is read is the same.

``python -m tools.soak.corruption [SOLVER ...]``

Prints one line for each file; exits with 1 if something else was read.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np

from engine.errors import RunFolderError
from engine.runs.folder.run_folder import RunFolder
from tests.support.lasting import CASES, slow_device, stopped


def content(path: Path) -> dict[str, Any]:
    """Everything in a run folder that resuming depends on."""
    folder = RunFolder.open(path)
    checkpoint, result = folder.checkpoint(), folder.result()
    return {
        "description": {name: value for name, value in folder.description.items() if name != "versions"},
        "problem": folder.problem().to_arrays(),
        "checkpoint": (checkpoint.arrays, checkpoint.state, checkpoint.elapsed),
        "older": bool(checkpoint.remarks),
        "result": None if result is None else (result.to_dict(), result.arrays),
    }


def same(one: Any, other: Any) -> bool:
    """Whether two contents are equal, arrays included."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


def damaged(file: Path, data: bytes, position: int, bit: int, whole: dict[str, Any]) -> str:
    """Change one bit of a file of a run folder, and read the folder.

    ``data`` is the sound file, ``whole`` the sound folder's content. The outcome is ``refused``, ``the checkpoint
    before``, ``harmless`` if the content is read, or ``WRONG`` if another one is.
    """
    file.write_bytes(data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :])
    try:
        found = content(file.parent)
    except RunFolderError:
        return "refused"
    if found["older"]:
        return "the checkpoint before"
    return "harmless" if same(found, whole) else "WRONG"


@click.command()
@click.argument("solvers", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--every", default=1, show_default=True, help="Change every n-th byte only.")
@click.option("--first", default=0, show_default=True, help="The first byte to change.")
def main(solvers: tuple[str, ...], every: int, first: int) -> None:
    """Change the files of stopped runs of the SOLVERS, of all by default."""
    wrong = 0
    for name in solvers or sorted(CASES):
        with tempfile.TemporaryDirectory() as home:
            kept, changed = Path(home) / "kept", Path(home) / "changed"
            stopped(name, kept, slow_device(), checkpoints=2)
            whole = content(kept)
            for file in sorted(kept.iterdir()):
                shutil.copytree(kept, changed)
                target, outcomes = changed / file.name, Counter[str]()
                data = file.read_bytes()
                for position in range(first, len(data), every):
                    outcomes[damaged(target, data, position, position % 8, whole)] += 1
                wrong += outcomes["WRONG"]
                click.echo(f"{name}/{file.name}: {len(data)} bytes: {dict(outcomes)}")
                shutil.rmtree(changed)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
