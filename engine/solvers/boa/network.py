"""The learned network as edges between genes, and individuals as rows of genes, for display and export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.result import Result, missing_package


@dataclass(frozen=True)
class Network:
    """A network by rank: parents (n, k), their numbers (n,), and counts (n, 2^(k+1)), as the kernels keep them."""

    parents: NDArray[np.int32]
    parent_count: NDArray[np.int32]
    totals: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[Network], nodes: Sequence[slice]) -> Network:
        """The network of which each part has some nodes, in order."""
        own = list(zip(parts, nodes, strict=True))
        return cls(*(np.concatenate([getattr(part, f.name)[share] for part, share in own]) for f in fields(cls)))


def individuals(planes: NDArray[np.uint32], count: int) -> NDArray[np.uint8]:
    """Rows of genes, shape (count, n), from bit planes (n, words): bit b of word w belongs to individual 32 w + b."""
    bits = np.unpackbits(planes.astype("<u4", copy=False).view(np.uint8), axis=1, bitorder="little")
    return np.ascontiguousarray(bits[:, :count].T)


def bit_planes(bits: NDArray[np.uint8], words: int) -> NDArray[np.uint32]:
    """The inverse of :func:`individuals`: planes of shape (n, words) from rows of genes, shape (count, n)."""
    padded = np.zeros((bits.shape[1], 32 * words), np.uint8)
    padded[:, : len(bits)] = bits.T
    return np.packbits(padded, axis=1, bitorder="little").view("<u4").astype(np.uint32)


def edge_list(
    order: NDArray[np.int32], parents: NDArray[np.int32], parent_count: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Edges by gene, rows (from, to) in sampling order, from parents by rank."""
    used = np.arange(parents.shape[1]) < parent_count[:, None]
    to = np.repeat(order, parent_count)
    return np.stack([order[parents[used]], to], axis=1).astype(np.int32)


def population_image(values: ArrayLike, n: int) -> NDArray[np.uint8]:
    """The individuals of a trace ``"population"``.

    Parameters
    ----------
    values : array_like, shape (n * words,)
        What the trace holds: 32-bit words, gene by gene.
    n : int
        Genes.

    Returns
    -------
    ndarray of uint8, shape (32 * words, n)
        A row an individual; populations of other sizes than a multiple of 32 end with rows of zeros.

    Examples
    --------
    >>> import engine
    >>> image = engine.population_image([0b101, 0b011], n=2)  # one word a gene: 32 individuals of 2 genes
    >>> image.shape
    (32, 2)
    >>> image[:3]
    array([[1, 1],
           [0, 1],
           [1, 0]], dtype=uint8)
    """
    planes = np.asarray(values, np.float64).astype(np.uint32).reshape(n, -1)
    return individuals(planes, 32 * planes.shape[1])


def network_dot(result: Result) -> str:
    """The final network of a run in the DOT language of Graphviz.

    Raises
    ------
    KeyError
        If the result is of another solver.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.BOA("trap-5", 20), population=400, local_search="none")
    >>> engine.network_dot(result).splitlines()[0]
    'digraph boa {'
    """
    lines = [f"  {source} -> {target};" for source, target in result.arrays["edges"].tolist()]
    return "\n".join(["digraph boa {", *(f"  {gene};" for gene in result.arrays["order"].tolist()), *lines, "}", ""])


def network_graph(result: Result) -> Any:
    """The final network of a run as a ``networkx.DiGraph``; networkx must be installed.

    Raises
    ------
    ModuleNotFoundError
        If it is not.
    KeyError
        If the result is of another solver.

    Examples
    --------
    >>> import engine
    >>> result = engine.solve(engine.BOA("trap-5", 20), population=400, local_search="none")
    >>> engine.network_graph(result).number_of_nodes()
    20
    """
    try:
        import networkx  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError as error:
        raise missing_package("network_graph", "networkx", "pip install networkx") from error

    graph = networkx.DiGraph()
    graph.add_nodes_from(result.arrays["order"].tolist())
    graph.add_edges_from(result.arrays["edges"].tolist())
    return graph
