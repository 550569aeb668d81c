"""MPS and LP files: all that HiGHS reads, and what is wrong with its line."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from engine.errors import ProblemError
from engine.formats import linear_program as formats
from engine.formats.lp_fault import faulty_line

pytestmark = pytest.mark.smoke

GOOD = """* a comment
NAME          SMALL
OBJSENSE
    MAX
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
COLUMNS
    X         COST         1.0   LIM1         1.0
    X         LIM2         1.0
    Y         COST         2.0   LIM1         1.0
    Y         MYEQN       -1.0
    Z         COST        -1.0   MYEQN        1.0
RHS
    RHS       COST        -3.0   LIM1         4.0
    RHS       LIM2         1.0   MYEQN        7.0
RANGES
    RNG       LIM1         2.5   MYEQN       -2.0
BOUNDS
 UP BND       X            4.0
 LO BND       Y           -1.0
 UP BND       Y            1.0
 MI BND       Z
ENDATA
"""


def write(folder, text, name="small.mps"):
    path = folder / name
    path.write_text(text)
    return path


def test_every_section_means_what_it_should(tmp_path):
    parsed = formats.read(write(tmp_path, GOOD))
    assert parsed.maximize
    assert parsed.c.tolist() == [1.0, 2.0, -1.0]
    assert parsed.offset == 3.0
    assert parsed.lower.tolist() == [0.0, -1.0, -np.inf]
    assert parsed.upper.tolist() == [4.0, 1.0, np.inf]
    assert parsed.row_lower.tolist() == [1.5, 1.0, 5.0]
    assert parsed.row_upper.tolist() == [4.0, np.inf, 7.0]
    assert parsed.column_names == ["X", "Y", "Z"]


@pytest.mark.parametrize(
    "packed",
    [lambda data: b"\xef\xbb\xbf" + data, gzip.compress, bz2.compress, lzma.compress],
)
@pytest.mark.parametrize("suffix", ["mps", "lp", "LP"])
def test_what_is_before_the_text_is_seen_from_the_first_bytes(tmp_path, packed, suffix):
    text = GOOD if suffix == "mps" else SOUND_LP
    plain = formats.read(write(tmp_path, text, f"plain.{suffix}"))
    path = tmp_path / f"packed.{suffix}"
    path.write_bytes(packed(text.encode()))
    found = formats.read(path)
    assert found.c.tolist() == plain.c.tolist() != [0.0] * len(plain.c)
    assert found.row_upper.tolist() == plain.row_upper.tolist()


SOUND_LP = """minimize
 obj: x - 2 y
subject to
 c1: x + y
   + 3 z
   >= 1
 c2: x - y <= 5
bounds
 y <= 8
 x free
end
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" c2: x - y <= 5", " c2: x^2 + y <= 5", "(cannot be read from here on|quadratic terms) .*, line 7"),
        (" c2: x - y <= 5", " c2: x + y => ", "(cannot be read from here on .*, line 7|expected a number, .*, line 8)"),
        (" y <= 8", " y <= x", "(cannot be read from here on|expected a number, found `x`) .*, line 9"),
        ("end\n", "", "(it ends without 'end'|expected `end`, found end of file .*, line 10)"),
        (SOUND_LP, "minimize\n obj: x +\nsubject to\n c1 x > $\n", "line [34]"),
        (SOUND_LP, " \n", "is an empty file"),
    ],
)
def test_a_faulty_lp_file_is_reported_with_its_line(tmp_path, old, new, message):
    assert formats.read(write(tmp_path, SOUND_LP, "small.lp")).c.tolist() == [1.0, -2.0, 0.0]
    with pytest.raises(ProblemError, match=message):
        formats.read(write(tmp_path, SOUND_LP.replace(old, new), "bad.lp"))


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        (" G  LIM2", " Q  LIM2", "a row's type must be N, E, L or G; got 'Q'", 8),
        (" G  LIM2", " G  LIM1", "row 'LIM1' comes twice", 8),
        ("COST         2.0", "COST         2,0", "a value must be a number; got '2,0'", 13),
        ("LIM2         1.0   MYEQN", "LIM2         1.0   MYEQ", "RHS names the row 'MYEQ'", 18),
        ("RANGES", "RANGE", "unknown section 'RANGE'", 19),
        ("RANGES", "QUADOBJ", "section QUADOBJ is not of a linear program", 19),
        ("    X         LIM2         1.0\n", "    X         LIM2\n", "a line of COLUMNS has a column", 12),
        ("ENDATA\n", "", "ends in section BOUNDS without ENDATA", 25),
        ("MYEQN       -1.0", "MYEQN      1e300", "less than 1e.15 by size here; got 1e.300", 14),
        (" LO BND       Y", " XX BND       Y", "unknown type of bound 'XX'", 23),
        ("OBJSENSE\n    MAX", "OBJSENSE MOST", "OBJSENSE must be MAX or MIN; got 'MOST'", 3),
        ("RANGES", "RANGES RNG", "section RANGES stands alone on its line", 19),
        ("    X         LIM2  ", "    X         LIM1  ", "column 'X' has row 'LIM1' twice", 12),
        ("Y         MYEQN       -1.0", "X         MYEQN       -1.0", "column 'X' comes back after another", 14),
        ("COLUMNS\n", "COLUMNS\n    M1 'MARKER' 'INTEND'\n", "the next marker must be 'INTORG'; got 'M1", 11),
        ("    RNG       LIM1         2.5 ", "    LIM1         2.5 ", "a line of RANGES has a name, and", 20),
        ("RHS\n", "RANGES\nRHS\n", "section RHS comes after RANGES", 17),
        ("UP BND       X            4.0", "UP BND       X           -4.0", "'X' exclude each other: 0 and -4", 22),
        ("MYEQN        7.0", "MYEQN       -inf", "a side of -inf leaves nothing for row 'MYEQN' of type E", 18),
        (
            "UP BND       X            4.0",
            "UP BND       X           -inf",
            "a bound UP leaves no value for column 'X'",
            22,
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path, old, new, message, line):
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ProblemError, match=message) as caught:
        formats.read(path)
    assert caught.value.line == line
    assert str(path) in str(caught.value)


def test_files_that_are_none_are_reported(tmp_path):
    with pytest.raises(ProblemError, match="cannot be read"):
        formats.read(tmp_path / "absent.mps")
    (tmp_path / "half.mps.gz").write_bytes(gzip.compress(GOOD.encode())[:40])
    with pytest.raises(ProblemError, match="a damaged compressed file"):
        formats.read(tmp_path / "half.mps.gz")
    (tmp_path / "binary.mps").write_bytes(bytes(range(128, 256)))
    with pytest.raises(ProblemError, match="not a text file"):
        formats.read(tmp_path / "binary.mps")


@pytest.mark.parametrize("arrow", ["->", "- >", "-\n>"])
def test_indicator_constraints_are_refused_without_output(tmp_path, capfd, arrow):
    path = tmp_path / "i.lp"
    path.write_text(f"min\n obj: x + y\nst\n \\ a comment -> is none\n a: {arrow}= 2\nend\n")
    with pytest.raises(ProblemError, match=r"indicator constraints .* \(.*i\.lp, line 5\)"):
        formats.read(path)
    assert capfd.readouterr() == ("", "")
    path.write_text("min\n obj: x + y\nst\n \\ a comment -> is none\n a: x >= 2\nend\n")
    assert formats.read(path).rows.tolist() == [0]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (" c2: x - y <= 5", " c2: x^2 + y <= 5", 7),
        ("   + 3 z", "   + 3 z ] 4", 4),
        (" y <= 8", " y <= x", 9),
        ("end\n", "", None),
    ],
)
def test_a_faulty_line_is_found_where_the_reader_does_not_tell_it(old, new, line):
    assert faulty_line(SOUND_LP.replace(old, new), formats._reads_lp) == line
