"""Which linear system a program gets: the only place that compares predicted seconds before an analysis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ....devices import Capabilities, DeviceInfo
from ..forms.standard import ShardData
from ..multifrontal.factor import multifrontal_runs_on
from ..multifrontal.form import fills_in
from ..problem import sp
from .base import DenseSystem, LinearSystem, Shards
from .costs import dense_for_a_while, dense_is_faster, is_nearly_dense, is_surely_dense
from .host import HostSystem
from .pending import PendingSystem
from .updates import UpdateSystem

__all__ = ["Kind", "choose_kind", "make_system"]

Kind = Literal["dense", "host", "fronts", "pending", "updates"]


def choose_kind(data: ShardData, device: Capabilities, dense_fits: bool) -> Kind:
    """The kind that ``auto`` stands for; *pending* where the analysis of the pattern decides."""
    if not sp.issparse(data.A):
        return "dense"
    if not multifrontal_runs_on(device):
        return "dense" if dense_fits and dense_is_faster(data, device) else "host"
    nearly_dense = is_nearly_dense(data) and not fills_in(sp.csc_array(data.A))
    return "dense" if dense_fits and (nearly_dense or is_surely_dense(data.m, device)) else "pending"


def make_system(
    kind: Kind,
    shards: Shards,
    data: ShardData,
    info: DeviceInfo,
    *,
    warn: Callable[[str], None],
    form: Literal["normal", "augmented", "auto"],
    block: int,
    dense_fits: bool,
    dense_meanwhile: bool,
) -> LinearSystem:
    """A linear system of this kind."""
    if kind == "dense":
        return DenseSystem(shards)
    if kind == "updates":
        return UpdateSystem(shards, block, warn)
    if kind == "host":
        return HostSystem(data, form, shards.get_theta)
    meanwhile = dense_meanwhile and dense_fits and dense_for_a_while(data.m, info.capabilities)
    choice: Literal["device", "auto"] = "device" if kind == "fronts" else "auto"
    return PendingSystem(shards, data, info, choice, dense_fits, warn, meanwhile)
