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

import click

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "survival")]
from lasting import CASES, content, same, slow_device, stopped  # noqa: E402

from engine.errors import RunFolderError  # noqa: E402


@click.command()
@click.argument("solvers", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--every", default=1, show_default=True, help="Change every n-th byte only.")
def main(solvers: tuple[str, ...], every: int) -> None:
    """Change the files of stopped runs of the SOLVERS, of all by default."""
    wrong = 0
    for name in solvers or sorted(CASES):
        with tempfile.TemporaryDirectory() as home:
            kept, changed = Path(home) / "kept", Path(home) / "changed"
            if stopped(name, kept, slow_device(), checkpoints=2) is None:
                click.echo(f"{name}: solved before it was stopped")
                continue
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
