"""What results and checkpoints of the BOA solver contain."""

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from ...base.schema import ArraySpec, CheckpointSpec, ColumnSpec, CounterSpec, Schema

GRAPH_GENES = 5000
"""Up to this number of genes, the best solution of a sum over pairs of genes is shown during a run."""

SNAPSHOT_GENES = 2000
"""Up to this number of genes, networks and individuals are shown during a run."""


class CheckpointState(BaseModel):
    """The scalars of a checkpoint: the step of its islands, and what is known of the run over all its populations.

    ``best_key`` is the best fitness so far, ``before`` that of the populations before the present one; ``stagnant``
    counts the last populations that brought no improvement (``barren`` in folders of version 0.1).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: int = Field(ge=0, le=2**31 - 1)
    best_key: int
    before: int | None = None
    stagnant: int = Field(ge=0, validation_alias=AliasChoices("stagnant", "barren"))
    evaluations: int = Field(ge=0)
    flips: int = Field(ge=0)
    generations: int = Field(ge=0)
    populations: int = Field(ge=0)
    population: int = Field(ge=1)
    islands: int = Field(ge=1)


SCHEMA = Schema(
    arrays=(
        ArraySpec("edges", "int32", ("edges", 2), title="Edges of the network, from and to"),
        ArraySpec("order", "int32", (None,), title="Genes in sampling order"),
        ArraySpec("population", "uint8", ("individuals", "genes"), title="Some of the last individuals"),
        ArraySpec("satisfied", "uint8", ("clauses",), title="Which clauses hold", optional=True),
        ArraySpec("values", "float64", ("individuals",), title="Values of these individuals", optional=True),
        ArraySpec("labels", "integer|text", ("genes",), title="Names of the variables", optional=True),
        ArraySpec(
            "algorithm", "text", (), title="The algorithm, and what was added to that of the paper", optional=True
        ),
    ),
    counters=(
        CounterSpec("evaluations", "Evaluations", "individuals"),
        CounterSpec("flips", "Genes flipped by local search", "flips"),
        CounterSpec("generations", "Generations", "generations"),
        CounterSpec("population", "Individuals of the last population", "individuals"),
        CounterSpec("populations", "Populations tried", "populations"),
        CounterSpec("islands", "Islands", "islands"),
        CounterSpec("edges", "Edges of the last network", "edges"),
        CounterSpec("unsatisfied_hard", "Hard clauses that the best solution violates", "clauses"),
        CounterSpec("unsatisfied_weight", "Weight of the soft clauses that do not hold"),
    ),
    history=(
        ColumnSpec("population", "Population", "individuals", log=True),
        ColumnSpec("generation", "Generation"),
        ColumnSpec("evaluations", "Evaluations", "individuals", log=True),
        ColumnSpec("best", "Best value"),
        ColumnSpec("mean", "Mean value"),
        ColumnSpec("worst", "Worst value"),
        ColumnSpec("edges", "Edges of the network", "edges"),
        ColumnSpec("open_genes", "Genes not yet fixed", "genes"),
        ColumnSpec("entropy", "Mean entropy of a gene", "bits"),
        ColumnSpec("island", "Island"),
        ColumnSpec("flips", "Genes flipped by local search", "flips", log=True),
    ),
    checkpoint=CheckpointSpec(
        version=3,
        arrays=(
            ArraySpec("numbers", "int64", ("islands",), title="Numbers of the islands"),
            ArraySpec("planes", "uint32", ("islands", "genes", "words"), title="Bit planes of the populations"),
            ArraySpec("keys", "int64", ("islands", "individuals"), title="Fitness of the individuals"),
            ArraySpec("status", "int64", ("islands", "fields"), title="State of each population"),
            ArraySpec("parents", "int32", ("islands", "genes", None), title="Parents of each node"),
            ArraySpec("parent_count", "int32", ("islands", "genes"), title="Number of parents of each node"),
            ArraySpec("totals", "int32", ("islands", "genes", None), title="Counts of each configuration"),
            ArraySpec(
                "events", "int64", (None,), title="Strings asked for or told (below 0), of the pyramid", optional=True
            ),
            ArraySpec("told", "uint8", ("told", None), title="Strings told to the pyramid, packed", optional=True),
            ArraySpec("values", "float64", ("told",), title="Their values", optional=True),
            ArraySpec("best", "uint8", ("genes",), title="Best individual so far"),
            ArraySpec("rows", "float64", ("rows", 11), title="History so far"),
        ),
        state=CheckpointState,
    ),
)

COLUMNS = tuple(column.name for column in SCHEMA.history)
"""Names of the columns of the history."""
