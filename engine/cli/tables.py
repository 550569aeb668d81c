"""What the command line prints: tables on a terminal, plain aligned columns where the output goes elsewhere."""

import dataclasses
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..base.option_models import field_type, value_text
from ..base.problem import Problem
from ..base.result import Result
from ..base.solver import Solver
from ..devices import DeviceInfo
from ..settings.config import Resolved, Settings
from ..solvers import solver_for
from ..util.display import aligned, entries_text
from ..util.text import bytes_text, counter_text, gap_text, number_text, printable

_SHOWN = 20
"""Entries of a solution that are printed."""


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> None:
    """Print columns under their titles on standard output, under a caption if there is one."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    caption = printable(caption)
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, title=Text(caption) if caption else None, title_justify="left")
        for title in titles:
            table.add_column(title, overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        Console().print(table)
        return
    if caption:
        print(caption)
    print("\n".join(aligned(titles, cells)))


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    rows = [(printable(name), printable(value)) for name, value in pairs]
    width = max((len(name) for name, _ in rows), default=0)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in rows:
            table.add_row(Text(name), Text(value))
        Console().print(table)
        return
    for name, value in rows:
        print(f"{name.ljust(width)}  {value}")


def describe_result(problem: Problem, result: Result, saved: Sequence[Path]) -> None:
    """Print what a run ended with, and the files and folders that it has written."""
    optimum = getattr(problem, "optimum", None)
    pairs = [
        ("problem", problem.describe()),
        ("status", str(result.status).replace("_", " ")),
        *([("reason", result.reason)] if result.reason else []),
        ("objective", number_text(result.objective)),
        ("bound", number_text(result.bound)),
        ("gap", "-" if math.isinf(result.gap) else gap_text(result.gap)),
    ]
    if optimum is not None:
        pairs.append(("known optimum", number_text(optimum)))
    pairs += [
        ("seconds", result.seconds_text),
        ("device", f"{', '.join(result.devices) or 'none'} ({result.backend})"),
    ]
    schema = solver_for(problem).schema
    units = {} if schema is None else {spec.name: spec.unit for spec in schema.counters}
    for name, value in result.counters.items():
        pairs.append((name.replace("_", " "), counter_text(value, 4, units.get(name, ""))))
    pairs += result.texts.items()
    display = result.display()
    if result.solution is not None and not display.titles:
        pairs.append(("solution", entries_text(result.solution, _SHOWN)))
    for name in ("farkas", "ray"):  # what proves that there is no optimum
        certificate = result.arrays.get(name)
        if certificate is not None:
            pairs.append((name, entries_text(certificate, _SHOWN)))
    if saved:
        pairs.append(("saved", ", ".join(str(path) for path in saved)))
    print_pairs(pairs)
    if display.titles:
        print()
        print_table(display.titles, display.first_rows)
        for line in display.remarks:
            print(printable(line))


def describe_devices(devices: Sequence[DeviceInfo], missing: dict[str, str]) -> None:
    if devices:
        print_table(
            ("id", "name", "driver", "memory", "units", "local", "capabilities"),
            [
                (
                    info.id,
                    info.name,
                    f"{info.platform.partition(' (')[0]} {info.driver}",
                    bytes_text(info.memory),
                    str(info.capabilities.compute_units),
                    f"{info.capabilities.local_memory / 1024:.0f} KiB",
                    _capabilities(info),
                )
                for info in devices
            ],
        )
    for reason in missing.values():
        print(reason)


def _capabilities(info: DeviceInfo) -> str:
    has = info.capabilities
    named = {"fp64": has.fp64, "int64 atomics": has.int64_atomics, "host memory": has.host_visible_memory}
    named["peer access"] = has.peer_access
    words: list[str] = [has.kind, *(name for name, there in named.items() if there), has.linear_algebra]
    if has.compute_capability is not None:
        words.append("sm_{}{}".format(*has.compute_capability))
    return ", ".join(words)


def describe_settings(resolved: Resolved) -> None:
    """Print every setting, its value, and where that came from; then the solver options that are set."""
    rows = [
        (name, _written(getattr(resolved.settings, name)), resolved.origins[name]) for name in Settings.model_fields
    ]
    for solver, options in resolved.given_options.items():
        rows += [(f"{solver}.{name}", value_text(given.value), given.origin) for name, given in options.items()]
    print_table(("setting", "value", "from"), rows)


def describe_solver(solver: Solver) -> None:
    print(f"{solver.name}: {solver.title}")
    print(f"problems: {', '.join(problem.__name__ for problem in solver.instance_classes)}")
    if solver.generators:
        print(f"generators: {', '.join(solver.generators)} (quintet generate KIND)")
    for model in solver.option_models:
        classes = [kind.__name__ for kind in solver.instance_classes if solver.options_model(kind) is model]
        print()
        describe_model(model, f"options for {', '.join(classes)}" if len(solver.option_models) > 1 else "")
    for kind in solver.instance_classes:
        if kind.read_options is not None:
            print()
            describe_model(kind.read_options, f"options for files of {kind.__name__}")
    if solver.metrics:
        print()
        print_table(
            ("metric", "title", "unit", "per device"),
            [(spec.name, spec.title, spec.unit, "yes" if spec.per_device else "") for spec in solver.metrics],
        )


def solver_to_dict(solver: Solver) -> dict[str, Any]:
    """What a solver declares, as plain JSON values; options by problem class, as JSON schemas."""
    return {
        "name": solver.name,
        "title": solver.title,
        "problems": [problem.__name__ for problem in solver.instance_classes],
        "options": {
            problem.__name__: solver.options_model(problem).model_json_schema() for problem in solver.instance_classes
        },
        "read_options": {
            problem.__name__: problem.read_options.model_json_schema()
            for problem in solver.instance_classes
            if problem.read_options is not None
        },
        "metrics": [dataclasses.asdict(spec) for spec in solver.metrics],
        "generators": {kind: generator.options.model_json_schema() for kind, generator in solver.generators.items()},
    }


def describe_model(model: type[BaseModel], caption: str = "") -> None:
    print_table(
        ("option", "value", "default", "description"),
        [
            (
                name,
                field_type(model, name),
                _written(field.get_default(call_default_factory=True)),
                field.description or "",
            )
            for name, field in model.model_fields.items()
        ],
        caption,
    )


def _written(value: Any) -> str:
    return value if isinstance(value, str) else value_text(value)
