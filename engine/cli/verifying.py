"""``quintet verify``: check answers without the solver that found them, and proof files."""

import contextlib
import json
from pathlib import Path
from typing import Any

import click

from ..api.engine import Engine
from ..errors import InputError, ProofError
from ..solvers import solver_named
from ..util.files import read_regular, reason_of
from ..util.text import in_utf8, printable
from ..verification import REFUTED, Verification, is_archive
from ..verification import verify as verify_run
from .options import backend_option, config_option, debug_option, devices_option, options


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN_FOLDER|PROOF...")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Proofs: seed of the sample.")
@click.option("--samples", type=click.IntRange(min=0), default=8, show_default=True, help="Proofs: random subtrees.")
@click.option("--whole", is_flag=True, help="Proofs: search the whole tree again, as long as that takes.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON, a line for each path.")
@options(backend_option, devices_option, config_option, debug_option)
def verify(
    paths: tuple[Path, ...],
    seed: int,
    samples: int,
    whole: bool,
    as_json: bool,
    backend: Any,
    devices: list[str] | None,
    config_file: str | None,
) -> int:
    """Check the answers in run folders, or zip files of them, without the solvers and without a device.

    The exit code is 0 if everything that was claimed is verified, 4 if something is refuted, and 6 if nothing is but a
    part could not be verified.

    Files are proofs that 'quintet reproduce flowshop' has written; a proof that has been altered, or of which a check
    fails, is refused with exit code 2.
    """
    codes = [0]
    with contextlib.ExitStack() as stack:
        owner: Engine | None = None
        for path in paths:
            if path.is_dir() or is_archive(path):
                found = verify_run(path)
                codes.append(found.exit_code)
                content = found.to_dict() | {"name": in_utf8(found.name)}
                print(json.dumps(content) if as_json else printable(str(found)), flush=True)
                continue
            solver = solver_named(_solver_name(path))
            if solver.verify is None:
                raise InputError(f"the solver {solver.name} makes no proofs")
            owner = owner or stack.enter_context(Engine(backend, devices, config_file=config_file))
            sentences = solver.verify(path, owner, seed, samples, whole)
            if as_json:
                content = Verification(in_utf8(str(path)), tuple(sentences), (), ()).to_dict()
                print(json.dumps(content), flush=True)
                continue
            print(printable(str(path)))
            for sentence in sentences:
                print(f"  {sentence}", flush=True)
    return REFUTED if REFUTED in codes else max(codes)


def _solver_name(path: Path) -> str:
    try:
        found = json.loads(read_regular(path))
        return str(found["solver"])
    except OSError as error:
        raise ProofError(f"{path} cannot be read: {reason_of(error)}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProofError(f"{path} is not a proof file, nor a run folder") from error
