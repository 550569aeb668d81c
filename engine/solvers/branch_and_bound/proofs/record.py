"""The file of a proof: a JSON document with the instance, the answer, the counts of the search, and a digest of all."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

from ....errors import ProofError
from ....util.files import reason_of, write_whole

_LARGEST_FILE = 1 << 26


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Instance(_Record):
    """A flowshop: its processing times, a row a machine, and their SHA-256 (see :func:`times_digest`)."""

    name: str
    times: list[list[NonNegativeInt]]
    digest: str


class Subtree(_Record):
    """A subtree that was searched once more: the jobs that lead to it, and its decomposed nodes."""

    path: list[NonNegativeInt]
    nodes: PositiveInt


class Proof(_Record):
    """That no schedule of an instance is shorter than a given one, or than a given makespan."""

    format: Literal[1] = 1
    solver: Literal["branch_and_bound"] = "branch_and_bound"
    problem: Literal["flowshop"] = "flowshop"
    instance: Instance
    bound: str  # options of the search
    branching: str
    value: NonNegativeInt  # the makespan of `schedule`, proved optimal; without one, what is proved a lower bound
    schedule: list[NonNegativeInt]  # jobs from 0; empty where only the lower bound is proved
    initial: NonNegativeInt  # the initial upper bound, on which branching depends
    nodes: NonNegativeInt  # 0 where nothing was searched, since the lower bound of all schedules is `value`
    leaves: NonNegativeInt  # like `nodes` the same in every search where `initial` is `value`
    explored: list[int]  # digit sums by level; weighted with (n - 1 - level)! they add up to n!; 0 without a search
    subtrees: list[Subtree]  # a random sample, each searched once more by itself; none without a search
    seconds: NonNegativeFloat  # of the search, over all its starts
    seed: NonNegativeInt
    devices: list[str]
    machine: dict[str, Any]  # date, versions, processor and devices
    digest: str = ""  # SHA-256 of all the other fields as JSON with sorted names

    def content_digest(self) -> str:
        """The digest that the file should have."""
        content = self.model_dump(exclude={"digest"})
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def signed(self) -> Self:
        """The same with its digest."""
        return self.model_copy(update={"digest": self.content_digest()})

    def to_json(self, indent: int | None = None) -> str:
        """The document; on one line without ``indent``."""
        return self.model_dump_json(indent=indent)

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(path, self.to_json().encode() + b"\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file and check its digest."""
        try:
            with path.open("rb") as stream:
                content = stream.read(_LARGEST_FILE + 1)
        except OSError as error:
            raise ProofError(f"{path} cannot be read: {reason_of(error)}") from error
        if len(content) > _LARGEST_FILE:
            raise ProofError(f"{path} is larger than any proof file")
        try:
            found = cls.model_validate_json(content)
        except (ValidationError, ValueError, RecursionError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else None
            reason = str(error) if first is None else f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise ProofError(f"{path} is not a proof file: {reason}") from error
        if found.digest != found.content_digest():
            raise ProofError(f"{path} has been altered: its content does not match its digest")
        return found


def times_digest(times: NDArray[np.int64]) -> str:
    """SHA-256 of both sizes and all processing times, machine by machine, as 64-bit little-endian integers."""
    words = np.concatenate([np.array(times.shape), np.asarray(times).ravel()]).astype("<i8")
    return hashlib.sha256(words.tobytes()).hexdigest()
