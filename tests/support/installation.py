"""The wheel of this tree, installed into an environment of its own, and its commands run as processes."""

import functools
import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.support.environment import ROOT
from tests.support.needs import package
from tests.support.patience import PATIENCE


@dataclass(frozen=True)
class Finished:
    """What a process left: its exit code, and all that it wrote to the file descriptors 1 and 2."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Installation:
    """An environment that has the wheel, and the packages of this interpreter."""

    python: Path
    site: Path

    @property
    def script(self):
        return self.python.with_name("quintet" + sysconfig.get_config_var("EXE"))

    def run(self, *words, cwd, **variables):
        """Run a process in a folder, without standard input and without what Python's variables would add."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=5 * PATIENCE,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def quintet(self, *words, cwd, **variables):
        return self.run(self.script, *words, cwd=cwd, **variables)

    def execute(self, code, cwd, **variables):
        """Run Python code, as ``python -c``: the folder is first on its path."""
        return self.run(self.python, "-c", code, cwd=cwd, **variables)


def built(kind, folder):
    package("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=5 * PATIENCE)
    (file,) = folder.iterdir()
    return file


def install(folder):
    """Build the wheel and install it into a new environment there."""
    package("pip")
    wheel = built("wheel", folder / "wheel")
    venv.create(folder / "environment", with_pip=False, symlinks=os.name != "nt")
    scripts = {"base": str(folder / "environment"), "platbase": str(folder / "environment")}
    path = functools.partial(sysconfig.get_path, scheme="venv", vars=scripts)
    site = Path(path("purelib"))
    python = Path(path("scripts")) / Path(sys.executable).name
    others = [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    (site / "packages.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
    words = ["--python", str(python), "install", "-q", "--no-deps", "--no-index", "--no-compile", "--ignore-installed"]
    command = [sys.executable, "-m", "pip", *words, str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=5 * PATIENCE)
    return Installation(python, site)
