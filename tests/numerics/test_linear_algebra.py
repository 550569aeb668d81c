"""Linear algebra: every provider that a device can use gives NumPy's answers."""

from importlib.util import find_spec

import numpy as np
import pytest

from engine.devices import available
from engine.numerics.groups import group_size
from engine.numerics.linear_algebra import linear_algebra
from engine.numerics.linear_algebra.kernels import Kernels

pytestmark = pytest.mark.usefixtures("unoptimized")

SIZES = (1, 2, 31, 33, 100, 257)
BATCHES = (0, 1, 4)  # 0: one matrix without a batch axis


def _can_use(info, name):
    """Whether a device has a provider, or kernels of so many work-items that it does not choose itself."""
    kind, _, block = name.partition("-")
    if block:
        return info.language != "cuda" and int(block) != group_size(info.capabilities)
    return {"cusolver": info.language == "cuda", "lapack": info.capabilities.host_visible_memory}.get(kind, True)


DEVICES = available()[0]
PROVIDERS = ("cusolver", "lapack", "kernels", "kernels-1", "kernels-256")


PAIRS = [
    pytest.param(info, name, id=f"{info.id}-{name}")
    for info in DEVICES
    for name in PROVIDERS
    if _can_use(info, name) and (name != "cusolver" or find_spec("cupy"))
]
each_provider = pytest.mark.parametrize(("device", "provider"), PAIRS, indirect=["device"])
"""A provider, or one of the two kinds of kernels whatever the device's own choice is."""


def sizes(provider):
    """Groups of 256 are slow on CPUs."""
    return (1, 33, 100) if provider == "kernels-256" else SIZES


def run(device, provider, work):
    def task(running):
        before = set(running._owned.buffers)
        name, _, block = provider.partition("-")
        with Kernels(running, int(block)) if block else linear_algebra(running, name) as algebra:
            assert algebra.provider == name
            result = work(running, algebra)
        for buffer in set(running._owned.buffers) - before:
            running.release(buffer)
        return result

    return device.submit(task).result()


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def batched(batch, *shape):
    return (batch, *shape) if batch else shape


def definite(batch, n):
    a = numbers(*batched(batch, n, n + 3))
    return a @ a.swapaxes(-1, -2) + 0.1 * n * np.eye(n)


def check_factor(running, algebra, a, r):
    """The factor of definite matrices and the solutions of systems with it; its upper triangle is not read."""
    lower = np.linalg.cholesky(a)
    factor = running.put(np.tril(a) + np.triu(np.full(a.shape, np.nan), 1))
    status = running.put(np.full(max(1, len(a) if a.ndim == 3 else 1), 7, np.int32))
    algebra.cholesky(factor, status)
    assert not running.get(status).any()
    assert np.abs(np.tril(running.get(factor)) - lower).max() < 1e-12 * a.shape[-1]
    for method, matrix in (
        (algebra.solve_lower, lower),
        (algebra.solve_lower_transposed, lower.swapaxes(-1, -2)),
        (algebra.solve, a),
    ):
        rhs = running.put(r)
        method(factor, rhs)
        expected = np.linalg.solve(matrix, r[..., None])[..., 0]
        assert np.allclose(running.get(rhs), expected, rtol=1e-9, atol=1e-10), (a.shape, method)


def scaled_product(a, s, b):
    return (a if s is None else a * s[..., None, :]) @ b


@pytest.mark.few(4)
@pytest.mark.parametrize("with_scale", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", BATCHES)
@each_provider
def test_gram_matrices_are_numpys(device, provider, batch, dtype, with_scale):
    def work(running, algebra):
        for m in sizes(provider):
            n = 2 * m + 1
            a = numbers(*batched(batch, m, n)).astype(dtype)
            for columns in (False, True):
                inner, order = (m, n) if columns else (n, m)
                s = numbers(*batched(batch, inner), seed=1) ** 2 * 10.0 ** np.arange(inner % 7 - 3, inner % 7 - 2)
                s = s if with_scale else None
                wide = a.astype(np.float64).swapaxes(-1, -2) if columns else a.astype(np.float64)
                expected = scaled_product(wide, s, wide.swapaxes(-1, -2))
                out = running.put(np.full(batched(batch, order, order), np.nan))
                method = algebra.gram_columns if columns else algebra.gram
                method(running.put(a), None if s is None else running.put(s), out)
                size = np.sqrt(np.einsum("...ii->...i", expected))
                error = np.tril((running.get(out) - expected) / (size[..., None] * size[..., None, :]))
                assert np.abs(error).max() < 1e-14 * np.sqrt(inner), (m, columns)

    run(device, provider, work)


@pytest.mark.few(6)
@pytest.mark.parametrize("batch", BATCHES)
@each_provider
def test_cholesky_factors_and_solves_are_numpys(device, provider, batch):
    def work(running, algebra):
        for n in sizes(provider):
            check_factor(running, algebra, definite(batch, n), numbers(*batched(batch, n), seed=5))

    run(device, provider, work)


@pytest.mark.parametrize("n", [2, 100, 257])
@each_provider
def test_a_matrix_that_is_not_definite_is_reported_by_its_first_bad_pivot(device, provider, n):
    pivot = n // 2 + 1
    good = definite(0, n)
    bad = good.copy()
    bad[pivot - 1, pivot - 1] = -1.0
    undefined = good.copy()
    undefined[pivot - 1, pivot - 1] = np.nan

    def work(running, algebra):
        several, single, status = running.put(np.stack([good, bad, good])), running.put(bad), running.empty(3, np.int32)
        algebra.cholesky(several, status)
        one, other = running.empty(1, np.int32), running.empty(1, np.int32)
        algebra.cholesky(single, one)
        algebra.cholesky(running.put(undefined), other)
        return running.get(status), running.get(one), running.get(other), running.get(several)

    status, one, other, factors = run(device, provider, work)
    assert status.tolist() == [0, pivot, 0]
    assert one.tolist() == [pivot]
    assert other[0] != 0
    assert np.allclose(np.tril(factors[2]), np.linalg.cholesky(good))


@pytest.mark.parametrize("n", [8, 63, 64, 65, 127, 128, 129, 192, 193, 256, 257, 321])
def test_blocks_of_the_kernels_for_gpus_meet_at_their_edges(device, n):
    a, r = definite(2, n), numbers(2, n, seed=5)
    run(device, "kernels-256", lambda running, algebra: check_factor(running, algebra, a, r))


@each_provider
def test_steep_matrices_are_solved_as_well_as_by_lapack(device, provider):
    n, random = 150, np.random.default_rng(8)
    basis = np.linalg.qr(random.standard_normal((n, n)))[0]
    scale = 10.0 ** random.uniform(-6.0, 6.0, n)
    a = scale[:, None] * ((basis * np.logspace(0.0, -10.0, n)) @ basis.T) * scale
    a = (a + a.T) / 2.0
    r = scale * random.standard_normal(n)

    def work(running, algebra):
        factor, rhs, status = running.put(a), running.put(r), running.empty(1, np.int32)
        algebra.cholesky(factor, status)
        assert not running.get(status).any()
        algebra.solve(factor, rhs)
        return running.get(rhs)

    x = run(device, provider, work)
    residual = np.abs(a @ x - r) / (np.abs(a) @ np.abs(x) + np.abs(r))
    assert residual.max() < 1e-12


@pytest.mark.few(6)
@pytest.mark.parametrize("batch", BATCHES)
@each_provider
def test_products_with_vectors_and_matrices_are_numpys(device, provider, batch):
    def work(running, algebra):
        for m in sizes(provider):
            n = (3 * m) // 2 + 1
            a = numbers(*batched(batch, m, n))
            for transposed in (False, True):
                op = a.swapaxes(-1, -2) if transposed else a
                x, y = numbers(*batched(batch, op.shape[-1])), numbers(*batched(batch, op.shape[-2]), seed=3)
                product = (op @ x[..., None])[..., 0]
                out = running.put(np.full_like(y, np.nan))
                algebra.matvec(running.put(a), running.put(x), out, transposed=transposed)
                assert np.allclose(running.get(out), product)
                out = running.put(y)
                algebra.matvec(running.put(a), running.put(x), out, transposed=transposed, alpha=-2.0, beta=0.5)
                assert np.allclose(running.get(out), 0.5 * y - 2.0 * product)
            for ta in (False, True):
                for tb in (False, True):
                    k = m // 2 + 1
                    b = numbers(*batched(batch, *((k, m if ta else n)[:: 1 if tb else -1])))
                    op_a = a.swapaxes(-1, -2) if ta else a
                    op_b = b.swapaxes(-1, -2) if tb else b
                    c = numbers(*batched(batch, op_a.shape[-2], k), seed=9)
                    out = running.put(c)
                    algebra.matmul(running.put(a), running.put(b), out, transpose_a=ta, transpose_b=tb, beta=-1.0)
                    assert np.allclose(running.get(out), op_a @ op_b - c)
                    out = running.put(np.full_like(c, np.nan))
                    algebra.matmul(running.put(a), running.put(b), out, transpose_a=ta, transpose_b=tb, alpha=3.0)
                    assert np.allclose(running.get(out), 3.0 * (op_a @ op_b))

    run(device, provider, work)
