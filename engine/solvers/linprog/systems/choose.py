"""Which linear system a program gets: the only place that compares predicted seconds before an analysis."""

from __future__ import annotations

from typing import Literal

from ....devices import Capabilities
from ..forms.standard import ShardData
from ..multifrontal.factor import multifrontal_runs_on
from ..problem import sp
from .costs import dense_is_faster, is_nearly_dense, is_surely_dense

Kind = Literal["dense", "host", "fronts", "pending", "updates"]


def choose_kind(data: ShardData, device: Capabilities, dense_fits: bool) -> Kind:
    """The kind that ``auto`` stands for; *pending* where the analysis of the pattern decides."""
    if not sp.issparse(data.A):
        return "dense"
    columns = sp.csc_array(data.A)
    if not multifrontal_runs_on(device):
        return "dense" if dense_fits and dense_is_faster(columns, device) else "host"
    return "dense" if dense_fits and (is_surely_dense(data.m, device) or is_nearly_dense(columns)) else "pending"
