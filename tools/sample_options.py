"""Writes every option of each sample's solver, with its default, into ``samples/*.toml``.

``python -m tools.sample_options`` after an option has been added, removed or given another default; a test compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.base.option_models import field_type
from engine.solvers import recognize, solver_named

SAMPLES = Path(__file__).parent.parent / "samples"


def options_of(sample: Path) -> list[str]:
    """Lines of TOML, one an option: its name, its default, and what is allowed as a comment."""
    text = sample.read_text(encoding="utf-8")
    name = next(line.split('"')[1] for line in text.splitlines() if line.startswith("problem = "))
    model = solver_named(sample.stem).options_model(recognize(SAMPLES / name))
    pairs = [
        (f"{option} = {_toml(field.get_default(call_default_factory=True))}", field_type(model, option))
        for option, field in model.model_fields.items()
    ]
    width = max(len(pair) for pair, _ in pairs)
    return [f"{pair:{width}}  # {allowed}" for pair, allowed in pairs]


def _toml(value: Any) -> str:
    return json.dumps("none" if value is None else value)


def updated(sample: Path) -> str:
    """The text of a sample with the comment below the solver's section made anew."""
    lines = sample.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"[{sample.stem}]") + 1
    end = start
    while end < len(lines) and lines[end].startswith("#"):
        end += 1
    comment = [
        f"# All options of this solver and their defaults; 'quintet solvers {sample.stem}' says what each is for:"
    ]
    comment += [f"#   {line}" for line in options_of(sample)]
    return "\n".join([*lines[:start], *comment, *lines[end:]]) + "\n"


if __name__ == "__main__":
    for path in sorted(SAMPLES.glob("*.toml")):
        path.write_text(updated(path), encoding="utf-8")
