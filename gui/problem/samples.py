"""The bundled instances and recorded runs that the gallery and the start page offer."""

from dataclasses import dataclass
from pathlib import Path

from engine.errors import QuintetError
from engine.runs.folder.run_folder import RunFolder
from engine.settings.config import resolve
from gui.problem.instance import read_instance
from gui.runs.columns import solver_title


@dataclass(frozen=True)
class Sample:
    """A bundled instance, or a recorded run; ``first`` is the sample of a solver that has a TOML file."""

    path: Path
    group: str
    title: str
    description: str
    about: str = ""
    first: bool = False
    recorded: bool = False


def find_samples() -> list[Sample]:
    """The bundled instances by solver, the one with a TOML file first; then the recorded runs."""
    from engine.cli.samples import samples  # not at the start of the window

    found: list[Sample] = []
    recorded: list[Sample] = []
    for toml in samples():
        title = solver_title(toml.stem)
        folder = toml.parent / toml.stem
        named = resolve(file=toml).problem
        for path in (toml, *sorted(folder.glob("*"))):
            if path.is_dir() or path.suffix == ".py" or (named is not None and path.resolve() == named.resolve()):
                continue
            try:
                problem = read_instance(path).problem
            except (QuintetError, ValueError):
                continue
            about = _comment(path) if path == toml else ""
            found.append(Sample(path, title, problem.name, problem.describe(), about, first=path == toml))
    for folder in sorted({path.parent for path in samples()[0].parent.rglob("run.toml")}):
        try:
            described = RunFolder.open(folder).description
        except QuintetError:
            continue
        title = solver_title(str(described.get("solver")))
        name = str(described.get("problem", {}).get("name") or folder.name)
        recorded.append(Sample(folder, "Recorded runs", name, f"{title}: a recorded run to replay", recorded=True))
    return found + recorded


def _comment(path: Path) -> str:
    """The comment at the top of a TOML file."""
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)
