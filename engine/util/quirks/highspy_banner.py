"""HiGHS objects that print nothing, against the banner of ``highspy`` 1.16.0 on standard output.

The constructor of ``highspy.Highs`` installs callbacks, and HiGHS prints two lines in the first call of that kind in a
process, before a caller can turn its output off. :class:`_Quiet` turns it off between the two steps of the
constructor, so that no descriptor has to be redirected, which would hide what other threads print meanwhile.

Every HiGHS object of this package is made here. The module imports nothing of this package, so that
:mod:`engine.solvers.linprog.highs.child` can load it by its path.
"""

import functools
from typing import Any


def quiet_highs(**options: Any) -> Any:
    """A new ``highspy.Highs`` without output."""
    import highspy

    highs = _quiet_class()()
    for name, value in {"output_flag": False, **options}.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refuses {name} = {value}")
    return highs


@functools.cache
def _quiet_class() -> Any:
    import highspy

    base: Any = highspy.Highs

    class _Quiet(base):  # type: ignore[misc]
        def enableCallbacks(self) -> None:  # highspy's name; its constructor calls it
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return _Quiet
