"""Search of a function that is known by its values only: the parameter-less population pyramid, to be asked and told.

Each climber begins with a random string, improves it by flips of single bits, and mixes it with the strings of one
level of the pyramid after another; a string that a level improved joins the next one. Sources: B. W. Goldman,
W. F. Punch, "Fast and efficient black box optimization using the parameter-less population pyramid", Evolutionary
Computation 23 (2015) 451-479; D. Thierens, P. A. N. Bosman, "Optimal mixing evolutionary algorithms", GECCO 2011,
617-624. Added here: no string is evaluated twice; flips that made a string worse are tried last, and equal ones are
kept; climbers that are behind earlier ones after a try of each flip are left; a string that the donors of a level did
not improve is given bits of the best one (P. A. N. Bosman, D. Thierens, "Linkage neighbors, optimal mixing and forced
improvements in genetic algorithms", GECCO 2012, 585-592), each subset once, and left if they do not improve it either.
Climbers come in generations, whose m-th has 2 m - 1 of them: all are improved by flips before they are mixed, and rise
level by level together, so that more strings are asked for at once as the search goes on, and levels learn less often.
With ``parallel`` above 1 climbers do not wait for each other: some rise, or a new one begins, whenever fewer than so
many search.

A string is an int while it is searched with, bit i of it gene i: a flip or a mixture is one operation on all words.
"""

import json
import math
import random
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import OptionError, OutputError, ProblemError
from ...util.files import read_utf8, write_whole
from ...util.text import shown
from .fitness import check_genes, real_values
from .linkage import Linkage

_SELECTIVE, _MOST_LEFT = 64, 0.85  # earlier climbers at which half are left early; the largest share that is left
_GROWTH = 3e-4  # of a level for each gene, at which its subsets are learned anew: that takes n^2 operations
_PLATEAU, _PLATEAU_ROUNDS = 0.1, 16  # share of all flips that change nothing; most rounds of flips on it
_DRAWS = 8  # of a new string, before the strings are looked through in order
_MOST_KNOWN = 1 << 22
_FORMAT = "quintet bit search 5"  # another number where the same answers lead to other questions

Send = Callable[[Any], int]


class BitSearch:
    """A search that is asked for strings and told their values.

    Parameters
    ----------
    n : int
        Bits.
    minimize : bool
        Whether the least value is sought.
    seed : int
    parallel : int
        How many strings are wanted at once from the beginning, as for so many processes. Beyond 1 this costs
        evaluations: that many searches begin independently.
    seeds : array_like of 0 and 1, shape (s, n), optional
        Known strings to begin with.

    Attributes
    ----------
    best : ndarray of uint8, shape (n,), or None
    best_value : float or None
        Of the strings told so far.
    evaluations : int
        Values told so far.

    Raises
    ------
    OptionError, ProblemError
        If a number makes no sense, or the seeds are not n bits each.

    Examples
    --------
    >>> import engine
    >>> search = engine.BitSearch(20)
    >>> while search.best_value != 20:
    ...     strings = search.ask()
    ...     search.tell(strings, strings.sum(axis=1))
    >>> search.evaluations < 100
    True
    """

    def __init__(
        self, n: int, *, minimize: bool = False, seed: int = 0, parallel: int = 1, seeds: ArrayLike | None = None
    ) -> None:
        if not isinstance(seed, (int, np.integer)):
            raise OptionError(f"seed must be a whole number; got {shown(seed)}")
        _require_strings(parallel, "parallel")
        self.n, self.minimize, self.seed, self.parallel = check_genes(n), bool(minimize), int(seed), int(parallel)
        self.evaluations = 0
        self._random = random.Random(self.seed)  # noqa: S311
        self._generator = np.random.default_rng(self.seed % (1 << 64))
        self._flips = [1 << gene for gene in range(self.n)]
        self._starts = deque(self._strings(np.zeros((0, self.n)) if seeds is None else seeds))
        self._given = list(self._starts)
        self._levels: list[_Level] = []
        self._members: set[int] = set()
        self._known: dict[int, float] = {}
        self._waits: dict[int, list[Send]] = {}  # for the values of strings that are asked for: climbers
        self._passes: list[float] = []  # sorted values of climbers that have tried each flip
        self._ready: list[int] = []
        self._restarts = self._climbers = self._unseen = 0
        self._waiting: list[tuple[int, float, int]] = []  # strings of a generation, values, and levels to mix with next
        self._best: tuple[float, int] | None = None
        self._asked: tuple[NDArray[np.uint8] | None, list[int]] = None, []
        self._events, self._told, self._values = array("q"), list[int](), array("d")

    @property
    def best(self) -> NDArray[np.uint8] | None:
        """The best string told so far."""
        return None if self._best is None else self._rows([self._best[1]])[0]

    @property
    def best_value(self) -> float | None:
        """Its value."""
        return None if self._best is None else self._sign * self._best[0] + 0.0

    @property
    def _sign(self) -> int:
        return -1 if self.minimize else 1

    @cached_property
    def _linkage(self) -> Linkage:
        return Linkage(self.n, self._generator)

    # --- asking and telling -------------------------------------------------------------------------------------

    def ask(self, count: int | None = None) -> NDArray[np.uint8]:
        """Strings to evaluate next, none of which was asked for before.

        Parameters
        ----------
        count : int, optional
            How many; by default as many as cost no evaluations to speak of: one at first, more as the search goes on;
            with ``parallel`` above 1 about so many.

        Returns
        -------
        ndarray of uint8, shape (m, n)
            Read only. Fewer than ``count`` only if there are no more strings.
        """
        if count is not None:
            _require_strings(count, "count")
        asked = self._ask(count)
        rows = self._rows(asked)
        rows.flags.writeable = False
        self._asked = rows, asked
        return rows

    def tell(self, strings: ArrayLike, values: ArrayLike) -> None:
        """The values of some strings, in any order: of those asked for, or of others, from which climbers then begin.

        Parameters
        ----------
        strings : array_like of 0 and 1, shape (m, n)
        values : array_like of float, shape (m,)
            ``nan`` for a string that could not be evaluated: it counts as worse than all others.

        Raises
        ------
        ProblemError
            If the shapes do not fit, or a value is no real number.
        """
        rows, asked = self._asked
        told, numbers = asked if strings is rows else self._strings(strings), real_values(values, "values")
        if numbers.shape != (len(told),):
            raise ProblemError(f"there must be {len(told)} values, one for each string; got shape {numbers.shape}")
        self._tell(told, numbers.tolist())

    def _ask(self, count: int | None) -> list[int]:
        self._events.append(0 if count is None else count)
        to_begin = 0
        while len(self._known) + len(self._waits) < 1 << self.n:
            if to_begin == 0:
                if len(self._ready) >= (count or 1) and (count or self._climbers >= self.parallel):
                    break
                if self._waiting:
                    self._rise()
                    continue
                to_begin = 1 if self._climbers else 1 + 2 * math.isqrt(self._restarts)
            to_begin -= 1
            self._restarts += 1
            self._begin(self._climb())
        asked, self._ready = self._ready[:count], self._ready[count or len(self._ready) :]
        return asked

    def _tell(self, strings: Sequence[int], values: Sequence[float]) -> None:
        if not strings:
            return
        sign, worst = self._sign, -math.inf
        fitness = [sign * value if value == value else worst for value in values]
        self._told.extend(strings)
        self._values.extend(values)
        waiting = list(map(self._waits.pop, strings, repeat(None)))
        self._known.update(zip(strings, fitness, strict=True))
        best = max(fitness)
        if self._best is None or best > self._best[0]:
            self._best = best, strings[fitness.index(best)]
        self.evaluations = len(self._told)
        self._events.append(-len(values))
        advance = self._advance
        for string, climbers, value in zip(strings, waiting, fitness, strict=True):
            if climbers is None:
                self._starts.append(string)  # nobody waits for it: a climber will begin there
            else:
                for send in climbers:
                    advance(send, value)
        if len(self._known) > _MOST_KNOWN:
            self._known = dict(list(self._known.items())[_MOST_KNOWN // 2 :])

    def _begin(self, climber: Generator[int, float, None]) -> None:
        self._climbers += 1
        self._advance(climber.send, None)

    def _advance(self, send: Send, value: float | None) -> None:
        """Send a value to a climber, and all further ones that are known, until it needs one; at first None."""
        try:
            while True:
                string = send(value)
                value = self._known.get(string)
                if value is None:
                    if string in self._waits:
                        self._waits[string].append(send)
                    else:
                        self._waits[string] = [send]
                        self._ready.append(string)
                    return
        except StopIteration:
            self._climbers -= 1

    # --- the search ---------------------------------------------------------------------------------------------

    def _climb(self) -> Generator[int, float, None]:
        """From a new string to the lowest level: first improvement by flips of single bits, in random order.

        A string none of whose flips changed nothing is done when each has been tried, and else when none improves it:
        after an improvement the next are those not tried yet, then those that changed nothing, last those that made it
        worse. Where many change nothing, and no better string is known, the search goes on from the string that they
        have led to: a plateau is left at its edge. When each flip has been tried, the string is left if it is behind.
        """
        string = self._start()
        value = yield string
        untried = self._shuffled(self._flips)
        worse, equal_now, worse_now = list[int](), list[int](), list[int]()
        rounds, tried = 0, False
        while True:
            if not untried:
                if not tried and self._is_behind(value):
                    return
                tried = True
                if not equal_now:
                    break
                if not worse:
                    best = self._best is None or value >= self._best[0]
                    if not best or len(equal_now) < _PLATEAU * self.n or rounds == _PLATEAU_ROUNDS:
                        break
                    rounds += 1
                    untried, worse, equal_now, worse_now = self._shuffled(equal_now), worse_now, [], []
            flip = untried.pop() if untried else worse.pop()
            found = yield string ^ flip
            if found > value:
                string ^= flip
                value = found
                untried = equal_now + untried
                worse = worse_now + worse
                equal_now, worse_now = [], [flip]
                rounds = 0
            elif found == value:
                if not rounds or self._random.random() < 0.5:  # all of them would be undone by the next round
                    string ^= flip
                equal_now.append(flip)
            else:
                worse_now.append(flip)
        self._add(string, value, 0)
        self._waiting.append((string, value, 0))

    def _rise(self) -> None:
        """Mix the strings that wait with their next levels."""
        waiting, self._waiting = self._waiting, []
        for string, value, level in waiting:
            if level < len(self._levels):
                self._begin(self._mix(string, value, level))

    def _mix(self, string: int, value: float, level: int) -> Generator[int, float, None]:
        """Gene-pool optimal mixing: for each subset, from small to large, the bits of a donor if that is no loss.

        If nothing has improved the string, the bits of the best one known, until some do; if none do, it is left.
        """
        draw, before = self._random.random, value
        donors, ones, zeros = self._levels[level].strings, self._levels[level].ones, self._levels[level].zeros
        subsets = self._levels[level].subsets(self)
        for subset in subsets:
            change = (donors[int(draw() * len(donors))] ^ string) & subset
            if not change:
                if not subset & ((ones & ~string) | (string & zeros)):
                    continue  # no donor has these bits otherwise
                while not change:
                    change = (donors[int(draw() * len(donors))] ^ string) & subset
            found = yield string ^ change
            if found >= value:
                string ^= change
                value = found
        if value == before and self._best is not None and value < self._best[0]:
            for subset in subsets:
                change = (self._best[1] ^ string) & subset
                found = yield string ^ change
                if found > value:
                    string ^= change
                    value = found
                    break
            else:
                return
        if value > before:
            self._add(string, value, level + 1)
        self._waiting.append((string, value, level + 1))

    def _start(self) -> int:
        if self._starts:
            return self._starts.popleft()
        for _ in range(_DRAWS):
            string = self._random.getrandbits(self.n)
            if string not in self._known and string not in self._waits:
                return string
        while (self._unseen in self._known or self._unseen in self._waits) and self._unseen + 1 < 1 << self.n:
            self._unseen += 1
        return self._unseen

    def _add(self, string: int, value: float, level: int) -> None:
        if string in self._members or value == -math.inf:
            return
        self._members.add(string)
        if level == len(self._levels):
            self._levels.append(_Level(self.n))
        self._levels[level].add(string)

    def _is_behind(self, value: float) -> bool:
        """Whether a climber that has tried each flip is left: the more of them there were, the more likely it is.

        Where subsets teach little, most evaluations would go to climbers that come to nothing.
        """
        passes = self._passes
        below, not_above = bisect_left(passes, value), bisect_right(passes, value)
        least = min(_MOST_LEFT, len(passes) / (len(passes) + _SELECTIVE)) * len(passes)
        passes.insert(not_above, value)
        return (below + not_above) / 2 < least

    def _shuffled(self, flips: list[int]) -> list[int]:
        return [flips[place] for place in self._generator.random(len(flips)).argsort().tolist()]

    def subsets(self) -> list[NDArray[np.int64]]:
        """The bits that are mixed together: of the level with the most strings, from small subsets to large ones."""
        level = max(self._levels, key=lambda level: len(level.strings), default=None)
        return [] if level is None else [np.flatnonzero(row) for row in self._rows(level.learned)]

    def sizes(self) -> tuple[int, int, int]:
        """Strings of the pyramid, climbers so far, and levels."""
        return len(self._members), self._restarts, len(self._levels)

    def members(self, most: int) -> NDArray[np.uint8]:
        """Some strings of the highest levels, shape (m, n)."""
        found: list[int] = []
        for level in reversed(self._levels):
            found += level.strings[: most - len(found)]
        return self._rows(found)

    # --- strings and rows ---------------------------------------------------------------------------------------

    def _rows(self, strings: Sequence[int]) -> NDArray[np.uint8]:
        size = (self.n + 7) // 8
        packed = np.frombuffer(b"".join([string.to_bytes(size, "little") for string in strings]), np.uint8)
        return np.unpackbits(packed.reshape(-1, size), axis=1, bitorder="little", count=self.n)

    def _strings(self, rows: ArrayLike) -> list[int]:
        try:
            raw = np.asarray(rows)
        except ValueError as error:
            raise ProblemError(f"strings must be rows of {self.n} zeros and ones: {error}") from error
        if raw.ndim != 2 or raw.shape[1] != self.n or not ((raw == 0) | (raw == 1)).all():
            raise ProblemError(f"strings must be rows of {self.n} zeros and ones; got an array of shape {raw.shape}")
        packed = np.packbits(raw.astype(np.uint8), axis=1, bitorder="little")
        return [int.from_bytes(row.tobytes(), "little") for row in packed]

    # --- saving -------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the search to a file: what it was asked and told, from which :meth:`load` repeats it.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        whole = {
            "format": _FORMAT,
            **{name: getattr(self, name) for name in ("n", "minimize", "seed", "parallel")},
            "seeds": [f"{string:x}" for string in self._given],
            **{name: rows.tolist() for name, rows in self.log().items()},
        }
        try:
            write_whole(Path(path), json.dumps(whole).encode())
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error}") from error

    def log(self) -> dict[str, NDArray[Any]]:
        """What it was asked and told: numbers of strings asked for (0: as many as suited) and, below 0, told."""
        rows = np.packbits(self._rows(self._told), axis=1, bitorder="little")
        return {"events": np.array(self._events), "told": rows, "values": np.array(self._values)}

    def replay(self, log: Mapping[str, NDArray[Any]]) -> int:
        """Repeat what another search was asked and told; returns how many were told up to the last improvement.

        Raises
        ------
        ValueError
            If the arrays contradict each other.
        """
        told, values = [int.from_bytes(row.tobytes(), "little") for row in log["told"]], log["values"].tolist()
        if len(told) != len(values) or -log["events"][log["events"] < 0].sum() != len(told):
            raise ValueError("the numbers of its strings, values and events differ")
        improved = 0
        for event in log["events"].tolist():
            if event >= 0:
                self._ask(event or None)
            else:
                before, done = self._best, self.evaluations
                self._tell(told[done : done - event], values[done : done - event])
                improved = improved if before is self._best else self.evaluations
        self._ready = list(self._waits)
        return improved

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The search that was saved; strings that were asked for and not told yet are given by the next :meth:`ask`.

        Raises
        ------
        ProblemError
            If the file is not a saved search.
        """
        try:
            whole: dict[str, Any] = json.loads(read_utf8(path))
            if whole["format"] != _FORMAT:
                raise ValueError(f"its format is {whole['format']!r}")
            search = cls(whole["n"], minimize=whole["minimize"], seed=whole["seed"], parallel=whole["parallel"])
            search._given = [int(string, 16) for string in whole["seeds"]]
            search._starts = deque(search._given)
            types = {"events": np.int64, "told": np.uint8, "values": np.float64}
            search.replay({name: np.array(whole[name], kind) for name, kind in types.items()})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProblemError(f"{path} is not a saved search of bit strings: {error}") from error
        return search


def _require_strings(count: Any, name: str) -> None:
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise OptionError(f"{name} must be at least 1 string; got {shown(count)}")


class _Level:
    """A level of the pyramid: its strings, and the subsets of bits learned from them."""

    def __init__(self, n: int) -> None:
        self.strings: list[int] = []
        self.ones = 0
        self.zeros = 0
        self.learned: list[int] = []
        self._all = (1 << n) - 1
        self._counted = 0
        self._both = np.zeros((n, n), np.intp)

    def add(self, string: int) -> None:
        self.strings.append(string)
        self.ones |= string
        self.zeros |= self._all ^ string

    def subsets(self, search: BitSearch) -> list[int]:
        if len(self.strings) > self._counted * (1 + _GROWTH * search.n):
            rows = search._rows(self.strings[self._counted :]).astype(np.float32)
            self._both += (rows.T @ rows).astype(np.intp)
            self._counted = len(self.strings)
            self.learned = search._linkage.subsets(self._both, self._counted)
        return self.learned
