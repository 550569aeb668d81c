"""Lines along which chains move slowly: found where they are, by column, and moved without losing track of the rows."""

import numpy as np
import pytest

import engine
from engine.solvers.gibbs.design.lines import find_lines
from engine.solvers.gibbs.design.matrix import Design
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.problem import HorseshoeProbit
from tests.support.engines import engine_of


def categorical(rows=600, seed=1):
    """Two features of 3 and 4 levels, a copy, a rare column, one that is nested in another, and two of normals."""
    random = np.random.default_rng(seed)
    levels = [np.eye(k)[random.integers(k, size=rows)] for k in (3, 4)]
    normals = random.standard_normal((rows, 2))
    rare = (np.arange(rows) < 4).astype(float)
    part = levels[0][:, 0] * (random.random(rows) < 0.8)
    X = np.column_stack([*levels, normals, 3.0 * normals[:, 0], rare, part])
    y = X[:, 0] - X[:, 4] + 0.5 * X[:, 7] + random.standard_normal(rows) > 0
    y[:4] = True
    return X, y


def lines_of(X, y, **options):
    design = Design.of(HorseshoeProbit(X, y), Options(**options))
    rows = np.asarray(design.rows(0, len(y)), np.float64)[:, : design.layout.columns]
    return design, find_lines(design, rows.T @ rows, np.full(len(y), 0.4))


@pytest.mark.parametrize("standardize", [True, False])
def test_groups_copies_nested_and_rare_columns_are_found(standardize):
    design, lines = lines_of(*categorical(), standardize=standardize)
    groups = sorted(sorted(lines.members(line)) for line in range(lines.nulls))
    assert groups == [[1, 2, 3], [4, 5, 6, 7], [8, 10]]
    pairs = [sorted(lines.members(line)) for line in range(lines.nulls, lines.nulls + lines.pairs)]
    assert [1, 12] in pairs
    tails = [lines.members(line) for line in range(lines.nulls + lines.pairs, lines.count)]
    assert tails == [[11]]
    assert lines.separable == (11,)
    assert design.name(11) == "x10"


def test_margins_do_not_change_along_null_lines_and_change_as_stated_along_the_others():
    for options in ({}, {"standardize": False}, {"intercept": False}):
        X, y = categorical()
        design, lines = lines_of(X, y, **options)
        rows = np.asarray(design.rows(0, len(y)), np.float64)[:, : design.layout.columns]
        assert lines.count > 0
        for line in range(lines.count):
            direction = np.zeros(design.layout.columns)
            if design.first:
                direction[0] = lines.intercept[line]
            begin, end = lines.member_start[line : line + 2]
            direction[lines.member_column[begin:end]] += lines.member_weight[begin:end]
            stored = np.zeros(len(y))
            begin, end = lines.row_start[line : line + 2]
            stored[lines.row_index[begin:end]] = lines.row_value[begin:end]
            assert np.abs(rows @ direction - stored).max() < 1e-4 * np.abs(direction).max()


@pytest.mark.full
def test_the_result_names_the_causes_of_slow_mixing(device):
    X, y = categorical(300)
    names = [*("a1", "a2", "a3"), *("b1", "b2", "b3", "b4"), "c", "d", "triple of c", "rare", "part of a1"]
    notices = []
    problem = engine.HorseshoeProbit(X, y, names=names)
    result = engine_of(device).solve(problem, draws=20, warmup=0, chains=2, on_event=notices.append)
    assert result.arrays["separable"].tolist() == ["rare"]
    assert "rare" in result.arrays["rare"].tolist()
    groups = result.arrays["collinear_group"]
    found = {tuple(sorted(result.arrays["collinear_names"][groups == group].tolist())) for group in set(groups)}
    assert found == {("a1", "a2", "a3"), ("b1", "b2", "b3", "b4"), ("c", "triple of c")}
    messages = [event.message for event in notices if event.type == "notice"]
    assert any("'a1', 'a2', 'a3' are exactly collinear" in message for message in messages)
    assert any("('rare')" in message and "one class only" in message for message in messages)
