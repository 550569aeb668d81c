"""``quintet`` in a process of its own, with the counting solver on its abacus."""

import operator
import sys

from engine import cli
from tests.support import counting


class _Patch:
    """Sets what a ``MonkeyPatch`` would, for as long as the process lives."""

    setitem = staticmethod(operator.setitem)
    setattr = staticmethod(setattr)


if __name__ == "__main__":
    counting.install(_Patch)
    sys.argv[0] = "quintet"
    cli.main()
