"""Claims about the shapes of the pass over the design on GPUs: what they declare fits, however wide the design is."""

from __future__ import annotations

import re

import pytest

from engine.devices import Capabilities
from engine.devices.templates import render
from engine.solvers.gibbs.kernels import Mode, sweep_shape

MODES: tuple[tuple[Mode, int], ...] = (("draw", 4), ("draw", 1), ("score", 1), ("combine", 1), ("project", 8))


def gpu(local_memory: int) -> Capabilities:
    return Capabilities("gpu", True, True, False, "kernels", 132, local_memory, 228 * 1024, 256, 1024)


@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("kilobytes", [32, 48, 227])
@pytest.mark.parametrize("language", ["cuda", "opencl"])
def test_local_memory_suffices_for_any_number_of_columns(language: str, kilobytes: int, storage: str) -> None:
    for stride in (8, 64, 104, 1008, 5136, 8192, 10_248, 16_384, 20_008, 40_000):
        for mode, chains in MODES:
            shape = sweep_shape(gpu(kilobytes * 1024), language, stride, 128, chains, storage, mode)
            assert shape.rows >= 1
            assert shape.local_bytes(chains, storage, mode) <= 1024 * min(kilobytes, 48)
            held = shape.lanes * (4 if storage == "float32" else 8)
            assert held * (shape.chunks - 1) < stride <= held * shape.chunks


@pytest.mark.parametrize(("mode", "chains"), MODES)
@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_local_memory_is_what_the_kernel_declares(mode: Mode, chains: int, storage: str) -> None:
    for language in ("cuda", "opencl"):
        for stride in (8, 104, 1008, 5136):
            shape = sweep_shape(gpu(227 * 1024), language, stride, 128, chains, storage, mode)
            template, constants = shape.constants(chains, storage, mode)
            text = render(template, language, **constants).text
            declared = [int(count) for count in re.findall(r"LOCAL_ARRAY\([fi]32, \w+, (\d+)\)", text)]
            assert declared
            assert 4 * sum(declared) == shape.local_bytes(chains, storage, mode)
