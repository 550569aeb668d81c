"""The samples' TOML files list the options that there are, in a form that can be used."""

import tomllib

import pytest

from engine.settings import config
from engine.solvers import recognize, solver_named
from tools import sample_options

SAMPLES = sorted(sample_options.SAMPLES.glob("*.toml"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_lists_the_options_of_today_with_their_defaults(sample, tmp_path):
    assert sample.read_text() == sample_options.updated(sample), "run python -m tools.sample_options"
    solver, kind = solver_named(sample.stem), recognize(sample.parent / tomllib.loads(sample.read_text())["problem"])
    lines = sample_options.options_of(sample)
    (tmp_path / "all.toml").write_text("\n".join([f"[{solver.name}]", *lines]))
    resolved = config.resolve(file=tmp_path / "all.toml", environment={})
    assert len(resolved.options[solver.name]) == len(lines) > 5
    assert config.solver_options(solver, resolved, {}, kind) == solver.options_model(kind)()
