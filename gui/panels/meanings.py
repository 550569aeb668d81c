"""What key numbers and figures of dashboards mean: the texts of ``meanings.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from gui.app.meaning import Meaning

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_GENERAL = "concepts/run.md"


def tile_meaning(solver: str, name: str) -> Meaning:
    """That of a key number."""
    cite, section, page = _TEXTS["papers"].get(solver, ("", "", ""))
    paper = f"{cite}, {section}" if cite else ""
    return Meaning(_TEXTS["tiles"].get(name, ""), paper, f"guides/{page}.md" if page else _GENERAL)


def figure_meaning(solver: str, key: str) -> Meaning:
    """That of a figure; without a text for one of another solver, which has none."""
    key = "trace" if key.startswith("trace ") else key
    own = f"{solver}/{key}"
    text = _TEXTS["figures"].get(own, _TEXTS["figures"].get(key, ""))
    if own not in _TEXTS["figures"] and key in _TEXTS["pages"]:
        return Meaning(text, "", _TEXTS["pages"][key])
    cite, section, page = _TEXTS["papers"].get(solver, ("", "", ""))
    paper = f"{cite}, {_TEXTS['sections'].get(own, section)}" if cite else ""
    return Meaning(text, paper, f"internals/{page}.md" if page else _GENERAL)
