"""Clusters that are started here: worker processes on this host, or jobs of a batch system described by a TOML file.

::

    kind = "slurm"             # slurm, pbs, lsf, sge, htcondor or oar; or "address" with an address instead
    jobs = 8                   # how many workers
    gpus = 1                   # GPUs of a worker
    queue = "gpu"
    cores = 8
    memory = "32GB"
    walltime = "01:00:00"      # workers stop five minutes before, and others take their tasks over
    project = "abc123"
    directives = ["--constraint=h200"]     # further lines of the job script
    prologue = ["module load cuda"]        # commands before the worker
    wait = 600                 # seconds to wait for the first worker
    disk = "4GB"               # of a job; kind = "htcondor" only
    insecure = false           # true: connections between hosts may be without TLS

    [tls]                      # of Dask; for kind = "address" and for batch systems alike
    ca = "ca.pem"
    cert = "client.pem"
    key = "client.key"
"""

import asyncio
import contextlib
import math
import re
import shlex
import shutil
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...devices.host import host_cores
from ...errors import ClusterError, InputError, OptionError
from ...util.files import read_toml

_MARGIN = 5 * 60
_SHORTEST_LIFETIME = 60
_REPLACE_SECONDS = 5.0
_DISK = "4GB"
_THREADS = 2  # the next task is prepared while one is computed
_CLASSES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
}
_GPUS = {  # how GPUs are requested; for PBS beside cores and memory
    "slurm": "--gres=gpu:{gpus}",
    "lsf": '-gpu "num={gpus}"',
    "sge": "-l gpu={gpus}",
    "htcondor": "request_gpus = {gpus}",
}


class Tls(BaseModel):
    """Certificates for Dask's connections."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ca: str
    cert: str
    key: str


class ClusterFile(BaseModel):
    """The content of a cluster's TOML file; see the module."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["address", "slurm", "pbs", "lsf", "sge", "htcondor", "oar"]
    address: str | None = None
    jobs: int = Field(1, ge=1, le=100_000)
    gpus: int = Field(0, ge=0, le=64)
    queue: str | None = None
    project: str | None = None
    cores: int = Field(1, ge=1)
    memory: str = "8GB"
    disk: str | None = None
    walltime: str = "01:00:00"
    directives: list[str] = []
    prologue: list[str] = []
    interface: str | None = None
    wait: float = Field(600.0, gt=0)
    insecure: bool = False
    tls: Tls | None = None


def read_file(path: Path) -> ClusterFile:
    content, _ = read_toml(path, OptionError, "the cluster file ")
    try:
        found = ClusterFile.model_validate(content)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise OptionError(f"{path} does not describe a cluster: {faults}") from error
    if (found.kind == "address") != (found.address is not None):
        raise OptionError(f'{path}: address is needed for kind = "address", and for no other kind')
    if found.kind == "htcondor" and found.queue is not None:
        raise OptionError(f"{path}: HTCondor has no queues; name what a job needs in directives")
    if found.kind != "htcondor" and found.disk is not None:
        raise OptionError(f'{path}: disk is for kind = "htcondor" only')
    _seconds(found.walltime, path)
    return found


def open_cluster(path: Path, closing: contextlib.ExitStack, insecure: bool = False) -> Any:
    """What a client connects to for a cluster's file; ``closing`` ends its jobs; ``insecure`` lets them have no TLS."""
    file = read_file(path)
    if file.tls is not None:
        _configure_tls(file.tls, path.parent, closing)
    if file.address is not None:
        return file.address
    kind = getattr(_jobqueue(path), _CLASSES[file.kind])
    command = shlex.split(kind.job_cls.submit_command)[0]
    if shutil.which(command) is None:
        raise ClusterError(f"{path}: this computer has no command {command}, with which jobs are submitted")
    if file.tls is None and not (file.insecure or insecure):
        raise OptionError(
            f"the jobs of {path} would connect without TLS, so that anyone who can reach this computer could execute "
            "code on it and on them; give the file a table [tls], or insecure = true"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cluster = kind(**job_options(file, path))
        except (OSError, ValueError, RuntimeError) as error:
            raise ClusterError(f"the jobs of {path} cannot be prepared: {error}") from error
    closing.callback(_close, cluster)
    cluster.wait_seconds = file.wait
    try:
        cluster.sync(_submit, cluster, file.jobs)
    except (OSError, ValueError, RuntimeError) as error:
        raise ClusterError(f"the jobs of {path} cannot be submitted: {_stderr_of(error)}") from error
    cluster.replacement = Replacement(cluster, file.jobs)
    return cluster


def _jobqueue(path: Path) -> Any:
    """The package ``dask_jobqueue``, without the handler of Ctrl-C that importing it sets, which exits."""
    is_main = threading.current_thread() is threading.main_thread()
    former = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError as error:
        raise ClusterError(f"{path} needs dask-jobqueue: Quintet's extra cluster has it") from error
    except ValueError as error:
        raise ClusterError(f"{path}: dask_jobqueue must be imported in the main thread first ({error})") from error
    finally:
        if is_main:
            signal.signal(signal.SIGINT, former)
    return dask_jobqueue


async def _submit(cluster: Any, count: int) -> None:
    """Submit so many jobs, without waiting for them to start."""
    while len(cluster.worker_spec) < count:  # as scale() does, whose errors are printed by tornado
        cluster.worker_spec.update(cluster.new_worker_spec())
    try:
        await asyncio.shield(asyncio.ensure_future(cluster))  # Ctrl-C leaves no job whose number is not known yet
    except Exception:
        for job in cluster.workers.values():
            if job.status.name == "created":
                job.status = type(job.status).failed  # else Dask fails to close the cluster
        raise


def _stderr_of(error: Exception) -> str:
    """What the command that submits jobs wrote to its standard error, or the error."""
    lines = [line.strip() for line in str(error).rpartition("stderr:")[2].splitlines()]
    return "; ".join(line for line in lines if line) or type(error).__name__


class Replacement:
    """Has worker processes or jobs started again that have ended: killed, preempted, or at the end of their walltime.

    Dask starts a worker again whose process dies, but not one that dies while it starts, one that takes long to come
    back, or a job.
    """

    def __init__(self, cluster: Any, count: int) -> None:
        self._cluster, self._count = cluster, count
        self._looked_at = time.monotonic()

    def __call__(self, alive: int) -> None:
        """Replace what has ended; ``alive`` workers are there, and those that are still starting are left alone."""
        now = time.monotonic()
        if alive >= self._count or now - self._looked_at < _REPLACE_SECONDS:
            return
        self._looked_at = now
        self._cluster.loop.add_callback(self._replace)

    def _replace(self) -> None:
        """On the cluster's thread: forget what has ended, and open what is missing."""
        cluster = self._cluster
        if str(cluster.status.name) != "running":
            return
        for name, worker in list(cluster.workers.items()):
            if worker.status.name in ("closed", "failed"):
                del cluster.workers[name]
        cluster.scale(self._count)


def job_options(file: ClusterFile, path: Path) -> dict[str, Any]:
    """Arguments of the classes of ``dask_jobqueue``: one worker a job, which stops before its walltime ends."""
    lifetime = max(_SHORTEST_LIFETIME, _seconds(file.walltime, path) - _MARGIN)
    options: dict[str, Any] = {
        "cores": file.cores,
        "processes": 1,
        "memory": file.memory,
        "job_extra_directives": _directives(file, path),
        "job_script_prologue": file.prologue,
        "worker_extra_args": [
            *("--nthreads", str(_THREADS), "--lifetime", f"{lifetime}s"),
            *("--lifetime-stagger", f"{min(_MARGIN // 2, lifetime // 4)}s"),
        ],
        "scheduler_options": {"dashboard_address": ":0"},
    }
    if file.kind == "htcondor":
        options["disk"] = file.disk or _DISK
    else:
        options["walltime"] = _walltime_of(file, path)
    if file.kind == "oar":
        options["memory_per_core_property_name"] = "not_applicable"  # its name differs from site to site
    if file.kind == "pbs" and file.gpus:
        options["resource_spec"] = _pbs_resources(file)
    if file.queue is not None:
        options["queue"] = file.queue
    if file.project is not None and file.kind != "htcondor":
        options["account" if file.kind in ("slurm", "pbs") else "project"] = file.project
    if file.interface is not None:
        options["interface"] = file.interface
    if file.tls is not None:
        from distributed.security import Security

        options |= {"protocol": "tls://", "security": Security()}  # of Dask's configuration, see _configure_tls
    return options


def _directives(file: ClusterFile, path: Path) -> list[str] | dict[str, str]:
    """Further lines of the job script; for HTCondor by name."""
    found = list(file.directives)
    if file.gpus and file.kind != "pbs":
        if file.kind not in _GPUS:
            raise OptionError(f"{path}: gpus cannot be requested for kind = {file.kind!r}; use directives")
        found.insert(0, _GPUS[file.kind].format(gpus=file.gpus))
    if file.kind != "htcondor":
        return found
    if file.project is not None:
        found.insert(0, f"accounting_group = {file.project}")
    for one in found:
        if "=" not in one:
            raise OptionError(f"{path}: directives of HTCondor must be NAME = VALUE; got {one!r}")
    return {name.strip(): value.strip() for name, _, value in (one.partition("=") for one in found)}


def _pbs_resources(file: ClusterFile) -> str:
    """One request for cores, memory and GPUs: PBS refuses GPUs that are requested beside it."""
    from dask.utils import parse_bytes
    from dask_jobqueue.pbs import pbs_format_bytes_ceil

    memory = pbs_format_bytes_ceil(parse_bytes(file.memory))
    return f"select=1:ncpus={file.cores}:mem={memory}:ngpus={file.gpus}"


def _walltime_of(file: ClusterFile, path: Path) -> str:
    """The walltime as the batch system reads it: two numbers are minutes and seconds for most, and all for LSF."""
    seconds = _seconds(file.walltime, path)
    if file.kind == "lsf":
        minutes = math.ceil(seconds / 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _configure_tls(tls: Tls, folder: Path, closing: contextlib.ExitStack) -> None:
    """Let Dask use the certificates until the connection is closed."""
    import dask
    import distributed  # noqa: F401 - the defaults of its configuration, of which some are kept

    folder = folder.resolve()  # jobs start in other folders
    content = {"ca-file": str(folder / tls.ca)}
    for role in ("client", "worker", "scheduler"):
        content |= {f"{role}.cert": str(folder / tls.cert), f"{role}.key": str(folder / tls.key)}
    closing.enter_context(dask.config.set({f"distributed.comm.tls.{name}": value for name, value in content.items()}))


def _seconds(walltime: str, path: Path) -> int:
    match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d{2})(?::(\d{2}))?", walltime)
    if match is None:
        raise OptionError(f"{path}: walltime must be HH:MM:SS or HH:MM; got {walltime!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((24 * days + hours) * 60 + minutes) * 60 + seconds


def local_cluster(count: int, closing: contextlib.ExitStack) -> Any:
    """So many worker processes on this host, which nobody else can connect to."""
    from distributed import LocalCluster

    cores = max(1, host_cores() // count)
    try:
        cluster = LocalCluster(
            n_workers=count,
            threads_per_worker=_THREADS,
            processes=True,
            dashboard_address=":0",
            worker_dashboard_address=":0",
            security=_temporary_security(),
            memory_limit=0,
            silence_logs=50,
            env={"POCL_MAX_PTHREAD_COUNT": str(cores), "POCL_CPU_MAX_CU_COUNT": str(cores)},
        )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise ClusterError(f"the local workers do not start: {error}") from error
    closing.callback(_close, cluster)
    cluster.replacement = Replacement(cluster, count)
    return cluster


def _close(cluster: Any) -> None:
    """Close a cluster, also one whose workers or jobs have never started, which Dask fails to close."""
    with contextlib.suppress(Exception):
        cluster.close(timeout=10)


def _temporary_security() -> Any:
    """Certificates for one cluster, so that other users of this host cannot connect to it."""
    from distributed.security import Security

    try:
        return Security.temporary()
    except ImportError as error:
        raise InputError("local clusters need the package cryptography: Quintet's extra cluster has it") from error
