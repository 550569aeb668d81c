import itertools

import numpy as np


def every(n: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=n)), np.uint8)
