"""``quintet receive``: the far side of ``quintet solve --host``, started over ssh.

It reads one line of JSON (``format``, ``command``: solve or resume, ``words``: the options, ``archive``: a number of
bytes) and that many bytes, a run folder with the problem. It answers with a line (``quintet``: the version, ``folder``:
where the run is kept), writes the events of the run as ``--events -`` does, reads ``pause``, ``resume`` and ``stop``,
and ends with a line (``archive``: a number of bytes) and the run folder.

The run folder is kept for a day after it has been sent, and for 30 days if the connection was lost; never removed
while a run writes to it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
import time
import uuid
from pathlib import Path
from typing import IO, Any, cast

import click

from ..errors import OptionError
from ..runs.folder.lock import writer_of
from ..runs.observers import JsonLines
from ..util.paths import user_folder
from ..util.version import version
from .archive import FORMAT, pack, unpack
from .control import first_line_of_stdin
from .options import debug_option

__all__ = ["receive"]

_SENT, _DAY = "sent", 86400.0
_CHUNK = 1 << 20


@click.command(hidden=True)
@click.option("--events", metavar="FILE", required=True, help="Only - for standard output.")
@debug_option
@click.pass_context
def receive(context: click.Context, /, events: str) -> int:
    """Run the command on standard input with the run folder that follows it, and send the folder back."""
    lines: JsonLines = context.obj
    request = _request(first_line_of_stdin())
    place = _place()
    first = place / ("problem" if request["command"] == "solve" else "run")
    with _read_bytes(request["archive"]) as archive:
        unpack(archive, first)
    _send(lines, {"quintet": version(), "folder": str(place / "run")})
    words = [request["command"], str(first)]
    words += ["--run-folder", str(place / "run")] if request["command"] == "solve" else []
    group = context.find_root().command
    try:
        code = group.main([*words, *request["words"], "--events", "-"], standalone_mode=False, obj=context.obj)
    finally:
        stream, size = pack(place / "run")
        with stream:
            _send(lines, {"archive": size})
            shutil.copyfileobj(stream, cast(io.TextIOWrapper, lines.stream).buffer, _CHUNK)
        lines.stream.flush()
        (place / _SENT).touch()
    return int(code or 0)


def _request(line: str) -> dict[str, Any]:
    """What the other side asks for."""
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict) and found.get("format") == FORMAT and found.get("command") in ("solve", "resume"):
            return found
    raise OptionError(
        f"standard input must begin with a request of format {FORMAT}, as quintet solve --host sends it; "
        "the two sides need the same version of Quintet"
    )


def _place() -> Path:
    """A new folder for one run; those of earlier runs that have been kept long enough are removed."""
    root = user_folder("cache") / "received"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = time.time()
    for old in root.iterdir():
        with contextlib.suppress(OSError):
            days = 1 if (old / _SENT).exists() else 30
            if now - old.stat().st_mtime > days * _DAY and writer_of(old / "run") is None:
                shutil.rmtree(old)
    place = root / uuid.uuid4().hex
    place.mkdir(mode=0o700)
    return place


def _send(lines: JsonLines, message: dict[str, Any]) -> None:
    lines.stream.write(json.dumps(message) + "\n")
    lines.stream.flush()


def _read_bytes(count: int) -> IO[bytes]:
    """The next bytes of standard input, and not a byte more; the run reads what follows."""
    stream = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    while count > 0 and (part := os.read(0, min(count, _CHUNK))):
        stream.write(part)
        count -= len(part)
    stream.seek(0)
    return stream
