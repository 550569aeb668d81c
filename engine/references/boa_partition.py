"""Partition crossover in NumPy: what its kernels are compared with, bit for bit."""

import numpy as np
from numpy.typing import NDArray

from ..numerics.philox import uniform_words
from ..solvers.boa.fitness.functions import Bits
from ..solvers.boa.fitness.tables import Decomposable
from ..solvers.boa.options import STREAM_MIX, STREAM_PAIRS, Parameters


def combine(parameters: Parameters, fitness: Decomposable, offspring: Bits, chosen: Bits, generation: int) -> Bits:
    """Offspring (M, n) combined with selected individuals (S, n), then with each other in pairs of a block of 32."""
    bits = offspring.copy()

    def word(stream: int, index: int) -> int:
        return int(uniform_words(parameters.seed, stream, generation, index, 1, chain=parameters.chain)[0, 0])

    for own in range(len(bits)):
        partner = chosen[(word(STREAM_MIX, own) * len(chosen)) >> 32]
        bits[own] = partition_child(fitness, bits[own], partner)
    for start in range(0, len(bits), 32):
        mask = 1 + ((word(STREAM_PAIRS, start // 32) * 31) >> 32)
        for own in range(start, min(start + 32, len(bits))):
            other = start + ((own - start) ^ mask)
            if own < other < len(bits):
                bits[own] = partition_child(fitness, bits[own], bits[other])
    return bits


def partition_child(
    fitness: Decomposable, own: NDArray[np.uint8], partner: NDArray[np.uint8], copies: bool = False
) -> NDArray[np.uint8]:
    """``own`` with each component of differing genes from the partner that raises its value.

    Or ``own``, if that makes a copy of the partner, unless ``copies``. The value is found anew for each component.
    """
    if fitness.is_symmetric and 2 * int((own != partner).sum()) > fitness.n:
        partner = 1 - partner
    differing = own != partner
    component = np.where(differing, np.arange(fitness.n), -1)
    while True:
        before = component.copy()
        for first, last in zip(fitness.scope_starts[:-1], fitness.scope_starts[1:], strict=True):
            scope = fitness.genes[first:last][differing[fitness.genes[first:last]]]
            if len(scope):
                component[scope] = component[scope].min()
        if np.array_equal(before, component):
            break
    child, is_copy = own.copy(), True
    value = int(fitness.keys(own[None])[0])
    for label in np.unique(component[differing]):
        taken = np.where(component == label, partner, own)
        if int(fitness.keys(taken[None])[0]) > value:
            child[component == label] = partner[component == label]
        else:
            is_copy = False
    return own if is_copy and not copies else child
