"""Slurm's commands, as scripts that run jobs as processes of this host."""

import contextlib
import os
import signal

import pytest

from tests.support.environment import ROOT

_SUBMIT = """#!/bin/sh
cp "$1" {folder}/$$.sh
cd /
setsid sh -c "sleep {late}; exec bash {folder}/$$.sh" > {folder}/$$.log 2>&1 &
touch {folder}/$!.started
echo "Submitted batch job $!"
"""

_CANCEL = """#!/bin/sh
touch {folder}/$1.cancelled
kill -9 -- -$1
"""

_REFUSE = """#!/bin/sh
echo "sbatch: error: invalid partition specified: gpu" >&2
exit 1
"""


@contextlib.contextmanager
def slurm(folder, late=0.0, refuses=False):
    """Have ``sbatch`` and ``scancel`` on the path; jobs start in ``/``, some seconds late, or are refused."""
    submit = _REFUSE if refuses else _SUBMIT.format(folder=folder, late=late)
    scripts = {"sbatch": submit, "scancel": _CANCEL.format(folder=folder)}
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        try:
            yield folder
        finally:
            for started in folder.glob("*.started"):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(int(started.stem), signal.SIGKILL)
