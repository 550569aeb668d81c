"""``quintet reproduce ivm``: the measurements of Gmys, Mezmaz, Melab and Tuyttens's IVM-based branch and bound."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, get_args

from ..api.engine import Engine
from ..devices import available
from ..generators.branch_and_bound import ATSPFamily, generate_atsp
from ..reports.study import Study, run_study
from ..solvers.branch_and_bound.options import Strategy
from ..solvers.branch_and_bound.problems.flowshop import Flowshop
from ..solvers.branch_and_bound.problems.queens import Queens

__all__ = ["reproduce"]

TITLE = "IVM-based parallel branch and bound on GPUs"
SOURCE = (
    "J. Gmys, M. Mezmaz, N. Melab, D. Tuyttens: IVM-based parallel branch-and-bound using hierarchical work stealing "
    "on multi-GPU systems, Concurrency and Computation: Practice and Experience 29 (2017) e4019."
)
_SETTING = {"bound": "two_machine", "branching": "max_sum"}
# Number of Taillard's instance: optimum, and the paper's decomposed nodes in millions.
_TAILLARD = {
    21: (2297, 41.4), 22: (2099, 22.1), 23: (2326, 140.8), 24: (2223, 40.1), 25: (2291, 41.4),
    26: (2226, 71.3), 27: (2273, 57.1), 28: (2200, 8.1), 29: (2237, 6.8), 30: (2178, 1.6),
}  # fmt: skip
_FLOWSHOP_RATE = (0.489, 0.610)  # million nodes per second on one GTX 980
_QUEENS_RATE = (232, 290)
_QUEENS_NODES = {15: 91, 19: 242_419}  # millions
_ATSP_RATE = (271, 422)
_BAND = "the band is the range of the paper's GPU"


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_study("ivm", TITLE, SOURCE, _study, arguments)


def _study(study: Study) -> None:
    _measure_flowshop(study)
    _measure_queens(study)
    _measure_atsp(study)
    _measure_strategies(study)
    _measure_hybrid(study)


def _rate(nodes: float, seconds: float) -> float:
    """Million nodes per second."""
    return nodes / max(seconds, 1e-9) / 1e6


def _measure_flowshop(study: Study) -> None:
    """Taillard's 20 x 20 instances with the two-machine bound and the optimum as upper bound."""
    numbers: Sequence[int] = study.pick((), (30,), (30, 29, 28, 22, 24, 25, 21, 27, 26, 23))
    study.section(
        "Flowshop",
        "Taillard's instances 21 to 30 (20 jobs, 20 machines); two-machine bound, branching by the larger sum of "
        "bounds (max_sum), the optimum as initial upper bound. The paper used one to four GTX 980.",
    )
    if not numbers:
        study.text("Left out in this profile.")
        return
    rows = []
    rates, errors = {}, {}
    for number in numbers:
        optimum, paper = _TAILLARD[number]
        problem = Flowshop.taillard(number)
        options: Any = {**_SETTING, "upper_bound": optimum}
        study.engine.solve(problem, time_limit=0.3, **options)
        result = study.engine.solve(problem, **options)
        nodes = (result.counters["nodes"] - 1) / 1e6  # the paper leaves the root out
        rates[number] = nodes / max(result.seconds, 1e-9)
        errors[number] = abs(nodes - paper)
        rows.append((f"Ta{number:03d}", f"{paper}", f"{nodes:.2f}", f"{result.seconds:.2f}", f"{rates[number]:.3f}"))
    study.table(
        "Proof of optimality",
        ("instance", "paper, Mnodes", "Mnodes", "seconds", "Mnodes/s"),
        rows,
        f"the paper reports {_FLOWSHOP_RATE[0]} to {_FLOWSHOP_RATE[1]} Mnodes/s on one GPU",
    )
    equal = [number for number, error in errors.items() if error <= 0.05]
    near = [number for number, error in errors.items() if error <= 0.01 * _TAILLARD[number][1]]
    study.finding(
        "the numbers of decomposed nodes, to 1 %",
        len(set(equal) | set(near)) == len(errors),
        f"{len(equal)} of {len(errors)} equal the paper's to its last digit, {len(set(equal) | set(near))} to 1 %",
    )
    if study.profile == "gpu":
        middle = statistics.median(rates.values())
        study.finding(
            f"one GPU decomposes {_FLOWSHOP_RATE[0]} to {_FLOWSHOP_RATE[1]} million nodes per second",
            middle >= _FLOWSHOP_RATE[1],
            f"median {middle:.1f} million on this device: {middle / _FLOWSHOP_RATE[1]:.0f} times as many",
        )
        study.figure(
            "flowshop",
            "Million nodes per second by instance",
            lambda axes: _plot_rates(axes, rates),
            f"Decomposed nodes per second; {_BAND}.",
        )


def _plot_rates(axes: Any, rates: dict[int, float]) -> None:
    ordered = sorted(rates)
    axes.bar([f"Ta{number:03d}" for number in ordered], [rates[number] for number in ordered])
    axes.axhspan(*_FLOWSHOP_RATE, color="tab:orange", alpha=0.5)
    axes.set(ylabel="million nodes per second", yscale="log")


def _measure_queens(study: Study) -> None:
    """n-queens, first queen in the left half."""
    sizes: Sequence[int] = study.pick((10, 11), (13, 14, 15), (15, 16, 17, 18, 19))
    known = {10: 724, 11: 2680, 13: 73712, 14: 365596, 15: 2279184, 16: 14772512, 17: 95815104, 18: 666090624,
             19: 4968057848}  # fmt: skip
    study.section("n-queens", "All solutions are counted; the first queen is placed in the left half of the first row.")
    rows = []
    right = equal = True
    rates: dict[int, float] = {}
    for n in sizes:
        study.engine.solve(Queens(n), time_limit=0.2)
        result = study.engine.solve(Queens(n))
        nodes = result.counters["nodes"]
        right &= result.objective == known[n]
        if n in _QUEENS_NODES:
            equal &= round(nodes / 1e6) == _QUEENS_NODES[n]
        rates[n] = _rate(nodes, result.seconds)
        rows.append((n, result.objective, _QUEENS_NODES.get(n), f"{nodes / 1e6:.1f}", f"{result.seconds:.3f}",
                     f"{rates[n]:.0f}"))  # fmt: skip
    study.table(
        "Counting solutions",
        ("n", "solutions", "paper, Mnodes", "Mnodes", "seconds", "Mnodes/s"),
        rows,
        f"the paper reports {_QUEENS_RATE[0]} to {_QUEENS_RATE[1]} Mnodes/s on one GPU, and 19 queens in less than 4 "
        "minutes on four",
    )
    study.finding("the numbers of solutions are right", right, "compared with the published numbers")
    if any(n in _QUEENS_NODES for n in sizes):
        study.finding("the numbers of decomposed nodes", equal, "equal to the paper's, in millions")
    if study.profile == "gpu":
        study.finding(
            f"one GPU decomposes {_QUEENS_RATE[0]} to {_QUEENS_RATE[1]} million nodes per second",
            max(rates.values()) >= _QUEENS_RATE[1],
            f"{max(rates.values()):,.0f} million on this device",
        )
    study.figure(
        "queens",
        "Million nodes per second by number of queens",
        lambda axes: _plot_queens(axes, rates),
        f"Decomposed nodes per second; {_BAND}.",
    )


def _plot_queens(axes: Any, rates: dict[int, float]) -> None:
    axes.bar([str(n) for n in rates], list(rates.values()))
    axes.axhspan(*_QUEENS_RATE, color="tab:orange", alpha=0.5)
    axes.set(xlabel="queens", ylabel="million nodes per second", yscale="log")


def _measure_atsp(study: Study) -> None:
    """Generated asymmetric TSPs with partial costs as bound."""
    n: int = study.pick(9, 13, 17)
    study.section(
        "Asymmetric TSP",
        "The paper gives no seeds for its generated instances, so its node counts cannot be repeated; these are other "
        "instances of the same families. The bound is the cost of the partial tour, the initial upper bound the "
        "optimum. The default bound here (assignments with multipliers of subtour constraints) proves the same with "
        "far fewer nodes.",
    )
    rows = []
    for family in ("crane", "tsmat"):
        problem = generate_atsp(ATSPFamily.model_validate({"type": family, "n": n, "seed": 1}))
        optimum: Any = study.engine.solve(problem)
        partial = study.engine.solve(problem, bound="partial", upper_bound=optimum.objective)
        rate = _rate(partial.counters["nodes"], partial.seconds)
        rows.append((problem.name, f"{partial.counters['nodes']:,.0f}", f"{partial.seconds:.3f}", f"{rate:.0f}",
                     f"{optimum.counters['nodes']:,.0f}"))  # fmt: skip
    study.table(
        "Proof of optimality",
        ("instance", "nodes", "seconds", "Mnodes/s", "nodes, default bound"),
        rows,
        f"the paper reports {_ATSP_RATE[0]} to {_ATSP_RATE[1]} Mnodes/s on one GPU",
    )


def _measure_strategies(study: Study) -> None:
    """The paper's ways to choose victims, and the default of this solver."""
    number: int = study.pick(30, 29, 22)
    optimum = _TAILLARD[number][0]
    study.section(
        "Work stealing on one device",
        f"Ta{number:03d} with the one-machine bound. The paper recommends the hypercube; siblings is this solver's "
        "default. A run is stopped after 20 s, with the nodes that it has decomposed until then.",
    )
    problem = Flowshop.taillard(number)
    rows = []
    nodes = set()
    seconds: dict[str, float] = {}
    stopped: set[str] = set()
    for strategy in get_args(Strategy):
        study.engine.solve(problem, strategy=strategy, time_limit=0.2, upper_bound=optimum)
        result = study.engine.solve(problem, strategy=strategy, time_limit=20, upper_bound=optimum)
        if result.status.stopped:
            stopped.add(strategy)
        else:
            nodes.add(result.counters["nodes"])
        seconds[strategy] = result.seconds
        shown = "stopped" if strategy in stopped else f"{result.seconds:.3f}"
        rows.append((strategy, shown, f"{result.counters['steals']:,.0f}",
                     f"{result.counters['nodes']:,.0f}"))  # fmt: skip
    study.table("Strategies", ("strategy", "seconds", "steals", "nodes"), rows)
    study.figure(
        "strategies",
        "Seconds by strategy",
        lambda axes: _plot_strategies(axes, seconds, stopped),
        f"Seconds of Ta{number:03d} by strategy{'; pale bars were stopped' if stopped else ''}.",
    )
    study.finding(
        "strategies that are not stopped decompose the same nodes",
        len(nodes) == 1,
        f"the table Strategies, column nodes; {len(seconds) - len(stopped)} of {len(seconds)} ended",
    )
    paper = {name: time for name, time in seconds.items() if name != "siblings"}
    study.finding(
        "the hypercube is the fastest of the paper's strategies",
        seconds["hypercube"] <= 1.05 * min(paper.values()) if study.profile == "gpu" else None,
        f"{min(paper, key=lambda name: paper[name])} is the fastest of them here",
    )


def _plot_strategies(axes: Any, seconds: dict[str, float], stopped: set[str]) -> None:
    for strategy, value in seconds.items():
        axes.bar(strategy, value, color="tab:blue", alpha=0.35 if strategy in stopped else 1.0)
    axes.set(ylabel="seconds", yscale="log")


def _measure_hybrid(study: Study) -> None:
    """A CPU beside the GPUs, where there are both."""
    gpus = [info for info in study.engine.device_infos if info.capabilities.simt]
    cpus = [info for info in available("opencl")[0] if not info.capabilities.simt]
    if not gpus or not cpus:
        return
    study.section("A CPU beside the GPU", "The paper found that a CPU in the pool makes runs slower and less stable.")
    rows = []
    ratios = []
    cases: tuple[tuple[str, Flowshop | Queens, dict[str, Any]], ...] = (
        ("queens 18", Queens(18), {}),
        ("Ta023", Flowshop.taillard(23), {"upper_bound": _TAILLARD[23][0]}),
    )
    for name, problem, options in cases:
        times = []
        for devices in ([gpus[0].id], [gpus[0].id, cpus[0].id]):
            with Engine(devices=devices) as engine:
                engine.solve(problem, time_limit=0.3, **options)
                times.append(statistics.median(engine.solve(problem, **options).seconds for _ in range(3)))
        ratios.append(times[1] / times[0])
        rows.append((name, f"{times[0]:.4f}", f"{times[1]:.4f}", f"{ratios[-1]:.3f}"))
    study.table("Seconds", ("instance", "GPU alone", "with the CPU", "ratio"), rows, "medians of three")
    study.finding(
        "a CPU in the pool makes runs slower", max(ratios) > 1.05, f"by {100 * (max(ratios) - 1):.1f} % at most"
    )
