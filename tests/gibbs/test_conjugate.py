"""The kernel cg: its draws are exact to the stated tolerance, and its posterior is that of other kernels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import spearmanr

import engine
from engine.numerics.philox import uniform_float64_wide, uniform_words
from engine.solvers.gibbs.choice import with_kernel
from engine.solvers.gibbs.design.matrix import Design, stored_values
from engine.solvers.gibbs.device.memory import required_bytes, validate_memory
from engine.solvers.gibbs.moves.conjugate import STREAM_ROWS, ConjugateMoves
from engine.solvers.gibbs.moves.latent import STREAM_NOISE
from engine.solvers.gibbs.options import Options
from engine.solvers.gibbs.validate import settings_for
from tests.support.engines import engine_of
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

        def found(worker):
            moves = worker.moves
            assert isinstance(moves, ConjugateMoves)
            return worker.device.get(moves.omega), worker.device.get(worker.matrices.prior)

        omega, prior = sampler.workers.first(found)
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


@pytest.mark.full
def test_the_noise_of_the_rows_does_not_depend_on_the_local_scales(device):
    """Row j has an entry in column j alone, so that beta_j shows the noise of that row."""
    count = 1500
    X, y = sparse.eye_array(count, format="csr"), np.random.default_rng(3).random(count) < 0.5
    options = {"kernel": "cg", "chains": 1, "intercept": False, "standardize": False}
    with sampling(device, X, y, seed=5, tolerance=1e-9, **options) as sampler:
        sampler.set_state(state_of(np.full((1, count), 1e-3)))
        sampler.advance(0, 1, 0)
        state = sampler.state()
    local = state["local_precision"][0]
    prior = state["chain_state"][0, 0] * local
    of_rows = (1.0 + prior) * state["beta"][0] - np.sqrt(prior) * normals(5, STREAM_NOISE, 0, count, 0)
    assert of_rows.std() > 1.0  # the latent variables, and standard normals
    assert abs(spearmanr(local, of_rows**2).statistic) < 0.1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("slab", "storage"), [(None, "sparse"), (2.0, "sparse"), (None, "float32"), (2.0, "float32"), (None, "float16")]
)
def test_a_draw_is_that_of_the_cholesky_factor_within_the_tolerance(device, slab, storage):
    loose, tight = (errors_of_a_draw(device, tolerance, slab, storage) for tolerance in (0.5, 1e-6))
    assert max(tight) < 1e-6
    assert 1e-6 < max(loose) < 0.5  # it was not solved further than asked for


@pytest.mark.full
def test_dense_rows_and_rows_that_are_sent_have_the_draws_of_the_entries(device):
    X, y = data()
    owner, problem = engine_of(device, 1), engine.HorseshoeProbit(X, y)
    options = {"kernel": "cg", "tolerance": 1e-7, "draws": 6, "warmup": 4, "seed": 3}
    entries = owner.solve(problem, storage="sparse", **options)
    kept = owner.solve(problem, storage="float32", **options)
    sent = owner.solve(problem, storage="float32", streaming="always", **options)
    assert sent.counters["streamed"] == 1
    assert np.array_equal(kept.arrays["beta"], sent.arrays["beta"])
    assert np.allclose(kept.arrays["beta"], entries.arrays["beta"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "columns", "family", "kernel"),
    [
        (300, 40, "probit", "hmc"),
        (30, 9000, "probit", "px"),
        (30, 9000, "logit", "cg"),
        (6000, 9000, "probit", "cg"),
        (30, 9000, "normal", "gibbs"),
        (30, 9000, "student", "gibbs"),
        (6000, 9000, "normal", "hmc"),
        (6000, 33_000, "normal", "gibbs"),
        (30, 9000, "counts", "hmc"),
    ],
)
def test_the_kernel_of_very_many_columns_makes_no_matrix_of_them(rows, columns, family, kernel):
    X = sparse.random_array((rows, columns), density=0.001, rng=np.random.default_rng(2), format="csr")
    y = np.arange(rows) % 2
    problem = engine.HorseshoeRegression(X, y, family=family)
    chosen = with_kernel(problem, Options())
    assert chosen.kernel == kernel
    design = Design.of(problem, chosen)
    if kernel != "hmc":
        assert settings_for(design, chosen, 1).wide == (kernel in ("px", "gibbs"))
        settings = settings_for(design, chosen, 1)
        assert required_bytes(design.layout, settings, design.storage, 1, with_rows=False) < 4 * columns**2


def test_constant_columns_do_not_count_for_the_kernel():
    X = sparse.random_array((300, 9000), density=0.01, rng=np.random.default_rng(2), format="csr")
    y = np.arange(300.0)
    for varying, kernel in ((290, "hmc"), (400, "gibbs")):
        kept = X @ sparse.diags_array((np.arange(9000) < varying).astype(float))
        for features in (kept.tocsr(), kept.toarray() + 3.0):
            chosen = with_kernel(engine.HorseshoeRegression(features, y), Options())
            assert chosen.kernel == kernel


@pytest.mark.full
def test_the_kernel_that_was_chosen_is_reported(device):
    X = sparse.random_array((40, 8300), density=0.01, rng=np.random.default_rng(2), format="csr")
    notices = []
    result = engine_of(device, 1).solve(
        engine.HorseshoeLogit(X, np.arange(40) % 2),
        draws=4,
        warmup=2,
        on_event=lambda event: notices.append(event.message) if event.type == "notice" else None,
    )
    assert result.arrays["beta"].shape[:2] == (4, 4)
    assert any(text.startswith("kernel = cg: matrices of the ") for text in notices)


@pytest.mark.full
def test_the_memory_plan_is_what_is_taken(device):
    X = sparse.random_array((4000, 3000), density=0.01, rng=np.random.default_rng(2), format="csr")
    problem = engine.HorseshoeLogit(X, np.arange(4000) % 2)
    options = Options(kernel="cg")
    design = Design.of(problem, options)
    with sampling(device, X, problem.y, family="logit", kernel="cg") as sampler:
        sampler.set_small(np.ones(design.layout.columns, bool))
        sampler.set_state(state_of(np.zeros((4, design.layout.columns)), tau=0.01))
        sampler.advance(0, 1, 0)
        taken = sampler.workers.first(lambda worker: sum(buffer.nbytes for buffer in worker._memory._buffers))
    with pytest.raises(engine.OutOfDeviceMemory, match="use fewer chains or more devices") as refused:
        validate_memory(design, settings_for(design, options, 1), [replace(device.info, memory=taken // 2)])
    assert "needs " in str(refused.value)
    validate_memory(design, settings_for(design, options, 1), [replace(device.info, memory=int(1.3 * taken))])
    with pytest.raises(engine.OutOfDeviceMemory):
        validate_memory(design, settings_for(design, options, 1), [replace(device.info, memory=int(0.95 * taken))])


@pytest.mark.parametrize(("family", "kernels"), [("probit", ["cg", "px"]), ("logit", ["cg"]), ("normal", [])])
def test_a_refusal_names_the_kernels_that_sample_the_family(device, family, kernels):
    X = np.random.default_rng(2).normal(size=(20, 600))
    problem, options = engine.HorseshoeRegression(X, np.arange(20) % 2, family=family), Options(kernel="hmc")
    design = Design.of(problem, options)
    with pytest.raises(engine.OutOfDeviceMemory, match="the sampler of 601 columns") as refused:
        validate_memory(design, settings_for(design, options, 1), [replace(device.info, memory=1 << 20)])
    assert [name for name in ("cg", "px") if f"kernel = {name} " in str(refused.value)] == kernels
