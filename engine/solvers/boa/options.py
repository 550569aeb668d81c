"""How to run the Bayesian optimization algorithm."""

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ...base.solver import SolverOptions
from ...errors import OptionError

Counting = Literal["popcount", "histogram", "tensor"]

Rule = Literal["steepest", "tabu", "anneal", "walk"]
"""Of local search."""

STREAM_INITIAL, STREAM_PERMUTATION, STREAM_OFFSPRING = 1, 2, 4
STREAM_IMPROVE_INITIAL, STREAM_IMPROVE, STREAM_MIX, STREAM_PAIRS = 6, 7, 8, 9
"""Streams of random words: one for each kind of draw."""

GENE_STRIDE = 1 << 28
"""A draw for gene g and item i (a word of 32 individuals) has the index ``g * GENE_STRIDE + i``."""

PHASES = ("selection", "learning", "sampling", "improvement", "evaluation", "replacement")
"""The phases of a generation."""

_WORDS_TOGETHER = 16

MOST_INDIVIDUALS = 1 << 21
MOST_ISLANDS = 64


class Options(SolverOptions):
    """Options of the BOA solver."""

    search: Literal["auto", "network", "pyramid"] = Field(
        "auto",
        description="network: the algorithm of the paper, with the options below; pyramid: the parameter-less "
        "population pyramid, which needs far fewer evaluations of a function that is known by its values only; auto: "
        "pyramid for Python functions, unless options of the network are set",
    )
    population: int | Literal["auto"] = Field(
        "auto",
        description="number of individuals, 8 to 2097152; auto: start small and double until the target or a limit "
        "is reached or, where no optimum is known, two doublings bring no improvement",
    )
    max_parents: int = Field(
        3, ge=0, le=6, description="maximum number of parents of a gene in the network; 0 learns no network (UMDA)"
    )
    selection_fraction: float | None = Field(
        None, gt=0, lt=1, description="selected individuals per individual; default 0.3 (0.5 in the paper)"
    )
    probabilities: Literal["frequency", "laplace"] = Field(
        "frequency", description="conditional probabilities: relative frequencies, or with Laplace's correction"
    )
    counting: Literal["auto", "popcount", "tensor", "histogram"] = Field(
        "auto",
        description="how pairs are counted, with the same result: popcount, 1-bit tensor cores (NVIDIA, compute "
        "capability 8.0 or more), or the histograms of the paper",
    )
    local_search: Literal["auto", "none", "steepest", "tabu", "anneal", "walk"] = Field(
        "auto",
        description="local search that improves individuals of functions given by tables: steepest (steepest ascent), "
        "tabu, anneal (simulated annealing; functions of pairs of genes), walk (over unsatisfied clauses), or none, as "
        "in the paper. auto: by the kind of function",
    )
    flips: int | None = Field(
        None,
        ge=1,
        le=(1 << 31) - 1,
        description="maximum number of flips per individual; default: 20 per gene, 4 per gene for ascents. Annealing "
        "counts the flips it tries (default: 1000 per gene, 4000 where genes have more than 6 neighbours)",
    )
    local_search_share: float | None = Field(
        None, gt=0, le=1, description="fraction of the individuals that local search improves; default: all"
    )
    mixing: Literal["auto", "none", "partition"] = Field(
        "auto",
        description="crossover of the offspring after local search. partition: of two individuals that differ, each "
        "connected component of the differing genes is taken from the better one; none: as in the paper; auto: "
        "partition if the function is given by tables that link each gene to few others",
    )
    initial: tuple[int, ...] | None = Field(
        None, description="a bit string that the initial population contains; further ones are the problem's seeds"
    )
    target: float | None = Field(
        None, allow_inf_nan=False, description="stop when this value is reached; default: the optimum, where known"
    )
    max_generations: int = Field(10_000, ge=1, description="maximum number of generations of one population")
    max_evaluations: int | None = Field(None, ge=1, description="maximum number of evaluations, of all populations")
    patience: int | None = Field(
        None,
        ge=1,
        description="generations without improvement after which a population ends; default: max(10, sqrt(genes)), "
        "and 15 for annealing with partition crossover",
    )
    restarts: int = Field(12, ge=1, le=18, description="maximum number of populations that auto tries")
    islands: int | Literal["devices"] = Field(
        1,
        description="number of populations that exchange their best individuals, 1 to 64, distributed over the "
        "devices, or one for each device; with 1 there is one population",
    )
    share: Literal["auto", "always"] = Field(
        "auto",
        description="devices that share one population: all of them (always), or GPUs only where they read each "
        "other's memory and genes times individuals are 5e9 or more, else the first alone (auto)",
    )
    migration_interval: int = Field(2, ge=1, description="generations between two migrations")
    migration_fraction: float = Field(
        0.1,
        gt=0,
        le=0.5,
        description="fraction of each island, its best individuals, that replaces the worst of the next one",
    )

    @field_validator("initial", mode="before")
    @classmethod
    def _digits(cls, value: Any) -> Any:
        """Zeros and ones may be written without separators."""
        if isinstance(value, (list, tuple)) and len(value) == 1 and set(str(value[0])) <= {"0", "1"}:
            return tuple(int(digit) for digit in str(value[0]))
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.population, int) and not 8 <= self.population <= MOST_INDIVIDUALS:
            raise ValueError(f"population must be auto, or from 8 to {MOST_INDIVIDUALS}; got {self.population}")
        if isinstance(self.islands, int) and not 1 <= self.islands <= MOST_ISLANDS:
            raise ValueError(f"islands must be devices, or from 1 to {MOST_ISLANDS}; got {self.islands}")
        return self


@dataclass(frozen=True)
class Improvement:
    """Local search of individuals."""

    rule: Rule
    flips: int  # of an individual, at most
    tenure: int  # flips for which a flipped gene is tabu, and up to tenure_spread - 1 more at random
    tenure_spread: int
    share: float = 1.0  # of the individuals, which are improved; one at least

    def count(self, individuals: int) -> int:
        """How many of so many individuals are improved: the first ones."""
        return max(1, math.ceil(self.share * individuals))


@dataclass(frozen=True)
class Migration:
    """Every ``interval`` generations ``migrants`` individuals leave each of ``islands`` populations."""

    islands: int
    interval: int
    migrants: int


@dataclass(frozen=True)
class Parameters:
    """One run of the algorithm, sizes resolved."""

    n: int  # genes
    population: int
    selected: int  # the best, from which is learned; the others are replaced in each generation
    max_parents: int  # most edges into a node
    laplace: bool  # whether probabilities have Laplace's correction
    seed: int  # key of every draw, with the chain, which numbers independent runs of one seed
    chain: int = 0
    improvement: Improvement | None = None
    mixes: bool = False  # whether there is partition crossover

    @property
    def offspring(self) -> int:
        """Individuals sampled in each generation."""
        return self.population - self.selected


def padded_words(count: int) -> int:
    """32-bit words of a plane of so many bits: whole 512-bit groups, the bits past the end zero."""
    return -(-count // (32 * _WORDS_TOGETHER)) * _WORDS_TOGETHER


def resolve(
    options: Options,
    n: int,
    population: int,
    seed: int,
    chain: int = 0,
    improvement: Improvement | None = None,
    mixes: bool = False,
) -> Parameters:
    """Sizes and rules of a run with a given population; ``OptionError`` if nobody is left to be replaced."""
    fraction = options.selection_fraction or 0.3
    selected = max(1, math.floor(fraction * population + 0.5))
    if selected >= population:
        raise OptionError(f"selection_fraction {fraction:g} of {population} individuals selects all of them")
    return Parameters(
        n=n,
        population=population,
        selected=selected,
        max_parents=options.max_parents,
        laplace=options.probabilities == "laplace",
        seed=seed,
        chain=chain,
        improvement=improvement,
        mixes=mixes,
    )
