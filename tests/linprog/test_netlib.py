"""The Netlib programs: HiGHS's optimum, verified duals, and proofs for those that have none."""

import csv
import functools
from pathlib import Path

import pytest

import engine

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "netlib"
THIRD = (
    *("adlittle", "afiro", "agg3", "bandm", "blend", "boeing2", "brandy", "capri", "degen2", "e226", "fit1d"),
    *("israel", "lotfi", "recipe", "scsd6", "share1b", "shell", "vtp.base", "box1", "galenet", "klein1"),
)
PAPERS = (
    *("afiro", "sc50b", "adlittle", "blend", "share2b", "sc105", "kb2", "stocfor1", "recipe", "brandy", "lotfi"),
    *("share1b", "beaconfd", "e226", "israel"),
)


@functools.cache
def catalogue():
    """File, rows and optimum (None if there is none) of every program."""
    if not (DATA / "optima.csv").is_file():
        return {}
    with (DATA / "optima.csv").open() as stream:
        return {
            row["name"]: (
                DATA / Path(row["file"]).name,
                int(row["rows"]),
                float(row["highs_optimum"]) if row["highs_optimum"] else None,
            )
            for row in csv.DictReader(stream)
        }


@pytest.fixture(scope="module")
def owner(device, shared_data):
    with engine.Engine(devices=[device.info.id]) as opened:
        yield opened


def check(owner, name, **options):
    path, _, optimum = catalogue()[name]
    problem = engine.LinearProgram.read(path)
    result = owner.solve(problem, **options)
    assert result.status == ("infeasible" if optimum is None else "optimal")
    assert optimum is None or result.objective == pytest.approx(optimum, rel=1e-6)
    found = engine.verify(result, problem)
    assert found.verdict == "verified" or (optimum is None and found.verdict == "partly verified"), found
    return result


@pytest.mark.few(8)
@pytest.mark.parametrize("name", THIRD)
def test_a_third_of_netlib_is_solved(owner, name):
    check(owner, name)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in catalogue() if name not in THIRD])
def test_the_rest_of_netlib_is_solved(owner, name):
    check(owner, name)


@pytest.mark.parametrize("name", PAPERS[::2])
def test_affine_scaling_solves_small_programs_with_cholesky(owner, name):
    check(owner, name, method="pdas")


@pytest.mark.full
@pytest.mark.parametrize("name", PAPERS)
def test_affine_scaling_solves_all_of_the_papers_kind(owner, name):
    check(owner, name, method="pdas")
    check(owner, name, method="pdas", linear_solver="sherman_morrison")


@pytest.mark.parametrize(("name", "block"), [("afiro", 1), ("sc50b", 8), ("blend", 64), ("share2b", 32)])
def test_affine_scaling_solves_small_programs_by_updates(owner, name, block):
    result = check(owner, name, method="pdas", linear_solver="sherman_morrison", block=block)
    assert result.counters["update_solves"] > 5
    assert result.counters["update_residual"] <= 1e-6
