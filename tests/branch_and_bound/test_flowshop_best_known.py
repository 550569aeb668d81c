"""The list of published flowshops: every bound has a source, every schedule its makespan, every proof its row."""

import re
import tarfile

import numpy as np
import pytest

import engine
from engine.formats import taillard
from engine.solvers.branch_and_bound.heuristics.search import flowshop_bound
from engine.solvers.branch_and_bound.problems.flowshop_best_known import published_flowshops

TAILLARD = {name: known for name, known in published_flowshops().items() if name.startswith("ta")}


def plain_makespan(times, order):
    """Completion of the last job on the last machine, by the recursion of the guide."""
    done = np.zeros(len(times) + 1, np.int64)
    for job in order:
        for machine, time in enumerate(times[:, job], 1):
            done[machine] = max(done[machine], done[machine - 1]) + time
    return int(done[-1])


def test_every_published_instance_is_there_with_bounds_and_sources():
    names = [f"ta{number:03d}" for number in range(1, 121)]
    sizes = [(jobs, machines) for jobs in (10, 20, 30, 40, 50, 60) for machines in (5, 10, 15, 20)]
    sizes += [(jobs, machines) for jobs in range(100, 801, 100) for machines in (20, 40, 60)]
    names += [f"VFR{jobs}_{machines}_{k}" for jobs, machines in sizes for k in range(1, 11)]
    assert sorted(published_flowshops()) == sorted(names)
    for name, known in published_flowshops().items():
        assert known.lower <= known.upper, name
        assert (known.status == "proved") == (known.lower == known.upper), name
        assert known.status in ("proved", "published", "open"), name
        assert known.lower_source, name
        assert known.upper_source, name
        assert re.fullmatch(r"20\d\d(-\d\d){0,2}", known.date), name
        if name.startswith("VFR"):
            assert name.startswith(f"VFR{known.jobs}_{known.machines}_")


def test_schedules_have_the_makespans_of_the_list():
    for name, known in published_flowshops().items():
        if known.schedule:
            times = engine.Flowshop.taillard(int(name[2:])).times
            assert plain_makespan(times, known.schedule) == known.upper, name


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [name for name, known in TAILLARD.items() if known.lower_source == "root"])
def test_the_bounds_of_roots_are_computed_again(name):
    assert flowshop_bound(engine.Flowshop.taillard(int(name[2:])).times) == TAILLARD[name].lower


def test_the_bounds_of_roots_of_small_instances_are_computed_again(shared_data):
    with tarfile.open(shared_data / "vfr" / "vfr_small.tar.xz") as archive:
        for name, known in published_flowshops().items():
            if name.startswith("VFR") and known.jobs < 100 and known.lower_source == "root":
                text = archive.extractfile(f"{name}_Gap.txt").read().decode()
                assert flowshop_bound(taillard.parse(text)[0].times) == known.lower, name
