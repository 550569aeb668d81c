"""Damaged and hostile files: readers raise ProblemError only, quickly, and take no more memory than they may."""

import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

import engine
from engine.errors import ProblemError
from engine.formats.source import limited
from engine.solvers import problem_classes, recognize
from tests.support.damaged_files import FILES, mutant

ROOT = Path(engine.__file__).resolve().parent.parent
KINDS = [kind for kind in problem_classes().values() if kind is not engine.PermutationProblem]


def attempt(kind, path, head):
    """Recognise and read a file as one kind; anything but a refusal in words fails."""
    began = time.process_time()
    try:
        kind.recognizes(path, head)
        with limited(1 << 28):
            kind.read(path)
    except ProblemError:
        pass
    assert time.process_time() - began < 2


@pytest.mark.parametrize("name", FILES)
def test_mutants_are_read_or_refused_in_words(name, tmp_path):
    rng = random.Random(name)
    path = tmp_path / name
    for _ in range(25):
        data = mutant(FILES[name].encode(), rng)
        path.write_bytes(data)
        head = data[:4096].decode("utf-8", errors="replace")
        for kind in KINDS:
            try:
                attempt(kind, path, head)
            except BaseException as error:
                error.add_note(f"{kind.__name__} of {data[:2000]!r}")
                raise


def hostile():
    """Small files that state or unpack to great sizes, or make a naive reader slow."""
    yield "nk.txt", b"1000000000 0 1000000000\n0.5 0.5\n"
    yield "cut.txt", b"1000000000 1\n1 2 3\n"
    yield "f.cnf", b"p cnf 1000000000 1\n1 0\n"
    yield "w.wcnf", b"p wcnf 1000000000 1 10\n10 1 0\n"
    yield "q.qubo", b"p qubo 0 1000000000 1 0\n0 0 1\n"
    yield "wide.cnf", b"p cnf 40 1\n" + b" ".join(b"%d" % i for i in range(1, 41)) + b" 0\n"
    yield "wide.wcnf", b"h " + b" ".join(b"%d" % i for i in range(1, 29)) + b" 0\n"
    yield "tables.cnf", b"p cnf 16 5000\n" + (b" ".join(b"%d" % i for i in range(1, 17)) + b" 0\n") * 5000
    yield "comments.cnf", b"c\n" * 1_000_000
    yield "comment.mc", b"#" * 4_000_000
    yield "d.mat", b"1000000\n1 2 3 4\n"
    yield "bqp.txt", b"1000000000\n1000000000 1000000000\n1 1 1\n"
    yield "server.txt", b"type: pm3\nsize: 1000000\n1 2 1\n"
    yield "graph.col", b"p edge 1000000000 1\ne 1 2\n"
    yield "trap.boa", b"boa trap n=1000000000 k=5\n"
    yield "huge.boa", b"boa snippet n=20 optimum=1e999\nfitness = 1;\n"
    yield "vrf.txt", b"100000 100000\n0 1 1 2\n0 1\n"
    yield "ta.txt", b"number of jobs\n100000 100000\nprocessing times :\n1\n"
    yield "wide.libsvm", b"1 1:1\n0 99999999:1\n" * 40
    yield "titles.csv", b",".join([b"a"] * 500_000) + b"\n" + b",".join([b"1"] * 500_000) + b"\n"
    yield "digits.csv", b"a,y\n" + b"9" * 130_000 + b"x,1\n"
    yield "label.csv", b"a,y\n1," + b"z" * 100_000 + b"\n" + b"1,b\n" * 2000
    yield "colons.atsp", b"NAME:" + b" " * 100_000 + b"x\nTYPE: ATSP\n" + b"A:" + b" \t" * 50_000 + b"\n"
    yield "dashes.csv", b"k\nn 1\nc 1\nz 0\ntime 0\n" + b"-----\n" * 20_000
    zeros = bytes(1 << 25)
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        yield f"bomb.mps{suffix}", pack(zeros)


@pytest.fixture(scope="module")
def hostile_files():
    return dict(hostile())


@pytest.mark.parametrize("kinds", ["None", pytest.param("'PermutationProblem'", marks=pytest.mark.full)])
def test_files_that_state_great_sizes_are_refused_before_memory_is_taken(hostile_files, kinds, tmp_path):
    """By default, as the class that a file seems to be of; then as every class but that of one's own problems."""
    code = (
        "import resource, sys, time\n"
        "from pathlib import Path\n"
        "from engine.errors import QuintetError\n"
        "from engine.solvers import problem_classes, recognize\n"
        "kinds = list(problem_classes().values())\n"
        "import highspy, scipy.sparse\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "for path in map(Path, sys.argv[1:]):\n"
        f"    for read in [recognize, *(kind.read for kind in kinds if {kinds} and kind.__name__ != {kinds})]:\n"
        "        began = time.process_time()\n"
        "        try:\n"
        "            read(path)\n"
        "        except QuintetError:\n"
        "            pass\n"
        "        took = time.process_time() - began\n"
        "        assert took < 3, (path, read, took)\n"
    )
    for name, data in hostile_files.items():
        (tmp_path / name).write_bytes(data)
    words = [sys.executable, "-c", code, *(str(tmp_path / name) for name in hostile_files)]
    environment = {"QUINTET_MAX_READ_BYTES": str(1 << 24), "PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("module", [bz2, gzip])
def test_a_file_that_unpacks_to_a_hundred_times_its_size_is_refused(module, tmp_path):
    path = tmp_path / "bomb.mps.gz"
    path.write_bytes(module.compress(b"\n" * (65 << 20)))
    tracemalloc.start()
    with pytest.raises(ProblemError, match=r"unpacks to more than 100 times its size, .*; if it is"):
        engine.LinearProgram.read(path)
    assert tracemalloc.get_traced_memory()[1] < 130 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_folders_and_impossible_names_are_refused(kind, tmp_path):
    for path in (tmp_path, tmp_path / "absent", "nul\0byte", tmp_path / ("n" * 300)):
        with pytest.raises(ProblemError):
            kind.read(path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_pipes_and_devices_are_refused_at_once(kind, tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", Path("/dev/zero")):  # one would hang, the other never end
        with pytest.raises(ProblemError, match="is no regular file"):
            kind.read(path)
        with pytest.raises(engine.InputError, match="is no regular file"):
            recognize(path)
