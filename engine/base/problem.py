"""The base class of every problem, which is immutable, validated when it is made, and independent of devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar

from ..errors import ProblemError
from ..util.display import Display, Displayed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .result import Result


class ReadOptions(BaseModel):
    """Base of the models of what a reader takes besides the path; every field has a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InstanceOption(ReadOptions):
    """For files that hold several instances."""

    instance: int = Field(1, ge=1, description="which instance of a file that holds several, counted from 1")


R = TypeVar("R", bound="Result", default="Result", covariant=True)


class Problem(Displayed, ABC, Generic[R]):
    r"""One instance of one family of problems.

    ``R`` is the class of the results that its solver returns, for type checkers: ``class Probit(Problem[Posterior])``.

    Subclasses validate in ``__init__`` (raising :class:`engine.errors.ProblemError`), freeze their arrays, and set
    ``name`` to what a user recognises (the file's stem, or the generator and its seed).

    Examples
    --------
    >>> import engine
    >>> from pathlib import Path
    >>> _ = Path("three.txt").write_text("3 50\n60 10\n100 20\n120 30\n")
    >>> problem = engine.Knapsack.read("three.txt")
    >>> isinstance(problem, engine.Problem), problem.name
    (True, 'three')
    >>> problem.describe()
    '0/1 knapsack three: 3 items, capacity 50, weights 10 to 30, profits 60 to 120'
    >>> engine.Knapsack.from_arrays(problem.to_arrays(), "copy")
    <0/1 knapsack copy: 3 items, capacity 50, weights 10 to 30, profits 60 to 120>
    """

    kind: ClassVar[str]
    """Name of the family, as used in run folders and events."""

    sense: ClassVar[str] = "maximize"
    """``"maximize"``, ``"minimize"`` or ``"count"``: which way the objective improves."""

    read_options: ClassVar[type[ReadOptions] | None] = None
    """What :meth:`read` takes besides the path, as keywords; ``quintet solve`` offers these as options."""

    instances_in_file: int = 1
    """How many instances the file holds that this one was read from."""

    name: str

    @property
    def _default_name(self) -> str:
        """What the problem is called if it is given no name."""
        return self.kind

    def _title(self, family: str) -> str:
        """The beginning of a description: the family, and the name unless it is the default one."""
        return family if self.name == self._default_name else f"{family} {self.name}"

    @property
    def native_code(self) -> str | None:
        """C code of the user's that solving the problem executes on the devices; None where there is none."""
        return None

    def check(self, result: Result) -> None:
        """Check an answer that another process has found, as far as only this process can.

        Raises
        ------
        engine.errors.AuditError
            If it is wrong.
        """

    def display(self) -> Display:
        """What is shown of it: its description."""
        return Display(self.describe())

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path) -> Self:
        """Read an instance file of any supported format.

        Subclasses may take the fields of ``read_options`` as further keywords.
        """

    @classmethod
    @abstractmethod
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file looks like an instance of this problem.

        Parameters
        ----------
        path : Path
            Its name may matter, without the suffix of a compressed file; it is not opened.
        head : str
            The first 4096 bytes, unpacked and decoded; where comments fill most of them, those that follow these.
        """

    @abstractmethod
    def describe(self) -> str:
        """One line for users: the family and the sizes."""

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The whole instance as named arrays, for a run folder."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`.

        Parameters
        ----------
        arrays : mapping of str to ndarray
            What :meth:`to_arrays` returned.
        name : str
            ``name`` of the new problem.
        """


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous, read-only copy; the array itself if it, or what it is a part of, is one."""
    memory = array if array.base is None else array.base
    is_own = type(array) is type(memory) is np.ndarray and memory.flags.owndata  # not a buffer or a file
    if is_own and array.flags.c_contiguous and not (array.flags.writeable or memory.flags.writeable):
        return array
    copy = np.array(array, order="C", copy=True)
    copy.setflags(write=False)
    return copy


def require_arrays(arrays: Mapping[str, NDArray[Any]], names: Sequence[str], what: str) -> None:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ProblemError(f"the arrays of {what} lack '{missing[0]}'; got {', '.join(arrays) or 'none'}")


def sparse_rows(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int], what: str
) -> csr_array:
    """A matrix from the arrays of SciPy's ``csr_array``, checked before compiled code follows their indices."""
    from scipy.sparse import csr_array

    rows, columns = shape
    starts, places = (np.asarray(array) for array in (indptr, indices))
    if starts.dtype.kind not in "iu" or places.dtype.kind not in "iu" or data.dtype.kind not in "biuf":
        raise ProblemError(f"{what} must have entries that are numbers, at indices that are integers")
    if rows < 0 or starts.shape != (rows + 1,) or places.ndim != 1 or data.shape != places.shape:
        raise ProblemError(
            f"{what} of {rows} rows must have {rows + 1} row starts, and a column for each entry; got arrays of shapes "
            f"{starts.shape}, {places.shape} and {data.shape}"
        )
    if starts[0] != 0 or starts[-1] != len(places) or (starts[1:] < starts[:-1]).any():
        raise ProblemError(f"the row starts of {what} must ascend from 0 to the number of its entries, {len(places)}")
    if len(places) and not (int(places.min()) >= 0 and int(places.max()) < columns):
        raise ProblemError(
            f"the columns of {what} must be from 0 to {columns - 1}; got {places.min()} to {places.max()}"
        )
    return csr_array((data, places, starts), shape=shape)
