"""The state on a device that has names: of a chain, the controller of the steps, a trial of scales, a likelihood."""

from ....devices import Record
from ..families import AUXILIARY

CHAIN = Record(
    "chain",
    tau_precision="f64",
    xi_rate="f64",
    expansion="f64",
    log_likelihood="f64",
    acceptance="f64",
    jumps="f64",
    moved="f64",
    slab_precision="f64",
)
"""tau^-2 and xi^-1, then what an iteration reports of itself; c^-2 of the slab is part of the state with the prior
``regularized``. With the kernel ``hmc``, ``expansion`` is a trajectory's energy."""

AUXILIARIES = Record("auxiliary", value=("f64", AUXILIARY))
"""The family's own parameters."""

CONTROL = Record(
    "control",
    log_length="f64",
    mean_log_length="f64",
    error="f64",
    centre="f64",
    adaptations="f64",
    length="f64",
    log_share="f64",
    accepted="f64",
)
"""Dual averaging of the length of the leapfrog steps: ``error`` is that of the acceptance, ``centre`` of log length.
The share of the coefficients that are drawn anew at once, and how often all of them were accepted of late."""

RENEWAL = Record("renewal", tau_precision="f64", log_ratio="f64", acceptance="f64")
"""A proposal of many coefficients, and of tau."""

TRIAL = Record(
    "trial",
    tau_squared="f64",
    log_sigma="f64",
    proposed_tau_squared="f64",
    proposed_log_sigma="f64",
    stretch="f64",
    log_density="f64",
    accepted="i32",
)
"""Moves of sigma and tau with beta integrated out; tau^2 beside that of the present product X D X'. ``stretch``: the
logarithm of what latent normals are multiplied by."""

QUEUE = Record("queue", next_strip="u32", groups_ended="u32")
"""What the groups of a pass over dense rows take their strips from; zeros between two passes."""

_LIKELIHOODS = {
    "normal": Record("shape", inverse_sigma="f32", log_peak="f32", degrees="f32"),
    "student": Record("shape", inverse_sigma="f32", log_peak="f32", degrees="f32"),
    "counts": Record("shape", size="f32", log_size="f32"),
    "ordinal": Record("shape", categories="f32", threshold=("f32", AUXILIARY)),
}
"""What the likelihood of a row reads of a chain; ``log_peak`` is the largest log-likelihood that a row can have."""


def records_of(family: str) -> dict[str, Record]:
    """The records of the templates, by the names that these have for them."""
    found = {record.name: record for record in (CHAIN, AUXILIARIES, CONTROL, RENEWAL, TRIAL, QUEUE)}
    return found | ({"shape": _LIKELIHOODS[family]} if family in _LIKELIHOODS else {})
