"""What a user reads: one sentence, and the exit code, for each thing that can be wrong with a cluster."""

import sys

import pytest

import engine
from engine.cli import command_line
from engine.errors import ClusterError, InputError, OptionError
from engine.execution.dask import connection, jobs
from engine.execution.dask.connection import Connection
from tests.support.environment import ROOT


@pytest.fixture
def problem_file(tmp_path):
    path = tmp_path / "queens.txt"
    path.write_text((ROOT / "samples" / "branch_and_bound" / "queens-14.txt").read_text())
    return path


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("tcp://no-such-host.invalid:8786", ClusterError, r"cannot connect to the scheduler tcp://no-such-host"),
        ("tls://127.0.0.1:8786", ClusterError, r"needs certificates: .*distributed\.comm\.tls"),
        ("tcp://127.0.0.1", InputError, "not the address of a scheduler: it must be HOST:PORT"),
        ("tcp://127.0.0.1:port", InputError, "not the address of a scheduler: Port could not be cast"),
    ],
)
def test_an_address_that_cannot_be_connected_to_is_refused_at_once(given, kind, message):
    with pytest.raises(kind, match=message):
        Connection(given)


@pytest.mark.parametrize("given", ["moon", "local:", "local:0", "local:x", 7])
def test_what_is_no_cluster_is_an_input_error(given):
    with pytest.raises(InputError, match=r"local:N"), engine.Engine(cluster=given) as owner:
        owner.solve(engine.Queens(4))


def test_without_the_extra_the_message_names_it(problem_file, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("engine.execution.dask.", "distributed"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert command_line(["solve", str(problem_file), "--cluster", "local:2"]) == 3
    assert "Quintet's extra cluster has it" in capsys.readouterr().err


def test_insecure_allows_a_cluster_without_tls(tmp_path, monkeypatch, problem_file, capsys):
    def unreachable(*_, **__):
        raise OSError("nobody is there")

    monkeypatch.setattr(connection, "Client", type("Client", (), {"__init__": unreachable}))
    monkeypatch.setattr(connection, "_require_reachable", lambda address: None)
    monkeypatch.setenv("QUINTET_INSECURE", "")
    there, path = "tcp://203.0.113.9:8786", tmp_path / "hall.toml"
    for allowed in (False, True):
        path.write_text(f"kind = 'address'\naddress = '{there}'\ninsecure = {str(allowed).lower()}\n")
        kind, text = (ClusterError, "cannot connect") if allowed else (InputError, "not encrypted.*insecure = true")
        with pytest.raises(kind, match=text):
            Connection(str(path))
    assert command_line(["solve", str(problem_file), "--cluster", there]) == 2
    assert "--insecure" in capsys.readouterr().err
    assert command_line(["solve", str(problem_file), "--cluster", there, "--insecure"]) == 3
    assert "cannot connect to the scheduler" in capsys.readouterr().err


def test_a_file_with_certificates_connects_by_tls(clustered, cpu, tmp_path, monkeypatch):
    security = clustered.executor.connect().client.security
    for name in ("ca_file", "client_cert", "client_key"):
        (tmp_path / name).write_text(getattr(security, f"tls_{name}"))
    path = tmp_path / "local.toml"  # no local cluster
    monkeypatch.chdir(tmp_path)
    files = "ca = 'ca_file'\ncert = 'client_cert'\nkey = 'client_key'\n"
    address = clustered.executor.connect().client.scheduler.address
    path.write_text(f"kind = 'address'\naddress = '{address}'\n[tls]\n{files}")
    with engine.Engine("opencl", [cpu], cluster=path.name) as owner:
        assert owner.solve(engine.Queens(8)).objective == 92
        assert owner.executor.connect().client.scheduler.address.startswith("tls://")
        assert all(worker.address.startswith("tls://") for worker in owner.executor.connect().workers)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = 'moon'", "does not describe a cluster: kind"),
        ("kind = 'address'", "address is needed"),
        ("kind =", "is not a TOML file"),
    ],
)
def test_files_that_describe_no_cluster_are_refused(tmp_path, text, message):
    path = tmp_path / "hall.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=message):
        jobs.read_file(path)
    with pytest.raises(OptionError, match="cannot read"):
        jobs.read_file(tmp_path / "nothing.toml")
