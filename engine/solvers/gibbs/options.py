"""How to sample a horseshoe probit regression."""

from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from ...base.solver import SolverOptions
from .priors import CONJUGATE, Prior, PriorName

KernelName = Literal["auto", "gibbs", "px", "hmc", "cg"]
Storage = Literal["auto", "float32", "float16", "sparse"]

REFRESH = 50
"""Iterations between two points at which a run can be stopped and resumed to the same draws."""

DEFAULT_SLAB = 2.0
"""Scale of the slab of the prior ``regularized``; Piironen and Vehtari's examples have 2 with 4 degrees of freedom."""


class Options(SolverOptions):
    """Options of the Gibbs sampler."""

    kernel: KernelName = Field(
        "auto",
        description="how beta moves: gibbs (the paper: latent normals), px (gibbs with parameter expansion), hmc "
        "(Hamiltonian trajectories, with moves of their own for one-hot groups, collinear pairs and rare columns) or "
        "cg (latent variables and conjugate gradients, for X with very many columns); auto: hmc up to 8192 columns if "
        "a time limit suffices for it, else the one that is predicted to take the least time",
    )
    tolerance: float = Field(
        1e-4,
        gt=0,
        lt=1,
        description="for the kernel cg: distance from an exact draw of beta, in conditional standard deviations, that "
        "the conjugate gradients may leave in any direction",
    )
    ess: float = Field(
        400.0,
        gt=0,
        description="effective sample size, bulk and tail, that every coefficient, the intercept and log tau must have "
        "before sampling ends (without draws)",
    )
    r_hat: float = Field(1.01, gt=1, description="R-hat that none of them may exceed then (without draws)")
    draws: int | None = Field(
        None, ge=4, le=10_000_000, description="draws kept of each chain; default: until ess and r_hat are reached"
    )
    max_draws: int = Field(
        10_000, ge=100, le=10_000_000, description="most draws kept of each chain while ess and r_hat are not reached"
    )
    initial: tuple[float, ...] | None = Field(
        None,
        description="point near which the chains begin, as in a result's solution: the intercept (without one: 0, or "
        "omitted) and the coefficients of all columns; default: the posterior mode",
    )
    warmup: int = Field(
        300,
        ge=0,
        description="iterations of each chain before the first draw; under a time limit at most half of those that fit",
    )
    thin: int = Field(1, ge=1, description="iterations per kept draw")
    chains: int = Field(4, ge=1, le=4096, description="chains, which share every pass over X")
    storage: Storage = Field(
        "auto",
        description="how X is stored on the devices: all values, in one of these types, or those that are not 0 "
        "(sparse); auto: sparse if X is large and at most about a tenth is not 0 (a third if each column has a single "
        "value besides 0)",
    )
    standardize: bool = Field(True, description="sample on columns of mean 0 and variance 1; results are scaled back")
    intercept: bool = Field(True, description="an intercept beside the coefficients, outside the horseshoe")
    intercept_scale: float = Field(
        10.0, gt=0, description="standard deviation of the normal prior of the intercept and of columns not penalized"
    )
    tau_scale: float = Field(1.0, gt=0, description="scale of the half-Cauchy prior of tau")
    par_ratio: float | None = Field(
        None,
        gt=0,
        description="expected number of coefficients that are not 0 over that of the others, which sets tau_scale to "
        "this over the square root of the number of rows, as in brms (Piironen and Vehtari)",
    )
    degrees: float = Field(
        4.0, ge=1.0, description="degrees of freedom of the errors of a regression with Student's t distribution"
    )
    prior: PriorName = Field(
        "horseshoe",
        description="prior of the coefficients given tau: horseshoe; regularized (the horseshoe with a slab, of "
        "Piironen and Vehtari); half_t (half-Student local scales instead of half-Cauchy); lasso; ridge",
    )
    local_degrees: float = Field(
        3.0, ge=1.0, le=10.0, description="degrees of freedom of the local scales of the prior half_t"
    )
    slab: float | None = Field(
        None,
        gt=0,
        description="scale of the slab of the prior regularized (default 2). With another prior, each coefficient's "
        "prior is multiplied by a normal density with this standard deviation, which bounds the coefficients of "
        "separable columns. The scale refers to the effect of a typical deviation from the column's usual value, in "
        "units of the margin",
    )
    slab_degrees: float = Field(
        4.0, ge=0, description="degrees of freedom of the slab of the prior regularized; 0: a normal of the scale slab"
    )
    coefficients: list[str] | None = Field(
        None, description="names of the coefficients whose draws are kept and traced; default: all, or what fits"
    )
    keep_scales: bool = Field(False, description="keep the draws of lambda too, the local scales of the model")
    interval: float = Field(0.9, gt=0, lt=1, description="probability of the intervals in the summary")
    max_kept: int = Field(
        1 << 30, ge=1 << 20, description="bytes of draws kept on the host; beyond, fewer draws of each are kept"
    )
    provider: Literal["auto", "cusolver", "lapack", "kernels"] = Field(
        "auto", description="library for linear algebra; auto: the fastest of each device"
    )
    streaming: Literal["auto", "never", "always"] = Field(
        "auto",
        description="whether X stays in host memory and is sent to the devices at every iteration; auto: if larger "
        "than their memory",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kernel in ("auto", "hmc") and self.chains > 1024:
            raise ValueError(f"chains must be at most 1024 for the kernel hmc; got {self.chains}")
        if self.kernel in ("gibbs", "px") and self.prior not in CONJUGATE:
            raise ValueError(
                f"kernel = {self.kernel} samples the priors {', '.join(CONJUGATE)}, whose scales have known "
                f"conditional distributions; use kernel = hmc for prior = {self.prior}"
            )
        if self.par_ratio is not None and self.tau_scale != 1.0:
            raise ValueError(f"par_ratio sets tau_scale; got both, {self.par_ratio:g} and {self.tau_scale:g}")
        return self

    @property
    def chosen_prior(self) -> Prior:
        """The prior with its parameters."""
        regularized = self.prior == "regularized"
        return Prior(
            self.prior,
            self.local_degrees,
            (self.slab or DEFAULT_SLAB) if regularized else 1.0,
            self.slab_degrees if regularized else 0.0,
        )

    @property
    def most_draws(self) -> int:
        """The most draws that are kept of each chain."""
        return self.draws if self.draws is not None else self.max_draws


@dataclass(frozen=True)
class Settings:
    """What the iterations of a run need to know: options with a kernel in place of ``auto``, and what they come to."""

    options: Options
    seed: int
    chains: int  # of the options, or of a part of a run whose chains are divided
    tau_scale: float  # of the half-Cauchy
    wide: bool  # more columns than rows, without X'X
    latent: bool  # few rows, where hmc moves latent normals, or sigma, with beta integrated out
    local: bool = False  # wide, where lambda of some columns is moved with beta integrated out
    first_chain: int = 0  # of that part; random numbers are those of the run

    @property
    def single_device(self) -> bool:
        """Whether a single device takes all rows, and holds them."""
        return self.wide or self.latent

    @property
    def provider(self) -> Any:
        """The library for linear algebra; None for the best of each device."""
        return None if self.options.provider == "auto" else self.options.provider

    def stream(self, number: int) -> int:
        """What kernels take for a stream of random numbers, to which they add ``chain << 8``."""
        return number + (self.first_chain << 8)
