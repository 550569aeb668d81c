"""Every kernel with every set of constants compiles, for OpenCL and, without a GPU, for one generation of CUDA.

Four generations take turns; what asks for its own compiles for all four. By default, one set of constants for each
template is compiled; other tests run many of the others.
"""

import functools
import importlib
import pkgutil
import re
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.devices.cuda import compiler as nvrtc
from engine.devices.cuda.compiler import compile_cubin
from engine.devices.kernels import templates
from engine.devices.kernels.program import signatures
from engine.devices.kernels.templates import render, template_names
from engine.errors import BackendUnavailable, KernelError

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")


@functools.cache
def variants():
    """Everything the building blocks and the solvers say they use."""
    solvers = importlib.import_module("engine.solvers").__path__
    names = [f"engine.solvers.{module.name}" for module in pkgutil.iter_modules(solvers) if module.ispkg]
    modules = [importlib.import_module(name) for name in ("engine.numerics", *names)]
    return [v for module in modules if hasattr(module, "kernel_variants") for v in module.kernel_variants()]


def label(variant):
    plain = {name: value for name, value in variant.constants.items() if isinstance(value, (int, float, str))}
    return "-".join([variant.template, *(f"{name}={value}" for name, value in plain.items())])


@pytest.fixture(autouse=True)
def _empty_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def _hasty(monkeypatch):
    """NVRTC spends no time on fast code: a fifth of the time."""
    try:
        nvrtc._nvrtc()
    except BackendUnavailable as error:
        pytest.skip(str(error))
    compiled = nvrtc._machine_code

    def in_haste(text, name, options):
        code, log = compiled(text, name, (*options, "--Ofast-compile=max"))
        return compiled(text, name, options) if code is None else (code, log)  # NVRTC 13.5 refuses one in haste

    monkeypatch.setattr(nvrtc, "_machine_code", in_haste)


def parameters(language):
    """All of them; by default only the first of each template is compiled. One that is skipped if none can be."""
    if language == "cuda":
        try:
            nvrtc.require_compiler()
        except BackendUnavailable as error:
            return [pytest.param(None, marks=pytest.mark.skip(reason=str(error)))]
    found = []
    seen = set()
    for variant in (one for one in variants() if language in one.languages):
        marks = [pytest.mark.full] if variant.template in seen else []
        found.append(pytest.param(variant, id=label(variant), marks=marks))
        seen.add(variant.template)
    return found


@pytest.mark.few(8)
@pytest.mark.usefixtures("unoptimized")
@pytest.mark.parametrize("variant", parameters("opencl"))
def test_every_variant_compiles_for_opencl(opencl, variant):
    def build(running):
        program = running.program(variant.template, **variant.constants)
        return [program.kernel(name).entry for name in program.signatures]

    try:
        assert opencl.submit(build).result()
    except KernelError as error:
        if opencl.info.capabilities.kind == "gpu" and "too much shared data" in str(error):
            pytest.skip("this GPU has less local memory than the CPU that the variant is for")
        raise


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("variant", parameters("cuda"))
def test_every_variant_compiles_for_cuda(variant):
    source = render(variant.template, "cuda", **variant.constants)
    assert signatures(source)
    turn = zlib.crc32(source.text.encode()) % len(ARCHITECTURES)
    architectures = ARCHITECTURES if "__CUDA_ARCH__" in source.text else ARCHITECTURES[turn : turn + 1]
    with ThreadPoolExecutor(2) as threads:
        jobs = [threads.submit(compile_cubin, source, name, "no device") for name in architectures]
    assert all(job.result().startswith(b"\x7fELF") for job in jobs)


def test_every_template_with_a_kernel_is_among_the_variants():
    with_kernels, included = set(), set()
    for template in template_names():
        text = (templates._TEMPLATES.root / f"{template}.mako").read_text(encoding="utf-8")
        if not template.startswith("common/prelude.") and any(line.startswith("KERNEL ") for line in text.split("\n")):
            with_kernels.add(template)
        included.update(re.findall(r'<%namespace [^>]*file="/([^"]+)\.mako"', text))
        included.update(place.removesuffix(".mako") for _, place in templates._TEMPLATES.called(text, template))
    assert with_kernels - included <= {variant.template for variant in variants()} <= with_kernels
