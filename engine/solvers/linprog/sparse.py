"""SciPy's sparse arrays, untyped: stubs for SciPy may or may not be installed."""

from __future__ import annotations

from typing import Any

import scipy.sparse

__all__ = ["sp"]

sp: Any = scipy.sparse
