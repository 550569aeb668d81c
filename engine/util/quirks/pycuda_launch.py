"""PyCUDA's launch without what it does before (seen in 2024.1).

``Function.prepared_async_call`` packs the arguments again, builds its grid and ends in ``_launch_kernel``, which is
private; the way there takes as long as the launch itself.
"""

from collections.abc import Callable
from typing import Any


def launcher(function: Any) -> Callable[[tuple[int, int], tuple[int, int, int], bytes, int, Any], None]:
    """Starts a kernel: grid, block, packed arguments, bytes of dynamic shared memory, stream."""
    start: Callable[[tuple[int, int], tuple[int, int, int], bytes, int, Any], None] = function._launch_kernel
    return start
