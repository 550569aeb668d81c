"""How many work-items a group of a reduction or a scan has; their results do not depend on it."""

from ..devices import Capabilities

GROUP_SIZES = (1, 256)


def group_size(capabilities: Capabilities) -> int:
    """One on a CPU, where barriers cost and one work-item makes vectors of its loop; else 256, if it may be."""
    return 1 if not capabilities.simt or capabilities.max_block < 256 else 256
