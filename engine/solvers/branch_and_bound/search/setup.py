"""What a search, or a sample of one, is made from on a device: the tree's kernels, their shapes and the IVMs."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ....devices import Capabilities, Device
from ..options import Options
from ..tree import DeviceTree, Tree
from .ivms import Ivms
from .programs import Programs, Shapes, shapes_for

__all__ = ["Setup"]


@dataclass(frozen=True)
class Setup:
    """One tree on one device.

    Attributes
    ----------
    initial : int
        The initial upper bound, on which branching depends.
    capabilities : Capabilities, optional
        What kernels and shapes are chosen by, if not the device's own.
    """

    device: Device
    tree: Tree
    options: Options
    initial: int
    capabilities: Capabilities | None = None

    @property
    def traits(self) -> Capabilities:
        """What kernels and shapes are chosen by."""
        return self.capabilities or self.device.capabilities

    @functools.cached_property
    def functions(self) -> DeviceTree:
        """The functions that decompose a node."""
        return self.tree.device(self.traits)

    @functools.cached_property
    def child_functions(self) -> DeviceTree | None:
        """The functions that bound one child a work-item."""
        return self.tree.child_functions(self.traits)

    def shapes(self, ivms: int | None = None) -> Shapes:
        """The shapes for so many IVMs, by default for as many as suit the device."""
        return shapes_for(self.traits, self.tree, self.functions, ivms)

    def programs(self, shapes: Shapes, children: bool = False) -> Programs:
        """The kernels; with ``children``, also those of variant ``pte_peb`` if the tree has them."""
        functions = self.child_functions if children else None
        return Programs(self.device, self.tree, self.functions, functions, shapes)

    def ivms(self, programs: Programs, one_step: bool = False) -> Ivms:
        """IVMs of the programs' shapes; ``one_step``: see :class:`Ivms`."""
        return Ivms(
            self.device,
            self.tree,
            self.functions,
            programs,
            programs.shapes,
            self.initial,
            self.options,
            one_step,
        )
