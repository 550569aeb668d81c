"""Genotypes of PLINK: ``.bed`` with two bits each, beside ``.bim`` (variants) and ``.fam`` (people and phenotypes).

S. Purcell et al., "PLINK: a tool set for whole-genome association", AJHG 81 (2007); the format is that of
https://www.cog-genomics.org/plink/1.9/formats#bed, variant-major.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..util.files import reason_of
from .source import read_text

_MAGIC = b"\x6c\x1b\x01"
_COPIES = np.array([2.0, np.nan, 1.0, 0.0], np.float32)  # of the first allele, by the two bits
_DECODED = _COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
_AT_ONCE = 1 << 24
_NO_PHENOTYPE = ("-9", "NA", "nan")


@dataclass(frozen=True, eq=False)
class Genotypes:
    """Columns of numbers, and genotypes as counts of the first allele, which are decoded when rows are asked for.

    ``codes``, shape (variants, ceil(people / 4)): four people a byte, the first in the lowest bits; read-only, and may
    be mapped from a file; ``means``, shape (variants,): of the counts that are known; a missing genotype counts as the
    mean; ``columns``, shape (people, k): other columns, which come first.
    """

    codes: NDArray[np.uint8]
    means: NDArray[np.float32]
    columns: NDArray[np.float32]

    dtype = np.dtype(np.float32)
    ndim = 2

    @classmethod
    def of(cls, codes: NDArray[np.uint8], columns: NDArray[np.float32]) -> Genotypes:
        """With the means of the genotypes that are known."""
        people, means = len(columns), np.zeros(len(codes), np.float32)
        for begin in range(0, len(codes), max(1, _AT_ONCE // max(1, 4 * codes.shape[1]))):
            some = slice(begin, begin + max(1, _AT_ONCE // max(1, 4 * codes.shape[1])))
            values = _DECODED[codes[some]].reshape(len(codes[some]), -1)[:, :people]
            known = ~np.isnan(values)
            means[some] = np.where(known, values, 0.0).sum(axis=1, dtype=np.float64) / np.maximum(1, known.sum(axis=1))
        return cls(codes, means, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """People, and columns of both sorts."""
        return len(self.columns), self.columns.shape[1] + len(self.codes)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return len(self.columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype)

    def __getitem__(self, key: Any) -> NDArray[np.float32]:
        """Rows by a slice or numbers, of all columns or, as ``[rows, columns]``, of some."""
        rows, chosen = key if isinstance(key, tuple) else (key, slice(None))
        used = np.arange(len(self))[rows]
        columns = np.arange(self.shape[1])[chosen]
        first = self.columns.shape[1]
        out = np.empty((len(used), len(columns)), np.float32)
        other = columns < first
        out[:, other] = self.columns[used][:, columns[other]]
        if other.all() or not len(used):
            return out
        variants: Any = columns[~other] - first
        if len(variants) == len(self.codes) and (np.diff(variants) == 1).all():
            variants = slice(None)  # no copy of the codes
        if isinstance(rows, slice) and (rows.step or 1) == 1:
            low = int(used[0]) // 4
            part = _DECODED[self.codes[variants, low : int(used[-1]) // 4 + 1]]
            values = part.reshape(len(part), -1)[:, used[0] - 4 * low :][:, : len(used)]
        else:
            bits = self.codes[variants][:, used // 4] >> (2 * (used % 4)).astype(np.uint8)
            values = _COPIES[bits & 3]
        out[:, ~other] = np.where(np.isnan(values), self.means[variants, None], values).T
        return out


def is_bed(path: Path, head: str) -> bool:
    """Whether a file is PLINK's, by its name and first bytes."""
    return path.suffix.lower() == ".bed" and head.startswith("l\x1b")


def read(path: str | Path, covariates: str | Path | None = None) -> tuple[Genotypes, list[str], NDArray[Any]]:
    """Features, their names (those of a file of covariates first), and the phenotypes of the people."""
    path = Path(path)
    people = _fields(path.with_suffix(".fam"), 6, "the people")
    variants = _fields(path.with_suffix(".bim"), 6, "the variants")
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(3)
    except OSError as error:
        raise ProblemError(f"the genotypes cannot be read: {reason_of(error)}", path) from error
    if head[:2] != _MAGIC[:2]:
        raise ProblemError("this is no BED file of PLINK, which begins with the bytes 6c 1b", path)
    if head != _MAGIC:
        raise ProblemError("the genotypes are in the order of people; write them variant by variant (PLINK 1.9)", path)
    bytes_each = -(-len(people) // 4)
    expected = 3 + bytes_each * len(variants)
    if size != expected:
        raise ProblemError(
            f"the file has {size:,} bytes, but {len(people):,} people and {len(variants):,} variants take {expected:,}",
            path,
        )
    codes = np.memmap(path, np.uint8, "r", 3, (len(variants), bytes_each))
    names = [variant[1] for variant in variants]
    if len(set(names)) < len(names):  # as of variants without a name
        names = [f"{variant[0]}:{variant[3]}:{variant[4]}:{variant[5]}" for variant in variants]
    words = np.array([person[5] for person in people])
    missing = np.isin(words, _NO_PHENOTYPE) | ((words == "0") if set(words) <= {"0", "1", "2", "-9"} else False)
    if missing.any():
        fam = path.with_suffix(".fam")
        raise ProblemError(f"{int(missing.sum()):,} of {len(people):,} people have no phenotype; leave them out", fam)
    columns: NDArray[np.float32] = np.zeros((len(people), 0), np.float32)
    others: list[str] = []
    if covariates is not None:
        columns, others = _covariates(Path(covariates), [(person[0], person[1]) for person in people])
    try:
        phenotypes: NDArray[Any] = words.astype(np.float64)
    except ValueError:
        phenotypes = words
    return Genotypes.of(codes, columns), [*others, *names], phenotypes


def _covariates(path: Path, people: list[tuple[str, str]]) -> tuple[NDArray[np.float32], list[str]]:
    """The numbers of each person, and their names."""
    header, *lines = _fields(path, 3, "the covariates")
    if [word.lstrip("#").upper() for word in header[:2]] != ["FID", "IID"]:
        raise ProblemError("a file of covariates begins with FID, IID and their names", path, 1)
    found: dict[tuple[str, str], list[float]] = {}
    for number, words in enumerate(lines, 2):
        if len(words) != len(header):
            raise ProblemError(f"a line has {len(words)} fields, the first has {len(header)}", path, number)
        try:
            found[words[0], words[1]] = [float(word) for word in words[2:]]
        except ValueError as error:
            raise ProblemError(f"covariates are numbers: {error}", path, number) from error
    missing = [person for person in people if person not in found]
    if missing:
        raise ProblemError(
            f"{len(missing):,} of {len(people):,} people have no covariates, the first of them '{missing[0][1]}'", path
        )
    values = np.array([found[person] for person in people], np.float32)
    if not np.isfinite(values).all():
        raise ProblemError("covariates must be finite", path)
    return values, header[2:]


def _fields(path: Path, least: int, what: str) -> list[list[str]]:
    lines = [line.split() for line in read_text(path, f"the file of {what}").splitlines() if line.strip()]
    if not lines:
        raise ProblemError(f"the file of {what} is empty", path)
    for number, words in enumerate(lines, 1):
        if len(words) < least:
            raise ProblemError(f"a line of {what} has {least} fields; got {len(words)}", path, number)
    return lines
