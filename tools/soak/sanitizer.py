"""Run every kernel's smallest problem under NVIDIA's compute-sanitizer: no finding is allowed.

``python -m tools.soak.sanitizer --tool memcheck --tool racecheck --tool initcheck --device cuda:0 [CASE ...]``

Prints one line for each case and tool, at last the kernels that no case has launched, and exits with 1 if there is a
finding or a case fails. ``--plain`` runs the cases without the sanitizer, on any device: a rehearsal. The sanitizer is
a part of the CUDA toolkit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import engine
from engine.devices import Device, DevicePool, select
from engine.devices.queue import CommandQueue
from tests.support.environment import ROOT

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
RANDOM = np.random.default_rng(1)


# --- the cases ------------------------------------------------------------------------------------------------------


def _numerics(devices: list[str]) -> None:
    """Scans and random words, on sizes that are no multiple of a group."""
    from engine.numerics import philox
    from engine.numerics.scan import exclusive_scan

    def work(device: Device) -> None:
        for dtype in ("int32", "int64"):
            exclusive_scan(device, device.put(RANDOM.integers(0, 9, 5003).astype(dtype)), "int64")
        for dtype, output in (("uint32", "u32"), ("float32", "f32"), ("float64", "f64")):
            philox.fill(device, device.empty((1004,), dtype), seed=1, stream=2, step=3, output=output)

    with DevicePool(select("auto", devices)) as pool:
        for member in pool.members:
            member.submit(work).result()


def _knapsack(variant: str, **options: Any) -> Callable[[list[str]], None]:
    def run(devices: list[str]) -> None:
        weights = RANDOM.integers(20, 300, 60)
        problem = engine.Knapsack(weights + RANDOM.integers(1, 30, 60), weights, int(weights.sum() // 3))
        given = {"variant": variant, "reduce": False, **options}
        engine.solve(problem, devices=devices, **given)

    return run


def _knapsack_batch(devices: list[str]) -> None:
    problems = []
    for _ in range(20):
        weights = RANDOM.integers(5, 60, 25)
        problems.append(engine.Knapsack(weights + RANDOM.integers(1, 9, 25), weights, int(weights.sum() // 2)))
    engine.map(problems, devices=devices)


def _subset_sum(devices: list[str]) -> None:
    weights = RANDOM.integers(20, 3000, 40)
    engine.solve(engine.Knapsack(weights, weights, 20_001), devices=devices, variant="bits", reduce=False)


def _choices(devices: list[str]) -> None:
    classes, profits, weights = np.repeat(np.arange(8), 4), RANDOM.integers(1, 40, 32), RANDOM.integers(5, 60, 32)
    engine.solve(engine.MultipleChoiceKnapsack(profits, weights, classes, 260), devices=devices)
    two = RANDOM.integers(5, 60, (2, 25))
    capacities = [int(row.sum() // 2) for row in two]
    engine.solve(engine.MultidimensionalKnapsack(RANDOM.integers(1, 40, 25), list(two), capacities), devices=devices)


def _assignment(devices: list[str]) -> None:
    flows, distances = (RANDOM.integers(0, 9, (7, 7)) for _ in range(2))
    engine.solve(engine.QuadraticAssignment(flows, distances), devices=devices, ivms=64, initial="infinity")


def _tardiness(devices: list[str]) -> None:
    times, weights, due = (RANDOM.integers(1, 20, 8) for _ in range(3))
    engine.solve(engine.Tardiness(times, weights, 3 * due), devices=devices, ivms=64, initial="infinity")


def _linear_ordering(devices: list[str]) -> None:
    engine.solve(engine.LinearOrdering(RANDOM.integers(0, 30, (10, 10))), devices=devices, ivms=64, initial="infinity")


def _flowshop(**options: Any) -> Callable[[list[str]], None]:
    def run(devices: list[str]) -> None:
        engine.solve(engine.Flowshop(RANDOM.integers(1, 30, (4, 8))), devices=devices, ivms=64, **options)

    return run


def _queens(**options: Any) -> Callable[[list[str]], None]:
    return lambda devices: _ignore(engine.solve(engine.Queens(7), devices=devices, ivms=64, **options))


def _atsp(**options: Any) -> Callable[[list[str]], None]:
    def run(devices: list[str]) -> None:
        engine.solve(engine.ATSP(RANDOM.integers(1, 30, (8, 8))), devices=devices, ivms=64, **options)

    return run


def _boa(problem: Callable[[], Any], **options: Any) -> Callable[[list[str]], None]:
    given = {"population": 200, "max_generations": 3, "local_search": "none", **options}
    return lambda devices: _ignore(engine.solve(problem(), devices=devices, **given))


def _gibbs(kernel: str, logit: bool = False, columns: int = 5, **options: Any) -> Callable[[list[str]], None]:
    def run(devices: list[str]) -> None:
        X = RANDOM.normal(size=(60, columns)) * (RANDOM.random((60, columns)) < 0.5)
        kind = engine.HorseshoeLogit if logit else engine.HorseshoeProbit
        given = {"kernel": kernel, "draws": 8, "warmup": 8, "chains": 2, **options}
        engine.solve(kind(X, (X[:, 0] + RANDOM.normal(size=60) > 0).astype(int)), devices=devices, **given)

    return run


def _families(devices: list[str]) -> None:
    X = RANDOM.normal(size=(60, 4))
    y = X[:, 0] + RANDOM.normal(size=60)
    for family, target in (("normal", y), ("student", y), ("ordinal", np.digitize(y, [-0.5, 0.5]))):
        problem = engine.HorseshoeRegression(X, target, family)
        engine.solve(problem, devices=devices, draws=8, warmup=8, chains=2)


def _linprogs(count: int) -> Callable[[list[str]], None]:
    return lambda devices: _ignore(engine.solve_many([_program(False) for _ in range(count)], devices=devices))


def _program(sparse: bool) -> engine.LinearProgram:
    A = RANDOM.random((30, 50)) * (RANDOM.random((30, 50)) < (0.2 if sparse else 1.0))
    A[:, 0] += 1.0
    b = A @ RANDOM.random(50) + RANDOM.random(30)
    if sparse:
        import scipy.sparse

        A = scipy.sparse.csr_array(A)
    return engine.LinearProgram(-RANDOM.random(50), A, b, bounds=(0, 4))


def _linprog(sparse: bool = False, **options: Any) -> Callable[[list[str]], None]:
    def run(devices: list[str]) -> None:
        engine.solve(_program(sparse), devices=devices, presolve=False, **options)

    return run


def _ignore(value: object) -> None:
    """The cases return nothing."""


SNIPPET = "for (i32 i = 0; i < N; i++) fitness += BIT(i);"
CASES: dict[str, Callable[[list[str]], None]] = {
    "numerics": _numerics,
    "knapsack rows": _knapsack("rows"),
    "knapsack tiles": _knapsack("tiles"),
    "knapsack classes": _knapsack("classes"),
    "knapsack sparse": _knapsack("sparse"),
    "knapsack profile": _knapsack("dense", profile=True),
    "knapsack batch": _knapsack_batch,
    "knapsack subset sum": _subset_sum,
    "knapsack choices": _choices,
    "quadratic assignment": _assignment,
    "tardiness": _tardiness,
    "linear ordering": _linear_ordering,
    "flowshop": _flowshop(),
    "flowshop two machines": _flowshop(bound="two_machine", initial="infinity"),
    "flowshop mixed, children apart": _flowshop(bound="mixed", variant="pte_peb", strategy="hypercube"),
    "queens": _queens(),
    "queens, children apart": _queens(variant="pte_peb", strategy="ring"),
    "atsp": _atsp(initial="infinity"),
    "atsp, cheapest arcs": _atsp(bound="cheapest_arcs", variant="pte_peb", initial="infinity"),
    "atsp, partial": _atsp(bound="partial", strategy="adapt", initial="infinity"),
    "boa tables": _boa(lambda: engine.BOA("trap", 30)),
    "boa popcount": _boa(lambda: engine.BOA("deceptive-3", 33), counting="popcount"),
    "boa histogram": _boa(lambda: engine.BOA("onemax", 40), counting="histogram", max_parents=2),
    "boa tensor": _boa(lambda: engine.BOA("onemax", 64), counting="tensor"),
    "boa hierarchy": _boa(lambda: engine.BOA("hiff", 32)),
    "boa snippet": _boa(lambda: engine.BOA.snippet(SNIPPET, 30)),
    "boa local search": _boa(lambda: engine.BOA.nk(30, 3), local_search="steepest"),
    "boa walk": _boa(lambda: engine.BOA.nk(30, 3), local_search="walk"),
    "boa annealing": _boa(lambda: engine.BOA.ising(6), local_search="anneal"),
    "boa tabu, islands": _boa(lambda: engine.BOA.ising(5), local_search="tabu", islands=2),
    "gibbs hmc": _gibbs("hmc"),
    "gibbs gibbs": _gibbs("gibbs"),
    "gibbs px, float16": _gibbs("px", storage="float16"),
    "gibbs logit, float16": _gibbs("hmc", logit=True, storage="float16"),
    "gibbs own factors": _gibbs("gibbs", provider="kernels"),
    "gibbs streaming": _gibbs("hmc", streaming="always"),
    "gibbs sparse": _gibbs("hmc", storage="sparse"),
    "gibbs cg": _gibbs("cg", columns=40),
    "gibbs cg, logit": _gibbs("cg", logit=True, columns=40),
    "gibbs conjugate gradients": _gibbs("cg"),
    "gibbs conjugate gradients, sparse logit": _gibbs("cg", logit=True, storage="sparse"),
    "gibbs more columns than rows": _gibbs("gibbs", columns=90),
    "gibbs other priors": _gibbs("gibbs", prior="lasso"),
    "gibbs families": _families,
    "linprog mpc": _linprog(method="mpc"),
    "linprog own factors": _linprog(method="mpc", provider="kernels"),
    "linprog pdas": _linprog(method="pdas", max_iterations=30),
    "linprog rank updates": _linprog(method="pdas", linear_solver="sherman_morrison", max_iterations=8),
    "linprog fronts": _linprog(sparse=True, method="mpc", linear_solver="multifrontal"),
    "linprog pdhg": _linprog(method="pdhg"),
    "linprog pdhg, sparse": _linprog(sparse=True, method="pdhg"),
    "linprog together": _linprogs(8),
}


# --- in the process that is watched ---------------------------------------------------------------------------------


def _work(names: list[str], devices: list[str]) -> None:
    """Run cases here, and print what they launched."""
    import warnings

    warnings.simplefilter("ignore", engine.QuintetWarning)
    select("auto", devices)  # defines the backends' classes
    launched: set[str] = set()

    def recorded(original: Any) -> Any:
        def launch(self: CommandQueue, kernel: Any, *arguments: Any) -> Any:
            launched.add(f"{kernel.source.template}:{kernel.signature.name}")
            return original(self, kernel, *arguments)

        return launch

    for kind in CommandQueue.__subclasses__():
        kind.launch = recorded(kind.launch)  # type: ignore[method-assign]
    for name in names:
        began = time.monotonic()
        try:
            CASES[name](devices)
            outcome = "ok"
        except engine.OptionError as error:
            outcome = f"not on this device: {error}"
        except Exception as error:
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps({"case": name, "seconds": time.monotonic() - began, "outcome": outcome}), flush=True)
        print(json.dumps({"launched": sorted(launched)}), flush=True)


# --- the parent -----------------------------------------------------------------------------------------------------


def _sanitizer() -> str | None:
    """The program, on the path or where the toolkit puts it."""
    usual = "/usr/local/cuda/bin/compute-sanitizer"
    return shutil.which("compute-sanitizer") or (usual if os.access(usual, os.X_OK) else None)


def _watched(command: list[str], words: list[str], seconds: float) -> tuple[int, str]:
    """Exit code and output of the cases in a process of their own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryFile("w+") as output:
        try:
            code = subprocess.run(
                [*command, sys.executable, "-m", "tools.soak.sanitizer", "--inside", *words],
                stdout=output, stderr=subprocess.STDOUT, env=environment, timeout=seconds, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = 124
        output.seek(0)
        return code, output.read()


def _known(device: str) -> set[str]:
    """Every kernel that a device of this language may be asked for."""
    import importlib
    import pkgutil

    from engine.devices.kernels.program import signatures
    from engine.devices.kernels.templates import render

    language = device.partition(":")[0]
    solvers = importlib.import_module("engine.solvers").__path__
    names = ["engine.numerics", *(f"engine.solvers.{module.name}" for module in pkgutil.iter_modules(solvers))]
    found = set()
    for module in map(importlib.import_module, names):
        for variant in getattr(module, "kernel_variants", tuple)():
            if language in variant.languages:
                source = render(variant.template, language, **variant.constants)
                found |= {f"{variant.template}:{name}" for name in signatures(source)}
    return found


@click.command()
@click.argument("cases", nargs=-1)
@click.option("--tool", "tools", multiple=True, type=click.Choice(TOOLS), default=["memcheck"], show_default=True)
@click.option("--device", "devices", multiple=True, default=["cuda:0"], show_default=True)
@click.option("--seconds", default=600.0, show_default=True, help="Time for all cases with one tool.")
@click.option("--plain", is_flag=True, help="Without the sanitizer.")
@click.option("--inside", is_flag=True, hidden=True)
def main(
    cases: tuple[str, ...], tools: tuple[str, ...], devices: tuple[str, ...], seconds: float, plain: bool, inside: bool
) -> None:
    """Run the CASES (parts of their names; all by default)."""
    names = [name for name in CASES if not cases or any(part in name for part in cases)]
    if inside:
        _work(names, list(devices))
        return
    program = _sanitizer()
    if program is None and not plain:
        raise click.ClickException("compute-sanitizer is not installed; it is a part of the CUDA toolkit (or --plain)")
    words = [*(word for device in devices for word in ("--device", device)), *cases]
    bad = False
    for tool in ("none",) if plain else tools:
        command = [] if plain else [str(program), "--tool", tool, "--print-limit", "20"]
        code, output = _watched(command, words, seconds)
        bad |= _report(tool, code, output, devices[0])
    sys.exit(bad)


def _report(tool: str, code: int, output: str, device: str) -> bool:
    """Print what a tool has found; whether that is anything."""
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    ran = [line for line in found if "case" in line]
    for line in ran:
        click.echo(f"{tool}: {line['case']}: {line['seconds']:.1f} s, {line['outcome']}")
    findings = [line for line in output.splitlines() if line.startswith("=========") and len(line) > 10]
    summary = [line for line in findings if re.search(r"SUMMARY: \d+ (error|hazard)", line)]
    clean = tool == "none" or (bool(summary) and all(re.search(r"SUMMARY: 0 ", line) for line in summary))
    if not clean:
        click.echo("\n".join(findings[:60]))
    launched = {name for line in found for name in line.get("launched", ())}
    if launched:
        if code == 124:
            click.echo(f"{tool}: ended when the time was up")
        missing = sorted(_known(device) - launched)
        click.echo(f"{tool}: {len(launched)} kernels launched; of those known, never: {', '.join(missing) or 'none'}")
    else:
        click.echo(output[-2000:])
    failed = [line for line in ran if line["outcome"] != "ok" and not line["outcome"].startswith("not on")]
    click.echo(f"{tool}: {len(ran)} cases, {len(failed)} failed, exit code {code}; {summary or 'no summary'}")
    return bool(failed) or code != 0 or not clean


if __name__ == "__main__":
    main()
