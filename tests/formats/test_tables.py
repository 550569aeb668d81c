"""Tables with a target: every format is read, and what cannot be used is refused with its place."""

import importlib
import tracemalloc

import numpy as np
import pytest

import engine
from engine.errors import ProblemError
from engine.formats import large_tables, tables
from engine.formats.source import watched
from engine.solvers import recognize
from tests.support.needs import package

ROWS = [[1.5, -2.0, 1], [0.25, 3e-3, 0], [7, 8, 1]]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def expect(table):
    assert np.array_equal(table.X, np.array(ROWS)[:, :2])
    assert table.y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_text_with_a_header(tmp_path, suffix, separator):
    lines = [separator.join(["a", "b", "y"]), *(separator.join(map(str, row)) for row in ROWS)]
    path = write(tmp_path / f"data.{suffix}", "\n".join(lines) + "\n")
    assert recognize(path) is engine.HorseshoeProbit
    table = tables.read(path)
    expect(table)
    assert (table.names, table.target) == (["a", "b"], "y")
    assert tables.read(path, "a").names == ["b", "y"]
    assert tables.read(path, 1).target == "b"


LIBSVM = {
    "rows without a feature": "-1\n+1 2:0.5\n-1\n+1 1:1 3:2\n-1 # nothing\n",
    "counted from 0": "1 0:1 2:3\n0\n1 1:2\n",
    "query ids and comments": "# made by hand\n1 qid:1 1:1\n\n0 qid:2 2:1e-3 # second\n",
    "many rows without a feature first": "-1\n" * 40 + "1 2:3\n",
    "negative and exponents": "-1.0 1:-1e2 4:.5\n+1 2:+3\n",
}


@pytest.mark.parametrize("name", LIBSVM)
def test_libsvm_is_read_as_scikit_learn_reads_it(name, tmp_path):
    datasets = package("sklearn.datasets")
    path = write(tmp_path / "data", LIBSVM[name])
    X, y = datasets.load_svmlight_file(str(path))
    table = tables.read(path)
    assert np.array_equal(table.X, X.toarray())
    assert np.array_equal(table.y, y)
    assert recognize(path) is engine.HorseshoeProbit


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
def test_a_compressed_table_is_read_and_recognised(module, tmp_path):
    packing = importlib.import_module(module)
    suffix = {"gzip": ".gz", "bz2": ".bz2", "lzma": ".xz"}[module]
    path = tmp_path / f"data.csv{suffix}"
    text = "a,b,y\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
    path.write_bytes(packing.compress(text.encode()))
    assert recognize(path) is engine.HorseshoeProbit
    expect(tables.read(path))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ProblemError, match="damaged compressed file"):
        tables.read(path)


def test_a_table_of_numbers_takes_no_more_than_its_numbers_while_it_is_read(tmp_path):
    rng = np.random.default_rng(5)
    values = np.round(rng.normal(size=(40_000, 20)), 4)
    path = tmp_path / "data.csv"
    np.savetxt(path, values, "%.4f", ",", header=",".join(f"c{k}" for k in range(20)), comments="")
    tracemalloc.start()
    try:
        problem = engine.HorseshoeRegression.read(path, target="c7")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(problem.X, np.delete(values, 7, axis=1))
    assert np.array_equal(problem.y, values[:, 7])
    assert peak < 1.4 * values.nbytes < 2 * path.stat().st_size


LARGE = {
    "a header": "a,b,y\n" + "1,-2.5e-3,0\n.5,7.,1\n" * 40,
    "comments before the header": "# made by hand\n\na\tb\ty\n" + "1\t2\t1\n" * 50,
    "uneven spaces": "1  2 1\n 3 4 0 \n" * 30,
    "ends of line as in Windows": "a,b,y\r\n" + "1,2,1\r\n3,4,0\r\n" * 30,
    "extremes": "a,b,y\n" + "+1e308,-0,1\n1e400,4.9e-324,0\n" * 30,
    "a comment": "a,b,y\n" + "1,2,1\n" * 40 + "1,2,0 # the last\n",
    "quotes": "a,b,y\n" + '1,"2",1\n' * 40,
    "words": "a,b,y\n" + "1,2,yes\n3,4,no\n" * 40,
    "an empty cell": "a,b,y\n" + "1,2,1\n" * 40 + "1,,1\n",
    "uneven rows": "a,b,y\n" + "1,2,1\n" * 40 + "1,2\n3,4,5,6\n",
    "a number for pyarrow only": "a,b,y\n" + "1,nan(1),1\n" * 40,
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_table_is_read_as_a_small_one(name, tmp_path, monkeypatch):
    package("pyarrow")
    path = tmp_path / "data.csv"
    path.write_bytes(LARGE[name].encode())

    def outcome():
        try:
            table = tables.read(path)
        except ProblemError as error:
            return str(error)
        return table.X.tolist(), table.y.tolist(), table.names, table.target, list(table.lines)

    small = outcome()
    monkeypatch.setattr(large_tables, "LARGE", 0)
    monkeypatch.setattr(large_tables, "_BLOCK", 100)
    assert outcome() == small


@pytest.mark.parametrize("large", [False, True])
def test_reading_a_long_table_reports_how_far_it_is_and_can_be_ended(large, tmp_path, monkeypatch):
    package("pyarrow")
    path = write(tmp_path / "data.csv", "a,b,y\n" + "1,2,1\n" * 50_000)
    if large:
        monkeypatch.setattr(large_tables, "LARGE", 0)
        monkeypatch.setattr(large_tables, "_BLOCK", 1 << 16)
    shares = []
    with watched(shares.append):
        tables.read(path)
    assert shares == sorted(shares)
    assert len(shares) >= 3
    assert 0.9 < shares[-1] <= 1

    def stop(share):
        raise ProblemError(f"stopped at {share:.0%}")

    with watched(stop), pytest.raises(ProblemError, match="stopped at"):
        tables.read(path)


def test_parquet(tmp_path):
    pyarrow = package("pyarrow")
    parquet = package("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    columns = list(zip(*ROWS, strict=True))
    parquet.write_table(pyarrow.table({"a": columns[0], "target": columns[2], "b": columns[1]}), path)
    assert recognize(path) is engine.HorseshoeProbit
    expect(tables.read(path))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names_and_refuse_text(library):
    frames = package(library)
    frame = frames.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1, 0, 1], "c": [True, False, True]})
    problem = engine.HorseshoeProbit(frame, [0, 1, 1])
    assert problem.names == ("a", "b", "c")
    assert problem.X[:, 2].tolist() == [1, 0, 1]
    with pytest.raises(ProblemError, match=r"column 'city' holds text \('Rome' in row 0\)"):
        engine.HorseshoeProbit(frames.DataFrame({"a": [1.0], "city": ["Rome"]}), [1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,city,y\n1,Rome,1\n2,Oslo,0\n", r"column 'city' holds text \('Rome'\).*line 2"),
        ("a,b,y\n1,2,1\n2,,0\n", r"column 'b' has an empty cell; fill it.*line 3"),
        ("a,b,y\n1,2,1\n2,0\n", r"a row has 2 cells; the table has 3 columns.*line 3"),
        ("a,a,y\n1,2,1\n", "two columns are called 'a'"),
        ("   # note\n", "the table is empty"),
        ("y\n1\n", "the table has one column"),
        ("1 1:2\n0 2:x\n", "'0 2:x' is not a line of LIBSVM.*line 2"),
        ("1 1:2 1:3\n", "a row has the index 1 twice.*line 1"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(ProblemError, match=message):
        tables.read(write(tmp_path / "data.csv", text))


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("a,b,y\n1,2,1\n\n3,nan,0\n", {}, r"X must be finite; column 'b' has nan \(.*, line 4\)"),
        ("1 1:1 2:3\n0 1:2\n1 1:nan\n", {}, r"column 'x1' has nan \(.*, line 3\)"),
        ("# made by hand\n1 2 0\n3 4 nan\n", {"family": "normal"}, r"y must be finite; got nan \(.*, line 3\)"),
        ("a,y\n1,2\n2,2.5\n", {"family": "counts"}, r"got 2.5 \(.*, line 3\)"),
        ("1 1:1 2:3\n0 1:1_0\n", {}, r"'0 1:1_0' is not a line of LIBSVM \(.*, line 2\)"),
    ],
)
def test_a_number_that_a_problem_refuses_is_reported_with_its_line(tmp_path, text, read, message):
    kind = engine.HorseshoeRegression if read else engine.HorseshoeProbit
    with pytest.raises(ProblemError, match=message):
        kind.read(write(tmp_path / "data.csv", text), **read)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_text_columns_are_encoded_where_that_is_asked_for(tmp_path, kind):
    columns = {"colour": ["red", "blue", "red", "green"], "size": [1.5, 2.0, 3.0, 4.0], "y": [1, 0, 1, 0]}
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        write(path, "colour,size,y\nred,1.5,1\nblue,2.0,0\nred,3.0,1\ngreen,4.0,0\n")
    else:
        arrow = package("pyarrow")
        importlib.import_module("pyarrow.parquet").write_table(arrow.table(columns), path)
    with pytest.raises(ProblemError, match=r"column 'colour' holds text \('red'.*encode = true .--encode. makes"):
        engine.HorseshoeProbit.read(path)
    for problem in (
        engine.HorseshoeProbit.read(path, encode=True),
        engine.HorseshoeRegression.read(path, family="normal", encode=True),
    ):
        assert problem.names == ("colour=blue", "colour=green", "colour=red", "size")
        expected = [[0, 0, 1, 1.5], [1, 0, 0, 2.0], [0, 0, 1, 3.0], [0, 1, 0, 4.0]]
        assert np.array_equal(problem.X, expected)
        assert problem.y.tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour,y\nred,1\n,0\nblue,1\n", r"column 'colour' has an empty cell.*line 3"),
        ("colour,colour=red,y\nred,1,1\nblue,2,0\n", "two columns are called 'colour=red'"),
        ("word,y\n" + "".join(f"w{n},{n % 2}\n" for n in range(1001)), "has 1,001 different words; at most 1,000 are"),
    ],
)
def test_what_cannot_be_encoded_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(ProblemError, match=message):
        tables.read(write(tmp_path / "data.csv", text), encode=True)


@pytest.mark.parametrize("separator", ["; ", "  "])
def test_words_are_a_target_and_columns_may_be_separated_in_other_ways(tmp_path, separator):
    text = "a,b,label\n1,4,spam\n2,5,ham\n3,7,spam\n".replace(",", separator)
    problem = engine.HorseshoeProbit.read(write(tmp_path / "data.txt", text))
    assert (problem.names, problem.classes, problem.y.tolist()) == (("a", "b"), ("ham", "spam"), [True, False, True])
    assert problem.X.tolist() == [[1, 4], [2, 5], [3, 7]]
    back = engine.HorseshoeProbit.from_arrays(problem.to_arrays(), "again")
    assert (back.names, back.classes, back.X.tolist()) == (problem.names, problem.classes, problem.X.tolist())


def test_a_table_larger_than_the_limit_is_refused_before_it_is_made(tmp_path):
    wide = write(tmp_path / "wide", "1 1:1\n0 167772160:1\n" * 30)
    with pytest.raises(ProblemError, match=r"a table of 60 rows and 167772160 columns would take 33.6 GB of memory"):
        tables.read(wide)
