"""What key numbers and figures of dashboards mean: the texts of ``meanings.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TILES: dict[str, str] = _TEXTS["tiles"]
FIGURES: dict[str, str] = _TEXTS["figures"]


def meaning_of(solver: str, key: str) -> str:
    """The text of a figure; empty for one of another solver, which has none."""
    key = "trace" if key.startswith("trace ") else key
    return FIGURES.get(f"{solver}/{key}", FIGURES.get(key, ""))
