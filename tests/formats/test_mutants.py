"""Damaged and hostile files: readers raise ProblemError only, quickly, and take no more memory than they may."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.errors import ProblemError
from engine.formats.source import limited, read_bytes
from engine.problem import Problem
from engine.solvers import problem_classes, recognize

ROOT = Path(engine.__file__).resolve().parent.parent
KINDS = [kind for kind in problem_classes().values() if kind is not engine.PermutationProblem]
FILES = {
    "rows.libsvm": "+1 1:1.5 2:-2\n-1\n-1 1:0.25 2:3e-3 # note\n",
    "program.lp": "min\n obj: x + y\nst\n a: x + 2 y >= 2\nbounds\n x <= 4\nend\n",
    "program.mps": "NAME t\nROWS\n N c\n L r\nCOLUMNS\n    x c 1 r 2\nRHS\n    b r 4\nBOUNDS\n UP b x 3\nENDATA\n",
    "table.csv": "a,b,y\n1,2,1\n3,4,0\n",
    "spaces.data": "1 2 0\n3 4 1\n",
    "vrf.txt": "3 2\n0 5 1 6\n0 5 1 6\n0 5 1 6\n",
    "taillard.txt": "number of jobs\n2 2 0 0 0\nprocessing times :\n1 2\n3 4\n",
    "tour.atsp": "NAME: t\nTYPE: ATSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
    "EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1\n2 0\nEOF\n",
    "queens.txt": "queens 8\n",
    "formula.cnf": "c note\np cnf 3 2\n1 -2 0\n3 0\n",
    "weighted.wcnf": "p wcnf 3 2 10\n10 1 -2 0\n3 3 0\n",
    "matrix.qubo": "p qubo 0 3 2 1\n0 0 1.5\n1 1 -2\n0 1 3\n",
    "nk.txt": "4 1 2\n0.1 0.2 0.3 0.4\n0.5 0.6 0.7 0.8\n1.2\n",
    "cut.txt": "3 2\n1 2 4\n2 3 -1\n",
    "glass.txt": "-2 0110\n2\n0 1 1\n2 3 -1\n",
    "trap.boa": "boa trap n=20 k=5\n",
    "cut.mc": "# note\n3 2\n1 2\n2 3\n",
    "graph.col": "c note\np edge 3 2\ne 1 2\ne 2 3\n",
    "bonds.sg": "# note\n3 2\n1 2 1\n2 3 -1.5\n",
    "server.txt": "type: pm\nsize: 2\nname: a b\n\n1 2 1\n2 4 -1\n",
    "matrix.bq": "# note\n3 3\n1 1 4\n1 2 -1\n2 1 3\n",
    "dense.mat": "3\n1 2 0\n2 -4 1\n0 1 0\n",
    "bqp.txt": "2\n2 2\n1 1 4\n1 2 -1\n3 1\n2 3 5\n",
    "goldman.txt": "0.4 00\n1.7 11\n0.1 0.5 0.3 0.9\n0.3 0.2 0.4 0.8\n",
    "jooken.txt": "2\n0 5 3\n1 6 4\n7\n",
    "choice.txt": "mckp 4 10\n0 5 3\n0 6 4\n1 2 2\n1 7 6\n",
    "mknap.txt": "1\n3 2 0\n5 6 7\n1 2 3\n3 4 1\n4 5\n",
    "knap.csv": "k\nn 2\nc 4\nz 0\ntime 0\n1,5,2,0\n2,6,3,0\n-----\n",
}
PIECES = [
    b"-1", b"0", b"99999999999999999999", b"9" * 5000, b"nan", b"inf", b"1e999", b"-", "²".encode(), b"\xff", b"\0",
    b" " * 3000, b"\n" * 50, b"1_0", b"2147483648", b"100000", b"\t", b",", b'"', b"#", b":", b"a" * 140_000,
    b"\x1c", "\u0663".encode(), b"9223372036854775807", b"-----\n",
]  # fmt: skip


def mutant(data: bytes, rng: random.Random) -> bytes:
    """A file with some bytes changed, removed, repeated or replaced by what readers stumble over."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not content:
            return rng.choice(PIECES)
        start = rng.randrange(len(content))
        stop = min(len(content), start + rng.randrange(1, 40))
        piece = rng.choice(PIECES)
        match rng.randrange(7):
            case 0:
                content[start] = rng.randrange(256)
            case 1:
                del content[start:stop]
            case 2:
                content[start:start] = piece
            case 3:
                content[start:stop] = piece
            case 4:
                content[start:start] = content[start:stop] * rng.randrange(1, 5)
            case 5:
                del content[start:]
            case _:
                words = bytes(content).split(b" ")
                words[rng.randrange(len(words))] = piece
                content = bytearray(b" ".join(words))
    return bytes(content)


def attempt(kind: type[Problem], path: Path, head: str) -> None:
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
def test_mutants_are_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
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


def hostile() -> Iterator[tuple[str, bytes]]:
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
    zeros = bytes(1 << 27)
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        yield f"bomb.mps{suffix}", pack(zeros)


@pytest.fixture(scope="module")
def hostile_files() -> dict[str, bytes]:
    return dict(hostile())


def test_files_that_state_great_sizes_are_refused_before_memory_is_taken(
    hostile_files: dict[str, bytes], tmp_path: Path
) -> None:
    code = (
        "import resource, sys, time\n"
        "from pathlib import Path\n"
        "from engine.errors import QuintetError\n"
        "from engine.solvers import problem_classes, recognize\n"
        "kinds = list(problem_classes().values())\n"
        "import highspy, scipy.sparse\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "for path in map(Path, sys.argv[1:]):\n"
        "    for read in [recognize, *(kind.read for kind in kinds if kind.__name__ != 'PermutationProblem')]:\n"
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
    environment = {"QUINTET_MAX_READ_BYTES": str(1 << 26), "PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_compressed_file_is_unpacked_to_the_limit_only(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(1 << 24)))
    assert len(read_bytes(path, "the file")) == 1 << 24
    with limited(1 << 20), pytest.raises(ProblemError, match=r"reading the file, unpacked, would take .* MB of memory"):
        read_bytes(path, "the file")


@pytest.mark.parametrize("module", [bz2, gzip])
def test_a_file_that_unpacks_to_a_hundred_times_its_size_is_refused(module: Any, tmp_path: Path) -> None:
    path = tmp_path / "bomb.mps.gz"
    path.write_bytes(module.compress(b"\n" * (80 << 20)))
    tracemalloc.start()
    with pytest.raises(ProblemError, match=r"unpacks to more than 100 times its size, .*; if it is"):
        engine.LinearProgram.read(path)
    assert tracemalloc.get_traced_memory()[1] < 160 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_folders_and_impossible_names_are_refused(kind: type[Problem], tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", "nul\0byte", tmp_path / ("n" * 300)):
        with pytest.raises(ProblemError):
            kind.read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_pipes_and_devices_are_refused_at_once(kind: type[Problem], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", Path("/dev/zero")):  # one would hang, the other never end
        with pytest.raises(ProblemError, match="is no regular file"):
            kind.read(path)
        with pytest.raises(engine.InputError, match="is no regular file"):
            recognize(path)


def test_recognition_of_impossible_names_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent", Path("nul\0byte")):
        with pytest.raises(engine.InputError, match="cannot"):
            recognize(path)
