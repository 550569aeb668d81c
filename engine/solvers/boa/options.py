"""How to run the Bayesian optimization algorithm."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from engine.solvers import SolverOptions

__all__ = ["MOST_INDIVIDUALS", "MOST_ISLANDS", "Options"]

MOST_INDIVIDUALS = 1 << 21
MOST_ISLANDS = 64


class Options(SolverOptions):
    """Options of the BOA solver."""

    population: int | Literal["auto"] = Field(
        "auto",
        description="individuals, 8 to 2097152; auto: begin with a few and double until the target or a limit is "
        "reached, or two doublings bring nothing",
    )
    max_parents: int = Field(3, ge=0, le=6, description="most edges into a gene; 0 learns no network (UMDA)")
    selection: Literal["truncation", "tournament"] = Field("truncation", description="how parents are selected")
    selection_fraction: float | None = Field(
        None, gt=0, le=1, description="parents per individual; default 0.3 for truncation (the paper has 0.5), else 1"
    )
    tournament_size: int = Field(2, ge=2, le=8, description="individuals in a tournament")
    offspring_fraction: float | None = Field(
        None,
        gt=0,
        le=1,
        description="offspring per individual and generation; default: what truncation leaves, 0.5 for tournaments, "
        "1 for rtr",
    )
    niching: Literal["worst", "rtr"] = Field(
        "worst", description="whom offspring replace: the worst, or by restricted tournaments the most similar"
    )
    window: int | None = Field(
        None,
        ge=1,
        description="individuals a restricted tournament looks at; default: the genes, or a 20th of all if fewer",
    )
    score: Literal["k2", "bic", "bdeu"] = Field("k2", description="what makes a network good")
    equivalent_sample_size: float = Field(1.0, gt=0, description="prior weight of bdeu, in individuals")
    probabilities: Literal["frequency", "laplace"] = Field(
        "frequency", description="chances from counts: as they are, or with one individual added to either value"
    )
    permutation: Literal["fresh", "fixed"] = Field("fresh", description="order of genes: new each generation, or kept")
    structure_generations: int = Field(1, ge=1, description="generations that share a network's structure")
    counting: Literal["auto", "popcount", "tensor", "histogram"] = Field(
        "auto",
        description="how pairs are counted; tensor needs an NVIDIA GPU of compute capability 8.0 or more, histogram is "
        "the paper's; the result is the same",
    )
    target: float | None = Field(None, description="stop when this value is reached; default: the optimum, where known")
    max_generations: int = Field(10_000, ge=1, description="most generations of one population")
    max_evaluations: int | None = Field(None, ge=1, description="most evaluations, all populations together")
    patience: int | None = Field(
        None,
        ge=1,
        description="generations without a better individual that end a run; default: max(10, sqrt(genes)), and three "
        "times that for rtr",
    )
    restarts: int = Field(12, ge=1, le=18, description="most populations that auto tries")
    islands: int | Literal["devices"] = Field(
        1,
        description="populations side by side, 1 to 64, shared out over the devices, or one for each device; they "
        "exchange their best. With 1, all devices share one population",
    )
    migration_interval: int = Field(2, ge=1, description="generations between two migrations")
    migration_fraction: float = Field(
        0.1, gt=0, le=0.5, description="the best of each island, as a part of it, that replace the worst of the next"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.population, int) and not 8 <= self.population <= MOST_INDIVIDUALS:
            raise ValueError(f"population must be auto, or from 8 to {MOST_INDIVIDUALS}; got {self.population}")
        if isinstance(self.islands, int) and not 1 <= self.islands <= MOST_ISLANDS:
            raise ValueError(f"islands must be devices, or from 1 to {MOST_ISLANDS}; got {self.islands}")
        if self.selection == "truncation" and self.selection_fraction == 1:
            raise ValueError("selection_fraction must be below 1 for truncation, which selects nobody otherwise")
        return self
