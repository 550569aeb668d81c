import itertools
import re
from dataclasses import replace

import pytest

from engine.devices.kernels.templates import render
from engine.devices.kernels.variants import CUDA_GPU, GPU
from engine.solvers.gibbs.device.programs import sweep_shape


def gpu(local_memory, shuffle):
    return replace(CUDA_GPU if shuffle else GPU, local_memory=local_memory)


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
