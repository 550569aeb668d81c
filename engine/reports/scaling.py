"""``quintet bench SOLVER --scaling``: the same work on 1, 2, 4, ... and all of the devices named.

Every case is solved on each number of devices after a short run that compiles. The answers must be equal. Another run
is recorded (:mod:`engine.devices.monitor.timeline`) and shows how the devices' time was used; what the case takes on
several devices is also predicted, from the recording of one (:mod:`engine.reports.scaling_model`).
"""

import functools
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ..api.engine import Engine
from ..base.problem import Problem
from ..base.result import Result
from ..cli.options import options
from ..devices import Backend, DeviceInfo, available, select
from ..devices.monitor.timeline import Timeline, profiled
from ..errors import OptionError
from ..util.text import bytes_text, counted
from .record import BenchConsole, record_table
from .scaling_model import Exchange, Profile, all_gather_seconds, predicted_seconds, profile_of
from .timeline import picture, shares_of

_COLUMNS = ("case", "devices", "seconds", "speedup", "model", "exchanged", "computing", "copying", "waiting", "verdict")
_WIDTHS = (30, 7, 9, 7, 7, 10, 9, 8, 8, 0)


@dataclass(frozen=True)
class Outcome:
    """What a case came to on some devices; ``answer`` may not depend on them."""

    began: float
    ended: float
    answer: Mapping[str, Any]
    exchanged: int = 0
    exchange: Callable[[int], Exchange] = lambda devices: Exchange(0, 0)  # expected of so many devices
    wrong: str = ""  # with the answer

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.began


@dataclass(frozen=True)
class ScalingCase:
    """Work that several devices share."""

    name: str
    run: Callable[[list[str]], Outcome]
    repeated: frozenset[str] = frozenset()  # kernels that no device saves another
    run_recorded: Callable[[list[str]], Outcome] | None = None  # a part that stands for it; by default all


def solving_case(
    name: str,
    problem: Callable[[], Problem[Any]],
    given: Mapping[str, Any],
    answer: Callable[[Result], Mapping[str, Any]],
    *,
    warm: Mapping[str, Any],
    record: Mapping[str, Any] | None = None,
    exchange: Callable[[Result], Callable[[int], Exchange]] = lambda result: lambda devices: Exchange(0, 0),
    exchanged: Callable[[Result, int], float] = lambda result, devices: result.counters.get("exchanged_bytes", 0),
    check: Callable[[Result], str] = lambda result: "",
    repeated: Iterable[str] = (),
) -> ScalingCase:
    """A case that one problem is solved for."""
    kept: list[Problem[Any]] = []

    def run(devices: list[str], changed: Mapping[str, Any] | None = None) -> Outcome:
        if not kept:
            kept.append(problem())
        with Engine(devices=devices) as engine:
            engine.solve(kept[0], **{**given, **warm})
            began = time.perf_counter()
            result = engine.solve(kept[0], **{**given, **(changed or {})})
            ended = time.perf_counter()
        wrong = check(result) if changed is None else ""
        sent = int(exchanged(result, len(devices)))
        return Outcome(began, ended, answer(result), sent, exchange(result), wrong)

    return ScalingCase(name, run, frozenset(repeated), None if record is None else lambda devices: run(devices, record))


def rounded(value: float | None) -> float | None:
    """A whole number as it is, another to the digits that sums in another order leave."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def mapping_case(
    name: str, problems: Callable[[], Sequence[Problem[Any]]], given: Mapping[str, Any], warm: int = 8
) -> ScalingCase:
    """A case of many problems for :meth:`engine.Engine.map`; their objectives are compared."""
    kept: list[Problem[Any]] = []

    def run(devices: list[str]) -> Outcome:
        if not kept:
            kept.extend(problems())
        with Engine(devices=devices) as engine:
            engine.map(kept[:warm], **given)
            began = time.perf_counter()
            batch = engine.map(kept, **given)
            ended = time.perf_counter()
        wrong = f"{len(batch.failures)} failures" if batch.failures else ""
        return Outcome(
            began, ended, {"objectives": tuple(rounded(result.objective) for result in batch.results)}, wrong=wrong
        )

    return ScalingCase(name, run)


@dataclass(frozen=True)
class Request:
    """What a benchmark's command line says of scaling."""

    wanted: bool = True
    only: str = ""
    timeline: Path | None = None  # folder for pictures
    counts: tuple[int, ...] = ()  # by default 1, 2, 4, ... and all


def scaling_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--scaling``, ``--only``, ``--timeline`` and ``--counts``, given to the command as the request ``scaling``."""

    @functools.wraps(function)
    def command(
        *arguments: Any, scaling: bool, only: str, timeline: Path | None, counts: tuple[int, ...], **keywords: Any
    ) -> Any:
        return function(*arguments, scaling=Request(scaling, only, timeline, counts), **keywords)

    return options(
        click.option("--scaling", is_flag=True, help="Instead: long cases on 1, 2, 4, ... and all of --devices."),
        click.option("--only", default="", metavar="TEXT", help="Only cases whose name contains TEXT."),
        click.option(
            "--timeline",
            type=click.Path(file_okay=False, path_type=Path),
            help="Folder for pictures of what the devices did, one for each case and number of devices of --scaling.",
        ),
        click.option(
            "--counts", type=click.IntRange(1), multiple=True, help="Numbers of devices for --scaling; may be repeated."
        ),
    )(command)


def _chosen(backend: Backend | None, names: Sequence[str] | None) -> list[DeviceInfo]:
    """The devices to compare, in order; ``all`` stands for all GPUs, or all devices where there is none."""
    every = names is None or [name.lower() for name in names] == ["all"]
    chosen = select(backend or "auto", None if every else names)
    if every and len(chosen) < 2:
        chosen = [info for info in available(backend or "auto")[0] if info.language == chosen[0].language]
    if len(chosen) < 2:
        name = chosen[0].id
        raise click.UsageError(f"--scaling compares devices: name at least two, or one twice (--devices {name},{name})")
    return chosen


def _counts(request: Request, most: int) -> list[int]:
    """Numbers of devices, one of them first: everything is compared with it."""
    if request.counts:
        if max(request.counts) > most:
            raise click.UsageError(f"--counts {max(request.counts)} needs as many --devices; got {most}")
        return sorted({1, *request.counts})
    powers = (1 << power for power in range(most.bit_length()))
    return [*(count for count in powers if count < most), most]


@dataclass
class _Comparison:
    """What one case came to on each number of devices so far."""

    case: ScalingCase
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    profile: Profile | None = None


def bench_scaling(
    title: str,
    cases: Iterable[ScalingCase],
    backend: Backend | None,
    names: Sequence[str] | None,
    request: Request,
) -> bool:
    """Measure cases on 1, 2, 4, ... and all of some devices, and print a line for each."""
    cases = list(cases)
    compared = [_Comparison(case) for case in cases if request.only in case.name]
    if not compared:
        raise OptionError(f"no case has {request.only!r} in its name: {', '.join(case.name for case in cases)}")
    chosen = [info.id for info in _chosen(backend, names)]
    counts = _counts(request, len(chosen))
    console = BenchConsole()
    print(_line(_COLUMNS), flush=True)
    rows: list[list[str]] = []
    good = True
    latencies = {count: all_gather_seconds(count) for count in counts if count > 1}
    try:
        for comparison in compared:
            for count in counts:
                cells, right = _measured(comparison, chosen[:count], latencies.get(count, 0.0), request.timeline)
                good &= right
                rows.append(cells)
                print(_line(cells), flush=True)
    finally:  # what was measured before an interrupt too
        record_table(f"{title}: several devices", _COLUMNS, rows)
        for comparison in compared:
            if comparison.profile is not None:
                console.print(f"{comparison.case.name}: {_estimate(comparison, counts)}")
    return good


def _measured(
    comparison: _Comparison, devices: list[str], latency: float, folder: Path | None
) -> tuple[list[str], bool]:
    """A row of the table, and whether the answer is right."""
    case, count = comparison.case, len(devices)
    outcome = case.run(devices)
    with profiled() as timeline:
        seen = (case.run_recorded or case.run)(devices)
    comparison.outcomes[count] = outcome
    first = comparison.outcomes[1]
    wrong = outcome.wrong
    for name, value in outcome.answer.items():
        if value != first.answer[name]:
            wrong = wrong or f"other {name} than on one device"
    window = (seen.began, seen.ended)
    if count == 1:
        comparison.profile = profile_of(timeline.devices[0], window, outcome.seconds, case.repeated)
    if folder is not None:
        _draw(folder, case.name, count, timeline, window)
    assert comparison.profile is not None
    model = predicted_seconds(comparison.profile, count, first.exchange(count), latency)
    used = [shares_of(device, window) for device in timeline.devices]
    cells = [
        case.name,
        f"{count}",
        f"{outcome.seconds:.3f}",
        f"{first.seconds / max(1e-9, outcome.seconds):.2f}x",
        f"{first.seconds / max(1e-9, model):.2f}x",
        bytes_text(outcome.exchanged),
        *(
            f"{100 * sum(values) / count:.0f} %"
            for values in zip(*((u.computing, u.copying, u.waiting) for u in used), strict=True)
        ),
        wrong or "equal",
    ]
    return cells, not wrong


def _estimate(comparison: _Comparison, counts: Sequence[int]) -> str:
    """What the model says of further numbers of devices, with the latency of the largest number measured."""
    assert comparison.profile is not None
    first, latency = comparison.outcomes[1], all_gather_seconds(max(2, *counts))
    found = []
    for count in (2, 4, 8):
        model = predicted_seconds(comparison.profile, count, first.exchange(count), latency)
        found.append(f"{first.seconds / max(1e-9, model):.2f}x on {count}")
    profile = comparison.profile
    return (
        f"model {', '.join(found)}; on one device {profile.divided:.3f} s are divided, "
        f"{profile.repeated:.3f} s repeated, {profile.idle:.3f} s without work for the device; "
        + ", ".join(f"{name} {share:.0%}" for name, share in profile.kernels[:5])
    )


def _draw(folder: Path, name: str, count: int, timeline: Timeline, window: tuple[float, float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = re.sub(r"[^A-Za-z0-9]+", "-", f"{name} {count}")
    title = f"{name}, {counted(count, 'device')}"
    (folder / f"{file}.svg").write_text(picture(timeline, title, window), encoding="utf-8")


def _line(cells: Sequence[str]) -> str:
    first, *rest, last = cells
    middle = (f"{cell:>{width}}" for cell, width in zip(rest, _WIDTHS[1:-1], strict=True))
    return f"{first:{_WIDTHS[0]}} {' '.join(middle)}  {last}"
