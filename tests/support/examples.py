"""How many examples Hypothesis tries: few by default, all with ``pytest -m "full or not full"``."""

from __future__ import annotations

import hypothesis

__all__ = ["PROFILES", "examples"]

PROFILES = {"quintet": 25, "full": 100}
"""Examples of a test that names no number."""


def examples(most: int) -> hypothesis.settings:
    """Settings of a test that tries ``most`` examples in the profile ``full``, else as many fewer as others."""
    part = hypothesis.settings.default.max_examples / PROFILES["full"]
    return hypothesis.settings(max_examples=max(5, round(part * most)))
