"""The problem class: a function of bit strings."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ...base.problem import InstanceOption, Problem, frozen
from ...base.result import Result
from ...errors import AuditError, ProblemError
from ...formats import bit_strings
from ...formats.instances import located
from ...util.text import counted, number_text
from ...util.trust import is_bundled, native_code_of, require_trust
from .fitness import Fitness, Function, Hierarchy, Snippet, formulas, tables
from .fitness.autocorrelation import Autocorrelation
from .fitness.functions import real_values
from .fitness.landscapes import random_ising, random_nk
from .fitness.tables import Decomposable

_FAMILIES = {
    "cnf": "clauses (MaxSAT)",
    "wcnf": "clauses (MaxSAT)",
    "nk": "an NK landscape (BOA)",
    "ising": "a spin glass (SpinGlass)",
    "maxcut": "a graph to be cut (MaxCut)",
    "qubo": "a QUBO matrix (QUBO)",
    "labs": "a length of sequences (LABS)",
    "boa": "a function of Quintet's own (BOA)",
}


class BOA(Problem):
    """A function of n bits to optimise, known by its values only.

    Parameters
    ----------
    fitness : str, Fitness or callable
        The name of a built-in (``"onemax"``, ``"trap-5"``, ``"deceptive-3"``, ``"hiff"``, ``"htrap"``), a fitness
        object, or a Python function from an (m, n) uint8 array to m finite numbers.
    n : int, optional
        Genes; a fitness object knows its own.
    each, processes
        Of a Python function: whether it takes individuals one by one, and how many processes share them. A function for
        several processes must be importable by name.
    minimize : bool
        Of a Python function: whether its least value is sought.
    optimum : number, optional
        Of a Python function: its best value, where known; reaching it ends a run.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known individuals that the initial population begins with.
    name : str, optional
        What the problem is called in lists and reports; by default the fitness and its size.

    Raises
    ------
    ProblemError
        If the fitness is unknown, has no instance of that size, or the seeds are not n bits each.

    Examples
    --------
    >>> import engine
    >>> engine.solve(engine.BOA(lambda bits: bits.sum(axis=1), 20), population=200).objective
    20.0
    """

    kind: ClassVar[str] = "boa"
    _formats: ClassVar[tuple[str, ...]] = tuple(_FAMILIES)  # of what is read
    _recognized: ClassVar[tuple[str, ...]] = ("nk", "goldman-nk", "boa")
    read_options = InstanceOption

    def __init__(
        self,
        fitness: str | Fitness | Callable[[Any], Any],
        n: int | None = None,
        *,
        each: bool = False,
        processes: int = 1,
        minimize: bool = False,
        optimum: float | None = None,
        seeds: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        several = bool(np.any(processes != 1))
        given = {"each": each, "processes": several, "minimize": minimize, "optimum": optimum is not None}
        unused = [name for name, is_given in given.items() if is_given]
        if unused and not (callable(fitness) and not isinstance(fitness, (str, Fitness))):
            raise ProblemError(
                f"{unused[0]} is an argument for Python functions; got {getattr(fitness, 'text', fitness)}"
            )
        if isinstance(fitness, Fitness):
            if n not in (None, fitness.n):
                raise ProblemError(f"this fitness has {fitness.n} genes; got n = {n}")
            self.fitness = fitness
        elif n is None:
            raise ProblemError("n is missing: how many genes the fitness takes")
        elif isinstance(fitness, str):
            self.fitness = tables.built_in(fitness, n)
        elif callable(fitness):
            self.fitness = Function(fitness, n, each=each, processes=processes, minimize=minimize, optimum=optimum)
        else:
            raise ProblemError(f"fitness must be a name, a fitness or a function; got {type(fitness).__name__}")
        self.seeds = _seeds(seeds, self.n)
        self.name = name or self._default_name
        self.sense = "minimize" if self.fitness.minimize else "maximize"  # type: ignore[misc]

    @property
    def n(self) -> int:
        """Genes."""
        return self.fitness.n

    @property
    def optimum(self) -> int | float | None:
        """The best value, where it is known."""
        return None if self.fitness.best_is_bound else self.bound

    @property
    def bound(self) -> int | float | None:
        """What no value is better than, where it is known: the optimum, or as if all clauses of a formula held."""
        key = self.fitness.best_key
        return None if key is None else self.fitness.value(key)

    # --- other ways to make one ---------------------------------------------------------------------------------

    @classmethod
    def decomposable(
        cls, n: int, scopes: Sequence[Sequence[int]], tables: Sequence[ArrayLike], **arguments: Any
    ) -> Self:
        """A sum of tables over a few genes each.

        Parameters
        ----------
        n : int
            Genes.
        scopes : sequence of sequences of int
            The genes of each table, counted from 0.
        tables : sequence of array-like
            The 2^k values of each table of k genes, or one table for all; the first gene is the lowest bit of the
            index. Values with up to nine decimals are exact.
        **arguments
            ``minimize``, ``constant`` (added to every value), ``optimum``, ``bound`` (what no value is better than) and
            ``text`` (what it is called).

        Examples
        --------
        >>> import engine
        >>> problem = engine.BOA.decomposable(4, [[0, 1], [1, 2], [2, 3]], [[1, 0, 0, 1]] * 3)  # equal neighbours
        >>> problem.evaluate([[1, 1, 0, 0]])
        array([2])
        """
        return cls(Decomposable(n, scopes, tables, **arguments))

    @classmethod
    def snippet(cls, code: str, n: int, **arguments: Any) -> Self:
        """A fitness in C, compiled for CUDA and OpenCL alike.

        Parameters
        ----------
        code : str
            Statements that set ``fitness``, a 64-bit integer that begins at 0. ``BIT(i)`` is gene i, 0 or 1; ``N`` the
            number of genes; ``i32``, ``i64``, ``u32`` and ``u64`` are types.
        n : int
            Genes.
        **arguments
            ``minimize``, ``optimum``; ``scale``: keys per unit of value, where the value is no whole number; ``host``:
            the same function in NumPy, from (m, n) uint8 to (m,), with which the answer is checked.

        Examples
        --------
        >>> import engine
        >>> engine.BOA.snippet("fitness = 0; for (int i = 1; i < 12; ++i) fitness += BIT(i) != BIT(i - 1);", 12)
        <C snippet of 12 genes>
        """
        return cls(Snippet(code, n, **arguments))

    @classmethod
    def nk(cls, n: int, neighbours: int = 4, step: int = 1, seed: int = 0) -> Self:
        """A random nearest-neighbour NK landscape with its exact optimum.

        Parameters
        ----------
        n : int
            Genes.
        neighbours : int
            Further genes of each table.
        step : int
            Distance of neighbouring tables, in genes.
        seed : int
            Of the tables.

        Examples
        --------
        >>> import engine
        >>> problem = engine.BOA.nk(20, seed=1)
        >>> problem.n, problem.optimum is None
        (20, False)
        """
        return cls(random_nk(n, neighbours, step, seed), name=f"NK n={n} k={neighbours} step={step} seed={seed}")

    @classmethod
    def ising(cls, side: int, seed: int = 0) -> Self:
        """A random +-J spin glass on a torus; its exact optimum is known up to side 10.

        Parameters
        ----------
        side : int
            The torus has side x side spins.
        seed : int
            Of the bonds.

        Examples
        --------
        >>> import engine
        >>> engine.BOA.ising(4, seed=1).n
        16
        """
        return cls(random_ising(side, seed), name=f"Ising {side}x{side} seed={seed}")

    @classmethod
    def read(cls, path: str | Path, instance: int = 1, *, trust: bool = False) -> Self:
        """Read a file of any format of :mod:`engine.formats.bit_strings`.

        Parameters
        ----------
        path : path-like
        instance : int
            Which one, counted from 1, of a file that holds several.
        trust : bool
            Whether a C snippet that the file contains may be executed; remembered for exactly that code.

        Raises
        ------
        ProblemError
            If it cannot be read, or breaks a rule of its format, or it holds fewer instances.
        UntrustedCode
            If it contains a C snippet that is not trusted; see :mod:`engine.util.trust`.
        """
        parsed = bit_strings.read(path, instance)
        if parsed.format not in cls._formats:
            raise ProblemError(f"this is a file of {_FAMILIES[parsed.format]}, not of a {cls.__name__}", Path(path))
        name = Path(path).name if parsed.instances == 1 else f"{Path(path).name}-{instance}"
        with located(path):
            problem = cls._of_parsed(parsed, name)
        problem.instances_in_file = parsed.instances
        if problem.native_code is not None and not is_bundled(path):
            require_trust(native_code_of(problem.native_code, str(path)), trust)
        return problem

    @classmethod
    def _of_parsed(cls, parsed: bit_strings.Parsed, name: str) -> Self:
        return cls._of(from_parsed(parsed), None, name)

    @classmethod
    def _of(cls, fitness: Fitness, seeds: ArrayLike | None, name: str) -> Self:
        """A problem of this class with a fitness of its kind."""
        made = cls.__new__(cls)
        BOA.__init__(made, fitness, seeds=seeds, name=name)
        return made

    def answer(self, result: Result) -> Result:
        """The result that a run of this problem returns, from one of bit strings alone."""
        return result

    @classmethod
    @override
    def recognizes(cls, path: Path, head: str) -> bool:
        """Whether a file is in a format of functions that have no other class of their own, by its first lines."""
        return bit_strings.recognize(path, head) in cls._recognized

    # --- what every problem has ---------------------------------------------------------------------------------

    def graph(self) -> NDArray[np.int64] | None:
        """Pairs of genes that share a table, shape (e, 2); None unless tables have one or two genes, and some two."""
        fitness = self.fitness
        if not isinstance(fitness, Decomposable) or int(fitness.widths.max()) != 2:
            return None
        starts = fitness.scope_starts[:-1][fitness.widths == 2]
        pairs = np.stack([fitness.genes[starts], fitness.genes[starts + 1]], axis=1).astype(np.int64)
        return np.unique(np.sort(pairs, axis=1), axis=0)

    @property
    def _default_name(self) -> str:
        return f"{self.fitness.text} n={self.n}"

    def describe(self) -> str:
        """One line: the function, the genes, and the optimum, or a bound on it, where known."""
        text = f"{self.fitness.text} of {counted(self.n, 'gene')}"
        if self.name != self._default_name:
            text = f"{self.name}: {text}"
        if self.fitness.minimize:
            text += ", to be minimised"
        if self.optimum is not None:
            text += f", known optimum {number_text(self.optimum)}"
        elif self.bound is not None:
            text += f", {'lower' if self.fitness.minimize else 'upper'} bound {number_text(self.bound)}"
        return text + (f", {counted(len(self.seeds), 'known individual')}" if len(self.seeds) else "")

    @property
    def native_code(self) -> str | None:
        """The C code of a snippet."""
        return self.fitness.code if isinstance(self.fitness, Snippet) else None

    def check(self, result: Result) -> None:
        """Evaluate the best string of a C snippet on the host, where the problem has a function for that."""
        if isinstance(self.fitness, Snippet) and self.fitness.host is not None and result.solution is not None:
            (again,) = self.evaluate(result.solution[None])
            if again != result.objective:
                raise AuditError(f"the best string has the value {again}, but the devices found {result.objective}")

    def evaluate(self, bits: ArrayLike) -> NDArray[Any]:
        """Values of bit strings on the host.

        Returns
        -------
        ndarray, shape (m,)
        """
        checked = _seeds(bits, self.n)
        return np.array([self.fitness.value(int(key)) for key in self.fitness.keys(checked)])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The fitness as arrays (a Python function: only its name), and ``seeds``."""
        return {**self.fitness.to_arrays(), "seeds": self.seeds}

    @classmethod
    @override
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`, but of Python functions, which cannot be kept: ``ProblemError``."""
        numbers = arrays["numbers"].tolist()
        if "function" in arrays:
            raise ProblemError(
                f"the fitness of this run was the Python function {arrays['function']}, which a run folder cannot "
                "keep; give it again: engine.resume(folder, problem=engine.BOA(function, n))"
            )
        fitness: Fitness
        if "tables" in arrays:
            fitness = Decomposable.from_arrays(arrays)
        elif "autocorrelation" in arrays:
            fitness = Autocorrelation(numbers[0])
        elif "hierarchy" in arrays:
            fitness = Hierarchy(str(arrays["hierarchy"]), numbers[0])
        else:
            fitness = Snippet(str(arrays["code"]), numbers[0], scale=numbers[1], minimize=bool(numbers[2]))
            fitness.best_key = numbers[3] if len(numbers) > 3 else None
        return cls._of(fitness, arrays["seeds"], name)


def _seeds(seeds: ArrayLike | None, n: int) -> NDArray[np.uint8]:
    """Individuals as (s, n) zeros and ones."""
    if seeds is None:
        return frozen(np.zeros((0, n), np.uint8))
    raw = real_values(seeds, "individuals")
    if raw.ndim != 2 or raw.shape[1] != n:
        raise ProblemError(f"individuals must be rows of {n} genes; got an array of shape {raw.shape}")
    if not np.isin(raw, (0, 1)).all():
        raise ProblemError("individuals must hold zeros and ones only")
    return frozen(raw.astype(np.uint8))


def from_parsed(parsed: bit_strings.Parsed) -> Fitness:
    """The function that a file describes."""
    n, words, name = parsed.n, parsed.words, parsed.words.get("fitness", "")
    if parsed.format == "cnf":
        return formulas.max_sat(n, parsed.clauses)
    if parsed.format == "wcnf":
        return formulas.weighted_max_sat(n, parsed.clauses, parsed.weights)
    if parsed.format == "nk":  # where there is a string of its optimum, the value of that, which is not rounded
        stated = None if parsed.best else parsed.optimum
        made = tables.nearest_neighbour_nk(n, parsed.tables, parsed.neighbours, parsed.step, stated, parsed.wraps)
        if parsed.best:
            made.best_key = int(made.keys(np.array([[int(bit) for bit in parsed.best]], np.uint8))[0])
        return made
    if parsed.format == "ising":
        return tables.ising(n, parsed.terms, parsed.optimum)
    if parsed.format == "maxcut":
        return tables.max_cut(n, parsed.terms)
    if parsed.format == "qubo":
        return tables.qubo(n, parsed.terms, maximize=parsed.maximize, offset=parsed.offset)
    if parsed.format == "labs":
        return Autocorrelation(n)
    if name == "snippet":
        optimum = float(words["optimum"]) if "optimum" in words else None
        scale, minimize = int(words.get("scale", 1)), words.get("minimize") == "1"
        return Snippet(parsed.code, n, scale=scale, minimize=minimize, optimum=optimum)
    return tables.built_in(f"{name.partition('-')[0]}-{words['k']}" if "k" in words else name, n)
