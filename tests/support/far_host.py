"""A host that is not there: a program ``ssh`` that runs its command on this one."""

import os

from tests.support import counting
from tests.support.environment import with_root

_SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
echo "$1" >> "$(dirname "$0")/destinations"
[ "$1" = nowhere ] && { echo "ssh: Could not resolve hostname nowhere" >&2; exit 255; }
shift
echo "Welcome to this host"
echo $$ > "$(dirname "$0")/process"
exec sh -c "exec $*"
"""

COMMAND = " ".join(counting.QUINTET)
"""What starts quintet there, with the counting solver."""


def install(monkeypatch, folder):
    """Put the program on the path; ``folder`` gets the destinations and the id of its last process."""
    folder.mkdir()
    program = folder / "ssh"
    program.write_text(_SSH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", with_root()["PYTHONPATH"])
