"""Choosing among the devices of this machine by the names users write: see :func:`select`."""

from collections.abc import Callable, Sequence

from ..errors import BackendUnavailable, DeviceNotFound, OptionError, nearest
from .backends import backends
from .info import DeviceInfo
from .pool.processes import require_own_process

Backend = str
"""``"auto"``, or the language of a backend: ``"cuda"``, ``"opencl"``."""


def available(backend: Backend = "auto") -> tuple[list[DeviceInfo], dict[str, str]]:
    """All devices of a backend (of every one for ``"auto"``), and for each backend without any, why."""
    require_own_process()
    known = ("auto", *backends())
    if backend not in known:
        raise OptionError(f"unknown backend {backend!r}{nearest(str(backend), known)} (known: {', '.join(known)})")
    found: list[DeviceInfo] = []
    missing: dict[str, str] = {}
    for language, module in backends().items():
        if backend in ("auto", language):
            try:
                found += module.list_devices()
            except BackendUnavailable as error:
                missing[language] = str(error)
    return found, missing


def select(backend: Backend = "auto", names: Sequence[str] | None = None) -> list[DeviceInfo]:
    """The devices a run uses.

    ``backend``: ``"auto"`` (CUDA where it can be used, else OpenCL), or a backend's name; ``names``: devices by id,
    index, part of the name or UUID, in the order to use them; the same may be named twice. By default all GPUs of the
    backend, or its first device if it has no GPU.
    """
    found, missing = available(backend)
    if not found:
        raise BackendUnavailable("; ".join(missing.values()))
    if not names:
        first = [info for info in found if info.language == found[0].language]
        gpus = [info for info in first if info.capabilities.kind == "gpu"]
        return gpus or first[:1]
    return [info for name in names for info in _matching(name, found, missing, backend)]


def backend_of(devices: Sequence[DeviceInfo]) -> str:
    """What a run on these devices is labelled with: the name of their backend, or ``"mixed"``."""
    names = {info.language for info in devices}
    return names.pop() if len(names) == 1 else "mixed"


def by_backend(devices: Sequence[DeviceInfo]) -> list[list[DeviceInfo]]:
    """The devices of each backend, in the order given; backends in alphabetical order."""
    names = sorted({info.language for info in devices})
    return [[info for info in devices if info.language == name] for name in names]


def _matching(name: str, found: list[DeviceInfo], missing: dict[str, str], backend: Backend) -> list[DeviceInfo]:
    text = name.strip().lower()
    first_language = found[0].language
    rules: tuple[Callable[[DeviceInfo], bool], ...] = (
        lambda info: info.id == text,
        lambda info: text.isdigit() and info.index == int(text) and info.language == first_language,
        lambda info: info.uuid.lower() == text,
        lambda info: bool(text) and text in info.name.lower(),
    )
    for rule in rules:
        matches = [info for info in found if rule(info)]
        if matches:
            return matches
    language, _, index = text.partition(":")
    if language in missing:
        raise BackendUnavailable(missing[language])
    known = backends().get(language)
    if known is not None and index and backend not in ("auto", language):
        raise DeviceNotFound(f'{name} is not of the backend "{backend}"; set backend = "{language}" or "auto"')
    own = [info for info in found if info.language == language] if known is not None else found
    what, label = (f"{known.title} device", index) if known is not None else ("device", f"'{name}'")
    there = "; ".join(f"{info.id} ({info.name})" for info in own) or "none"
    raise DeviceNotFound(f"no {what} {label}; this machine has {there}")
