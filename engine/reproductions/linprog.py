"""``quintet reproduce pdas``: the measurements of Divakar's primal-dual affine scaling on GPUs."""

import itertools
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from ..reports.study import Study
from ..solvers.linprog.problem import LinearProgram
from . import serial
from .affine_scaling import Factor, Floats, Start, affine_scaling, newton_difference, random_program, solve_normal
from .papers import Paper

_STEPS = (0.5, 0.7, 0.9, 0.99)
_ACCEPTABLE = 1e-6  # this solver's own default


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return Paper.named("pdas").run(_study, arguments)


def _study(study: Study, paper: Paper) -> None:
    study.missing = "" if serial.compiler() else serial.NO_COMPILER
    with threadpool_limits(1):  # the matrices are small
        _measure_steps(study)
        _measure_updates(study)
    _measure_iterations(study, paper)
    _measure_whole(study, paper)


def _programs(study: Study, spread: float) -> list[Start]:
    sizes: Sequence[tuple[int, int]] = study.pick(((10, 30),), *[((30, 90), (60, 180), (100, 200))] * 2)
    seeds: Sequence[int] = study.pick((0, 1, 2), *[(0, 1, 2)] * 2)
    return [random_program(m, n, study.seed + seed, spread) for (m, n), seed in itertools.product(sizes, seeds)]


def _range(values: Sequence[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}" if values else ""


def _measure_steps(study: Study) -> None:
    """The fraction of the way to the boundary that a step may go, and the rule that ends the iteration."""
    study.section(
        "Length of the steps",
        "The method as in the paper, in NumPy with Cholesky factors, on random dense programs. The products x_j s_j of "
        "the start are equal (centred), or x and s are spread over two decades each (badly centred). Solved means here "
        "a relative gap of 1e-8; the paper names no tolerance.",
    )
    rows = []
    shares: dict[str, dict[float, float]] = {"centred": {}, "badly centred": {}}
    for name, spread in (("centred", 0.0), ("badly centred", 2.0)):
        programs = _programs(study, spread)
        for step in _STEPS:
            runs = [affine_scaling(program, step, "cholesky") for program in programs]
            iterations = [run.iterations for run in runs if run.solved]
            shares[name][step] = len(iterations) / len(runs)
            gaps = _range([run.gap for run in runs], ".0e")
            rows.append((name, step, f"{len(iterations)}/{len(runs)}", _range(iterations, "d"), gaps))
    study.table("At most 200 iterations", ("start", "step", "solved", "iterations of those", "best gaps reached"), rows)
    caption = "Share of programs solved, by the fraction of the way to the boundary; the paper has no such figure."
    study.curves(
        "steps", "Programs solved by length of the steps", shares, "step", "share of programs", caption, "linear linear"
    )
    bad = shares["badly centred"]
    study.judge(
        "converges",
        all(share == 1 for share in (*bad.values(), *shares["centred"].values())),
        "from badly centred starts " + ", ".join(f"{100 * bad[step]:.0f} % with {step}" for step in _STEPS),
    )
    runs = [affine_scaling(program, 0.5, "cholesky", 100, 0.0) for program in _programs(study, 0.0)]
    ended = sum(run.ended for run in runs)
    study.judge(
        "stops", ended == len(runs), f"{ended} of {len(runs)} runs end so within 100 iterations; a gap has to be tested"
    )


def _measure_updates(study: Study) -> None:
    """The paper's way to solve the normal equations."""
    study.section(
        "Sherman-Morrison updates",
        "The paper solves A D A^T z = A x by updating the inverse of A A^T by one column after another (Egidi and "
        "Maponi). Steps of 0.5 from centred starts, in NumPy, at most 60 iterations; with the right-hand side as "
        "printed, and with one that also removes the residuals that rounding leaves. (Y b, the first solution as "
        "printed, has no dimensions that fit: (A A^T)^-1 b is taken.) The devices update in blocks, check the "
        "residual and fall back on a Cholesky factor.",
    )
    programs = _programs(study, 0.0)
    rows = []
    gaps: dict[tuple[Factor, bool], list[float]] = {}
    methods: tuple[Factor, ...] = ("cholesky", "updates")
    for method, corrected in itertools.product(methods, (False, True)):
        runs = [affine_scaling(program, 0.5, method, 60, 1e-8, corrected) for program in programs]
        gaps[method, corrected] = [run.gap for run in runs]
        name = "residuals removed" if corrected else "A x, as printed"
        counts = (f"{sum(run.gap <= limit for run in runs)}/{len(runs)}" for limit in (1e-8, _ACCEPTABLE))
        best = _range(gaps[method, corrected], ".0e")
        rows.append((method, name, best, _range([run.iterations for run in runs], "d"), *counts))
    columns = ("normal equations by", "right-hand side", "best gaps reached", "in iterations", "1e-8", "1e-6")
    study.table("Relative gaps", columns, rows, "how many programs reach 1e-8, and 1e-6 (this solver's own limit)")
    printed, exact = gaps["updates", False], gaps["cholesky", False]
    study.judge(
        "updates",
        max(printed) <= _ACCEPTABLE,
        f"up to rounding: the method reaches gaps of {_range(printed, '.0e')} with them, {_range(exact, '.0e')} with "
        f"Cholesky factors ({_ACCEPTABLE:g} is this solver's limit; the paper names none)",
    )
    first = programs[0]
    apart = newton_difference(first)
    seen = f"its directions are those of the whole system to {apart:.0e}; a row is also divided by s, not only moved"
    study.judge("symmetric", apart < _ACCEPTABLE, seen)
    d = 10.0 ** np.random.default_rng(study.seed).uniform(-1, 1, len(first.c))
    apart = np.abs(
        solve_normal(first.A, d, first.b, "updates") / solve_normal(first.A, d, first.b, "cholesky") - 1
    ).max()
    study.judge(
        "storage",
        bool(apart < _ACCEPTABLE),
        f"computed anew for each update, in NumPy and in C: {apart:.0e} from the Cholesky solution. The devices keep "
        "A, (A A^T)^-1 A, V and Y (four arrays of m x n), and x apart",
    )


# --- time -------------------------------------------------------------------------------------------------------------

_WAYS: dict[str, dict[str, Any]] = {
    "updates, block 1": {"method": "pdas", "linear_solver": "sherman_morrison", "block": 1},
    "updates, block 64": {"method": "pdas", "linear_solver": "sherman_morrison", "block": 64},
    "Cholesky": {"method": "pdas", "linear_solver": "cholesky"},
}
_IN_C: dict[str, Literal["cholesky", "updates"]] = {"C, updates": "updates", "C, Cholesky": "cholesky"}


def _parts(start: Start) -> tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]:
    return (start.A, start.b, start.c), (start.x, start.y, start.s)


def _measure_iterations(study: Study, paper: Paper) -> None:
    """Figures 2 to 4: an iteration on the devices and in C, by way of solving the normal equations."""
    sizes: Sequence[tuple[int, int]] = study.pick(((20, 60),), ((100, 300), (200, 600), (300, 900)),
                                                  ((100, 300), (250, 750), (500, 1500), (1000, 3000)),
    )  # fmt: skip
    named = serial.compiler() or "no C compiler here: left out"
    study.section(
        "Figures 2 to 4: time of an iteration",
        "Random dense programs on the devices; block = 1 is the paper's own update of one column at a time. The serial "
        f"programs are in C ({named}; -O2, one thread, CPU seconds; one or two iterations, without what is computed "
        "before the first). The figures are images, whose sizes and times are lost in our text; their captions say "
        "that the highest speed-up was 22. Figure 1 is a drawing.",
    )
    rows = []
    lines: dict[str, dict[float, float]] = {name: {} for name in ("C, updates", "C, Cholesky", *_WAYS)}
    shares: dict[str, float] = {}
    setups = (0.0, 0.0)
    for m, n in sizes:
        start = random_program(m, n, study.seed, 0.0)
        if serial.compiler() is not None:
            for name, way in _IN_C.items():
                count = 1 if m > 250 and way == "updates" else 2
                found = serial.affine_scaling(*_parts(start), 0.5, way, iterations=count)
                lines[name][m] = 1e3 * found.seconds / found.iterations
                shares[name] = found.normal / max(found.seconds, 1e-9)
                setups = (found.setup, found.seconds) if way == "updates" else setups
        for name, options in _WAYS.items():
            lines[name][m] = _milliseconds(study, start, options)
        times = [lines[name].get(m) for name in lines]
        ratios = [
            f"{peer / lines['updates, block 1'][m]:.1f}" if (peer := lines[name].get(m)) else None
            for name in ("C, updates", "C, Cholesky")
        ]
        rows.append((f"{m} x {n}", *(None if ms is None else f"{ms:.2f}" for ms in times), *ratios))
    columns = ("program", *lines, "C, updates / block 1", "C, Cholesky / block 1")
    study.table("Milliseconds of an iteration", columns, rows, "warm runs to a gap of 5e-3, the host's work included")
    study.curves(
        "iterations", "Milliseconds of an iteration by rows", lines, "rows m (n = 3 m)", "ms", "Figures 2 and 3."
    )
    ratios_by_rows = {
        f"{peer} / {way}": {m: ms / lines[way][m] for m, ms in lines[peer].items()}
        for peer, way in (
            ("C, updates", "updates, block 1"),
            ("C, updates", "updates, block 64"),
            ("C, Cholesky", "Cholesky"),
        )
    }
    limit = paper.points["speedup_serial"]
    ratios_by_rows["paper: the highest"] = {m: limit for m, _ in sizes}
    study.curves(
        "speedup", "Speed-up over the serial program", ratios_by_rows, "rows m (n = 3 m)", "times", "Figure 4."
    )
    _judge_iterations(study, limit, lines, ratios_by_rows, shares, setups)


def _judge_iterations(
    study: Study,
    limit: float,
    lines: dict[str, dict[float, float]],
    ratios: dict[str, dict[float, float]],
    shares: dict[str, float],
    setups: tuple[float, float],
) -> None:
    last = max(lines["Cholesky"])
    slower = lines["updates, block 1"][last] / lines["Cholesky"][last]
    study.judge(
        "cholesky",
        slower < 1,
        f"with {last:.0f} rows an update by single columns takes {slower:.1f} times as long as a factor",
    )
    if serial.compiler() is None:
        return
    same = max(ratios["C, updates / updates, block 1"].values())
    honest = max(ms / lines["updates, block 1"][m] for m, ms in lines["C, Cholesky"].items())
    seen = f"up to {same:.1f} times as fast as the same updates in C, {honest:.1f} times a Cholesky factor in C"
    study.judge("serial", same >= limit, seen)
    seen = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    study.judge("bottleneck", min(shares.values()) >= 0.9, f"{seen} (ours: 90 %)")
    m = max(lines["C, updates"])
    more = lines["C, updates"][m] / lines["C, Cholesky"][m]
    study.judge(
        "once",
        more < 1,
        f"it can ({setups[0]:.2g} s once, with {m:.0f} rows), but then an iteration ({setups[1]:.2g} s in C) takes "
        f"{more:.1f} times as long as A D A^T and its factor made anew",
    )


def _milliseconds(study: Study, start: Start, options: dict[str, Any]) -> float:
    """Of an iteration: the best of two warm runs to a gap of 5e-3, the host's work included."""
    problem = LinearProgram(start.c, A_eq=start.A, b_eq=start.b)
    few = {"presolve": False, "tolerance": 5e-3, "acceptable": 5e-2, **options}
    times = []
    for _ in range(3):
        began = time.perf_counter()
        result = study.engine.solve(problem, **few)
        times.append((time.perf_counter() - began) / max(1, int(result.counters["iterations"])))
    return 1e3 * min(times[1:])


def _measure_whole(study: Study, paper: Paper) -> None:
    """Figures 5 and 6: the whole algorithm, against an interior-point method and simplex methods."""
    sizes: Sequence[tuple[int, int]] = study.pick(((20, 60),), ((50, 150), (100, 300), (200, 600)),
                                                  ((100, 300), (250, 750), (500, 1500), (1000, 3000)))  # fmt: skip
    study.section(
        "Figures 5 and 6: the whole algorithm",
        "Seconds to a relative gap of 1e-6. mpc with a dense Cholesky factor is Mehrotra's method on the device, as "
        "Jung and O'Leary's; in C the same method, affine scaling with Cholesky factors, and a two-phase simplex "
        "method on a dense tableau; HiGHS's dual simplex beside it. Neither Jung and O'Leary's program nor "
        "Spampinato and Elster's simplex method on a GPU can be had; the figures are images that are lost in our "
        "text.",
    )
    methods = {
        "updates, block 1": {**_WAYS["updates, block 1"], "step": 0.9},
        "updates, block 64": {**_WAYS["updates, block 64"], "step": 0.9},
        "mpc, Cholesky": {"method": "mpc", "linear_solver": "cholesky"},
    }
    in_c = ("C, affine scaling", "C, Mehrotra", "C, simplex")
    lines: dict[str, dict[float, float]] = {name: {} for name in (*methods, *in_c, "HiGHS, dual simplex")}
    for m, n in sizes:
        start = random_program(m, n, study.seed, 0.0)
        problem = LinearProgram(start.c, A_eq=start.A, b_eq=start.b)
        for name, options in methods.items():
            study.engine.solve(problem, presolve=False, tolerance=5e-3, acceptable=5e-2, **options)
            began = time.perf_counter()
            result = study.engine.solve(problem, presolve=False, tolerance=_ACCEPTABLE, acceptable=1e-5, **options)
            if result.status == "optimal":
                lines[name][m] = time.perf_counter() - began
        if serial.compiler() is not None and m <= 250:
            program, point = _parts(start)
            scaled = serial.affine_scaling(program, point, 0.9, "cholesky", _ACCEPTABLE)
            solved = (scaled, serial.predictor_corrector(program, point, _ACCEPTABLE), serial.simplex(program))
            lines |= {name: {**lines[name], m: found.seconds} for name, found in zip(in_c, solved, strict=True)}
        if m <= 250:
            lines["HiGHS, dual simplex"][m] = _highs_seconds(start)
    rows = [
        (f"{m} x {n}", *(f"{lines[name][m]:.4f}" if m in lines[name] else None for name in lines)) for m, n in sizes
    ]
    study.table("Seconds", ("program", *lines), rows, "warm runs on the devices; CPU seconds of one thread in C")
    study.curves("whole", "Seconds by rows", lines, "rows m (n = 3 m)", "seconds", "Figures 5 and 6.")
    ours = lines["updates, block 1"]
    jung = {m: lines["mpc, Cholesky"][m] / seconds for m, seconds in ours.items() if m in lines["mpc, Cholesky"]}
    ratios = ", ".join(f"{ratio:.2f}" for ratio in jung.values())
    seen = f"{ratios} times as fast as Mehrotra's method with a Cholesky factor on the same device"
    study.judge("jung", max(jung.values(), default=0) >= paper.points["speedup_jung"], seen)
    peers = {name: lines[name] for name in ("C, simplex", "HiGHS, dual simplex") if lines[name]}
    text = "; ".join(
        f"{', '.join(f'{points[m] / ours[m]:.2g}' for m in points if m in ours)} times as fast as {name}"
        for name, points in peers.items()
    )
    faster = all(points[m] > ours[m] for points in peers.values() for m in [max(set(points) & set(ours))])
    study.judge("simplex", faster, f"{text} (on the CPU: no simplex method on a GPU is at hand)")


def _highs_seconds(start: Start) -> float:
    from scipy.optimize import linprog

    began = time.perf_counter()
    linprog(start.c, A_eq=start.A, b_eq=start.b, method="highs-ds")
    return time.perf_counter() - began
