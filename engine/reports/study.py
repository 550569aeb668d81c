"""A study: the measurements of one publication, run on the devices at hand and written as a report."""

import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as ScreenTable

from ..api.engine import Engine
from ..cli.options import pool_options, run_command
from ..devices import select
from ..errors import OptionError
from ..util.files import reason_of
from .figures import can_draw, draw_svg
from .machine import describe_machine, is_busy
from .report import Figure, Finding, Report, Section, Table, Text

Profile = Literal["quick", "cpu", "gpu"]
"""The sizes: ``quick`` takes seconds, ``cpu`` minutes on two cores, ``gpu`` minutes on a GPU."""


@dataclass(frozen=True)
class Claim:
    """A statement of a publication about results: the sentence, and the section or figure it stands in."""

    says: str
    where: str
    needs: Literal["", "time", "gpu"] = ""  # any run; one so long that times mean something; or the profile gpu
    untestable: str = ""  # why nothing here can test it
    quick: bool | None = None  # what the profile quick finds, which a test repeats

    def tested_by(self, profile: Profile) -> bool:
        """Whether the profile can test it."""
        return not self.needs or profile == "gpu" or (self.needs == "time" and profile == "cpu")


class Study:
    """Where a study measures, and what it has found so far; each call also prints what it adds.

    Attributes
    ----------
    engine : Engine
        The open devices.
    profile : {"quick", "cpu", "gpu"}
        The sizes to use.
    report : Report
        Filled by the methods of this class.
    seed : int
        Of instances and runs.
    """

    def __init__(
        self,
        engine: Engine,
        report: Report,
        profile: Profile,
        folder: Path,
        console: Console,
        claims: Mapping[str, Claim],
        seed: int = 1,
    ) -> None:
        self.engine = engine
        self.report = report
        self.profile = profile
        self.seed = seed
        self.missing = ""  # what this machine has not, if claims are left for it
        self._open = dict(claims)
        self._folder = folder
        self._console = console
        self._figures = can_draw()
        self._began = time.perf_counter()

    def pick(self, quick: Any, cpu: Any, gpu: Any) -> Any:
        """The value for the chosen profile: ``quick``, ``cpu`` or ``gpu``."""
        return {"quick": quick, "cpu": cpu, "gpu": gpu}[self.profile]

    def section(self, title: str, text: str = "") -> None:
        """Begin a section, with a paragraph if one is given; what was found so far is written."""
        self.report.seconds = time.perf_counter() - self._began
        if self.report.sections:
            self.report.write(self._folder)
        self.report.sections.append(Section(title))
        self._console.print(f"\n[bold]{title}[/bold]")
        if text:
            self.text(text)

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._add(Text(text))

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> None:
        """Add a table.

        Parameters
        ----------
        title, note : str
            Headline, and a line of context.
        columns : sequence of str
        rows : iterable of sequences
            Cells become text, None an empty cell.
        """
        cells = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
        block = Table(title, tuple(columns), cells, note)
        self._add(block)
        screen = ScreenTable(title=escape(title))
        for name, numeric in zip(block.columns, block.numeric, strict=True):
            screen.add_column(escape(name), justify="right" if numeric else "left")
        for row in cells:
            screen.add_row(*map(escape, row))
        self._console.print(screen)

    def figure(self, name: str, title: str, draw: Callable[[Any], None], caption: str = "") -> None:
        """Add a figure; without matplotlib there are none.

        Parameters
        ----------
        name : str
            Of the file, without suffix.
        title, caption : str
            What the figure shows (its alternative text), and a line below it.
        draw : callable
            ``draw(axes)``.
        """
        if self._figures:
            draw_svg(self._folder / f"{name}.svg", draw)
            self._add(Figure(title, f"{name}.svg", caption))

    def curves(
        self,
        name: str,
        title: str,
        lines: Mapping[str, Mapping[float, float]],
        x: str,
        y: str,
        caption: str = "",
        scales: str = "log log",
    ) -> None:
        """Add a figure of curves; the publication's, whose names begin with "paper", are crosses.

        Parameters
        ----------
        name : str
            Of the file, without suffix.
        lines : mapping
            The points of each curve, y by x; one without points is left out.
        title, x, y, caption, scales : str
            What it shows, labels of the axes, a line below it, and matplotlib's names of both scales.
        """
        points = {
            label: [
                [float(f"{at:.6g}"), float(f"{value:.6g}")]
                for at, value in sorted(found.items())
                if value > 0 or not scales.endswith(" log")  # which has no place for 0
            ]
            for label, found in lines.items()
            if found
        }
        self._add(Figure(title, f"{name}.svg", caption, points, x, y, scales, drawn=False))

    def judge(self, key: str, holds: bool | None, seen: str) -> None:
        """Add what was measured of one of the claims; each is judged once, and not tested if this profile cannot.

        Parameters
        ----------
        key : str
            Of the claim.
        holds, seen
            As of :meth:`finding`.
        """
        claim = self._open.pop(key)
        tested = claim.tested_by(self.profile)
        unable = "" if tested or holds is None else f"; the profile {self.profile} does not test this"
        self.finding(claim.says, holds if tested else None, seen + unable, claim.where)

    def judge_rest(self) -> None:
        """Add the statements that were not judged, and why not."""
        for claim in self._open.values():
            self.finding(
                claim.says,
                None,
                claim.untestable or self.missing or f"not measured by the profile {self.profile}",
                claim.where,
            )
        self._open.clear()

    def finding(self, claim: str, holds: bool | None, seen: str, where: str = "") -> None:
        """Add a statement of the publication.

        Parameters
        ----------
        claim, where : str
            What it says, and where.
        holds : bool or None
            Whether the measurements confirm it; None if they cannot.
        seen : str
            What was measured.
        """
        self._add(Finding(claim, holds, seen, where))
        mark = {True: "[green]confirmed[/green]", False: "[red]not confirmed[/red]", None: "not tested"}[holds]
        self._console.print(f"{mark}: {escape(claim)} ({escape(seen)})")

    def _add(self, block: Text | Table | Figure | Finding) -> None:
        self.report.sections[-1].blocks.append(block)


def run_study(
    name: str,
    title: str,
    source: str,
    claims: Mapping[str, Claim],
    study: Callable[[Study], None],
    arguments: Sequence[str],
) -> int:
    """Run ``quintet reproduce NAME``: open the devices, measure, write the report."""

    @click.command(name, help=f"Repeat the measurements of: {source}")
    @pool_options("Devices to measure; by default those that a run uses.", None)
    @click.option("--folder", type=click.Path(path_type=Path), help="Where to write the report.")
    @click.option(
        "--profile",
        type=click.Choice(["auto", "quick", "cpu", "gpu"]),
        default="auto",
        show_default=True,
        help="The sizes: quick takes seconds, cpu and gpu take minutes; auto chooses by the devices.",
    )
    @click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of instances and runs.")
    @click.option("--record", is_flag=True, help="Refuse to measure on a machine with a load above 1 for each core.")
    def command(
        backend: str | None,
        names: list[str] | None,
        folder: Path | None,
        profile: str,
        seed: int,
        record: bool,
    ) -> int:
        infos = select(backend or "auto", names)
        machine = describe_machine(infos)
        if record and is_busy(machine):
            raise OptionError(
                f"the load is {machine['load']} on {machine['cores']} cores; a record needs at most 1 for each core"
            )
        simt = any(info.capabilities.simt for info in infos)
        chosen = cast(Profile, profile if profile != "auto" else "gpu" if simt else "cpu")
        place = _new_folder(folder or Path(f"reproduce-{name}-{datetime.datetime.now():%Y%m%d-%H%M%S}"))
        console = Console(width=120)
        repeated = f"quintet reproduce {name} --profile {chosen} --seed {seed}"
        report = Report(name, title, source, chosen, machine, command=repeated)
        console.print(f"{title}: profile {chosen}, {', '.join(info.id for info in infos)}")
        if not can_draw():
            console.print("matplotlib is not installed (extra reports): the report has no figures")
        began = time.perf_counter()
        with Engine(devices=[info.id for info in infos]) as engine:
            measured = Study(engine, report, chosen, place, console, claims, seed)
            try:
                study(measured)
            finally:  # an interrupted study is a report too
                measured.judge_rest()
                report.seconds = time.perf_counter() - began
                for path in report.write(place):
                    console.print(f"written: {path}")
        return 0

    return run_command(command, f"quintet reproduce {name}", arguments)


def _new_folder(path: Path) -> Path:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise OptionError(f"the folder for the report must be new or empty: {path}")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot make the folder {path}: {reason_of(error)}") from error
    return path
