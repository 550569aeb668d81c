"""What a device computes for the method is what NumPy computes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from engine.devices import DevicePool
from engine.numerics.groups import group_size
from engine.numerics.linear_algebra import linear_algebra
from engine.references.linprog import HostShard
from engine.solvers.linprog.forms.standard import ShardData
from engine.solvers.linprog.interior import sparse_matrix
from engine.solvers.linprog.interior.host_memory import make_shard
from engine.solvers.linprog.interior.sparse_matrix import SparseMatrix
from engine.solvers.linprog.interior.system import PoolSystem, System
from engine.solvers.linprog.interior.worker import DeviceShard
from engine.solvers.linprog.sparse import long_lines
from tests.support.searching import posing


def shard_data(m, n, sparse):
    random = np.random.default_rng([m, n])
    rows = np.sort(random.choice(m, size=m // 2 + 1, replace=True))
    total = n + rows.size
    a = random.standard_normal((m, n))
    if sparse:
        a = sp.random_array((m, n), density=0.3, rng=random, format="csr")
    kind = random.integers(0, 3, total)
    kind[n:] = np.minimum(kind[n:], 1)
    return ShardData(
        A=a,
        c=random.standard_normal(total),
        upper=np.where(kind == 1, random.random(total) * 9.0, np.inf),
        free=kind == 2,
        slack_rows=rows,
        slack_signs=random.choice([-1.0, 1.0], rows.size),
        m=m,
    )


@pytest.mark.few(9)
@pytest.mark.parametrize("kind", ["own", "gpu"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (7, 30), (40, 33), (90, 700), (200, 700), (3, 9000)])
def test_directions_toward_targets_are_those_of_numpy(device, kind, sparse, m, n):
    data = shard_data(m, n, sparse)
    groups = replace(device.info.capabilities, simt=True, compute_units=2)  # of many work-items

    def on_device(running):
        with linear_algebra(running) as algebra, posing(running, groups if kind == "gpu" else None):
            shard = make_shard(running, data, None) if kind == "own" else DeviceShard(running, data, algebra)
            found = directions(System(data, [shard]))
            shard.close()
            return found

    require_alike(device.submit(on_device).result(), directions(System(data, [HostShard(data)])))


def directions(system):
    """Directions toward each kind of target, the second time where a step has led to."""
    random = np.random.default_rng(2)
    system.set_point(*(random.random(system.data.c.shape) + 0.5 for _ in range(4)))
    (y, rp), rho, out, steps = random.standard_normal((2, system.data.m)), 1e-3, [], random.random(2)
    for share in (0.3, 0.2):
        out += system.assess(y, rho, 2 * rho)
        system.form()
        assert not system.factor(1e-10, 1.0)
        out += [*system.search_direction("affine", 0.0, 0.0, 0.0, rp), system.complete()]
        out += [*system.search_direction("second_order", 0.3, 0.0, 0.0, rp), system.complete(), system.transposed(y)]
        out += [*system.search_direction("centrality", 0.3, *steps, rp, keep_previous=True), system.complete()]
        system.swap_slots()  # the direction before is taken
        furthest = max(np.maximum(out[-1], out[-5])[:2].max(), 1.0)
        system.advance(share / furthest, 0.9 * share / furthest)
    out += [system.direction(y), system.complete()]
    return [*out, system.scale(rho, rho), system.get_point()[0], system.times(system.get_point()[0])]


def require_alike(ours, theirs):
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(one, other, rtol=1e-7, atol=1e-8 * np.abs(other).max(initial=1.0)), place


@pytest.mark.parametrize("sparse", [False, True])
def test_directions_of_several_devices_are_those_of_numpy(device, sparse):
    data = shard_data(40, 90, sparse)
    make = lambda running, part: make_shard(running, part, None)  # noqa: E731
    with DevicePool([device.info] * 3) as pool, PoolSystem(data, pool.members, make) as system:
        require_alike(directions(system), directions(System(data, [HostShard(data)])))


def uneven(m, count):
    """Two full rows and a full column among rows of a few entries, and an empty row."""
    random = np.random.default_rng(4)
    matrix = sp.random_array((m, count), density=3 / count, rng=random).toarray()
    matrix[[3, m - 2]] = random.standard_normal((2, count))
    matrix[:, 5] = random.standard_normal(m)
    matrix[7] = 0.0
    return sp.csr_array(matrix)


@pytest.fixture
def few_are_long(monkeypatch):
    """Lines of more than 20 entries are long on every device, and chunks have 16 entries."""
    monkeypatch.setattr(long_lines, "LONG", 20)
    monkeypatch.setattr(long_lines, "_LONG_FORMED", 20)
    monkeypatch.setattr(long_lines, "_CHUNK", 16)
    lines, longest, chunks = long_lines.long_lines, long_lines.longest_line, long_lines.chunks_of
    monkeypatch.setattr(sparse_matrix, "long_lines", lambda starts, _: lines(starts, True))
    monkeypatch.setattr(sparse_matrix, "longest_line", lambda _: longest(True))
    monkeypatch.setattr(sparse_matrix, "chunks_of", lambda starts, sums, most, _: chunks(starts, sums, most, True))


@pytest.mark.usefixtures("few_are_long")
@pytest.mark.parametrize(("most", "block"), [(1 << 20, 64), (1 << 20, 0), (300, 0), (10, 0)])
def test_long_lines_are_added_up(device, monkeypatch, most, block):
    monkeypatch.setattr(sparse_matrix, "_MOST_SUMS", most)
    m, count = 60, 333
    matrix = uneven(m, count)
    random = np.random.default_rng(5)
    x, y, theta = random.standard_normal(count), random.standard_normal(m), random.random(count)

    def work(opened):
        buffers = {}
        size = block or group_size(opened.capabilities)
        found = SparseMatrix(opened, matrix, buffers, size, lambda items: items)
        assert ("row_long" in buffers, "column_long" in buffers) == (True, True)
        out = {"row": opened.empty(m, np.float64), "column": opened.empty(count, np.float64)}
        for side, items, values in (("row", m, x), ("column", count, y)):
            found.multiplication(side, items, opened.put(values), out[side])()
        normal = opened.empty((m, m), np.float64)
        results = []
        for _ in range(2):
            found.form(opened.put(theta), normal)
            results.append(np.tril(opened.get(normal)))
        assert ("chunk_sums" in buffers) == (most > 10)
        return [opened.get(out["row"]), opened.get(out["column"]), *results]

    by_rows, by_columns, normal, again = device.submit(work).result()
    assert np.allclose(by_rows, matrix @ x, rtol=1e-12, atol=1e-12)
    assert np.allclose(by_columns, matrix.T @ y, rtol=1e-12, atol=1e-12)
    assert np.allclose(normal, np.tril(((matrix * theta) @ matrix.T).toarray()), rtol=1e-12, atol=1e-12)
    assert (normal == again).all()
