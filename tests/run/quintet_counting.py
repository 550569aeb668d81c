"""``quintet`` in a process of its own, with the counting solver on its abacus."""

import sys

import counting
import pytest

from engine import cli

if __name__ == "__main__":
    counting.install(pytest.MonkeyPatch())
    sys.argv[0] = "quintet"
    cli.main()
