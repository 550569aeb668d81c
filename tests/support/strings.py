"""Strings of bits."""

import itertools

import numpy as np


def every(n: int) -> np.ndarray:
    """All strings of n bits, as rows."""
    return np.array(list(itertools.product((0, 1), repeat=n)), np.uint8)
