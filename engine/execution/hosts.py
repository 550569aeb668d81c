"""Hosts that runs are started on over ssh, and where the files of clusters are (see :mod:`engine.execution.dask.jobs`).

A user's own are TOML files ``hosts/NAME.toml`` in the configuration folder::

    destination = "anna@gpu.example.org"       # as for ssh; the name of the file by default
    command = "~/quintet/.venv/bin/quintet"    # what starts quintet there; "quintet" by default
"""

import json
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..base.option_models import Given, validated
from ..errors import OptionError
from ..util.files import read_toml, reason_of, write_whole
from ..util.paths import user_folder

_NAME = re.compile(r"[^\s\-/\\'\"][^\s/\\'\"]*")


class Host(BaseModel):
    """A host, and how Quintet is started there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    destination: str = Field(description="[USER@]HOST as for ssh, or a name of the file ~/.ssh/config.")
    command: str = Field(
        default="quintet", min_length=1, description="What starts quintet on the host, in the words of its shell."
    )

    @field_validator("destination")
    @classmethod
    def _no_option(cls, value: str) -> str:
        if not re.fullmatch(r"[^\s-]\S*", value):
            raise ValueError("must be [USER@]HOST without spaces, and not begin with a dash")
        return value


def saved_hosts() -> dict[str, Path]:
    """The files ``hosts/NAME.toml`` in the user's configuration folder, by name."""
    return _files("hosts")


def saved_clusters() -> dict[str, Path]:
    """The files ``clusters/NAME.toml`` in the user's configuration folder, by name."""
    return _files("clusters")


def host_named(name: str) -> Host:
    """The host that a user has saved under a name; else the name is a destination of ssh."""
    path = saved_hosts().get(name)
    if path is None:
        return validated(Host, {"destination": Given(name, "argument")}, what="host")
    origin = f"file {path}"
    content, _ = read_toml(path, OptionError)
    given = {"destination": name, **content}
    return validated(Host, {key: Given(value, origin) for key, value in given.items()}, what="host")


def save_host(name: str, host: Host) -> Path:
    """Save a host under a name, and return its file."""
    if not _NAME.fullmatch(name):
        raise OptionError(f"the name of a host must be a word without slashes and quotes; got {name!r}")
    path = user_folder("config") / "hosts" / f"{name}.toml"
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in host.model_dump().items()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(lines).encode())
    except OSError as error:
        raise OptionError(f"cannot write {path}: {reason_of(error)}") from error
    return path


def ssh_words(host: Host, words: str, ask: bool = True) -> list[str]:
    """The command that runs ``quintet WORDS`` on a host."""
    options = [
        "-T",
        "-o",
        "ConnectTimeout=15",
        "-o",
        "ServerAliveInterval=15",
        *([] if ask else ["-o", "BatchMode=yes"]),
    ]
    return ["ssh", *options, host.destination, f"{host.command} {words}"]


def _files(kind: str) -> dict[str, Path]:
    folder = user_folder("config") / kind
    return {path.stem: path for path in sorted(folder.glob("*.toml"))} if folder.is_dir() else {}
