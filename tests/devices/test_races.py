"""Claims about races: no work-item of a GPU's group reads what another one writes without a barrier between them.

Kernels as CUDA has them are run by threads of the host under ThreadSanitizer. A CPU's OpenCL runs the work-items of a
group one after another, up to a barrier or the end of a loop that has one, so that most races cannot be seen there.
Groups run one after another: races between them are not found. An index beyond an array in local or private memory is
an error too (-fsanitize=bounds).
"""

import functools
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from engine.devices.kernels.program import signatures
from engine.devices.kernels.templates import render
from engine.devices.kernels.variants import CUDA_GPU, GPU
from engine.solvers.boa.device.local_search import gain_arrays, improve_program
from engine.solvers.boa.device.programs import improve_kernel, improve_spec, shapes_for
from engine.solvers.boa.device.state import STATUS
from engine.solvers.boa.fitness.formulas import max_sat
from engine.solvers.boa.options import Improvement
from engine.solvers.gibbs.device.programs import sweep_shape
from tests.support.environment import ROOT

_HEADER = ROOT / "tests" / "support" / "as_threads.hpp"
_SPECIAL_REGISTER = re.compile(r'asm volatile\("mov\.u32[^;]*;" : "=r"\(id\)\);')
_FLAGS = ("-std=c++17", "-O1", "-g1", "-w", "-fpermissive", "-pthread", "-fsanitize=thread", "-fsanitize=bounds")
_PLACE = re.compile(r"#0 .*?([\w/]+\.mako:\d+)")


def races(folder, template, constants, kernel, grid, block, **arguments):
    """Run ``grid`` groups of a kernel; the lines of templates in which work-items raced, and the buffers afterwards."""
    source = render(template, "cuda", **constants)
    text = _SPECIAL_REGISTER.sub("id = 0u;", source.text)
    names = [parameter.name for parameter in signatures(source)[kernel].parameters]
    assert sorted(names) == sorted(arguments)
    buffers = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    begins = [f'const buffer_t {n} = read_buffer("{folder / n}", {a.nbytes});' for n, a in buffers.items()]
    ends = [f'write_buffer("{folder / n}", {n}, {a.nbytes});' for n, a in buffers.items()]
    given = ", ".join(name if name in buffers else repr(arguments[name]) for name in names)
    call = f"run_groups({grid}, {block}, [=] {{ {kernel}({given}); }});"
    main = "\n".join(["int main()", "{", *begins, call, *ends, "}"])
    program = folder / "kernel.cpp"
    program.write_text(f'#include "{_HEADER}"\n{text}\n#line 1 "main.cpp"\n{main}\n', encoding="utf-8")
    for name, array in buffers.items():
        array.tofile(folder / name)
    subprocess.run([_compiler(), *_FLAGS, "-o", str(folder / "kernel"), str(program)], check=True, timeout=300)
    report = _sanitized(folder / "kernel")
    found = {name: np.fromfile(folder / name, array.dtype).reshape(array.shape) for name, array in buffers.items()}
    return set(_PLACE.findall(report)), found


def _sanitized(program):
    """What ThreadSanitizer reports of a program."""
    options = {"TSAN_OPTIONS": "exitcode=0 halt_on_error=0"}
    done = subprocess.run(
        [str(program)], env=os.environ | options, capture_output=True, text=True, timeout=300, check=False
    )
    if "FATAL: ThreadSanitizer" in done.stderr:
        pytest.skip(f"ThreadSanitizer does not run here: {done.stderr.strip().splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert "runtime error: index" not in done.stderr, done.stderr  # of an array in local or private memory
    return done.stderr


@functools.cache
def _compiler():
    """g++ with ThreadSanitizer; without it the test is skipped."""
    compiler = shutil.which("g++")
    tried = compiler and subprocess.run(
        [compiler, "-fsanitize=thread", "-pthread", "-x", "c++", "-", "-o", os.devnull],
        input="int main() {}",
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    if compiler is None or not tried or tried.returncode:
        pytest.skip("g++ with ThreadSanitizer is not installed")
    return compiler


MEAN = """
KERNEL LAUNCH_BOUNDS(64, 1) neighbours(const GLOBAL f64* values, GLOBAL f64* sums)
{
    LOCAL_ARRAY(f64, part, 64);
    part[LOCAL_ID] = values[LOCAL_ID];
    ${between}
    sums[LOCAL_ID] = part[LOCAL_ID] + part[(LOCAL_ID + 1) % 64];
}
"""


@pytest.mark.parametrize("between", ["BARRIER();", ""])
def test_a_missing_barrier_is_found(tmp_path, trial_template, between):
    template = trial_template("neighbours", MEAN)
    values = np.arange(64.0)
    found, after = races(
        tmp_path, template, {"between": between}, "neighbours", 1, 64, values=values, sums=np.zeros(64)
    )
    if between:
        assert not found
        assert np.array_equal(after["sums"], values + np.roll(values, -1))
    else:
        assert {place.split(":")[0] for place in found} == {"trial/neighbours.mako"}


def test_a_group_that_solves_a_linear_program_has_none(tmp_path):
    block, rows, m, n, k = 64, 64, 20, 50, 2
    random = np.random.default_rng(2)
    a, x = random.standard_normal((m, n)), random.random((k, n))
    sides = np.where(np.arange(m) % 2, np.inf, x @ a.T)
    scratch = 19 * (n + m) + 6 * m + m * (rows + 1)
    found, after = races(
        *(tmp_path, "linprog/together", {"block": block, "rows": rows}, "solve_programs", 1, block),
        first=0,
        count=k,
        m=m,
        n=n,
        matrix_stride=0,
        A=a,
        At=np.ascontiguousarray(a.T),
        c=x + 0.5,
        lower=np.zeros((k, n)),
        upper=np.ones((k, n)),
        row_lower=x @ a.T,
        row_upper=sides,
        most=2,
        patience=12,
        goal=1e-10,
        scratch_stride=scratch,
        scratch=np.full(scratch, np.nan),
        x_out=np.zeros((k, n)),
        y_out=np.zeros((k, m)),
        error_out=np.zeros(k),
        iterations_out=np.zeros(k, np.int32),
    )
    assert not found
    assert (after["iterations_out"] == 2).all()
    assert (after["error_out"] < 1e3).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("shuffle", [True, False])
def test_passes_over_a_dense_design_have_none(tmp_path, shuffle):
    stride, strip_rows, strips, chains = 64, 64, 3, 2
    rows = strip_rows * strips
    random = np.random.default_rng(3)
    shape = sweep_shape(CUDA_GPU if shuffle else GPU, stride, strip_rows, chains, "float32")
    template, constants = shape.constants(chains, "float32", "margins", "logit")
    design, beta = (random.standard_normal((count, stride)).astype(np.float32) for count in (rows, chains))
    found, after = races(
        *(tmp_path, template, constants, "sweep", 1, shape.size),
        design=design,
        beta=beta,
        out=np.zeros(strips * chains * (stride + 8), np.float32),
        first_row=0,
        row_count=rows,
        strips=strips,
        strip_first=0,
        strip_rows=strip_rows,
        chunk_count=stride // 4,
        beta_first=0,
        betas=chains,
        margins=np.zeros((chains, rows), np.float32),
        pitch=rows,
        queue=np.zeros(2, np.uint32),
        spared=0,
    )
    assert (shape.reduction, found) == ("shuffle" if shuffle else "local", set())
    assert np.allclose(after["margins"], beta @ design.T, rtol=1e-4, atol=1e-4)
    assert not after["queue"].any()


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", ["tabu", "walk"])
def test_local_searches_of_bit_strings_have_none(tmp_path, rule):
    n, individuals, flips = 100, 2, 40
    random = np.random.default_rng(4)
    clauses = [
        [int((gene + 1) * random.choice([-1, 1])) for gene in random.choice(n, 3, replace=False)] for _ in range(400)
    ]
    fitness = max_sat(n, clauses)
    program = improve_program(fitness, Improvement(rule, flips, 5, 5))
    template, constants = improve_spec(shapes_for(GPU), program)
    constants["block"] = 64  # two warps
    words = -(-n // 32)
    bits = random.integers(0, 2, (individuals, n))
    state_words = 2 * -(-(6 + words + n) // 2)
    given = {name: np.ascontiguousarray(a) for name, a in gain_arrays(fitness, program).items()}
    given |= {"functions": program.functions} if rule == "walk" else {"tenure": 5, "tenure_spread": 5}
    found, after = races(
        *(tmp_path, f"boa/{template}", constants, improve_kernel(program), 1, 64),
        rows=packed(bits),
        n=n,
        first=0,
        last=individuals,
        first_flip=0,
        last_flip=flips,
        scratch=np.zeros(1, np.uint32),
        scratch_words=0,
        seed=1,
        stream=6,
        step=0,
        status=np.zeros(1, STATUS.dtype),
        states=np.zeros((individuals, state_words), np.uint32),
        state_words=state_words,
        keeps_state=1,
        **given,
    )
    assert not found
    best = np.unpackbits(after["rows"].view(np.uint8), axis=1, bitorder="little")[:, :n]
    gained = after["states"][:, 2:4].copy().view(np.int64)[:, 0]  # what the best found is better by
    assert np.array_equal(fitness.keys(best) - fitness.keys(bits.astype(np.uint8)), gained)
    assert (gained > 0).all()


def packed(bits):
    """Rows of bits as rows of 32-bit words."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // 32) * 32), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint32)
