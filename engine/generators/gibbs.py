"""Random data for probit regression: independent or correlated columns, a few of which matter."""

from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..base.option_models import Seed
from ..formats.tables import write_csv
from ..solvers.gibbs.design.features import dense_rows
from ..solvers.gibbs.problem import HorseshoeProbit


class ProbitOptions(BaseModel):
    """Options of ``quintet generate probit``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int = Field(1000, ge=1, description="observations")
    columns: int = Field(20, ge=1, description="features")
    signals: int = Field(5, ge=0, description="features that matter")
    strength: float = Field(1.0, ge=0, description="size of their coefficients")
    correlation: float = Field(0.0, ge=0, lt=1, description="correlation of neighbouring columns")
    intercept: float = Field(0.0, description="shifts the share of ones")
    seed: Seed = Field(0, description="seed")


def generate(options: ProbitOptions) -> HorseshoeProbit:
    """The data these options describe; float32, so that large ones stay small."""
    random = np.random.default_rng(options.seed)
    X = random.standard_normal((options.rows, options.columns), dtype=np.float32)
    if options.correlation:
        rest = np.float32(np.sqrt(1 - options.correlation**2))
        for column in range(1, options.columns):
            X[:, column] = np.float32(options.correlation) * X[:, column - 1] + rest * X[:, column]
    beta = np.zeros(options.columns, np.float32)
    used = min(options.signals, options.columns)
    places = random.permutation(options.columns)[:used]
    beta[places] = options.strength * random.choice([-1.0, 1.0], used)
    y = X @ beta + options.intercept + random.standard_normal(options.rows) > 0
    return HorseshoeProbit(X, y.astype(np.int8), name=f"probit {options.rows}x{options.columns} seed={options.seed}")


def write(problem: HorseshoeProbit, path: Path) -> None:
    """Write CSV with a header, the target called y."""
    write_csv(path, dense_rows(problem.X, 0, problem.X.shape[0]), problem.y, list(problem.names))
