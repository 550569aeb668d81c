"""``quintet reproduce ivm``: the measurements of Gmys, Mezmaz, Melab and Tuyttens's IVM-based branch and bound.

Every figure and table of the paper's section 4; where a machine has one device, tables list it several times as well.
"""

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
from ..reports.study import Study
from ..solvers.branch_and_bound.options import Strategy
from ..solvers.branch_and_bound.problems.flowshop import Flowshop
from ..solvers.branch_and_bound.problems.queens import Queens
from ..solvers.branch_and_bound.search.coordinator import HEAD_START
from ..solvers.branch_and_bound.tree import PermutationProblem
from . import serial
from .papers import Paper

_SETTING: dict[str, Any] = {"bound": "two_machine", "branching": "max_sum_back"}
_SOLUTIONS = {9: 352, 10: 724, 11: 2680, 13: 73712, 14: 365596, 15: 2279184, 16: 14772512, 17: 95815104,
              18: 666090624, 19: 4968057848}  # fmt: skip
_WARM_RUNS = 5
_LEAST = 1e-9
_MANY = 100
_AND_CPU = " + CPU"
Rates = dict[str, dict[float, float]]
"""Curves of Tables 1 and 2: million nodes a second by million nodes."""
_LISTED = "One device listed several times shows that sharing works and what it costs, not a speed-up."
_EACH: dict[str, Any] = {"window_launches": "each"}
"""Victim selection with a launch a distance, as in the paper's Algorithms 5 and 6."""


def reproduce(arguments: list[str]) -> int:
    """Run the command with its arguments; returns the exit code."""
    return Paper.named("ivm").run(_study, arguments)


def _study(study: Study, paper: Paper) -> None:
    with _teams(study) as listed:
        several = _several(listed)
        teams = [team for team in several if team.real == len(team.ids)]
        ends = [several[0], several[-1], *(team for team in listed if team.hybrid)]
        rates: Rates = {}
        _measure_ivms(study, paper, teams)
        _measure_trigger(study, teams)
        _measure_flowshop(study, paper, listed, rates)
        _measure_fine_grained(study, paper, listed, rates)
        if rates:
            title, caption = "Million nodes per second, the paper's and ours", "Tables 1 and 2."
            study.curves("rates", title, rates, "million decomposed nodes", "million nodes per second", caption)
        _measure_variants(study)
        _measure_load(study, ends)
        _measure_stability(study, ends)


# --- devices ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Team:
    """Devices that search together: an engine, and how the tables name it."""

    label: str
    ids: Sequence[str]
    engine: Engine
    hybrid: bool = False

    @property
    def real(self) -> int:
        """How many devices there really are."""
        return len(set(self.ids))


@contextmanager
def _teams(study: Study) -> Iterator[list[_Team]]:
    """One device; two and four of its kind, or the same one so often; with a CPU beside the least and most of these."""
    infos = study.engine.device_infos
    first = infos[0]
    alike = [info.id for info in infos if info.capabilities.simt == first.capabilities.simt]
    cpus = [info.id for info in available("opencl")[0] if not info.capabilities.simt] if first.capabilities.simt else []
    with ExitStack() as stack:

        def team(label: str, ids: Sequence[str], hybrid: bool = False) -> _Team:
            return _Team(label, ids, stack.enter_context(Engine(devices=list(ids))), hybrid)

        teams = [team("x1", alike[:1])]
        if len(alike) == 1:
            teams += [team(f"x1 listed {count} times", alike * count) for count in (2, 4)]
        teams += [team(f"x{count}", alike[:count]) for count in (2, 4) if count <= len(alike)]
        if cpus:
            teams += [team(plain.label + _AND_CPU, [*plain.ids, cpus[0]], True) for plain in (teams[0], teams[-1])]
        yield teams


def _several(teams: Sequence[_Team]) -> list[_Team]:
    """Those of devices of one kind."""
    return [team for team in teams if not team.hybrid]


def _solve(team: _Team, problem: PermutationProblem, seconds: float | None = None, **options: Any) -> Result:
    """A warm run, stopped after so many seconds."""
    for _ in range(_WARM_RUNS):  # one may be over before all that it needs is compiled
        if team.engine.solve(problem, time_limit=0.1, **options).counters.get("nodes"):
            break
    return team.engine.solve(problem, time_limit=seconds, **options)


def _rate(result: Result) -> float:
    """Million nodes per second."""
    return float(result.counters.get("nodes", 0)) / max(result.seconds, _LEAST) / 1e6


def _digits(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < _MANY else f"more than {_MANY}"


def _marked(result: Result) -> str:
    """A rate; marked where the run was stopped."""
    return _digits(_rate(result)) + ("*" if result.status.stopped else "")


def _stopped_after(seconds: float) -> str:
    return f"* was stopped after {seconds:g} s"


# --- Figure 3 ---------------------------------------------------------------------------------------------------------


def _measure_ivms(study: Study, paper: Paper, teams: Sequence[_Team]) -> None:
    """Node rates by the number of IVMs and the strategy."""
    powers: Sequence[int] = study.pick((6, 7), range(9, 14), range(9, 16))
    queens: int = study.pick(9, 13, 17)
    limit: float = study.pick(0.3, 1.5, 0.5)
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
    columns = ("strategy", *(f"T = {1 << power}" for power in powers))
    for team in _several(teams):
        rows = []
        for name, strategy, options in cases if team is teams[0] else cases[:2]:
            given = {**options, "strategy": strategy, "steal_trigger": 0.1, "variant": "pte"}
            results = [_solve(team, Queens(queens), limit, ivms=1 << power, **given) for power in powers]
            rates[team.label, name] = [_rate(result) for result in results]
            rows.append((name, *(_marked(result) for result in results)))
        study.table(f"{queens} queens, Mnodes/s, {team.label}", columns, rows, _stopped_after(limit))
    lines: dict[str, dict[float, float]] = {
        f"{name}, {label}": {1 << power: rate for power, rate in zip(powers, found, strict=True)}
        for (label, name), found in rates.items()
        if name in ("hypercube", "adapt", "siblings")
    }
    lines |= {f"paper: {name}": {1 << power: rate} for name, power, rate in paper.points["figure_3"]}
    caption = "Queens; the crosses are the paper's 17 queens."
    study.curves(
        "ivms", "Million nodes per second by number of IVMs", lines, "IVMs", "million nodes per second", caption
    )
    _judge_ivms(study, powers, {name: rates[teams[0].label, name] for name, _, _ in cases[:4]})
    number: int = study.pick(1, 30, 21)
    powers = [power for power in powers if power < 15]
    few = {} if study.profile == "gpu" else {"bound": "one_machine"}
    rows = []
    for strategy in ("hypercube", "adapt"):
        given = {**_SETTING, **few, **_EACH, "strategy": strategy, "variant": "pte_peb"}
        problem, given["upper_bound"] = Flowshop.taillard(number), Flowshop.taillard_best_known(number)
        results = [_solve(teams[0], problem, limit, ivms=1 << power, **given) for power in powers]
        rows.append((strategy, *(_marked(result) for result in results)))
    study.table(
        f"Ta{number:03d} with {'the two-machine' if not few else 'the one-machine'} bound, Mnodes/s, variant pte_peb",
        columns[: len(powers) + 1],
        rows,
        f"the paper: Ta021, two machines; {_stopped_after(limit)}",
    )


def _judge_ivms(study: Study, powers: Sequence[int], rates: Mapping[str, Sequence[float]]) -> None:
    cube, adapt, *in_one = rates.values()
    ratios = {power: a / b if b else math.inf for power, a, b in zip(powers, cube, adapt, strict=True)}
    fewer = ", ".join(_ratio(a / max(b, _LEAST)) for a, b in zip(*in_one, strict=True))
    small = [ratio for power, ratio in ratios.items() if power < 12]
    large = [ratio for power, ratio in ratios.items() if power >= 12]
    text = "hypercube : adapt, from the smallest T on: " + ", ".join(_ratio(ratio) for ratio in ratios.values())
    few = f"{text}; with fewer launches a phase, which weigh less: {fewer}"
    study.judge("few_ivms", all(1 / 1.5 <= ratio <= 1.5 for ratio in small), few)
    seen = text + (f"; from T = 4096 on at least {_ratio(min(large))}" if large else "")
    study.judge("many_ivms", min(large) > 1.1 if large else None, seen)
    seen = ", ".join(_digits(rate) for rate in cube) + " Mnodes/s"
    study.judge("more_ivms", all(b > a for a, b in pairwise(cube)), seen)
    seen = ", ".join(_digits(rate) for rate in adapt) + " Mnodes/s"
    study.judge("adapt_falls", adapt[-1] < max(adapt) if max(powers) > 14 else None, seen)


# --- Figure 4 ---------------------------------------------------------------------------------------------------------


def _atsp(study: Study, team: _Team, family: str, n: int) -> tuple[PermutationProblem, dict[str, Any]]:
    """An instance of a family, and the options of the paper: partial costs as bound, begun with the optimum."""
    problem = generate_atsp(ATSPFamily.model_validate({"type": family, "n": n, "seed": study.seed}))
    optimum: Any = team.engine.solve(problem).objective
    return problem, {"bound": "partial", "upper_bound": optimum}


def _measure_trigger(study: Study, teams: Sequence[_Team]) -> None:
    """Node rates by the trigger, from none on."""
    n: int = study.pick(9, 13, 17)
    ivms: int = study.pick(64, 1024, 1 << 14)
    limit: float = study.pick(0.3, 2.0, 1.0)
    shares = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.73)
    study.section(
        "Figure 4: trigger",
        f"Million nodes per second of crane {n} (partial costs; the paper: crane 16 and 17) with {ivms:,} IVMs, by the "
        "number of idle IVMs at which a launch ends. The paper's numbers are of 16,384; 0 is a phase of stealing after "
        "every node. Here a trigger is a share of the IVMs that are active at the launch.",
    )
    problem, options = _atsp(study, teams[0], "crane", n)
    options |= {"strategy": "hypercube", "ivms": ivms, "variant": "pte"}
    rows, rates = [], {}
    for share in shares:
        results = [_solve(team, problem, limit, steal_trigger=share, **options) for team in _several(teams)]
        rates[share] = _rate(results[0])
        rows.append((f"{share:g}", f"{share * (1 << 14):,.0f}", *(_marked(result) for result in results)))
    labels = [team.label for team in _several(teams)]
    study.table("Mnodes/s by trigger", ("share", "of 16,384", *labels), rows, _stopped_after(limit))
    lines = {teams[0].label: {share * (1 << 14): rate for share, rate in rates.items()}}
    title, axis = "Million nodes per second by trigger", "trigger, of 16,384 IVMs"
    study.curves("trigger", title, lines, axis, "million nodes per second", scales="linear linear")
    best = max(rates, key=lambda share: rates[share])
    gain = rates[best] / max(rates[0.0], _LEAST)
    seen = f"the best is {best:g} of the active IVMs, {gain:.3g} times as fast as none"
    study.judge("trigger", gain > 1, seen)
    study.judge("trigger_gain", gain >= 10, seen)
    study.judge(
        "trigger_large",
        rates[shares[-1]] < 0.9 * rates[best],
        f"{rates[shares[-1]] / max(rates[best], _LEAST):.2f} of the best rate with {shares[-1]:g}; here a launch "
        "also ends after so many nodes",
    )


# --- Tables 1 and 2 ---------------------------------------------------------------------------------------------------


def _columns(teams: Sequence[_Team]) -> tuple[str, ...]:
    ours = (f"Mnodes/s, {team.label}" for team in teams)
    return ("instance", "paper, Mnodes", "Mnodes", *(f"paper, x{count}" for count in (1, 2, 4)), *ours)


def _row(name: str, paper: Sequence[float] | None, nodes: str, results: Sequence[Result]) -> tuple[str, ...]:
    """Cells: million nodes as printed and found, the rates of the paper's one, two and four GPUs, and ours."""
    published = [""] * 4
    if paper is not None:
        published = [f"{paper[0]:g}", *(_digits(paper[at]) for at in (1, 2, 4))]
    return (name, published[0], nodes, *published[1:], *map(_marked, results))


def _note(rates: Rates, kind: str, paper: Sequence[float], teams: Sequence[_Team], results: Sequence[Result]) -> float:
    """Put an instance's rates on the curves of its kind; the speed-up with the last devices."""
    for count in (1, 4):
        rates.setdefault(f"paper: {kind}, x{count}", {})[paper[0]] = paper[count]
    for team, result in zip(teams, results, strict=True):
        rates.setdefault(f"{kind}, {team.label}", {})[result.counters["nodes"] / 1e6] = _rate(result)
    return _rate(results[-1]) / max(_rate(results[0]), _LEAST)


def _measure_flowshop(study: Study, paper: Paper, teams: Sequence[_Team], rates: Rates) -> None:
    """Table 1: Taillard's 20 x 20 instances with the two-machine bound and the optimum as upper bound."""
    table = paper.points["table_1"]
    numbers: Sequence[int] = study.pick((), (30,), tuple(int(name[2:]) for name in table))
    study.section(
        "Table 1: flowshops",
        "Taillard's instances 21 to 30 (20 jobs, 20 machines); two-machine bound, branching by the larger sum of "
        "bounds and, if they are equal, at the back (max_sum_back), as in the authors' published program; the optimum "
        f"as initial upper bound. The root is not counted, as in the paper. {_LISTED}",
    )
    if not numbers:
        study.text("Left out in this profile.")
        return
    chosen = _several(teams) if study.profile == "gpu" else teams[:1]  # minutes on a CPU
    rows, differences, speedups, ours = [], {}, [], []
    for number in numbers:
        given: dict[str, Any] = {**_SETTING, "upper_bound": Flowshop.taillard_best_known(number)}
        results = [_solve(team, Flowshop.taillard(number), **given) for team in chosen]
        name = f"Ta{number:03d}"
        nodes = (results[0].counters["nodes"] - 1) / 1e6
        differences[name] = abs(nodes - table[name][0])
        ours.append(_rate(results[0]))
        speedups.append(_note(rates, "flowshops", table[name], chosen, results))
        rows.append(_row(name, table[name], f"{nodes:.3f}", results))
    study.table("Proof of optimality", _columns(chosen), rows)
    equal = sum(difference <= 0.05 for difference in differences.values())
    near = sum(difference <= max(0.05, 0.01 * table[name][0]) for name, difference in differences.items())
    seen = f"{equal} of {len(rows)} equal the paper's to its last digit, {near} to 1 %"
    seen += "".join(f"; {row[0]}: {row[2]}, not {row[1]}" for row in rows if differences[row[0]] > 0.05)
    study.judge("flowshop_nodes", equal == len(rows), seen)
    _judge_speedup(study, teams, "flowshop_devices", speedups)
    study.judge(
        "flowshop_rate", min(ours) >= 0.489, f"median {_digits(statistics.median(ours))} million on this device"
    )


def _judge_speedup(study: Study, teams: Sequence[_Team], key: str, speedups: Sequence[float]) -> None:
    most = _several(teams)[-1]
    median = statistics.median(speedups)
    study.judge(key, median >= 0.8 * most.real if most.real > 1 else None, f"median {median:.2f} with {most.label}")


def _measure_fine_grained(study: Study, paper: Paper, teams: Sequence[_Team], rates: Rates) -> None:
    """Table 2: n-queens, and asymmetric TSPs with partial costs as bound."""
    table = paper.points["table_2"]
    limit: float = study.pick(1.0, 5.0, 2.0)
    study.section(
        "Table 2: n-queens and asymmetric TSPs",
        "All solutions are counted, with the first queen in the left half of the first row. The paper gives no seeds "
        "for its generated TSPs, so these are other instances of the same families, and their numbers of nodes other "
        f"ones. They are begun with the optimum, and their bound is the cost of the partial tour. {_LISTED}",
    )
    rows, speedups = [], []

    def measure(name: str, problem: PermutationProblem, seconds: float | None, **options: Any) -> list[Result]:
        results = [_solve(team, problem, seconds, **options) for team in _several(teams)]
        published = table.get(name)
        nodes = results[0].counters["nodes"] / 1e6
        if published is not None:
            kind = "queens" if isinstance(problem, Queens) else "TSPs"
            speedups.append(_note(rates, kind, published, _several(teams), results))
        rows.append(_row(name, published, f"{nodes:.1f}" if nodes > 1 else f"{nodes:.2g}", results))
        return results

    right, equal = True, []
    for n in study.pick((9, 10), (13, 14), (15, 16, 17, 18, 19)):
        results = measure(f"queens {n}", Queens(n), None)
        right &= all(result.objective == _SOLUTIONS[n] for result in results)
        ours = _rate(results[0])
        if f"queens {n}" in table:
            equal.append(round(results[0].counters["nodes"] / 1e6) == table[f"queens {n}"][0])
    small, large = study.pick(((8, 9), (8, 9)), ((11, 12), (11, 12)), (range(15, 20), range(14, 18)))
    for family, sizes in (("crane", small), ("tsmat", large)):
        for n in sizes:
            problem, options = _atsp(study, teams[0], family, n)
            measure(f"{family} {n}", problem, limit, **options)
    study.table("Fine-grained problems", _columns(_several(teams)), rows, _stopped_after(limit))
    study.judge("queens_solutions", right, "compared with the published numbers")
    if equal:
        study.judge("queens_nodes", all(equal), f"{sum(equal)} of {len(equal)} equal the paper's to its last digit")
    if speedups:
        _judge_speedup(study, teams, "fine_grained_devices", speedups)
    _judge_bitset(study, n_queens=study.pick(9, 13, 15), ours=ours)


def _judge_bitset(study: Study, n_queens: int, ours: float) -> None:
    if serial.compiler() is None:
        study.judge("bitset", None, serial.NO_COMPILER)
        return
    solutions, nodes, seconds = serial.queens(n_queens)
    if solutions != _SOLUTIONS[n_queens]:
        raise AssertionError(f"{solutions} solutions of {n_queens} queens")
    theirs = nodes / max(seconds, _LEAST) / 1e6
    seen = f"one device: {_digits(ours)} Mnodes/s; a bitset program in C, one thread: {_digits(theirs)}"
    study.judge("bitset", ours >= 10 * theirs, seen)


# --- variants, phases, load, stability --------------------------------------------------------------------------------


def _of_metric(name: str, into: list[tuple[float, float]]) -> Any:
    """An observer that keeps the times and values of a metric."""

    def note(event: Event) -> None:
        if isinstance(event, Metric) and event.name == name:
            into.append((event.time, event.value))

    return note


def _measure_variants(study: Study) -> None:
    """PTE against PTE with PEB, and the time that stealing takes."""
    limit: float = study.pick(0.3, 2.0, 2.0)
    number: int = study.pick(1, 30, 22)
    n: int = study.pick(9, 12, 17)
    cities: int = study.pick(8, 12, 15)
    study.section(
        "Variants and phases",
        "The paper bounds children in parallel (pte_peb) where bounds are costly, and lets a work-item do all of a "
        "node (pte) for cheap ones. Of Ta022 on four GPUs it reports 87.6 % of the time in bounding, 1.8 % in "
        "stealing on a device, 0.7 % waiting for work, about 10 % in the other kernels; of tsmat 15, 4.8 % in "
        "stealing. Here the time between launches of the search is measured (stealing or waiting); a launch is not "
        "divided.",
    )
    team = _Team("x1", (), study.engine)
    flowshop: dict[str, Any] = {"upper_bound": Flowshop.taillard_best_known(number)}
    cases: list[tuple[str, PermutationProblem, dict[str, Any]]] = [
        (f"queens {n}", Queens(n), {}),
        (f"tsmat {cities}", *_atsp(study, team, "tsmat", cities)),
        (f"Ta{number:03d}, one machine", Flowshop.taillard(number), flowshop),
        (f"Ta{number:03d}, two machines", Flowshop.taillard(number), {**flowshop, **_SETTING}),
    ]
    rows = []
    found: dict[str, tuple[Result, float]] = {}
    for name, problem, options in cases:
        for variant in ("pte", "pte_peb"):
            given = {**options, "variant": variant, "strategy": "hypercube"}
            _solve(team, problem, 0.1, **given)
            shares: list[tuple[float, float]] = []
            on_event = _of_metric("stealing_share", shares)
            result = study.engine.solve(problem, time_limit=limit, on_event=on_event, **given)
            found[variant] = result, 100 * statistics.fmean(share for _, share in shares) if shares else math.nan
        marked, shown = zip(
            *((_marked(result), "" if math.isnan(share) else f"{share:.1f}") for result, share in found.values()),
            strict=True,
        )
        rows.append((name, *marked, *shown))
        if name.startswith("tsmat"):
            result, share = found["pte"]
            seen = f"{share:.1f} % of the {result.seconds:.2g} s that tsmat {cities} takes here, waiting included"
            study.judge("stealing", None if math.isnan(share) else share <= 10, seen)
    costly = max(found, key=lambda variant: _rate(found[variant][0]))
    columns = ("instance", "Mnodes/s, pte", "pte_peb", "% stealing or waiting, pte", "pte_peb")
    study.table("Variants", columns, rows, _stopped_after(limit))
    study.judge(
        "variants",
        costly == "pte_peb",
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
        upper = Flowshop.taillard_best_known(number)
        for team in teams:
            points = lines[f"Ta{number:03d}, {team.label}"] = []
            given = {"upper_bound": upper, "on_event": _of_metric("active_ivms", points), **setting}
            team.engine.solve(Flowshop.taillard(number), time_limit=20, **given)
    curves = {name: dict(points) for name, points in lines.items()}
    study.curves("load", "Active IVMs during a search", curves, "seconds", "active IVMs", scales="linear linear")
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
        f"5.09) with them. {_LISTED} Here a CPU beside GPUs begins {HEAD_START:g} s after them.",
    )
    rows = []
    seconds: dict[str, list[float]] = {}
    for team in teams:
        for _ in range(2):
            _solve(team, problem, **options)
        taken = seconds[team.label] = [team.engine.solve(problem, **options).seconds for _ in range(runs)]
        mean, spread = statistics.fmean(taken), statistics.stdev(taken)
        rows.append((team.label, f"{mean:.4f}", f"{100 * spread / mean:.1f}", f"{min(taken):.4f}", f"{max(taken):.4f}"))
    study.table("Seconds", ("devices", "mean", "SD, % of the mean", "least", "most"), rows, f"{runs} runs each")
    hybrids = [team.label for team in teams if team.hybrid]
    for key, of in (("hybrid_slower", statistics.fmean), ("hybrid_unstable", statistics.stdev)):
        ratios = {label: of(seconds[label]) / of(seconds[label.removesuffix(_AND_CPU)]) for label in hybrids}
        seen = ", ".join(f"{ratio:.2f} times with {label}" for label, ratio in ratios.items())
        missing = "there are not both a GPU and a CPU with a driver here"
        study.judge(key, min(ratios.values()) > 1.05 if ratios else None, seen or missing)
