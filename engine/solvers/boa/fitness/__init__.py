"""What is maximised: functions of a bit string, as Python, as a kernel's snippet, or given by tables."""

from .functions import Bits, Evaluate, Fitness, Function, Hierarchy, Keys, Snippet, check_genes, real_values

__all__ = ["Bits", "Evaluate", "Fitness", "Function", "Hierarchy", "Keys", "Snippet", "check_genes", "real_values"]
