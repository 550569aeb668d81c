"""Change every byte of every file of a stopped run, one at a time: the change is detected, or what is read is the same.

``python tests/soak/corruption.py [SOLVER ...]``

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

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "survival")]
from lasting import CASES, slow_device  # noqa: E402

import engine  # noqa: E402
from engine.errors import RunFolderError  # noqa: E402
from engine.folder import RunFolder  # noqa: E402


def content(path: Path) -> dict[str, Any]:
    """Everything that resuming a run depends on."""
    folder = RunFolder.open(path)
    checkpoint, result = folder.checkpoint(), folder.result()
    assert checkpoint is not None
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


@click.command()
@click.argument("solvers", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--every", default=1, show_default=True, help="Change every n-th byte only.")
def main(solvers: tuple[str, ...], every: int) -> None:
    """Change the files of stopped runs of the SOLVERS, of all by default."""
    wrong = 0
    for name in solvers or sorted(CASES):
        with tempfile.TemporaryDirectory() as home:
            kept, changed = Path(home) / "kept", Path(home) / "changed"
            case = CASES[name]
            with engine.Engine(devices=slow_device()) as owner:
                owner.solve(
                    case.problem(), seed=7, run_folder=kept, checkpoint_interval=0.05, time_limit=0.4, **case.options
                )
            whole = content(kept)
            for file in sorted(kept.iterdir()):
                shutil.copytree(kept, changed)
                target, outcomes = changed / file.name, Counter[str]()
                data = file.read_bytes()
                for position in range(0, len(data), every):
                    target.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
                    try:
                        found = content(changed)
                    except RunFolderError:
                        outcomes["refused"] += 1
                        continue
                    if found["older"]:
                        outcomes["the checkpoint before"] += 1
                    elif same(found, whole):
                        outcomes["harmless"] += 1
                    else:
                        outcomes["WRONG"] += 1
                        wrong += 1
                click.echo(f"{name}/{file.name}: {len(data)} bytes: {dict(outcomes)}")
                shutil.rmtree(changed)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
