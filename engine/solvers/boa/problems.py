"""Problems that are known by their tables, by their own names: thin classes over :class:`engine.BOA`."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import override

from ...base.problem import Problem, frozen
from ...base.result import Result
from ...errors import ProblemError
from ...formats import bit_strings
from ...formats.pairs_of import Pairs, weighted_pairs
from ...util.text import counted, shown
from .answers import Assignment, Cut, Sample, Spins
from .answers import Sequence as Signs
from .fitness import check_genes, formulas
from .fitness.autocorrelation import Autocorrelation
from .fitness.functions import real_values, require_number
from .fitness.tables import ising, max_cut, qubo
from .problem import BOA


class _Named(BOA):
    """What these classes share: the names of their variables, and results of a class of their own."""

    _answer: ClassVar[type[Result]]
    _noun: ClassVar[tuple[str, str]]
    labels: NDArray[Any] | None = None

    def _set_labels(self, labels: list[Any] | None) -> None:
        if labels is not None:
            plain = all(isinstance(label, (int, np.integer)) for label in labels)
            self.labels = frozen(np.array(labels if plain else [str(label) for label in labels]))

    @property
    def _default_name(self) -> str:
        return f"{self.fitness.text} {self.n}"

    def describe(self) -> str:
        """One line: the family, the sizes, and the optimum, or a bound on it, where known."""
        return super().describe().replace(counted(self.n, "gene"), self._sizes(), 1)

    def _sizes(self) -> str:
        text = counted(self.n, *self._noun)
        graph = self.graph()
        return text if graph is None else f"{text} and {counted(len(graph), 'pair')}"

    @override
    def answer(self, result: Result) -> Result:
        arrays = dict(result.arrays)
        if self.labels is not None and result.solution is not None:
            arrays["labels"] = self.labels
        values = {field.name: getattr(result, field.name) for field in fields(Result)} | {"arrays": arrays}
        return self._answer(**values)

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return super().to_arrays() | ({} if self.labels is None else {"labels": self.labels})

    @classmethod
    @override
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        made = super().from_arrays(arrays, name)
        labels = arrays.get("labels")
        if labels is not None:
            if labels.shape != (made.n,):
                raise ProblemError(f"there must be {made.n} labels; got {labels.size}")
            made.labels = frozen(labels)
        return made


class BitFunction(BOA):
    """A Python function of n bits to optimise.

    Parameters
    ----------
    function : callable
        From an (m, n) uint8 array to m finite numbers; or, with ``each=True``, from one (n,) array to one number.
    n : int
        Bits.
    **arguments
        Of :class:`engine.BOA`: ``each``, ``processes``, ``minimize``, ``optimum``, ``seeds``, ``name``.

    Raises
    ------
    ProblemError
        If it is no function, or an argument makes no sense.

    Examples
    --------
    >>> import engine
    >>> engine.solve(engine.BitFunction(lambda bits: bits.sum(axis=1), 20, optimum=20)).objective
    20.0
    """

    kind: ClassVar[str] = "bit_function"
    _formats = _recognized = ()  # files are read as BOA

    def __init__(self, function: Callable[[Any], Any], n: int, **arguments: Any) -> None:
        if not callable(function):
            raise ProblemError(f"the function must be callable; got {type(function).__name__}")
        super().__init__(function, n, **arguments)


class MaxCut(_Named, Problem[Cut]):
    """Maximum cut: divide the vertices of a graph so that the edges between both sides weigh most.

    Parameters
    ----------
    graph : networkx.Graph, SciPy sparse matrix, (n, n) array, mapping of pairs to weights, or list of (a, b[, weight])
        Undirected; the edges of a ``networkx`` graph have the attribute ``weight``, or weigh 1. A matrix is symmetric,
        or has one half only; a list has each edge once, its vertices numbered from 0.
    n : int, optional
        Vertices, where a list or a mapping does not name the last of them.
    optimum : number, optional
        The weight of a maximum cut, where known; reaching it ends a run.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known sides.
    name : str, optional

    Raises
    ------
    ProblemError
        If there is no vertex, an edge joins a vertex with itself or is given twice, a weight is not finite, or a matrix
        is not symmetric.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.MaxCut([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]))
    >>> result.objective, sorted(result.sides)
    (4, [[0, 2], [1, 3]])
    """

    kind: ClassVar[str] = "max_cut"
    _formats = _recognized = ("maxcut", "edges")
    _answer = Cut
    _noun = ("vertex", "vertices")

    def __init__(
        self,
        graph: Any,
        n: int | None = None,
        *,
        optimum: float | None = None,
        seeds: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        found = _without_loops(weighted_pairs(graph, n, "vertex"), "an edge must join two vertices")
        super().__init__(max_cut(found.n, found.pairs, optimum), seeds=seeds, name=name)
        self._set_labels(found.labels)


class QUBO(_Named, Problem[Sample]):
    """Quadratic unconstrained binary optimization: minimise x'Qx over x in {0, 1}^n.

    Parameters
    ----------
    Q : (n, n) array, SciPy sparse matrix, mapping of pairs to numbers, or dimod.BinaryQuadraticModel
        Each entry counts once: an asymmetric Q means x'Qx all the same, so that (i, j) and (j, i) add up. A model of
        dimod is converted to binary variables; with its names the result has them too.
    n : int, optional
        Variables, where a mapping does not name the last of them.
    offset : number
        Added to every value; that of a model of dimod comes on top.
    maximize : bool
        Whether the largest value is sought.
    optimum : number, optional
        The best value, where known; reaching it ends a run.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known solutions.
    name : str, optional

    Raises
    ------
    ProblemError
        If Q is not square, has no variable, or an entry is not finite.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.QUBO({("a", "a"): -1, ("b", "b"): -1, ("a", "b"): 3}))
    >>> result.objective, sorted(result.sample.values())
    (-1, [0, 1])
    """

    kind: ClassVar[str] = "qubo"
    _formats = _recognized = ("qubo", "matrix", "beasley", "qbsolv")
    _answer = Sample
    _noun = ("variable", "variables")

    def __init__(
        self,
        Q: Any,
        n: int | None = None,
        *,
        offset: float = 0,
        maximize: bool = False,
        optimum: float | None = None,
        seeds: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        require_number(offset, "offset")
        offset = float(real_values(offset, "offset"))
        if hasattr(Q, "vartype") and hasattr(Q, "quadratic"):
            binary = Q if Q.vartype.name == "BINARY" else Q.change_vartype("BINARY", inplace=False)
            offset += float(binary.offset)
            names = list(binary.linear)
            place = {label: at for at, label in enumerate(names)}
            terms = {(place[a], place[a]): value for a, value in binary.linear.items()}
            terms |= {(place[a], place[b]): value for (a, b), value in binary.quadratic.items()}
            found = weighted_pairs(terms, len(names), "variable", adds=True)
            found = found._replace(labels=None if names == list(range(len(names))) else names)
        else:
            found = weighted_pairs(Q, n, "variable", adds=True)
        entries = [(a, b, q / 2) for a, b, q in found.pairs]  # such an entry stands for two
        entries += [(variable, variable, q) for variable, q in found.diagonal.items()]
        super().__init__(qubo(found.n, entries, optimum, maximize, offset), seeds=seeds, name=name)
        self._set_labels(found.labels)

    @override
    def answer(self, result: Result) -> Result:
        """``values`` has the values of the individuals."""
        answer = super().answer(result)
        if "population" in answer.arrays:
            answer.arrays["values"] = self.evaluate(answer.arrays["population"]).astype(np.float64)
        return answer


class SpinGlass(_Named, Problem[Spins]):
    """Ising spin glass: minimise the energy E = - sum of J_ij s_i s_j - sum of h_i s_i over spins s = +1 and -1.

    ``objective`` is -E, to be maximised, as in the files of spin glasses; ``result.energy`` is E.

    Parameters
    ----------
    J : (n, n) array, SciPy sparse matrix, networkx.Graph, mapping of pairs to numbers, or list of (i, j, J)
        Couplings; each pair counts once. A matrix is symmetric, or has one half only.
    h : array_like of shape (n,), or mapping of spins to numbers, optional
        Fields.
    n : int, optional
        Spins, where J does not name the last of them.
    energy : number, optional
        The least energy, where known; reaching it ends a run.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known states; 1 is up.
    name : str, optional

    Raises
    ------
    ProblemError
        If there is no spin, a spin is coupled with itself, a number is not finite, or a matrix is not symmetric.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.SpinGlass([(0, 1, 1), (1, 2, -1)], h=[1, 0, 0]))
    >>> result.energy, result.spins
    (-3, array([ 1,  1, -1], dtype=int8))
    """

    kind: ClassVar[str] = "spin_glass"
    _formats = _recognized = ("ising", "goldman-ising", "server")
    _answer = Spins
    _noun = ("spin", "spins")

    def __init__(
        self,
        J: Any,
        h: ArrayLike | Mapping[Any, float] | None = None,
        n: int | None = None,
        *,
        energy: float | None = None,
        seeds: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        if n is None and h is not None and not isinstance(h, Mapping) and not hasattr(J, "nodes"):
            n = _fields_array(h).size
        found = _without_loops(weighted_pairs(J, n, "spin"), "a coupling must join two spins")
        super().__init__(ising(found.n, found.pairs, energy, _fields(h, found)), seeds=seeds, name=name)
        self._set_labels(found.labels)


class MaxSAT(_Named, Problem[Assignment]):
    """Maximum satisfiability: satisfy as many clauses as possible, or leave the least weight unsatisfied.

    Without weights ``objective`` is the number of clauses that hold, to be maximised. With weights it is the weight of
    the soft clauses that do not hold, to be minimised, as in the MaxSAT Evaluation. A literal that is twice in a clause
    counts once; a clause with a variable and its negation always holds.

    Parameters
    ----------
    clauses : sequence of sequences of int
        Literals, variables being counted from 1, negative for negated ones; at most 16 variables a clause.
    weights : sequence of int or None, optional
        One for each clause; a clause of weight None is hard: it must hold.
    n : int, optional
        Variables; by default up to the last that a clause names.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known assignments.
    name : str, optional

    Raises
    ------
    ProblemError
        If a clause is empty or too long, a literal is 0 or beyond n, or a weight is negative.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.MaxSAT([[1, 2], [-1, 2], [1, -2], [-1, -2]]))
    >>> result.objective, int(result.satisfied.sum())
    (3, 3)
    """

    kind: ClassVar[str] = "max_sat"
    _formats = _recognized = ("cnf", "wcnf")
    _answer = Assignment
    _noun = ("variable", "variables")

    def __init__(
        self,
        clauses: Sequence[Sequence[int]],
        weights: Sequence[int | None] | None = None,
        n: int | None = None,
        *,
        seeds: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        try:
            listed = [tuple(clause) for clause in clauses]
        except TypeError:
            raise ProblemError(f"clauses must be a list of lists of literals; got {shown(clauses)}") from None
        given = [[_literal(literal, place) for literal in clause] for place, clause in enumerate(listed, 1)]
        size = max((abs(literal) for clause in given for literal in clause), default=0) if n is None else check_genes(n)
        if size < 1:
            raise ProblemError("there must be at least one variable; got none")
        try:
            costs = None if weights is None else [_weight(weight) for weight in weights]
        except TypeError:
            raise ProblemError(f"weights must be a list; got {shown(weights)}") from None
        fitness = formulas.max_sat(size, given) if costs is None else formulas.weighted_max_sat(size, given, costs)
        super().__init__(fitness, seeds=seeds, name=name)
        self.clauses = given

    clauses: list[list[int]]

    @classmethod
    def _of_parsed(cls, parsed: bit_strings.Parsed, name: str) -> Self:
        made = super()._of_parsed(parsed, name)
        made.clauses = parsed.clauses
        return made

    def _sizes(self) -> str:
        return f"{counted(self.n, 'variable')} and {counted(len(self.clauses), 'clause')}"

    @override
    def answer(self, result: Result) -> Result:
        """``satisfied`` says which clauses hold."""
        answer = super().answer(result)
        if result.solution is not None:
            true = {number if bit else -number for number, bit in enumerate(result.solution.tolist(), 1)}
            answer.arrays["satisfied"] = np.array([not true.isdisjoint(clause) for clause in self.clauses], np.uint8)
        return answer

    @override
    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The formula as arrays, for files."""
        return super().to_arrays() | {
            "literals": np.array([literal for clause in self.clauses for literal in clause], np.int32),
            "clause_starts": np.cumsum([0, *map(len, self.clauses)]).astype(np.int64),
        }

    @classmethod
    @override
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """The inverse of :meth:`to_arrays`."""
        made = super().from_arrays(arrays, name)
        starts, literals = arrays["clause_starts"].tolist(), arrays["literals"].tolist()
        made.clauses = [literals[a:b] for a, b in itertools.pairwise(starts)]
        return made


class LABS(_Named, Problem[Signs]):
    """Low autocorrelation binary sequences: signs s_1 .. s_n whose autocorrelations have the least energy.

    ``objective`` is the energy: the sum of C_k^2 over k = 1 .. n - 1, where C_k is the sum of s_i s_(i+k). Up to 66
    elements the least energy is known (T. Packebusch, S. Mertens, J. Phys. A 49 (2016) 165001): reaching it ends a run.

    Parameters
    ----------
    n : int
        Elements, 2 to 1024.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known sequences; 1 is +1.
    name : str, optional

    Raises
    ------
    ProblemError
        If n is out of range.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.LABS(13))
    >>> result.objective, round(result.merit_factor, 2)  # Barker's sequence
    (6, 14.08)
    """

    kind: ClassVar[str] = "labs"
    _formats = _recognized = ("labs",)
    _answer = Signs
    _noun = ("element", "elements")

    def __init__(self, n: int, *, seeds: ArrayLike | None = None, name: str | None = None) -> None:
        super().__init__(Autocorrelation(n), seeds=seeds, name=name)


def _without_loops(found: Pairs, rule: str) -> Pairs:
    for end in found.diagonal:
        raise ProblemError(f"{rule}; got {end if found.labels is None else found.labels[end]} twice")
    return found


def _fields(h: ArrayLike | Mapping[Any, float] | None, found: Pairs) -> list[tuple[int, float]]:
    """The fields that are not 0, by spin."""
    if h is None:
        return []
    if isinstance(h, Mapping):
        names: list[Any] = list(range(found.n)) if found.labels is None else found.labels
        place = {label: at for at, label in enumerate(names)}
        unknown = [label for label in h if label not in place]
        if unknown:
            raise ProblemError(f"h names the spin {unknown[0]!r}, which J does not have; give n, or couple it")
        values = dict(zip((place[label] for label in h), _fields_array(list(h.values())).tolist(), strict=True))
    else:
        given = _fields_array(h)
        if given.shape != (found.n,):
            raise ProblemError(f"h must have {found.n} numbers, one for each spin; got shape {given.shape}")
        values = dict(enumerate(given.tolist()))
    for spin, field in values.items():
        if not math.isfinite(field):
            raise ProblemError(f"h must be finite; got {field} for spin {spin}")
    return [(spin, field) for spin, field in values.items() if field]


def _fields_array(h: ArrayLike) -> NDArray[np.float64]:
    given = real_values(h, "h")
    if given.ndim != 1:
        raise ProblemError(f"h must be a list of numbers; got {shown(h)}")
    return given


def _literal(literal: Any, place: int) -> int:
    if isinstance(literal, bool) or not isinstance(literal, (int, np.integer)) or literal == 0:
        raise ProblemError(f"a literal must be a whole number other than 0; got {shown(literal)} in clause {place}")
    return int(literal)


def _weight(weight: Any) -> int | None:
    if weight is None:
        return None
    if not isinstance(weight, (int, float, np.integer, np.floating)) or isinstance(weight, bool) or weight % 1:
        raise ProblemError(f"the weight of a clause must be a whole number or None; got {shown(weight)}")
    return int(weight)
