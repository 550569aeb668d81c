"""A forged element in a problem's arrays, with the right digests: refused, or solved; no kernel leaves its arrays."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from engine.errors import QuintetError
from tests.support.forged import PROBLEMS, checked, forgeries
from tests.support.needs import DEVICE

ROOT = Path(__file__).resolve().parents[2]
INDEXED = {
    "sparse program": ("indices", "indptr"),
    "sparse probit": ("X_indices", "X_indptr"),
    "clauses": ("genes", "scope_starts", "table_starts"),
    "tables": ("genes", "scope_starts", "table_starts"),
}
"""Problems with arrays that compiled code follows as indices."""


@pytest.mark.few(10)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_forged_problem_is_refused_in_words_or_consistent(name):
    outcomes = Counter()
    for what, arrays in forgeries(name):
        try:
            problem = type(PROBLEMS[name]).from_arrays(arrays, "forged")
        except QuintetError:
            outcomes["refused"] += 1
        except (ValueError, TypeError, KeyError, IndexError, OverflowError):  # the folder says which file
            outcomes["no problem"] += 1
        else:
            assert problem.describe(), what
            whole = PROBLEMS[name].to_arrays()
            for key, array in problem.to_arrays().items():
                assert key not in whole or array.ndim == whole[key].ndim, what
            outcomes["accepted"] += 1
    assert outcomes["refused"]
    assert outcomes["accepted"]


@pytest.mark.parametrize("name", INDEXED)
def test_no_index_leads_outside_its_array(name):
    """A change of an index that is accepted names another entry of the same array, not memory beside it."""
    arrays = PROBLEMS[name].to_arrays()
    for key in INDEXED[name]:
        for place in range(arrays[key].size):
            for value in (-(2**31), -1, 2**31 - 1, 10**6, int(arrays[key].max()) + 100):
                changed = arrays[key].copy()
                changed.flat[place] = value
                with pytest.raises(QuintetError):
                    type(PROBLEMS[name]).from_arrays(arrays | {key: changed}, "forged")


@DEVICE
@pytest.mark.full
@pytest.mark.parametrize("name", INDEXED)
def test_what_is_accepted_of_forged_problems_can_be_solved(name):
    """In a process of its own: a kernel that leaves its arrays would end it."""
    words = [sys.executable, "-m", "tests.support.forged", name]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=checked(), timeout=600)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
