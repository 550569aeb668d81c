"""Random tests: few examples and the same seeds by default, all and others with ``pytest -m "full or not full"``."""

import os
import time

import hypothesis

PROFILES = {"quintet": 25, "full": 100}
"""Examples of a test that names no number."""


def examples(most):
    """Settings of a test that tries ``most`` examples in the profile ``full``, else as many fewer as others."""
    part = hypothesis.settings.default.max_examples / PROFILES["full"]
    return hypothesis.settings(max_examples=max(5, round(part * most)))


def seed_of_tests():
    """The seed of random moments and faults, for files to read while they are imported.

    ``QUINTET_TEST_SEED`` gives it; else it is fixed by default, and one of the clock in the whole suite.
    """
    whole = hypothesis.settings.default.max_examples == PROFILES["full"]
    return int(os.environ.get("QUINTET_TEST_SEED") or (time.time_ns() % 10**6 if whole else 1))
