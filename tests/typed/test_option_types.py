"""What type checkers know of the options is what the models say."""

from __future__ import annotations

from tools.option_types import FILE, text


def test_the_option_types_are_those_of_the_models() -> None:
    assert FILE.read_text("utf-8") == text(), "python -m tools.option_types makes the file anew"
