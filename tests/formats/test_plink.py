"""Genotypes of PLINK are those that were written; files that are cut short or do not fit say so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.formats import plink
from tests.support.engines import engine_of
from tests.support.examples import examples

BITS = {2.0: 0, 1.0: 2, 0.0: 3}  # and 1 for a missing one


def write(folder, counts, phenotypes, covariates=None):
    """A set of PLINK's files; NaN is a missing genotype."""
    people, variants = counts.shape
    codes = np.zeros((variants, -(-people // 4) * 4), np.uint8)
    codes[:, :people] = np.vectorize(lambda count: BITS.get(count, 1))(counts.T)
    packed = (codes.reshape(variants, -1, 4) << np.array([0, 2, 4, 6])).sum(axis=2).astype(np.uint8)
    path = folder / "cohort.bed"
    path.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    path.with_suffix(".bim").write_text("".join(f"1 rs{v} 0 {v} A C\n" for v in range(variants)))
    lines = [f"f{i} p{i} 0 0 1 {phenotype}\n" for i, phenotype in enumerate(phenotypes)]
    path.with_suffix(".fam").write_text("".join(lines))
    if covariates is not None:
        rows = [f"f{i} p{i} {' '.join(map(str, row))}\n" for i, row in enumerate(covariates)]
        names = " ".join(f"c{k}" for k in range(covariates.shape[1]))
        path.with_suffix(".cov").write_text(f"FID IID {names}\n" + "".join(reversed(rows)))
    return path


def drawn(random, people, variants):
    counts = random.binomial(2, random.uniform(0.1, 0.9, variants), (people, variants)).astype(float)
    counts[random.random(counts.shape) < 0.1] = np.nan
    return counts


@examples(25)
@given(seed=st.integers(0, 2**31), people=st.integers(1, 13), variants=st.integers(1, 9), others=st.integers(0, 2))
def test_every_selection_of_rows_and_columns_is_that_of_the_whole(tmp_path_factory, seed, people, variants, others):
    random = np.random.default_rng(seed)
    counts = drawn(random, people, variants)
    covariates = random.standard_normal((people, others)).astype(np.float32).round(3) if others else None
    path = write(tmp_path_factory.mktemp("plink"), counts, random.standard_normal(people), covariates)
    X, names, y = plink.read(path, path.with_suffix(".cov") if others else None)
    known = ~np.isnan(counts)
    means = np.where(known, counts, 0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
    expected = np.where(known, counts, means)
    if others:
        expected = np.column_stack([covariates, expected])
    assert (X.shape, len(X), len(y), len(names)) == (expected.shape, people, people, variants + others)
    begin, end = sorted(random.integers(0, people + 1, 2))
    step, some = random.integers(1, 4), random.permutation(variants + others)[: 1 + variants // 2]
    for key in (
        slice(None),
        slice(begin, end),
        slice(begin, None, step),
        (slice(begin, end), some),
        (slice(None), some),
    ):
        np.testing.assert_allclose(X[key], expected[key], rtol=1e-6)


def test_genotypes_give_the_draws_of_their_numbers(device, tmp_path):
    random = np.random.default_rng(3)
    counts, sex = drawn(random, 60, 12), random.integers(0, 2, 60)
    sick = 1 + (np.nan_to_num(counts[:, 3]) + sex + random.standard_normal(60) > 1.5)
    path = write(tmp_path, counts, sick, sex[:, None])
    problem = engine.HorseshoeProbit.read(path, covariates=path.with_suffix(".cov"))
    assert problem.penalized.tolist() == [False] + 12 * [True]
    again = type(problem).from_arrays(problem.to_arrays(), "again")
    whole = engine.HorseshoeProbit(np.asarray(problem.X), sick, penalize=problem.penalized)
    owner = engine_of(device)
    draws = [owner.solve(one, seed=1, draws=10, warmup=10).arrays["beta"] for one in (problem, again, whole)]
    assert np.array_equal(draws[0], draws[1])
    assert np.array_equal(draws[0], draws[2])
    assert "rs3" in problem.names
    assert engine.posterior_predictive(problem, owner.solve(problem, seed=1, draws=4, warmup=4)).shape == (4, 4, 60)


FAULTS = [
    (".bed", lambda old: old[:-1], "the file has 10 bytes, but 6 people and 4 variants take 11"),
    (".bed", lambda old: b"no" + old, "this is no BED file of PLINK"),
    (".fam", lambda old: old.replace(b"1 2\n", b"1 -9\n"), "3 of 6 people have no phenotype; leave them out"),
    (".bed", lambda old: b"\x6c\x1b\x00" + old[3:], "the genotypes are in the order of people"),
    (".fam", lambda old: old + b"f6 p6\n", "a line of the people has 6 fields; got 2"),
    (".cov", lambda old: old.replace(b"FID", b"x"), "a file of covariates begins with FID, IID and their names"),
    (".bim", lambda old: b"", "the file of the variants is empty"),
    (".bim", None, "cannot be read"),
    (".cov", lambda old: old.replace(b"f2 p2", b"f2 p9"), "1 of 6 people have no covariates, the first of them 'p2'"),
    (".cov", lambda old: old + b"f7 p7 a b\n", "covariates are numbers"),
]


@pytest.mark.parametrize(("suffix", "change", "message"), FAULTS)
def test_files_that_do_not_fit_are_refused(tmp_path, suffix, change, message):
    random = np.random.default_rng(5)
    path = write(tmp_path, drawn(random, 6, 4), [1, 2, 1, 2, 1, 2], random.standard_normal((6, 2)))
    place = path.with_suffix(suffix)
    place.unlink() if change is None else place.write_bytes(change(place.read_bytes()))
    with pytest.raises(engine.ProblemError, match=message):
        engine.HorseshoeProbit.read(path, covariates=path.with_suffix(".cov"))


def test_options_of_tables_are_refused_with_genotypes_and_covariates_with_tables(tmp_path):
    path = write(tmp_path, drawn(np.random.default_rng(5), 6, 4), [1, 2, 1, 2, 1, 2])
    for option in ({"target": "rs1"}, {"weights": "rs1"}, {"offset": "rs1"}, {"unpenalized": "rs1"}, {"encode": True}):
        with pytest.raises(engine.ProblemError, match=rf"{next(iter(option))} is for tables"):
            engine.HorseshoeProbit.read(path, **option)
    table = tmp_path / "table.csv"
    table.write_text("x,y\n1,0\n2,1\n")
    with pytest.raises(engine.ProblemError, match="covariates are read beside genotypes"):
        engine.HorseshoeProbit.read(table, covariates="other")


def test_what_others_may_write_to_is_copied_and_a_read_only_array_is_not():
    X, y = np.random.default_rng(1).standard_normal((9, 3)), np.arange(9) % 2
    seen = X[:]
    seen.setflags(write=False)
    buffer = np.frombuffer(bytearray(X.tobytes())).reshape(9, 3)
    buffer.setflags(write=False)
    for data in (X, seen, buffer):
        assert not np.shares_memory(engine.HorseshoeProbit(data, y).X, data)
    X.setflags(write=False)
    assert engine.HorseshoeProbit(X, y).X is X


def test_a_map_of_a_file_and_blocks_are_not_copied(tmp_path):
    X = np.random.default_rng(1).standard_normal((9, 3)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = np.arange(9) % 2
    assert engine.HorseshoeProbit(mapped, y).X is mapped
    blocks = engine.HorseshoeProbit(iter([X[:4], X[4:]]), y)
    assert np.array_equal(blocks.X, X)
    assert not blocks.X.flags.writeable
    for wrong, message in (
        ([X[:4]], "the blocks of X have 4 rows, y has 9"),
        ([X, X], "the blocks of X have more than the 9 rows of y"),
        ([X[:4], X[4:, :2]], r"block 1 of X has shape \(5, 2\); those before have 3 columns"),
    ):
        with pytest.raises(engine.ProblemError, match=message):
            engine.HorseshoeProbit(iter(wrong), y)
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(engine.ProblemError, match="column 'x1' has nan in row 7"):
        engine.HorseshoeProbit(bad, y)
