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

import click

from tests.support.lasting import CASES, content, damaged, slow_device, stopped


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
