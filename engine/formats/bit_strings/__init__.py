"""Text formats of problems over bit strings: NK landscapes, Ising glasses, (weighted) CNF formulas, max-cut and QUBO.

================= ======================================================================================== ==========
name              layout                                                                                   numbering
================= ======================================================================================== ==========
``cnf``           DIMACS: lines ``c ...``, ``p cnf n m``, then literals, each clause ended by 0; ``%``     1-based
                  ends it all
``wcnf``          the same with a weight before each clause: ``p wcnf n m top``, weight top for hard       1-based
                  clauses; or without a problem line, the weight of a hard clause being ``h``
``nk``            Pelikan's nearest-neighbour NK: "n k step", then on one line or more a table of 2^(k+1)  0-based
                  values every ``step`` genes (the first gene is the highest bit; a table cut off at the
                  last gene uses its first entries), the optimum, and a permutation of the genes
``goldman-nk``    Goldman's: "minimum string", "maximum string", then a table of 2^(k+1) values for each   0-based
                  gene (the first gene is the highest bit; the first genes follow the last)
``goldman-ising`` Goldman's: "energy states", the number of bonds, then "a b J"                            0-based
``server``        Spin Glass Server: ``type: pm``, ``size: 3``, ``name: x``, then "a b J"                  1-based
``ising``         Bonn's ``.sg`` and ``.gsg``: "n m", then "a b J"                                         1-based
``maxcut``        rudy, as Biq Mac, Bonn's ``.mc`` and the G-set: "n m", then "a b weight", or "a b" in    1-based
                  all lines; with a == b in it, a QUBO matrix as in ``.sparse`` files
``edges``         DIMACS graphs: ``p edge n m`` or ``p col n m``, then "e a b"; the weights are 1          1-based
``qubo``          Biq Mac's ``.sparse`` (and ``.qubo`` without ``p``): "n m", then "i j value"; an entry   1-based
                  off the diagonal stands for two. QOBLIB's ``.qs``: the same behind the comment
                  ``# ObjectiveOffset c``. Bonn's ``.bq``: each entry counts once, and both of
                  (i, j) and (j, i) may be there
``matrix``        Biq Mac's ``.mat``: n, then a symmetric matrix                                           1-based
``beasley``       OR-Library's ``bqp`` files: the number of instances; for each "n m" and entries as in    1-based
                  ``.sparse`` files; to be maximised
``qbsolv``        ``p qubo 0 n diagonals couplers``, then "i i value", and "i j value" counted once        0-based
``labs``          Quintet's own: ``labs 60``, the length of binary sequences of low autocorrelation
``boa``           Quintet's own: ``boa trap n=100 k=5`` for a built-in function; for a function in C the
                  line ``boa snippet n=20 minimize=1 optimum=26 scale=1``, all but n optional, and the
                  code below it
================= ======================================================================================== ==========

Lines before the first number may be comments: they begin with ``#``, or are ``c ...``.

References
----------
M. Pelikan, K. Sastry, D. E. Goldberg, M. V. Butz, M. Hauschild, "Performance of evolutionary algorithms on NK
landscapes with nearest neighbor interactions and tunable overlap", GECCO 2009. B. W. Goldman, W. F. Punch,
"Parameter-less population pyramid", GECCO 2014. SATLIB; MaxSAT Evaluation; Biq Mac library (A. Wiegele); OR-Library
(J. E. Beasley); MaxCut and BQP instance library, McSparse and Spin Glass Server (University of Bonn).
"""

from pathlib import Path

from ...errors import ProblemError
from ..instances import require_instance
from ..source import beginning_of, path_of, read_bytes, without_compression
from .clauses import read_cnf, read_wcnf
from .landscapes import read_boa, read_goldman_nk, read_labs, read_nk
from .lines import Lines, Parsed
from .pairs import (
    read_beasley,
    read_dimacs_graph,
    read_goldman_ising,
    read_matrix,
    read_pairs,
    read_qbsolv,
    read_server,
)
from .recognition import recognize, recognize_faulty

__all__ = ["Parsed", "read", "recognize"]

_MEMORY_PER_BYTE = 70
_READERS = {
    "cnf": read_cnf,
    "wcnf": read_wcnf,
    "nk": read_nk,
    "goldman-nk": read_goldman_nk,
    "goldman-ising": read_goldman_ising,
    "server": read_server,
    "edges": read_dimacs_graph,
    "matrix": read_matrix,
    "qbsolv": read_qbsolv,
    "labs": read_labs,
}


def read(path: str | Path, instance: int = 1) -> Parsed:
    """Read a file of any of these formats."""
    path = path_of(path, "the file")
    text = read_bytes(path, "the file", _MEMORY_PER_BYTE).decode("utf-8", errors="replace").removeprefix("\ufeff")
    plain, head = without_compression(path), beginning_of(text)
    found = recognize(plain, head) or recognize_faulty(plain, head)
    if found is None:
        raise ProblemError(
            "the file is none of: DIMACS CNF or WCNF, NK landscape, Ising glass, graph to be cut, QUBO matrix, boa",
            path,
        )
    lines = Lines(path, text)
    if found == "beasley":
        return read_beasley(lines, instance)
    require_instance(instance, 1, path)
    if found == "boa":
        return read_boa(lines, text)
    return _READERS[found](lines) if found in _READERS else read_pairs(lines, found, plain.suffix.lower())
