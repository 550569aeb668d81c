"""Random instances to solve: ``quintet generate nk``."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..solvers.boa.fitness.tables import Decomposable
from ..solvers.boa.problem import BOA
from ..util.files import write_whole


class NKOptions(BaseModel):
    """A random nearest-neighbour NK landscape; its exact optimum is part of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    n: int = Field(100, ge=1, le=100_000, description="Number of genes.")
    neighbours: int = Field(4, ge=0, le=15, description="Genes to the right that a gene's table also depends on.")
    step: int = Field(1, ge=1, description="Genes from one table to the next.")
    seed: Seed = Field(0, description="Seed of the tables.")


def generate_nk(options: NKOptions) -> BOA:
    """The landscape of these options."""
    return BOA.nk(options.n, options.neighbours, options.step, options.seed)


def write_nk(problem: BOA, path: Path) -> None:
    """Write a landscape of :func:`generate_nk` in the ``nk`` format of :mod:`engine.formats.bit_strings`."""
    fitness = problem.fitness
    assert isinstance(fitness, Decomposable)
    starts, first_genes = fitness.scope_starts, []
    size = 1 << int(starts[1])
    rows = []
    for place, table in enumerate(fitness.table_starts):
        genes = fitness.genes[starts[place] : starts[place + 1]]
        first_genes.append(int(genes.min()))
        values = fitness.tables[table : table + (1 << len(genes))] / fitness.scale
        rows.append(" ".join([f"{value:.9f}" for value in values] + ["0"] * (size - len(values))))
    step = first_genes[1] - first_genes[0] if len(rows) > 1 else problem.n
    numbers = " ".join(map(str, range(problem.n)))
    text = f"{problem.n} {int(starts[1]) - 1} {step}\n" + "\n".join(rows) + f"\n{problem.optimum:.9f}\n{numbers}\n"
    write_whole(path, text.encode())
