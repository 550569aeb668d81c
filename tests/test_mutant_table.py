"""Mutants are put into the code as it is: see ``tools/mutants.py``."""

import shlex

import pytest

from tools import gibbs_mutants
from tools.mutants import ROOT, table

_TABLE = table()


@pytest.mark.parametrize("mutant", _TABLE, ids=[str(number) for number in range(1, len(_TABLE) + 1)])
def test_every_mutant_has_one_place_and_tests(mutant):
    assert mutant.places() == 1, f"give it a new place in tools/mutants.toml: {mutant.fault} ({mutant.file})"
    assert mutant.new != mutant.old
    files = [word.split("::")[0] for word in shlex.split(mutant.tests) if word.startswith("tests/")]
    assert files
    assert all((ROOT / file).exists() for file in files)


def test_every_fault_of_the_samplers_has_a_place():
    for name, (template, right, wrong), _ in gibbs_mutants.runs():
        assert right in (ROOT / "kernels" / "gibbs" / f"{template}.mako").read_text(encoding="utf-8"), name
        assert wrong != right
