import subprocess
import sys

import pytest

from tests.support.needs import POSIX

SCRIPT = """
import os, sys, warnings
import engine
from engine.errors import DeviceError

problem = engine.Knapsack([60, 100, 120], [10, 20, 30], 50)
owner = engine.Engine()
assert owner.solve(problem, reduce=False).objective == 220
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
child = os.fork()
if child == 0:
    try:
        engine.solve(problem, reduce=False) if sys.argv[1] == "new" else owner.solve(problem, reduce=False)
    except DeviceError as error:
        os.write(1, str(error).encode())
        os._exit(3)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
owner.close()
"""


@pytest.mark.few(1)
@POSIX
@pytest.mark.parametrize("which", ["new", "same"])
def test_a_forked_child_is_refused_with_a_sentence(device, which):
    done = subprocess.run([sys.executable, "-c", SCRIPT, which], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert 'multiprocessing method "spawn"' in done.stdout
