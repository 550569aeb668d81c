"""A desktop entry, an icon and file types on Linux: ``quintet gui --install`` and ``--uninstall``."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import engine
from engine.errors import InputError
from engine.util.files import reason_of, write_whole

_TYPES = (
    ("application/x-quintet-boa", "Fitness function for the Bayesian optimization algorithm", ("*.boa",)),
    ("application/x-mps-linear-program", "Linear program", ("*.mps", "*.mps.gz")),
    ("application/x-tsplib-atsp", "Asymmetric travelling salesman problem", ("*.atsp",)),
)
_ENTRY = """[Desktop Entry]
Type=Application
Name=Quintet
Comment=Solve optimization and sampling problems on GPUs
Exec={command} %F
Icon=quintet
Terminal=false
Categories=Science;Math;
MimeType={types};
StartupWMClass=quintet
"""


def _places() -> dict[str, Path]:
    given = os.environ.get("XDG_DATA_HOME")
    base = Path(given) if given else Path.home() / ".local" / "share"
    return {
        "entry": base / "applications" / "quintet.desktop",
        "icon": base / "icons" / "hicolor" / "scalable" / "apps" / "quintet.svg",
        "types": base / "mime" / "packages" / "quintet.xml",
    }


def install() -> list[Path]:
    """Write desktop entry, icon and file types into the user's data folder; the files that were written."""
    from gui.app.icons import application_svg

    if not sys.platform.startswith("linux"):
        raise InputError("a desktop entry can be installed on Linux only")
    places = _places()
    names = ";".join(name for name, _, _ in _TYPES)
    contents = {
        "entry": _ENTRY.format(command=_command(), types=names),
        "icon": application_svg(),
        "types": _mime_types(),
    }
    for what, text in contents.items():
        try:
            places[what].parent.mkdir(parents=True, exist_ok=True)
            write_whole(places[what], text.encode())
        except OSError as error:
            raise InputError(f"cannot write {places[what]}: {reason_of(error)}") from error
    _update_databases(places)
    return list(places.values())


def uninstall() -> list[Path]:
    """Remove what :func:`install` has written; the files that were there."""
    places = _places()
    removed = [path for path in places.values() if os.path.isfile(path)]
    for path in removed:
        try:
            path.unlink()
        except OSError as error:
            raise InputError(f"cannot remove {path}: {reason_of(error)}") from error
    _update_databases(places)
    return removed


def _command() -> str:
    """What starts the app, quoted for a desktop entry: this interpreter, wherever it is called from."""
    words = [sys.executable, "-P", "-m", engine.__name__, "gui"]
    return " ".join(f'"{word}"' if shlex.quote(word) != word else word for word in words).replace("%", "%%")


def _mime_types() -> str:
    entries = "".join(
        f'  <mime-type type="{name}">\n    <comment>{title}</comment>\n'
        + "".join(f'    <glob pattern="{pattern}"/>\n' for pattern in patterns)
        + "  </mime-type>\n"
        for name, title, patterns in _TYPES
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f'{head}<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">\n{entries}</mime-info>\n'


def _update_databases(places: dict[str, Path]) -> None:
    """Have the desktop notice it now, where its tools are installed; it notices at the next login otherwise."""
    for tool, folder in (
        ("update-desktop-database", places["entry"].parent),
        ("update-mime-database", places["types"].parent.parent),
    ):
        program = shutil.which(tool)
        if program is not None and folder.is_dir():
            subprocess.run([program, str(folder)], check=False, capture_output=True, timeout=60)
