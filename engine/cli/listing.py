"""``quintet devices | solvers``: the devices of this machine, and the solvers."""

import contextlib
import dataclasses
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

import click

from ..api.engine import Engine
from ..devices import available, select
from ..devices.host import host_cores
from ..devices.monitor.machine import DeviceState, MachineMonitor
from ..errors import DeviceError, QuintetError
from ..execution.hosts import host_named, ssh_words
from ..settings import config
from ..solvers import discover, solver_named
from ..util.files import reason_of
from ..util.text import bytes_text, printable
from . import tables
from .options import backend_option, config_option, debug_option, devices_option, insecure_option, json_option, options
from .samples import samples


@click.command()
@click.option("--explain", is_flag=True, help="Show every setting, its value and where that came from.")
@json_option("Print JSON.")
@click.option(
    "--watch", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Show every SECONDS what all devices are doing."
)
@click.option("--warm", is_flag=True, help="Compile the kernels that the bundled samples use, for later runs.")
@click.option("--cluster", metavar="WHERE", help="List the workers of a Dask cluster and their devices.")
@insecure_option
@click.option("--host", metavar="HOST", help="List the devices of another host over ssh.")
@options(backend_option, devices_option, config_option, debug_option)
def devices(
    explain: bool,
    json_output: IO[str] | None,
    watch: float | None,
    warm: bool,
    cluster: str | None,
    host: str | None,
    backend: str | None,
    devices: list[str] | None,
    config_file: str | None,
) -> int:
    """List the devices of this machine, and why a backend has none; or those of a cluster or another host."""
    if host is not None:
        return _host_devices(host, json_output)
    if watch is not None:
        return _watch(watch, json_output)
    if cluster is not None:
        return _cluster_devices(cluster, json_output, backend, devices)
    resolved = config.resolve({"backend": backend, "devices": devices}, file=config_file)
    if warm:
        return _warm(resolved.settings.backend, resolved.settings.devices or [])
    found, missing = available("auto")
    if json_output is not None:
        listed = [{"id": info.id, **dataclasses.asdict(info)} for info in found]
        print(json.dumps({"devices": listed, "missing": missing}, indent=2), file=json_output)
        return 0 if found else 3
    tables.describe_devices(found, missing)
    if explain:
        print()
        print(printable(f"configuration file: {resolved.file or 'none'}"))
        tables.describe_settings(resolved)
    if found and (explain or backend or devices):
        chosen = select(resolved.settings.backend, resolved.settings.devices)
        print(f"\na run uses {', '.join(info.id for info in chosen)}")
    return 0 if found else 3


def _warm(backend: str, devices: list[str]) -> int:
    """Solve the bundled samples in processes side by side: what they compile stays in the cache."""
    from ..benchmarks.start.command import start

    select(backend, devices or None)  # no device is one trouble, not one for each sample
    failed = False
    with ThreadPoolExecutor(host_cores()) as threads:
        starts = {path.stem: threads.submit(start, path, backend, devices) for path in samples()}
        for name, done in starts.items():
            try:
                found = done.result()
            except QuintetError as error:
                failed = True
                print(f"error: {error}", file=sys.stderr)
            else:
                print(f"{name}: {found['used']} kernels, built or loaded in {found['compiling']:.1f} s", flush=True)
    return 1 if failed else 0


def _watch(seconds: float, json_output: IO[str] | None) -> int:
    """Print the state of all devices until the reader goes, or Ctrl-C."""
    monitor = MachineMonitor()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(seconds)
            states = monitor.sample()
            if json_output is not None:
                text = json.dumps({"time": time.time(), "devices": [dataclasses.asdict(state) for state in states]})
            else:
                text = "   ".join(_state_text(state) for state in states)
            print(text, file=json_output, flush=True)
    return 0


def _host_devices(name: str, json_output: IO[str] | None) -> int:
    words = ssh_words(host_named(name), "devices" if json_output is None else "devices --json")
    try:
        done = subprocess.run(words, check=False, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        raise DeviceError(f"ssh cannot be started: {reason_of(error)}") from error
    print(done.stdout, end="", file=json_output)
    code = done.returncode
    return code if code in (0, 2, 3) else DeviceError.exit_code  # ssh's own codes


def _state_text(state: DeviceState) -> str:
    parts = [
        "" if state.utilisation is None else f"{state.utilisation:.0f} %",
        "" if state.memory_used is None else bytes_text(state.memory_used),
        "" if state.power is None else f"{state.power:.0f} W",
        "" if state.temperature is None else f"{state.temperature:.0f} °C",
        f"{len(state.processes)} processes" if state.processes else "",
    ]
    return f"{state.name}: {', '.join(part for part in parts if part)}"


def _cluster_devices(cluster: str, json_output: IO[str] | None, backend: Any, devices: list[str] | None) -> int:
    with Engine(backend, devices, cluster=cluster) as owner:
        from ..execution.dask.executor import Dask, worker_rows

        assert isinstance(owner.executor, Dask)
        connection = owner.executor.connect(must_be_usable=False)
        workers = connection.workers
        if json_output is not None:
            described = [
                {
                    **{name: getattr(one, name) for name in ("label", "address", "host", "versions", "fault")},
                    "devices": [{"id": info.id, **dataclasses.asdict(info)} for info in one.devices],
                }
                for one in workers
            ]
            print(json.dumps({"workers": described}, indent=2), file=json_output)
        elif workers:
            tables.print_table(("worker", "host", "device", "name", "memory"), worker_rows(workers))
        connection.require_usable()
        for warning in connection.warnings:
            print(f"warning: {warning}", file=sys.stderr)
    return 0


@click.command()
@click.argument("name", required=False)
@json_option("Print JSON.")
@debug_option
def solvers(name: str | None, json_output: IO[str] | None) -> int:
    """List the solvers, or describe the one called NAME with its options."""
    chosen = list(discover().values()) if name is None else [solver_named(name)]
    if json_output is not None:
        described = [tables.solver_to_dict(solver) for solver in chosen]
        print(json.dumps({"solvers": described}, indent=2), file=json_output)
    elif name is not None:
        tables.describe_solver(chosen[0])
    else:
        tables.print_table(
            ("solver", "title", "problems"),
            [(s.name, s.title, ", ".join(problem.__name__ for problem in s.instance_classes)) for s in chosen],
        )
    return 0
