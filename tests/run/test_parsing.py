"""Calls that parse Python source survive CPython 3.11's lost count of depth."""

import pytest

from engine.util.parsing import parsed

LOST_COUNT = SystemError("AST constructor recursion depth mismatch (before=84, after=110)")


def failing(*errors):
    left = list(errors)

    def function():
        if left:
            raise left.pop()
        return "parsed"

    return parsed(function)


def test_a_lost_count_is_tried_again_and_nothing_else():
    assert failing(LOST_COUNT, LOST_COUNT) == "parsed"
    with pytest.raises(SystemError, match="recursion depth"):
        failing(*[LOST_COUNT] * 9)
    with pytest.raises(KeyError):
        failing(KeyError("x"))
