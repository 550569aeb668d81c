"""``quintet reproduce ivm``: the measurements of Gmys, Mezmaz, Melab and Tuyttens's IVM-based branch and bound.

Every figure and table of the paper's section 4. Where a machine has one device, the columns for several list it twice.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args

from ..api.engine import Engine
from ..base.result import Result
from ..devices import available
from ..events import Event, Metric
from ..generators.branch_and_bound import ATSPFamily, generate_atsp
from ..reports.study import Study, run_study
from ..solvers.branch_and_bound.options import Strategy
from ..solvers.branch_and_bound.problems.flowshop import Flowshop
from ..solvers.branch_and_bound.problems.queens import Queens
from ..solvers.branch_and_bound.tree import PermutationProblem

__all__ = ["reproduce"]

TITLE = "IVM-based parallel branch and bound on GPUs"
SOURCE = (
    "J. Gmys, M. Mezmaz, N. Melab, D. Tuyttens: IVM-based parallel branch-and-bound using hierarchical work stealing "
    "on multi-GPU systems, Concurrency and Computation: Practice and Experience 29 (2017) e4019."
)
_SETTING: dict[str, Any] = {"bound": "two_machine", "branching": "max_sum_back"}
_OPTIMA = {21: 2297, 22: 2099, 23: 2326, 24: 2223, 25: 2291, 26: 2226, 27: 2273, 28: 2200, 29: 2237, 30: 2178}
_SOLUTIONS = {9: 352, 10: 724, 11: 2680, 13: 73712, 14: 365596, 15: 2279184, 16: 14772512, 17: 95815104,
              18: 666090624, 19: 4968057848}  # fmt: skip


@dataclass(frozen=True)
class _Row:
    """A row of the paper's Table 1 or 2: million decomposed nodes, and million a second on one to four GTX 980."""

    nodes: float
    rates: tuple[float, float, float, float]

    def shown(self) -> str:
        """The number of nodes as printed."""
        return f"{self.nodes:g}" if self.nodes < 1000 else f"{self.nodes:.0f}"


_TABLE_1 = {
    30: _Row(1.6, (0.556, 1.042, 1.479, 1.739)),
    29: _Row(6.8, (0.556, 1.099, 1.643, 2.145)),
    28: _Row(8.1, (0.533, 1.032, 1.555, 2.027)),
    22: _Row(22.1, (0.532, 1.066, 1.597, 2.206)),
    24: _Row(40.1, (0.594, 1.174, 1.748, 2.420)),
    21: _Row(41.4, (0.523, 1.011, 1.532, 2.117)),
    25: _Row(41.4, (0.489, 0.958, 1.442, 1.975)),
    27: _Row(57.1, (0.610, 1.211, 1.825, 2.423)),
    26: _Row(71.3, (0.578, 1.142, 1.711, 2.314)),
    23: _Row(140.8, (0.536, 1.029, 1.534, 2.178)),
}
_TABLE_2 = {
    "queens 15": _Row(91, (232, 364, 397, 437)),
    "queens 16": _Row(563, (286, 497, 633, 710)),
    "queens 17": _Row(4_224, (290, 555, 748, 952)),
    "queens 18": _Row(29_350, (281, 567, 779, 999)),
    "queens 19": _Row(242_419, (274, 522, 770, 1040)),
    "crane 15": _Row(218, (350, 549, 700, 726)),
    "crane 16": _Row(1_089, (362, 625, 929, 1137)),
    "crane 17": _Row(6_957, (364, 718, 1015, 1322)),
    "crane 18": _Row(37_932, (312, 597, 868, 1132)),
    "crane 19": _Row(245_308, (301, 572, 849, 1102)),
    "tsmat 14": _Row(90, (271, 417, 461, 472)),
    "tsmat 15": _Row(6_608, (422, 823, 1172, 1507)),
    "tsmat 16": _Row(4_019, (372, 698, 973, 1183)),
    "tsmat 17": _Row(241_801, (388, 764, 1126, 1457)),
}
_WARM_RUNS = 5
_LEAST = 1e-9
_MANY = 100
_EACH: dict[str, Any] = {"window_launches": "each"}
"""Victim selection with a launch a distance, as in the paper's Algorithms 5 and 6."""


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return run_study("ivm", TITLE, SOURCE, _study, arguments)


def _study(study: Study) -> None:
    with _teams(study) as teams:
        rates: dict[str, tuple[_Row, list[float]]] = {}
        _measure_ivms(study, teams)
        _measure_trigger(study, teams)
        _measure_flowshop(study, teams, rates)
        _measure_fine_grained(study, teams, rates)
        _draw_rates(study, teams, rates)
        _measure_variants(study)
        _measure_load(study, teams)
        _measure_stability(study, teams)


# --- devices ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Team:
    """Devices that search together: an engine, how the tables name it, and how many devices there really are."""

    label: str
    engine: Engine
    real: int
    hybrid: bool = False


@contextmanager
def _teams(study: Study) -> Iterator[list[_Team]]:
    """One device; two and four of its kind, or the same one twice; and one with a CPU beside it, if there is one."""
    infos = study.engine.device_infos
    first = infos[0]
    alike = [info.id for info in infos if info.capabilities.simt == first.capabilities.simt]
    cpus = [info.id for info in available("opencl")[0] if not info.capabilities.simt] if first.capabilities.simt else []
    with ExitStack() as stack:

        def team(label: str, ids: Sequence[str], real: int, hybrid: bool = False) -> _Team:
            return _Team(label, stack.enter_context(Engine(devices=list(ids))), real, hybrid)

        teams = [team("x1", alike[:1], 1)]
        if len(alike) == 1:
            teams.append(team("x1 listed twice", alike * 2, 1))
        teams += [team(f"x{count}", alike[:count], count) for count in (2, 4) if count <= len(alike)]
        if cpus:
            teams.append(team("x1 + CPU", [alike[0], cpus[0]], 1, hybrid=True))
        yield teams


def _several(teams: Sequence[_Team]) -> list[_Team]:
    """Those of devices of one kind."""
    return [team for team in teams if not team.hybrid]


def _solve(team: _Team, problem: PermutationProblem, seconds: float | None = None, **options: Any) -> Result:
    """A warm run, stopped after so many seconds."""
    for _ in range(_WARM_RUNS):  # one may be over before all that it needs is compiled
        if team.engine.solve(problem, time_limit=0.2, **options).counters.get("nodes"):
            break
    return team.engine.solve(problem, time_limit=seconds, **options)


def _rate(result: Result) -> float:
    """Million nodes per second."""
    return float(result.counters.get("nodes", 0)) / max(result.seconds, 1e-9) / 1e6


def _digits(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < _MANY else f"more than {_MANY}"


def _marked(result: Result) -> str:
    """A rate; marked where the run was stopped."""
    return _digits(_rate(result)) + ("*" if result.status.stopped else "")


# --- Figure 3 ---------------------------------------------------------------------------------------------------------


def _measure_ivms(study: Study, teams: Sequence[_Team]) -> None:
    """Node rates by the number of IVMs and the strategy."""
    powers: Sequence[int] = study.pick((6, 7), range(9, 14), range(9, 16))
    queens: int = study.pick(9, 13, 17)
    limit: float = study.pick(0.5, 1.5, 1.0)
    study.section(
        "Figure 3: number of IVMs and strategy",
        f"Million nodes per second of {queens} queens (variant pte, trigger 0.1; the paper: 17 queens) by the number T "
        "of IVMs. Hypercube and adapt are the paper's Algorithms 5 and 6, with a launch for every distance, as there; "
        "in one launch marks the same victims chosen in fewer launches. The paper gives no window for search and "
        "large, and no first window for adapt: here it is the default. doubling and siblings are this solver's own. A "
        "launch takes about as long as it did in 2016, and a search is many times shorter: launches weigh more here.",
    )
    cases: list[tuple[str, str, dict[str, Any]]] = [("hypercube", "hypercube", _EACH), ("adapt", "adapt", _EACH)]
    cases += [(f"{name}, in one launch", name, {}) for name in ("hypercube", "adapt")]
    cases += [(name, name, {}) for name in get_args(Strategy) if name not in ("hypercube", "adapt")]
    rates: dict[tuple[str, str], list[float]] = {}
    for team in _several(teams):
        rows = []
        for name, strategy, options in cases if team is teams[0] else cases[:2]:
            cells = []
            for power in powers:
                given = {**options, "strategy": strategy, "ivms": 1 << power, "steal_trigger": 0.1, "variant": "pte"}
                result = _solve(team, Queens(queens), limit, **given)
                rates.setdefault((team.label, name), []).append(_rate(result))
                cells.append(_marked(result))
            rows.append((name, *cells))
        study.table(
            f"{queens} queens, Mnodes/s, {team.label}",
            ("strategy", *(f"T = {1 << power}" for power in powers)),
            rows,
            f"* was stopped after {limit} s",
        )
    _draw_ivms(study, powers, rates)
    cube, adapt = rates[teams[0].label, "hypercube"], rates[teams[0].label, "adapt"]
    ratios = [a / b if b else math.inf for a, b in zip(cube, adapt, strict=True)]
    small = [ratio for power, ratio in zip(powers, ratios, strict=True) if power < 12]
    large = [ratio for power, ratio in zip(powers, ratios, strict=True) if power >= 12]
    on_gpu = study.profile == "gpu"
    text = ", ".join(_ratio(ratio) for ratio in ratios)
    study.finding(
        "below 4096 IVMs adapt and the hypercube are about as fast as each other",
        all(1 / 1.5 <= ratio <= 1.5 for ratio in small) if on_gpu else None,
        f"hypercube : adapt, from the smallest T on: {text}",
    )
    study.finding(
        "with more IVMs the hypercube clearly outperforms adapt",
        min(large) > 1.1 if large else None,
        "the same ratios" + (f"; from T = 4096 on at least {_ratio(min(large))}" if large else ""),
    )
    study.finding(
        "the rate of the hypercube grows with T up to 2^14",
        all(b > a for a, b in pairwise(cube)) if on_gpu else None,
        ", ".join(_digits(rate) for rate in cube) + " Mnodes/s",
    )
    number: int = study.pick(1, 30, 21)
    powers = [power for power in powers if power < 15]
    few = {} if study.profile == "gpu" else {"bound": "one_machine"}
    rows = []
    for strategy in ("hypercube", "adapt"):
        given = {**_SETTING, **few, **_EACH, "strategy": strategy, "variant": "pte_peb"}
        upper = _OPTIMA.get(number, 1278)
        results = [
            _solve(teams[0], Flowshop.taillard(number), limit, upper_bound=upper, ivms=1 << power, **given)
            for power in powers
        ]
        rows.append((strategy, *(_marked(result) for result in results)))
    study.table(
        f"Ta{number:03d} with {'the two-machine' if not few else 'the one-machine'} bound, Mnodes/s, variant pte_peb",
        ("strategy", *(f"T = {1 << power}" for power in powers)),
        rows,
        f"the paper: Ta021, two machines; * was stopped after {limit} s",
    )


def _draw_ivms(study: Study, powers: Sequence[int], rates: Mapping[tuple[str, str], list[float]]) -> None:
    def draw(axes: Any) -> None:
        for (label, name), values in rates.items():
            if name in ("hypercube", "adapt", "siblings"):
                axes.plot([1 << power for power in powers], values, ".-", label=f"{name}, {label}")
        points = ((1 << 14, 290, "hypercube x1"), (1 << 15, 950, "hypercube x4"), (1 << 14, 600, "adapt x4"))
        for at, rate, name in points:
            axes.plot(at, rate, "x", label=f"paper: {name}")
        axes.set(xlabel="IVMs", ylabel="million nodes per second", yscale="log")
        axes.set_xscale("log", base=2)
        axes.legend(fontsize=7)

    study.figure(
        "ivms", "Million nodes per second by number of IVMs", draw, "Queens; the crosses are the paper's 17 queens."
    )


# --- Figure 4 ---------------------------------------------------------------------------------------------------------


def _atsp(team: _Team, family: str, n: int) -> tuple[PermutationProblem, dict[str, Any]]:
    """An instance of a family, and the options of the paper: partial costs as bound, begun with the optimum."""
    problem = generate_atsp(ATSPFamily.model_validate({"type": family, "n": n, "seed": 1}))
    optimum: Any = team.engine.solve(problem).objective
    return problem, {"bound": "partial", "upper_bound": optimum}


def _measure_trigger(study: Study, teams: Sequence[_Team]) -> None:
    """Node rates by the trigger, from none on."""
    n: int = study.pick(9, 13, 17)
    ivms: int = study.pick(64, 1024, 1 << 14)
    limit: float = study.pick(0.5, 2.0, 2.0)
    shares = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.73)
    study.section(
        "Figure 4: trigger",
        f"Million nodes per second of crane {n} (partial costs; the paper: crane 16 and 17) with {ivms:,} IVMs, by the "
        "number of idle IVMs at which a launch ends. The paper's numbers are of 16,384; 0 is a phase of stealing after "
        "every node. Here a trigger is a share of the IVMs that are active at the launch.",
    )
    problem, options = _atsp(teams[0], "crane", n)
    rows, rates = [], {}
    for share in shares:
        results = [
            _solve(team, problem, limit, strategy="hypercube", ivms=ivms, variant="pte", steal_trigger=share, **options)
            for team in _several(teams)
        ]
        rates[share] = _rate(results[0])
        rows.append((f"{share:g}", f"{share * (1 << 14):,.0f}", *(_marked(result) for result in results)))
    labels = [team.label for team in _several(teams)]
    note = f"* was stopped after {limit} s"
    study.table("Mnodes/s by trigger", ("share", "of 16,384", *labels), rows, note)

    def draw(axes: Any) -> None:
        axes.plot([share * (1 << 14) for share in shares], list(rates.values()), ".-")
        axes.set(xlabel="trigger, of 16,384 IVMs", ylabel="million nodes per second")

    study.figure("trigger", "Million nodes per second by trigger", draw)
    best = max(rates, key=lambda share: rates[share])
    gain = rates[best] / max(rates[0.0], _LEAST)
    measured = study.profile == "gpu"
    seen = f"the best is {best:g} of the active IVMs, {gain:.3g} times as fast as none"
    study.finding("a trigger is better than a phase of stealing after every node", gain > 1 if measured else None, seen)
    study.finding("a suitable trigger gains a factor of 10", gain >= 10 if measured else None, seen)
    study.finding(
        "a trigger that is too large costs speed",
        rates[shares[-1]] < 0.9 * rates[best] if measured else None,
        f"{rates[shares[-1]] / max(rates[best], _LEAST):.2f} of the best rate with {shares[-1]:g}; here a launch "
        "also ends after so many nodes",
    )


# --- Tables 1 and 2 ---------------------------------------------------------------------------------------------------


def _columns(teams: Sequence[_Team]) -> tuple[str, ...]:
    return (
        *(f"paper, x{count}" for count in (1, 2, 4)),
        *(f"Mnodes/s, {team.label}" for team in _several(teams)),
    )


def _row(paper: _Row | None, results: Sequence[Result], teams: int) -> tuple[str, ...]:
    published = [""] * 3 if paper is None else [_digits(paper.rates[at]) for at in (0, 1, 3)]
    ours = [_marked(result) for result in results]
    return (*published, *ours, *[""] * (teams - len(ours)))


def _measure_flowshop(study: Study, teams: Sequence[_Team], rates: dict[str, tuple[_Row, list[float]]]) -> None:
    """Table 1: Taillard's 20 x 20 instances with the two-machine bound and the optimum as upper bound."""
    numbers: Sequence[int] = study.pick((), (30,), tuple(_TABLE_1))
    study.section(
        "Table 1: flowshops",
        "Taillard's instances 21 to 30 (20 jobs, 20 machines); two-machine bound, branching by the larger sum of "
        "bounds and, if they are equal, at the back (max_sum_back), as in the authors' published program; the optimum "
        "as initial upper bound. The root is not counted, as in the paper.",
    )
    if not numbers:
        study.text("Left out in this profile.")
        return
    rows, nodes, ratios = [], {}, []
    for number in numbers:
        given: dict[str, Any] = {**_SETTING, "upper_bound": _OPTIMA[number]}
        chosen = _several(teams) if study.profile == "gpu" else teams[:1]  # minutes on a CPU
        results = [_solve(team, Flowshop.taillard(number), **given) for team in chosen]
        paper = _TABLE_1[number]
        nodes[number] = (results[0].counters["nodes"] - 1) / 1e6
        rates[f"Ta{number:03d}"] = paper, [_rate(result) for result in results]
        ratios.append(_rate(results[-1]) / max(_rate(results[0]), _LEAST))
        rows.append(
            (f"Ta{number:03d}", paper.shown(), f"{nodes[number]:.2f}", *_row(paper, results, len(_several(teams))))
        )
    study.table("Proof of optimality", ("instance", "paper, Mnodes", "Mnodes", *_columns(teams)), rows)
    equal = [number for number in nodes if abs(nodes[number] - _TABLE_1[number].nodes) <= 0.05]
    near = [number for number in nodes if abs(nodes[number] / _TABLE_1[number].nodes - 1) <= 0.01 or number in equal]
    study.finding(
        "the numbers of decomposed nodes of flowshops",
        len(equal) == len(nodes),
        f"{len(equal)} of {len(nodes)} equal the paper's to its last digit, {len(near)} to 1 %",
    )
    _find_speedup(study, teams, "flowshops: a near-linear speed-up on several devices", ratios)
    ours = [rates[f"Ta{number:03d}"][1][0] for number in numbers]
    study.finding(
        "one GPU decomposes 0.489 to 0.61 million nodes of flowshops per second",
        min(ours) >= 0.489 if study.profile == "gpu" else None,
        f"median {_digits(statistics.median(ours))} million on this device",
    )


def _find_speedup(study: Study, teams: Sequence[_Team], claim: str, ratios: Sequence[float]) -> None:
    most = _several(teams)[-1]
    study.finding(
        claim,
        statistics.median(ratios) >= 0.8 * most.real if most.real > 1 else None,
        f"median {statistics.median(ratios):.2f} with {most.label}",
    )


def _measure_fine_grained(study: Study, teams: Sequence[_Team], rates: dict[str, tuple[_Row, list[float]]]) -> None:
    """Table 2: n-queens, and asymmetric TSPs with partial costs as bound."""
    limit: float = study.pick(2.0, 5.0, 4.0)
    study.section(
        "Table 2: n-queens and asymmetric TSPs",
        "All solutions are counted, with the first queen in the left half of the first row. The paper gives no seeds "
        "for its generated TSPs, so these are other instances of the same families, and their numbers of nodes other "
        "ones. They are begun with the optimum, and their bound is the cost of the partial tour.",
    )
    rows, ratios = [], []
    right, equal = True, []
    for n in study.pick((9, 10), (13, 14), (15, 16, 17, 18, 19)):
        results = [_solve(team, Queens(n)) for team in _several(teams)]
        nodes = results[0].counters["nodes"] / 1e6
        right &= all(result.objective == _SOLUTIONS[n] for result in results)
        paper = _TABLE_2.get(f"queens {n}")
        if paper is not None:
            equal.append(round(nodes) == paper.nodes)
            rates[f"queens {n}"] = paper, [_rate(result) for result in results]
            ratios.append(_rate(results[-1]) / max(_rate(results[0]), _LEAST))
        rows.append(
            (f"queens {n}", paper.shown() if paper else "", f"{nodes:.1f}", *_row(paper, results, len(_several(teams))))
        )
    small, large = study.pick(((8, 9), (8, 9)), ((11, 12), (11, 12)), (range(15, 20), range(14, 18)))
    for family, sizes in (("crane", small), ("tsmat", large)):
        for n in sizes:
            problem, options = _atsp(teams[0], family, n)
            results = [_solve(team, problem, limit, **options) for team in _several(teams)]
            paper = _TABLE_2.get(f"{family} {n}")
            if paper is not None:
                rates[f"{family} {n}"] = paper, [_rate(result) for result in results]
                ratios.append(_rate(results[-1]) / max(_rate(results[0]), _LEAST))
            nodes = results[0].counters["nodes"] / 1e6
            rows.append(
                (
                    f"{family} {n}",
                    paper.shown() if paper else "",
                    f"{nodes:.3g}",
                    *_row(paper, results, len(_several(teams))),
                )
            )
    note = f"* was stopped after {limit:g} s"
    study.table("Fine-grained problems", ("instance", "paper, Mnodes", "Mnodes", *_columns(teams)), rows, note)
    study.finding("the numbers of solutions of n-queens are right", right, "compared with the published numbers")
    study.finding(
        "the numbers of decomposed nodes of n-queens",
        all(equal) if equal else None,
        f"{sum(equal)} of {len(equal)} equal the paper's to its last digit" if equal else "other sizes in this profile",
    )
    study.finding("the numbers of decomposed nodes of asymmetric TSPs", None, "the paper gives no seeds")
    if ratios:
        _find_speedup(study, teams, "n-queens and TSPs: a near-linear speed-up for 18 and more items", ratios)


def _draw_rates(study: Study, teams: Sequence[_Team], rates: Mapping[str, tuple[_Row, Sequence[float]]]) -> None:
    """Tables 1 and 2 in one picture."""
    if not rates:
        return

    def draw(axes: Any) -> None:
        places = range(len(rates))
        for at, count in ((0, 1), (3, 4)):
            axes.plot(places, [paper.rates[at] for paper, _ in rates.values()], "x", label=f"paper, x{count} GTX 980")
        for at, team in enumerate(_several(teams)):
            found = [ours[at] if at < len(ours) else math.nan for _, ours in rates.values()]
            axes.plot(places, found, ".", label=f"here, {team.label}")
        axes.set_xticks(list(places), list(rates), rotation=90, fontsize=7)
        axes.set(ylabel="million nodes per second", yscale="log")
        axes.legend(fontsize=7)

    study.figure("rates", "Million nodes per second, the paper's and ours", draw, "Tables 1 and 2.")


# --- variants, phases, load, stability --------------------------------------------------------------------------------


def _measure_variants(study: Study) -> None:
    """PTE against PTE with PEB, and the time that stealing takes."""
    limit: float = study.pick(0.5, 2.0, 3.0)
    number: int = study.pick(1, 30, 22)
    n: int = study.pick(9, 12, 17)
    study.section(
        "Variants and phases",
        "The paper bounds children in parallel (pte_peb) where bounds are costly, and lets a work-item do all of a "
        "node (pte) for cheap ones. Of Ta022 on four GPUs it reports 87.6 % of the time in bounding, 1.8 % in "
        "stealing on a device, 0.7 % waiting for work, about 10 % in the other kernels; of tsmat 15, 4.8 % in "
        "stealing. Here the time between launches of the search is measured (stealing or waiting); a launch is not "
        "divided.",
    )
    team = _Team("x1", study.engine, 1)
    flowshop: dict[str, Any] = {"upper_bound": _OPTIMA.get(number, 1278)}
    cases: list[tuple[str, PermutationProblem, dict[str, Any]]] = [
        (f"queens {n}", Queens(n), {}),
        (f"Ta{number:03d}, one machine", Flowshop.taillard(number), flowshop),
        (f"Ta{number:03d}, two machines", Flowshop.taillard(number), {**flowshop, **_SETTING}),
    ]
    rows, better = [], {}
    for name, problem, options in cases:
        found = {}
        shares: list[float] = []
        for variant in ("pte", "pte_peb"):
            given = {**options, "variant": variant, "strategy": "hypercube"}
            _solve(team, problem, 0.1, **given)
            shares = []

            def note(event: Event, shares: list[float] = shares) -> None:
                if isinstance(event, Metric) and event.name == "stealing_share":
                    shares.append(event.value)

            result = study.engine.solve(problem, time_limit=limit, on_event=note, **given)
            found[variant] = result, 100 * statistics.fmean(shares) if shares else None
        better[name] = max(found, key=lambda variant: _rate(found[variant][0]))
        cells = (f"{share:.1f}" if share is not None else "" for _, share in found.values())
        rows.append((name, *(_marked(result) for result, _ in found.values()), *cells))
    columns = ("instance", "Mnodes/s, pte", "pte_peb", "% stealing or waiting, pte", "pte_peb")
    study.table("Variants", columns, rows, f"* was stopped after {limit} s")
    costly = better[cases[2][0]]
    study.finding(
        "bounding children in parallel pays where bounds are costly",
        costly == "pte_peb" if study.profile == "gpu" else None,
        f"{costly} is faster with the two-machine bound, which {'' if costly == 'pte_peb' else 'pte '}"
        "computes with a group of work-items a node on GPUs",
    )


def _measure_load(study: Study, teams: Sequence[_Team]) -> None:
    """Figure 5: active IVMs during a search."""
    numbers: Sequence[int] = study.pick((), (28,), (22, 28))
    study.section(
        "Figure 5: active IVMs",
        "The paper shows how many IVMs of each GPU have work during Ta022 and Ta028, with and without a CPU in "
        "the pool.",
    )
    if not numbers:
        study.text("Left out in this profile.")
        return
    setting: dict[str, Any] = {"bound": "one_machine"} if study.profile == "cpu" else _SETTING
    lines: dict[str, list[tuple[float, float]]] = {}
    for number in numbers:
        for team in teams:
            points: list[tuple[float, float]] = []

            def note(event: Event, points: list[tuple[float, float]] = points) -> None:
                if isinstance(event, Metric) and event.name == "active_ivms":
                    points.append((event.time, event.value))

            team.engine.solve(
                Flowshop.taillard(number), upper_bound=_OPTIMA[number], on_event=note, time_limit=20, **setting
            )
            lines[f"Ta{number:03d}, {team.label}"] = points

    def draw(axes: Any) -> None:
        for name, points in lines.items():
            axes.plot([at for at, _ in points], [value for _, value in points], ".-", markersize=2, label=name)
        axes.set(xlabel="seconds", ylabel="active IVMs")
        axes.legend(fontsize=7)

    study.figure("load", "Active IVMs during a search", draw)
    rows = [(name, len(points), f"{max((v for _, v in points), default=0):,.0f}") for name, points in lines.items()]
    study.table("Reports of active IVMs", ("search", "reports", "most active IVMs"), rows)


def _measure_stability(study: Study, teams: Sequence[_Team]) -> None:
    """Table 3: many runs, with and without a CPU in the pool."""
    runs: int = study.pick(3, 20, 100)
    problem: PermutationProblem = Queens(10) if study.profile == "quick" else Flowshop.taillard(study.pick(1, 30, 28))
    options: dict[str, Any] = study.pick({}, {"upper_bound": 2178}, {**_SETTING, "upper_bound": 2200})
    name = study.pick("10 queens", "Ta030 (one-machine bound)", "Ta028")
    study.section(
        "Table 3: a CPU in the pool",
        f"{runs} runs of {name}. The paper: 100 runs of Ta028 took 14.7 s ± 0.7 % (14.6 to 14.9) on one GPU, 16.1 s "
        "± 22.1 % (14.4 to 46.2) with 16 CPU threads; 3.9 s ± 0.6 % (3.87 to 3.96) on four, 4.4 s ± 2.8 % (3.84 to "
        "5.09) with them.",
    )
    rows = []
    seconds: dict[str, list[float]] = {}
    for team in teams:
        for _ in range(2):
            _solve(team, problem, **options)
        seconds[team.label] = [team.engine.solve(problem, **options).seconds for _ in range(runs)]
        taken = seconds[team.label]
        mean, spread = statistics.fmean(taken), statistics.stdev(taken)
        rows.append((team.label, f"{mean:.4f}", f"{100 * spread / mean:.1f}", f"{min(taken):.4f}", f"{max(taken):.4f}"))
    study.table("Seconds", ("devices", "mean", "SD, % of the mean", "least", "most"), rows, f"{runs} runs each")
    hybrid = next((team.label for team in teams if team.hybrid), None)
    alone = seconds[teams[0].label]
    for claim, of in (("slower", statistics.fmean), ("less stable", statistics.stdev)):
        ratio = of(seconds[hybrid]) / of(alone) if hybrid else 0.0
        study.finding(
            f"a CPU in the pool makes runs {claim}",
            ratio > 1.05 if hybrid else None,
            f"{ratio:.2f} times" if hybrid else "there are not both a GPU and a CPU with a driver here",
        )
