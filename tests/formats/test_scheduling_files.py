"""Claims about published files of flowshops, tardiness and quadratic assignment, and about those of job shops."""

import numpy as np
import pytest

import engine
from engine.cli import command_line
from engine.errors import ProblemError
from engine.formats import qaplib, taillard
from engine.solvers import recognize

TIMES = np.random.default_rng(1).integers(1, 99, (4, 6))


def pairs(times):
    """The layout of Vallada, Ruiz and Framinan."""
    machines, jobs = times.shape
    rows = (" ".join(f"{machine} {times[machine, job]}" for machine in range(machines)) for job in range(jobs))
    return f" {jobs} {machines}\n" + "\n".join(rows) + "\n"


def library(*blocks):
    """OR-Library's layout."""
    rule = " +++++++++++++++++++++++++++++\n"
    text = (
        " This file contains a set of 31 FSP test instances.\n \n These are contributed by D. C. Mattfeld.\n \n" + rule
    )
    for name, body in blocks:
        text += f" \n instance {name}\n \n{rule} {name} 4x6 instance (7038)\n{body}{rule}"
    return text


def written(path, text):
    path.write_text(text)
    return path


def test_lines_of_text_may_come_before_a_flowshop(tmp_path):
    taillard.write(tmp_path / "own.txt", TIMES)
    layouts = {"own": (tmp_path / "own.txt").read_text(), "pairs": pairs(TIMES)}
    for name, text in layouts.items():
        file = written(tmp_path / f"{name}-titled.txt", f"Carlier's flowshop of 6 jobs\n\nand a second line\n{text}")
        assert recognize(file) is engine.Flowshop
        assert engine.Flowshop.read(file).times.tolist() == TIMES.tolist()


def test_or_librarys_flowshops_are_read_one_by_one(tmp_path):
    file = written(tmp_path / "flowshop1.txt", library(("car1", pairs(TIMES)), ("car2", pairs(TIMES + 1))))
    assert recognize(file) is engine.Flowshop
    for instance in (1, 2):
        problem = engine.Flowshop.read(file, instance)
        assert (problem.name, problem.instances_in_file) == (f"flowshop1-{instance}", 2)
        assert problem.times.tolist() == (TIMES + instance - 1).tolist()
    file.write_text(library(("car1", pairs(TIMES)), ("car2", "")))
    with pytest.raises(ProblemError, match="instance car2 has no numbers"):
        engine.Flowshop.read(file)


JOB_SHOP = "2 3\n 2 1  0 3  1 6\n 1 8  2 5  0 10\n"
PUBLISHED = "Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound\n2 3 1 2 9 9\nTimes\n1 2 3\n"


@pytest.mark.parametrize("text", [JOB_SHOP, f"Fisher and Thompson\n{JOB_SHOP}", library(("ft06", JOB_SHOP)), PUBLISHED])
def test_a_job_shop_is_refused_with_a_solver_that_is_made_for_it(tmp_path, capsys, text):
    file = written(tmp_path / "ft06.txt", text)
    assert command_line(["solve", str(file)]) == 2
    assert "job shop, which is not among the problems; OR-tools CP-SAT solves it" in capsys.readouterr().err
    with pytest.raises(ProblemError, match="job shop"):
        engine.Flowshop.read(file)


def tardiness_text(instances, jobs):
    values = np.random.default_rng(jobs).integers(1, 99, (instances, 3, jobs))
    lines = (" ".join(map(str, part)) for row in values.reshape(-1, jobs) for part in np.array_split(row, 2))
    return "\n".join(lines) + "\n", values


def test_or_librarys_tardiness_files_hold_125_instances(tmp_path, capsys):
    text, values = tardiness_text(125, 8)
    file = written(tmp_path / "wt40.txt", text)
    assert recognize(file) is engine.Tardiness
    for instance in (1, 77, 125):
        problem = engine.Tardiness.read(file, instance)
        assert (problem.name, problem.instances_in_file) == (f"wt40-{instance}", 125)
        assert [problem.times.tolist(), problem.weights.tolist(), problem.due.tolist()] == values[instance - 1].tolist()
    with pytest.raises(ProblemError, match="there is no instance 126"):
        engine.Tardiness.read(file, 126)
    assert command_line(["estimate", str(file), "--instance", "3", "--upper-bound", "0"]) == 0
    assert "wt40-3" in capsys.readouterr().out
    file.write_text(text + "5\n")
    with pytest.raises(ProblemError, match="the file has 3001 numbers"):
        engine.Tardiness.read(file)


@pytest.mark.parametrize("name", ["nug6.dat", "nug6.txt", "nug6"])
@pytest.mark.parametrize("first", ["6", "6 578"])
def test_quadratic_assignments_have_any_name_and_perhaps_their_best_value(tmp_path, name, first):
    flows, distances = np.random.default_rng(2).integers(0, 9, (2, 6, 6))
    qaplib.write(tmp_path / "plain.dat", flows, distances)
    file = written(tmp_path / name, (tmp_path / "plain.dat").read_text().replace("6\n", f"{first}\n", 1))
    assert recognize(file) is engine.QuadraticAssignment
    problem = engine.QuadraticAssignment.read(file)
    assert [problem.flows.tolist(), problem.distances.tolist()] == [flows.tolist(), distances.tolist()]
