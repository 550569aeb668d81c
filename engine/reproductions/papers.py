"""What the papers say: their statements about results and their published numbers, from ``papers.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..reports.study import Claim, Study, run_study

_FILE = Path(__file__).with_name("papers.toml")


@dataclass(frozen=True)
class Paper:
    """A publication."""

    name: str
    title: str
    source: str
    claims: dict[str, Claim]
    points: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def named(cls, name: str) -> Paper:
        """Read it."""
        with _FILE.open("rb") as file:
            found = tomllib.load(file)[name]
        claims = {key: Claim(**claim) for key, claim in found["claims"].items()}
        return cls(name, found["title"], found["source"], claims, found.get("points", {}))

    def run(self, measure: Callable[[Study, Paper], None], arguments: list[str]) -> int:
        """``quintet reproduce NAME``."""
        return run_study(self.name, self.title, self.source, self.claims, lambda study: measure(study, self), arguments)
