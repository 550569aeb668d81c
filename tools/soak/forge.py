"""Put extremes into checkpoints whose digests are right: each is refused in a sentence, or the answer is right.

Counts of what the run has done, which nothing else in a checkpoint contradicts, are believed.

``python -m tools.soak.forge --cases 500 [CASE ...]``

Prints what fell short and the outcomes of each case; exits with 1 after a wrong answer, another error, a signal or a
hang. Kernels are checked (``QUINTET_CHECKED``) where the device is PoCL's.
"""

from __future__ import annotations

import sys
from collections import Counter

import click

from tests.support.forged_checkpoints import CASES, SOUND, outcomes


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(CASES)))
@click.option("--cases", type=int, help="Changes of each checkpoint, drawn at random; all by default.")
@click.option("--places", default=6, show_default=True, help="Elements of each array that are changed.")
@click.option("--seed", default=0, show_default=True)
def main(names: tuple[str, ...], cases: int | None, places: int, seed: int) -> None:
    """Forge the checkpoints of the cases NAMES, of all by default."""
    failures = 0
    for name in names or sorted(CASES):
        counted: Counter[str] = Counter()
        for what, outcome in outcomes(name, places, cases, seed):
            word = outcome.split(" ", 1)[0]
            counted[word] += 1
            if word not in SOUND:
                failures += 1
                click.echo(f"{name}: {what}: {outcome}")
        click.echo(f"{name}: {dict(counted)}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
