"""``quintet verify``: check proof files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..api.engine import Engine
from ..errors import InputError, ProofError
from ..solvers import solver_named
from ..util.files import read_regular
from .options import backend_option, config_option, debug_option, devices_option, options

__all__ = ["verify"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PROOF...")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the random sample.")
@click.option("--samples", type=click.IntRange(min=0), default=8, show_default=True, help="Random subtrees to search.")
@click.option("--whole", is_flag=True, help="Search the whole tree again, as long as that takes.")
@options(backend_option, devices_option, config_option, debug_option)
def verify(
    files: tuple[Path, ...],
    seed: int,
    samples: int,
    whole: bool,
    backend: Any,
    devices: list[str] | None,
    config_file: str | None,
) -> int:
    """Check the proofs in files that 'quintet reproduce flowshop' has written.

    A proof that has been altered, or of which a check fails, is refused with exit code 2.
    """
    with Engine(backend, devices, config_file=config_file) as owner:
        for path in files:
            solver = solver_named(_solver_name(path))
            if solver.verify is None:
                raise InputError(f"the solver {solver.name} makes no proofs")
            print(path)
            for sentence in solver.verify(path, owner, seed, samples, whole):
                print(f"  {sentence}", flush=True)
    return 0


def _solver_name(path: Path) -> str:
    """The solver whose proof a file is."""
    try:
        found = json.loads(read_regular(path))
        return str(found["solver"])
    except OSError as error:
        raise ProofError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProofError(f"{path} is not a proof file") from error
