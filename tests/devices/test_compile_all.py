"""Every kernel with every set of constants compiles, for OpenCL and, without a GPU, for two generations of CUDA.

What asks for its generation compiles for four.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.devices import Device, Member, templates
from engine.devices.nvrtc import compile_cubin
from engine.devices.templates import render, template_names
from engine.errors import BackendUnavailable

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
Variant = tuple[str, dict[str, Any]]


@functools.cache
def variants() -> list[Variant]:
    """Everything the building blocks and the solvers say they use."""
    solvers = importlib.import_module("engine.solvers").__path__
    names = [f"engine.solvers.{module.name}" for module in pkgutil.iter_modules(solvers) if module.ispkg]
    modules = [importlib.import_module(name) for name in ("engine.numerics", *names)]
    return [variant for module in modules if hasattr(module, "kernel_variants") for variant in module.kernel_variants()]


def label(variant: Variant) -> str:
    template, constants = variant
    return "-".join([template, *(f"{name}={value}" for name, value in constants.items())])


def for_cpus(constants: dict[str, Any]) -> bool:
    """Explicit vectors, or one work-item a group: what is made for CPUs, which CUDA has none of."""
    return constants.get("lanes", 1) > 1 or constants.get("block") == 1


@pytest.fixture(autouse=True)
def _empty_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("variant", variants(), ids=label)
def test_every_variant_compiles_for_opencl(opencl: Member, variant: Variant) -> None:
    def build(running: Device) -> None:
        running._program(render(variant[0], "opencl", **variant[1]))  # type: ignore[attr-defined]

    opencl.submit(build).result()


@pytest.mark.parametrize("variant", [v for v in variants() if not for_cpus(v[1])], ids=label)
def test_every_variant_compiles_for_cuda(variant: Variant) -> None:
    source = render(variant[0], "cuda", **variant[1])
    architectures = ARCHITECTURES if "__CUDA_ARCH__" in source.text else ARCHITECTURES[::2]
    with ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(compile_cubin, source, name, "no device") for name in architectures]
    try:
        assert all(job.result().startswith(b"\x7fELF") for job in jobs)
    except BackendUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("template", [name for name in template_names() if not name.startswith("common/prelude.")])
def test_every_template_with_a_kernel_is_among_the_variants(template: str) -> None:
    text = (templates._TEMPLATES.root / f"{template}.mako").read_text(encoding="utf-8")
    has_kernel = any(line.startswith("KERNEL ") for line in text.split("\n"))
    assert has_kernel == (template in {name for name, _ in variants()})
