"""Claims about the shapes of the pass over the design on GPUs: what they declare fits."""

import itertools
import re
from dataclasses import replace

import pytest

from engine.devices.kernels.templates import render
from engine.devices.kernels.variants import CUDA_GPU, GPU
from engine.solvers.gibbs.device.programs import TWICE, sweep_shape


def gpu(local_memory, shuffle):
    return replace(CUDA_GPU if shuffle else GPU, local_memory=local_memory)


@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("kilobytes", [32, 48, 227])
@pytest.mark.parametrize("shuffle", [True, False])
def test_local_memory_suffices_for_any_number_of_columns(shuffle, kilobytes, storage):
    for stride in (8, 64, 104, 1008, 2048, 3000, 4104, 4992, 8192, 10_248, 16_384, 20_000):
        for chains in (4, 2, 1):
            if stride * chains > TWICE:
                continue
            shape = sweep_shape(gpu(kilobytes * 1024, shuffle), stride, 128, chains, storage)
            assert shape.rows >= 1
            assert shape.local_bytes(chains, storage) <= 1024 * min(kilobytes, 48)
            held = shape.lanes * (4 if storage == "float32" else 8)
            assert held * (shape.chunks - 1) < stride <= held * shape.chunks


@pytest.mark.parametrize("mode", ["draw", "score", "margins"])
@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_local_memory_is_what_the_kernel_declares(mode, storage):
    reductions = set()
    for shuffle, stride, chains in itertools.product((True, False), (8, 104, 1008, 4104), (4, 1)):
        if (mode, chains) == ("score", 4):
            continue
        shape = sweep_shape(gpu(227 * 1024, shuffle), stride, 128, chains, storage)
        template, constants = shape.constants(chains, storage, mode, "probit")
        text = render(template, "cuda" if shuffle else "opencl", **constants).text
        assert ("__shfl_xor_sync" in text) == (shape.reduction == "shuffle")
        reductions.add(shape.reduction)
        declared = [int(count) for count in re.findall(r"LOCAL_ARRAY\([fi]32, \w+, (\d+)\)", text)]
        assert 4 * sum(declared) == shape.local_bytes(chains, storage) > 0
    assert reductions == {"local", "shuffle"}
