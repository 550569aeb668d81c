"""Everything that fixes a trajectory, in one value: what the kernels and their NumPy twin both follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.solvers.boa.scores import Score

__all__ = [
    "GENE_STRIDE",
    "STREAM_INITIAL",
    "STREAM_OFFSPRING",
    "STREAM_PERMUTATION",
    "STREAM_TOURNAMENT",
    "STREAM_WINDOW",
    "Counting",
    "Settings",
    "padded_words",
]

Counting = Literal["popcount", "histogram", "tensor"]

STREAM_INITIAL, STREAM_PERMUTATION, STREAM_TOURNAMENT, STREAM_OFFSPRING, STREAM_WINDOW = range(1, 6)
"""Streams of random words: one for each kind of draw."""

GENE_STRIDE = 1 << 28
"""A draw for gene g and item i (a word of 32 individuals) has the index ``g * GENE_STRIDE + i``."""

_WORDS_TOGETHER = 16


@dataclass(frozen=True)
class Settings:
    """One run of the algorithm, sizes resolved.

    Attributes
    ----------
    n : int
        Genes.
    population, selected, offspring : int
        N individuals; S of them are learned from; M new ones are sampled each generation.
    max_parents : int
        k, the most edges into a node.
    seed, chain : int
        Key of every draw; ``chain`` numbers independent runs of one seed.
    """

    n: int
    population: int
    selected: int
    offspring: int
    max_parents: int
    selection: Literal["truncation", "tournament"]
    tournament_size: int
    replacement: Literal["worst", "rtr"]
    window: int
    score: Score
    equivalent_sample_size: float
    probabilities: Literal["frequency", "laplace"]
    permutation: Literal["fresh", "fixed"]
    structure_generations: int
    seed: int
    chain: int = 0

    def structure_step(self, generation: int) -> int:
        """The generation whose permutation and network a generation uses."""
        return 0 if self.permutation == "fixed" else generation - generation % self.structure_generations

    def learns(self, generation: int) -> bool:
        """Whether the network is learned anew in this generation; else only its probabilities are."""
        return generation % self.structure_generations == 0


def padded_words(count: int) -> int:
    """32-bit words of a plane of so many bits: whole 512-bit groups, the bits past the end zero."""
    return -(-count // (32 * _WORDS_TOGETHER)) * _WORDS_TOGETHER
