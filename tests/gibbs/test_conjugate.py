import numpy as np
import pytest
from scipy import sparse

from engine.numerics.philox import uniform_float64_wide, uniform_words
from engine.solvers.gibbs.design.matrix import stored_values
from engine.solvers.gibbs.moves.conjugate import STREAM_ROWS
from engine.solvers.gibbs.moves.latent import STREAM_NOISE
from tests.support.samplers import sampling, state_of


def data(rows=300, columns=60):
    """A sparse matrix of numbers, and classes that depend on three columns of it."""
    random = np.random.default_rng(8)
    X = sparse.random_array((rows, columns), density=0.15, rng=random, format="csr")
    y = X[:, [0, 1, 2]].sum(axis=1) * 3 - 0.5 + random.logistic(size=rows) > 0
    return X, y


def normals(seed, stream, step, count, chain):
    words = uniform_words(seed, stream, step, 0, count, chain=chain)
    radius = np.sqrt(-2.0 * np.log(uniform_float64_wide(words[:, 0], words[:, 1])))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniform_float64_wide(words[:, 2], words[:, 3])))


def errors_of_a_draw(device, tolerance, slab, storage):
    """Distances of three chains from the draws by Cholesky factors with the same normals, in standard deviations."""
    X, y = data()
    options = {"kernel": "cg", "chains": 3, "tolerance": tolerance, "slab": slab, "storage": storage}
    with sampling(device, X, y, seed=4, family="logit", **options) as sampler:
        layout = sampler.design.layout
        begin = np.random.default_rng(2).normal(0, 0.2, (3, layout.columns))
        sampler.set_state(state_of(begin, tau=0.2))
        sampler.advance(0, 1, 0)
        beta = sampler.state()["beta"]

        omega, prior = sampler.workers.first(
            lambda worker: [worker.device.get(of) for of in (worker.moves.omega, worker.matrices.prior)]
        )
        padded = layout.strips * layout.strip_rows
        design = stored_values(sampler.design.rows(0, layout.rows), sampler.design.storage)
        design = design[:, : layout.columns].astype(np.float64)
        design *= np.where(y, 1.0, -1.0)[:, None]
    errors = []
    for chain, first, group in ((0, 0, 2), (1, 0, 2), (2, 2, 1)):
        weights = omega[first * padded :][: group * padded].reshape(padded, group)[: layout.rows, chain - first]
        d = normals(4, STREAM_ROWS, 0, layout.rows, chain)
        e = normals(4, STREAM_NOISE, 0, layout.columns, chain)
        matrix = design.T @ (weights[:, None] * design) + np.diag(prior[chain])
        rhs = design.T @ (np.where(y, 0.5, -0.5) + np.sqrt(weights) * d) + np.sqrt(prior[chain]) * e
        apart = beta[chain] - np.linalg.solve(matrix, rhs)
        errors.append(float(np.sqrt(apart @ matrix @ apart)))
    return errors


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("slab", "storage"), [(None, "sparse"), (2.0, "sparse"), (None, "float32"), (2.0, "float32"), (None, "float16")]
)
def test_a_draw_is_that_of_the_cholesky_factor_within_the_tolerance(device, slab, storage):
    loose, tight = (errors_of_a_draw(device, tolerance, slab, storage) for tolerance in (0.5, 1e-6))
    assert max(tight) < 1e-6
    assert 1e-6 < max(loose) < 0.5  # it was not solved further than asked for
