"""``quintet reproduce flowshop``: optimal makespans of published instances, each with a proof file."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, get_args

import click

from ..api.engine import Engine
from ..cli.options import debug_option, json_option, options, pool_options, run_command
from ..devices import select
from ..errors import OptionError, ProofError, QuintetError
from ..solvers.branch_and_bound.options import FlowshopOptions
from ..solvers.branch_and_bound.problems.flowshop import Flowshop
from ..solvers.branch_and_bound.proofs.prove import Prover
from ..solvers.branch_and_bound.proofs.record import Proof, times_digest
from ..util.text import number_text, seconds_text

_TAILLARD = re.compile(r"ta(\d{1,3})(?:-(?:ta)?(\d{1,3}))?", re.IGNORECASE)
_DEFAULT = ("ta021-ta030",)


@dataclass(frozen=True)
class _Task:
    """An instance, and the makespan of a known schedule."""

    problem: Flowshop
    known: int | None


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_command(_command, "quintet reproduce flowshop", arguments)


def _choices(name: str) -> click.Choice[str]:
    return click.Choice(get_args(FlowshopOptions.model_fields[name].annotation))


@click.command("flowshop")
@click.argument("instances", nargs=-1, metavar="[INSTANCE]...")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("proofs"),
    show_default=True,
    help="Where the proofs are written, one file each, and unfinished searches are kept.",
)
@click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds for all; the next call continues.")
@click.option("--checkpoint-interval", type=click.FloatRange(min=0), default=60.0, show_default=True, help="Seconds.")
@click.option("--bound", type=_choices("bound"), default="one_machine", show_default=True, help="The lower bound.")
@click.option("--branching", type=_choices("branching"), default="min_branch", show_default=True, help="The rule.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of searches and samples.")
@click.option("--instance", type=click.IntRange(min=1), help="Which one of a file of several; all by default.")
@click.option("--bound-only", is_flag=True, help="Only prove that no schedule is shorter than the given makespan.")
@json_option("Print every new proof as a line of JSON, and the rest to standard error.")
@options(pool_options("Devices to search on; by default those that a run uses."), debug_option)
def _command(
    instances: tuple[str, ...],
    folder: Path,
    time_limit: float | None,
    checkpoint_interval: float,
    bound: str,
    branching: str,
    seed: int,
    instance: int | None,
    bound_only: bool,
    json_output: IO[str] | None,
    backend: str | None,
    names: list[str] | None,
) -> int:
    """Prove optimal makespans of permutation flowshops, and write a proof of each that 'quintet verify' checks.

    INSTANCE is one of Taillard's (ta021, or ta021-ta030 for several; the default), or a file, or FILE=MAKESPAN with
    that of a known schedule. Of a file that holds several, each is proved. With --bound-only no schedule is searched
    for, and the proof is that none is shorter than the makespan, which others may have published. Instances whose
    proof is in the folder are left out. Ctrl-C or the time limit end the command; the next call continues the search
    that was interrupted. The exit code is 1 if an instance cannot be proved as it is given: because no schedule has
    that makespan, or the folder has a proof of another instance of its name.
    """
    tasks = list(_tasks(instances or _DEFAULT, instance))
    if bound_only and (unknown := next((task for task in tasks if task.known is None), None)):
        raise OptionError(f"--bound-only needs a makespan, as FILE=MAKESPAN; none is known of {unknown.problem.name}")
    deadline = time.monotonic() + (time_limit if time_limit is not None else 1e12)
    infos = select(backend or "auto", names)
    with Engine(devices=[info.id for info in infos]) as engine:
        searching = {"bound": bound, "branching": branching}
        prover = Prover(engine, folder / "unfinished", searching, seed, checkpoint_interval)
        failed = False
        for task in tasks:
            path = folder / f"{task.problem.name}.json"
            left = deadline - time.monotonic()
            try:
                if path.exists() and (_proof_of(task.problem, path).schedule or bound_only):
                    print(f"{task.problem.name}: {path} is there")
                    continue
                if left <= 0:
                    print("the time is up; the same command continues")
                    break
                _prove(prover, task, path, left, bound_only, json_output)
            except QuintetError as error:
                print(f"{task.problem.name}: {error}", flush=True)
                failed = True
    return int(failed)


def _proof_of(problem: Flowshop, path: Path) -> Proof:
    """A proof that is there; one of another instance is refused."""
    proof = Proof.read(path)
    if proof.instance.digest != times_digest(problem.times):
        raise ProofError(f"{path} is the proof of another instance of this name; choose another --folder")
    return proof


def _prove(
    prover: Prover, task: _Task, path: Path, seconds: float, bound_only: bool, json_output: IO[str] | None
) -> None:
    name = task.problem.name
    proof = prover.prove(task.problem, task.known, seconds, bound_only)
    if proof is None:
        print(f"{name}: not finished", flush=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    proof.write(path)
    prover.clear(task.problem, task.known, proof.initial)
    claim = f"{proof.value} is optimal" if proof.schedule else f"no schedule is shorter than {proof.value}"
    better = "" if task.known is None or proof.value == task.known else f" (known before: {task.known})"
    nodes = number_text(proof.nodes, grouped=True)
    print(f"{name}: {claim}{better}; {nodes} nodes, {seconds_text(proof.seconds)}", flush=True)
    if json_output is not None:
        print(proof.to_json(), file=json_output, flush=True)


def _tasks(instances: Sequence[str], instance: int | None) -> Iterator[_Task]:
    for text in instances:
        match = _TAILLARD.fullmatch(text)
        if match:
            first, last = int(match[1]), int(match[2] or match[1])
            if not 1 <= first <= last <= 120:
                raise OptionError(f"Taillard's instances are ta001 to ta120; got '{text}'")
            for number in range(first, last + 1):
                yield _Task(Flowshop.taillard(number), Flowshop.taillard_best_known(number))
            continue
        file, _, known = text.rpartition("=") if "=" in text else (text, "", "")
        if known and not known.isdigit():
            raise OptionError(f"the makespan after '=' must be a whole number; got '{text}'")
        problem = Flowshop.read(file, instance or 1)
        yield _Task(problem, int(known) if known else problem.optimum)
        count = problem.instances_in_file if instance is None else 1
        if known and count > 1:
            raise OptionError(f"{file} holds {count} instances; choose the one of makespan {known} by --instance")
        for number in range(2, count + 1):
            problem = Flowshop.read(file, number)
            yield _Task(problem, problem.optimum)
