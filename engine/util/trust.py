"""Files do not execute code unless the user trusts it.

Two kinds of files can bring code with them: a run folder whose problem class is not one of the package's (Python), and
a problem whose objective is a C snippet (native code on the devices). Both are read without executing anything; before
any of it is executed, the user must have agreed, by ``--trust``, ``trust=True`` or the question of the app. The
agreement is remembered by the SHA-256 of the code, in ``trusted.json`` in the user's data folder.
"""

import contextlib
import contextvars
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import UntrustedCode
from .files import read_regular, write_whole
from .paths import folder_of, user_folder

_MOST_REMEMBERED = 10_000
_allowed: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar("allowed", default=frozenset())


@dataclass(frozen=True)
class ForeignCode:
    """Code that a file would have executed."""

    kind: Literal["Python", "C"]
    where: str  # the file that contains it
    digest: str  # SHA-256 of the code
    text: str = ""  # as far as it is known without executing anything


def native_code_of(code: str, where: str) -> ForeignCode:
    """C code of a problem."""
    return ForeignCode("C", where, hashlib.sha256(code.encode()).hexdigest(), code)


def require_trust(code: ForeignCode, trust: bool) -> None:
    """Refuse code that the user has not agreed to execute; with ``trust``, agree, and remember it."""
    if is_trusted(code):
        return
    if not trust:
        raise UntrustedCode(
            f"{code.where} contains {code.kind} code which would be executed on this machine (SHA-256 "
            f"{code.digest[:16]}…); read it, and allow it with --trust or trust=True",
            code,
        )
    remember(code)


def is_trusted(code: ForeignCode) -> bool:
    """Whether the user has agreed to execute exactly this code before."""
    return code.digest in _allowed.get() or code.digest in _remembered()


@contextlib.contextmanager
def allowed(*digests: str) -> Iterator[None]:
    """Within this block, code of exactly these digests may be executed, whether that could be remembered or not."""
    token = _allowed.set(_allowed.get() | set(digests))
    try:
        yield
    finally:
        _allowed.reset(token)


def is_bundled(path: str | Path) -> bool:
    """Whether a file is one of the package's samples, which need no agreement."""
    return Path(path).resolve().is_relative_to(folder_of("samples"))


def remember(code: ForeignCode) -> None:
    """The user agrees to execute this code, now and later."""
    known = dict(list(_remembered().items())[1 - _MOST_REMEMBERED :])
    known[code.digest] = {"kind": code.kind, "where": code.where, "since": time.strftime("%Y-%m-%d %H:%M:%S")}
    path = _path()
    with contextlib.suppress(OSError):  # then it is asked again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(known, indent=1).encode())


def _path() -> Path:
    return user_folder("data") / "trusted.json"


def _remembered() -> dict[str, object]:
    """What is remembered; nothing if the file is missing or damaged."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads(read_regular(_path()))
        if isinstance(content, dict):
            return content
    return {}
