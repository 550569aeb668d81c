"""Settings and options: who wins, who is named, and what is said of mistakes."""

import pytest

from engine.errors import OptionError
from engine.settings import config
from tests.support import counting

pytestmark = pytest.mark.smoke

VALUES = {
    "backend": ("auto", "cuda", "opencl", "cuda"),
    "devices": (None, ["cuda:1"], "opencl:0", ["0", "0"]),
    "time_limit": (None, 1.5, "2.5", 3.5),
    "run_folder": (None, "a", "b", "c"),
}


def as_toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(f'"{entry}"' for entry in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.parametrize("top", range(4))
@pytest.mark.parametrize("name", VALUES)
def test_later_layers_win_and_are_named(name, top, tmp_path):
    default, in_file, in_environment, argument = VALUES[name]
    path = tmp_path / "settings.toml"
    path.write_text(f"{name} = {as_toml(in_file)}\n" if top >= 1 else "")
    environment = {f"QUINTET_{name.upper()}": in_environment} if top >= 2 else {}
    resolved = config.resolve({name: argument if top == 3 else None}, path, environment)
    wanted = (default, in_file, {"opencl:0": ["opencl:0"], "2.5": 2.5, "2": 2}.get(in_environment, in_environment))
    assert getattr(resolved.settings, name) == (*wanted, argument)[top]
    origins = ("default", f"file {path}", f"environment QUINTET_{name.upper()}", "argument")
    assert resolved.origins[name] == origins[top]
    assert {origin for other, origin in resolved.origins.items() if other != name} == {"default"}


def test_the_file_is_the_named_one_else_the_variables_else_the_folders_else_the_users(tmp_path, monkeypatch):
    user = tmp_path / "nobody" / "quintet"
    monkeypatch.setattr(config, "user_folder", lambda kind: user)
    assert config.resolve({}, environment={}).file is None
    user.mkdir(parents=True)
    places = [user / "quintet.toml", tmp_path / "quintet.toml", tmp_path / "variable.toml", tmp_path / "named.toml"]
    for seed, path in enumerate(places, start=1):
        path.write_text(f"seed = {seed}")
        environment = {"QUINTET_CONFIG": str(places[2])} if seed >= 3 else {}
        resolved = config.resolve({}, places[3] if seed == 4 else None, environment)
        assert resolved.settings.seed == seed
        assert resolved.file.resolve() == path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sed = 1", r"unknown setting 'sed'; did you mean 'seed'\? \(file {path}, line 1\)"),
        ("\n\nseed = -1", r"seed must be at least 0; got -1 \(file {path}, line 3\)"),
        ("seed = true", r"seed must be a whole number; got true \(file {path}, line 1\)"),
        ("problem = 3", r"problem must be the name of a file; got 3 \(file {path}, line 1\)"),
        ("seed = 1\n[knapsak]", r"unknown solver 'knapsak'; did you mean 'knapsack'\? \(file {path}, line 2\)"),
        ("seed = \nbackend = 1", r"{path} is not a TOML file: .*line 1.*"),
    ],
)
def test_mistakes_in_a_file_are_one_sentence_with_the_line(content, message, tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(content)
    with pytest.raises(OptionError, match="^" + message.replace("{path}", str(path)) + "$"):
        config.resolve({}, path, {})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("QUINTET_SED", "1", "unknown environment variable 'QUINTET_SED'; did you mean 'QUINTET_SEED'?"),
        ("QUINTET_TIME_LIMIT", "soon", "time_limit must be a number; got 'soon' (environment QUINTET_TIME_LIMIT)"),
        ("QUINTET_TIME_LIMIT", "nan", "time_limit must be greater than 0; got 'nan' (environment QUINTET_TIME_LIMIT)"),
    ],
)
def test_mistakes_in_the_environment_name_the_variable(name, value, message):
    with pytest.raises(OptionError) as caught:
        config.resolve({}, environment={name: value})
    assert str(caught.value) == message


def test_variables_that_are_empty_or_of_others_are_left_alone():
    environment = {"QUINTET_SEED": "", "QUINTET_DUMP_KERNELS": "x", "QUINTET_TEST_DEVICES": "y", "HOME": "z"}
    assert set(config.resolve({}, environment=environment).origins.values()) == {"default"}


def test_every_mistake_of_a_call_is_reported_at_once():
    with pytest.raises(OptionError) as caught:
        config.solver_options(counting.SOLVER, None, {"stepp": 1, "step": 0, "style": "fanci", "slice_seconds": 1})
    assert str(caught.value) == (
        "unknown option 'stepp' of counting; did you mean 'step'?; step must be at least 1; got 0; "
        "style must be 'plain' or 'fancy'; got 'fanci'; did you mean 'fancy'?"
    )


@pytest.mark.parametrize("folder", ["../elsewhere", "/elsewhere", "link/elsewhere", "a/../../elsewhere"])
def test_a_file_names_a_run_folder_below_the_current_one_only(folder, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "link").symlink_to(tmp_path)
    path = here / "settings.toml"
    path.write_text(f'seed = 1\nrun_folder = "{folder}"\n')
    with pytest.raises(OptionError, match=r"run_folder must be below the current folder .*--run-folder.*line 2\)"):
        config.resolve({}, path, {})
    assert config.resolve({"run_folder": folder}, path, {}).settings.run_folder == folder
