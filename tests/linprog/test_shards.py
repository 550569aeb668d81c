"""What a device computes for the method is what NumPy computes; preparation and audit by themselves."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import engine
from engine.devices import DevicePool, gather
from engine.numerics.linear_algebra import linear_algebra
from engine.references.linprog import HostShard
from engine.solvers.linprog.forms.standard import Prepared, ShardData, prepare
from engine.solvers.linprog.interior.host_memory import make_shard
from engine.solvers.linprog.interior.system import PoolSystem, System
from engine.solvers.linprog.interior.worker import DeviceShard
from engine.solvers.linprog.systems.updates import ShermanMorrison
from engine.solvers.linprog.verification.audit import audit


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


@pytest.mark.few(6)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (7, 30), (40, 33), (90, 700)])
@pytest.mark.parametrize("kind", ["own", "gpu"])
def test_a_device_takes_the_same_steps_as_numpy(device, kind, sparse, m, n):
    data = shard_data(m, n, sparse)
    random = np.random.default_rng(1)
    point = [random.random(data.c.shape) + 0.5 for _ in range(4)]
    y, dy = random.standard_normal((2, m))
    rho = 1e-3
    steps = random.random(2)
    nothing = 0.0

    def walk(shard):
        out = []
        shard.set_point(*point)
        out += [*shard.assess(y, rho, 2 * rho), shard.target("affine", nothing, *steps), shard.transposed(y)]
        out += [shard.times(point[1]), shard.scale(rho, 3 * rho)]
        shard.form()
        assert not shard.factor(1e-10, 1e-3)
        out += [shard.solve(y), shard.normal(y)]
        for kind in ("affine", "second_order", "centrality"):
            out.append(shard.target(kind, 0.3 + nothing, *steps))
            if kind == "centrality":
                shard.swap_slots()
            out += [shard.direction(dy), shard.complete()]
        shard.advance(*(0.1 * steps))
        bounded, lower = np.isfinite(data.upper), ~data.free
        kept = [
            np.where(mask, values, 0.0)
            for mask, values in zip((True, lower, bounded, bounded), shard.get_point(), strict=True)
        ]
        return [*out, *kept]

    def on_device(running):
        kept, algebra = running.capabilities, linear_algebra(running)
        try:
            if kind == "own":
                shard = make_shard(running, data, None)
            else:  # groups of many work-items
                running.capabilities = replace(kept, simt=True, compute_units=2)
                shard = DeviceShard(running, data, algebra)
            found = walk(shard)
            shard.close()
            return found
        finally:
            algebra.close()
            running.capabilities = kept

    ours, theirs = device.submit(on_device).result(), walk(HostShard(data))
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9), place


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (7, 30), (40, 33), (90, 700), (200, 700), (3, 9000)])
def test_directions_toward_targets_are_those_of_numpy(device, sparse, m, n):
    data = shard_data(m, n, sparse)

    def on_device(running):
        shard = make_shard(running, data, None)
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


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "sparse", "m", "n"),
    [("own", False, 40, 33), ("own", True, 7, 30), ("own", False, 1, 3), ("gpu", True, 40, 33), ("gpu", False, 7, 30)],
)
def test_matrices_of_several_devices_are_added_in_their_order(device, kind, sparse, m, n):
    data = shard_data(m, n, sparse)
    random = np.random.default_rng(3)
    point = [random.random(data.c.shape) + 0.5 for _ in range(4)]
    rho = 1e-3

    def make(running, part):
        if kind == "own":
            return make_shard(running, part, None)
        running.capabilities = replace(running.capabilities, simt=True, compute_units=2)
        return DeviceShard(running, part, linear_algebra(running, device.info.capabilities.linear_algebra))

    with DevicePool([device.info] * 3) as pool, PoolSystem(data, pool.members, make) as system:

        def lower_triangles():
            return gather(
                [
                    member.submit(lambda running, shard: np.tril(running.get(shard._matrix("M"))[0]), shard)
                    for member, shard in zip(pool.members, system.shards, strict=True)
                ]
            )

        system.set_point(*point)
        system.scale(rho, 3 * rho)
        system.each(DeviceShard.form)
        first, *others = lower_triangles()
        for other in others:
            first = first + other
        for _ in range(2):
            system.form()
            assert np.array_equal(lower_triangles()[0], first)
    reference = HostShard(data)
    reference.set_point(*point)
    reference.scale(rho, 3 * rho)
    probes = np.stack([reference.normal(unit) for unit in np.eye(m)], axis=1)
    assert np.allclose(first, np.tril(probes), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_directions_of_several_devices_are_those_of_numpy(device, sparse):
    data = shard_data(40, 90, sparse)

    def make(running, part):
        return make_shard(running, part, None)

    with DevicePool([device.info] * 3) as pool, PoolSystem(data, pool.members, make) as system:
        require_alike(directions(system), directions(System(data, [HostShard(data)])))


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize(("m", "n"), [(3, 5), (30, 75), (70, 200)])
def test_updates_solve_with_any_diagonal(device, block, m, n):
    random = np.random.default_rng([m, n])
    columns = random.standard_normal((n, m))
    rhs = random.standard_normal(m)

    def run(running):
        with linear_algebra(running) as algebra:
            updates = ShermanMorrison(running, algebra, columns, block)
            assert updates.sound
            out = []
            for spread in (0.0, 1.0, 4.0):
                d = 10.0 ** random.uniform(-spread, spread, n)
                updates.update(d)
                x = updates.solve(rhs)
                normal = columns.T @ (d[:, None] * columns)
                x = x + updates.solve(rhs - normal @ x)  # refined once, as the solver does
                out.append(np.abs(normal @ x - rhs).max())
            updates.close()
        return out

    assert max(device.submit(run).result()) < 1e-8


def test_standard_form_leaves_out_what_needs_no_solving():
    problem = engine.LinearProgram(
        [1.0, 2.0, -1.0, 4.0, 0.5],
        A_ub=[[1, 1, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 0, 0, 0]],
        b_ub=[4.0, 6.0, 1.0],
        A_eq=sp.csr_array([[1.0, 0, 1, 0, 1], [0, 1, 1, 0, 1]]),
        b_eq=[3.0, 4.0],
        bounds=[(0, None), (0, None), (0, None), (1, None), (0.5, 0.5)],
    )
    prepared = prepare(problem)
    assert isinstance(prepared, Prepared)
    assert prepared.removed == {"fixed variables": 1, "empty rows": 1, "empty columns": 1}
    assert (prepared.standard.m, prepared.standard.n) == (4, 3)
    results = [
        engine.solve(problem, backend="opencl", presolve=presolve, scale=scale)
        for presolve, scale in ((True, True), (False, True), (False, False))
    ]
    for result in results:
        assert audit(problem, result.solution, result.arrays["row_duals"]).error < 1e-8
        assert result.objective == pytest.approx(results[0].objective, rel=1e-7)
