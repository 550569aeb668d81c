"""``python -m gui``: the desktop app, or a message about the missing package."""

import sys
from collections.abc import Sequence


def missing() -> str:
    """What this machine lacks to show a window; empty if nothing."""
    try:
        from PySide6 import QtSvg, QtWidgets  # noqa: F401

        import gui.plot  # noqa: F401 isort: skip - it needs the other
    except ModuleNotFoundError as error:
        return f"the desktop app needs the package {error.name}: Quintet's extra gui has it"
    except ImportError as error:
        return (
            f"the desktop app cannot load Qt: {error}; on Debian and Ubuntu install libegl1, libgl1, libxkbcommon0, "
            "libfontconfig1 and libdbus-1-3"
        )
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Show the window; the exit code."""
    if lack := missing():
        print(f"error: {lack}", file=sys.stderr)
        return 2
    from gui.application import run

    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
