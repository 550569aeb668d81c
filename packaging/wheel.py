"""The wheel: its package ``quintet`` is the folder ``engine``, and its ``engine`` the other name, ``quintet`` here."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_OTHER = {"engine": "quintet", "quintet": "engine"}


class ExchangedNames(BuildHookInterface):
    """Adds all that the wheel holds; see engine/util/paths.py."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is built; an editable installation uses the repository as it is."""
        if version == "editable":
            return
        root, included = Path(self.root), build_data["force_include"]
        included[str(root / "engine")] = "quintet"
        for part in ("kernels", "gui", "samples"):
            included[str(root / part)] = f"quintet/_{part}"
        for part in ("guides", "internals", "concepts", "how-to", "index.md", "glossary.md"):  # which the app shows
            included[str(root / "docs" / part)] = f"quintet/_docs/{part}"
        self._folder = tempfile.TemporaryDirectory()
        for path in (root / "quintet").glob("*.*"):
            copy = Path(self._folder.name) / path.name
            text = re.sub(r"\b(engine|quintet)\b", lambda found: _OTHER[found[0]], path.read_text("utf-8"))
            copy.write_text(text, "utf-8")
            included[str(copy)] = f"engine/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """When it is built."""
        if version != "editable":
            self._folder.cleanup()
