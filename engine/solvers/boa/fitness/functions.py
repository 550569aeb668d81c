"""What a bit string is worth, as exact whole numbers: tables, hierarchies, C snippets and Python functions.

Every fitness here gives *keys*: 64-bit integers to maximise. A value in the user's unit is ``key / scale``, with the
sign turned where the user minimises. Whole numbers make ties and trajectories the same on every device.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ....errors import ProblemError
from ....util.text import array_fault, shown

Bits = NDArray[np.uint8]
Keys = NDArray[np.int64]
Evaluate = Callable[[Bits], Keys]
"""From individuals (m, n) to keys (m,), by the host."""

_MOST_GENES = 1 << 20
_FARTHEST_KEY = 1 << 62  # beyond every key; targets past it mean the same
_SIGN, _BUT_SIGN = np.int64(63), np.int64((1 << 63) - 1)  # of the bits of a double


class Fitness(ABC):
    """Base of every fitness."""

    n: int  # genes
    text: str  # for people: "trap-5"
    scale: int = 1  # keys per unit of value
    minimize: bool = False  # whether the user's value is to be minimised; keys are maximised always
    best_key: int | None = None  # of a global optimum, where it is known, or of a bound on it
    best_is_bound: bool = False  # that may be out of reach, as if all clauses of a formula held

    def value(self, key: int) -> int | float:
        """The value of a key, in the user's unit."""
        signed = -key if self.minimize else key
        return signed if self.scale == 1 else signed / self.scale

    def key(self, value: float) -> int:
        """The smallest key that is at least as good as a value: what a target means."""
        require_number(value)
        scaled = (-value if self.minimize else value) * self.scale
        return math.ceil(max(-_FARTHEST_KEY, min(scaled, _FARTHEST_KEY)) - 1e-6)

    @abstractmethod
    def keys(self, bits: Bits) -> Keys:
        """Keys of individuals, shape (m, n) uint8 to (m,): the host's own evaluation."""

    @abstractmethod
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """For a run folder."""

    @property
    def is_checked(self) -> bool:
        """Whether the host finds the same values as devices, without a function of the user's that may be slow."""
        return True

    def whole(self, bits: Bits) -> Bits:
        """Individuals, shape (m, n), with the genes that were eliminated from the problem's function, if any were."""
        return bits

    @property
    def whole_genes(self) -> NDArray[np.int64]:
        """Which gene of the problem each gene is."""
        return np.arange(self.n)


def require_number(value: Any, name: str = "the optimum, or a target,") -> None:
    """Raise ``ProblemError`` unless a value is a real number."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        raise ProblemError(f"{name} must be a number; got {shown(value)}")


def require_whole(value: Any, name: str, least: int, most: int | None = None) -> None:
    """Raise ``ProblemError`` unless a value is a whole number in a range."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ProblemError(f"{name} must be a whole number, {rule}; got {shown(value)}")


def check_genes(n: int) -> int:
    """``n`` if it is a number of genes that can be handled."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise ProblemError(f"n must be a whole number; got {shown(n)}")
    if not 1 <= n <= _MOST_GENES:
        raise ProblemError(f"n must be from 1 to {_MOST_GENES:,}; got {n}")
    return int(n)


def real_values(raw: Any, name: str) -> NDArray[np.float64]:
    """Values as doubles; ``ProblemError`` if they are complex, or no numbers."""
    try:
        values = np.asarray(raw)
        if values.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(f"{name} must be real numbers: {array_fault(raw, error)}") from error


@dataclass(frozen=True)
class _Family:
    """A hierarchy: ``arity`` children a block; worth of a block without gaps by its ones, below the top and there."""

    arity: int
    scale: int
    lower: tuple[int, ...]
    top: tuple[int, ...]
    leaves: int


_FAMILIES = {
    "hiff": _Family(2, 1, (1, 0, 1), (1, 0, 1), leaves=1),
    "htrap": _Family(3, 20, (20, 10, 0, 20), (18, 9, 0, 20), leaves=0),
}


class Hierarchy(Fitness):
    """Blocks of blocks: a block whose children agree passes their value up, others pass up a gap worth nothing.

    ``"hiff"``: n = 2^m; a block of 2^l equal genes is worth 2^l; optimum n (m + 1), all zeros or all ones.
    ``"htrap"``: n = 3^m; traps of three on every level, worth 3^l; below the top 0 and 3 ones are worth the same, at
    the top 0.9 and 1; optimum m n, all ones.

    Sources: R. A. Watson, G. S. Hornby, J. B. Pollack, "Modeling building-block interdependency", PPSN V (1998) 97-106;
    M. Pelikan, D. E. Goldberg, "Escaping hierarchical traps with competent genetic algorithms", GECCO 2001, 511-518.
    """

    def __init__(self, family: str, n: int) -> None:
        self.n = check_genes(n)
        self.text = family
        self._family = _FAMILIES[family]
        self.scale = self._family.scale
        self.levels = round(math.log(n, self._family.arity))
        if self.levels < 1 or self._family.arity**self.levels != n:
            raise ProblemError(f"{family} needs n a power of {self._family.arity}, and more than 1; got {n}")
        self.best_key = n * self.levels * self.scale + n * self._family.leaves

    @property
    def constants(self) -> dict[str, Any]:
        """What the kernel is rendered with."""
        family = self._family
        return {
            "arity": family.arity,
            "levels": self.levels,
            "lower": family.lower,
            "top": family.top,
            "base": self.n * family.leaves,
        }

    @override
    def keys(self, bits: Bits) -> Keys:
        family = self._family
        symbols = bits.astype(np.int64)
        total = np.full(len(bits), self.n * family.leaves, np.int64)
        for level in range(1, self.levels + 1):
            blocks = symbols.reshape(len(bits), -1, family.arity)
            whole = (blocks >= 0).all(axis=2)
            ones = np.where(whole, blocks.sum(axis=2), 0)
            worth = np.array(family.top if level == self.levels else family.lower)[ones]
            total += family.arity**level * np.where(whole, worth, 0).sum(axis=1)
            symbols = np.where(whole & (ones == family.arity), 1, np.where(whole & (ones == 0), 0, -1))
        return total

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {"hierarchy": np.array(self.text), "numbers": np.array([self.n], np.int64)}


class Snippet(Fitness):
    """A fitness in C, compiled for CUDA and OpenCL alike; the arguments are those of :meth:`engine.BOA.snippet`."""

    def __init__(
        self,
        code: str,
        n: int,
        *,
        scale: int = 1,
        minimize: bool = False,
        optimum: float | None = None,
        host: Callable[[Bits], ArrayLike] | None = None,
    ) -> None:
        self.n = check_genes(n)
        self.text = "C snippet"
        if not isinstance(code, str) or not code.strip():
            raise ProblemError(f"a C snippet must be statements that set fitness; got {shown(code)}")
        if host is not None and not callable(host):
            raise ProblemError(f"host must be a function; got {shown(host)}")
        require_whole(scale, "scale", 1, 1 << 62)
        self.code, self.scale, self.minimize, self.host = code, int(scale), minimize, host
        self.best_key = None if optimum is None else self.key(optimum)

    @property
    @override
    def is_checked(self) -> bool:
        return self.host is not None

    @override
    def keys(self, bits: Bits) -> Keys:
        """Only with ``host``."""
        if self.host is None:
            raise ProblemError("a C snippet is evaluated by devices only; give host= to check it on the host too")
        values = np.asarray(self.host(bits), np.float64) * self.scale
        return np.rint(-values if self.minimize else values).astype(np.int64)

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """``host`` is not kept."""
        best = [] if self.best_key is None else [self.best_key]
        return {"code": np.array(self.code), "numbers": np.array([self.n, self.scale, self.minimize, *best], np.int64)}


class Function(Fitness):
    """A Python function of the user's, on the host; the arguments are those of :class:`engine.BOA`."""

    scale = 0
    is_checked = False

    def __init__(
        self,
        function: Callable[[Any], Any],
        n: int,
        *,
        each: bool = False,
        processes: int = 1,
        minimize: bool = False,
        optimum: float | None = None,
    ) -> None:
        self.n = check_genes(n)
        self.text = getattr(function, "__name__", type(function).__name__)
        if not isinstance(processes, (int, np.integer)) or processes < 1 or (processes > 1 and not each):
            raise ProblemError(f"processes must be 1, or more with each=True; got {shown(processes)}")
        self.function, self.each, self.processes, self.minimize = function, each, processes, minimize
        self.best_key = None if optimum is None else self.key(optimum)

    @override
    def value(self, key: int) -> float:
        """Keys are the bits of doubles, ordered as the doubles are."""
        return float(self.values(np.array([key], np.int64))[0])

    def values(self, keys: Keys) -> NDArray[np.float64]:
        """The values of many keys."""
        numbers = _ordered(keys).view(np.float64)
        return 0.0 - numbers if self.minimize else numbers  # no negative zero

    @override
    def key(self, value: float) -> int:
        require_number(value)
        return int(self._encoded(real_values([value], "the optimum, or a target,"))[0])

    def _encoded(self, values: NDArray[np.float64]) -> Keys:
        signed = (-values if self.minimize else values) + 0.0  # no negative zero
        return _ordered(signed.view(np.int64))

    @override
    def keys(self, bits: Bits, mapped: Callable[..., Any] = map) -> Keys:
        return self._encoded(self.evaluated(bits, mapped))

    def evaluated(self, bits: Bits, mapped: Callable[..., Any] = map) -> NDArray[np.float64]:
        """Values (m,) of individuals (m, n), which ``mapped`` gives to the function one by one."""
        try:
            raw: Any = list(mapped(self.function, list(bits))) if self.each else self.function(bits.copy())
        except Exception as error:
            raise ProblemError(self._raised(bits, error)) from error
        values = real_values(raw, f"the values of the fitness {self.text}")
        if values.shape != (len(bits),):
            raise ProblemError(
                f"the fitness {self.text} must return a value for each string, here {len(bits)}; "
                f"it returned an array of shape {values.shape}"
            )
        finite = np.isfinite(values)
        if not finite.all():
            wrong = int(finite.argmin())
            raise ProblemError(
                f"the fitness {self.text} must return finite numbers; "
                f"it returned {values[wrong]} for {_shown(bits[wrong])}"
            )
        return values

    def _raised(self, bits: Bits, error: Exception) -> str:
        """Which individual the function cannot take, found by trying one by one."""
        if isinstance(error, BrokenExecutor):  # what ended a process would end this one too
            return f"a process that evaluates the fitness {self.text} has ended: {error}"
        text = f"the fitness {self.text} raised {type(error).__name__}: {error}"
        for individual in bits:
            try:
                self.function(individual if self.each else individual[None, :].copy())
            except Exception:
                return f"{text}, for {_shown(individual)}"
        return f"{text}, for {len(bits)} individuals in one call, though for none of them alone"

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """A function cannot be kept, only what it was called and is sought of it."""
        best = [] if self.best_key is None else [self.best_key]
        return {"function": np.array(self.text), "numbers": np.array([self.n, self.minimize, *best], np.int64)}


def _ordered(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bits of doubles as integers that are ordered as the doubles are; its own inverse."""
    return bits ^ ((bits >> _SIGN) & _BUT_SIGN)


def _shown(individual: Bits) -> str:
    return "".join(map(str, individual.tolist()))
