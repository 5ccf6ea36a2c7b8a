# SPDX-License-Identifier: BSD-3-Clause
"""Graphs by their Laplacians, in float64. Adjacency matrices and Laplacians are sparse matrices of SciPy.

Examples
--------
>>> import echelon.graph as eg, scipy.sparse as sp
>>> triangle = sp.csr_array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
>>> L = eg.laplacian(triangle)
>>> eg.resistances(L, [(0, 1)]).round(12)
array([0.66666667])
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import FLOAT64, as_matrix, as_vectors, is_sparse, scipy_csr
from ._errors import Error, check_outcome
from ._report import Report

__all__ = ["Components", "EdgeResistances", "Eigenpairs", "adjacency", "components", "edge_resistances", "fiedler",
           "laplacian", "potentials", "resistances", "steady_state"]


def _matrix(A: Any) -> Any:
    if not is_sparse(A):
        from scipy.sparse import csr_array
        A = csr_array(np.asarray(A))
    return as_matrix(A, FLOAT64)


class Components(NamedTuple):
    """Connected components, numbered by their smallest vertices."""

    number: int
    of_vertex: NDArray[np.int32]
    sizes: NDArray[np.int64]


class EdgeResistances(NamedTuple):
    """Effective resistance of each edge (first, second), and how they were computed."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    weight: NDArray[np.float64]
    resistance: NDArray[np.float64]
    report: Report


class Eigenpairs(NamedTuple):
    """Smallest eigenvalues other than zero, their vectors as columns, and the norms of their residuals."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    residuals: NDArray[np.float64]


def laplacian(adjacency: Any, *, symmetrise: bool = False, negative_weights: bool = False) -> Any:
    """Laplacian D - A of an adjacency matrix.

    Parameters
    ----------
    symmetrise : bool
        Use (A + A.T) / 2; otherwise an unsymmetric A is refused.
    negative_weights : bool
        Accept negative weights.
    """
    return scipy_csr(_core.graph.laplacian(_matrix(adjacency), symmetrise, negative_weights))


def adjacency(matrix: Any) -> Any:
    """Adjacency matrix of a matrix's graph: magnitudes of the elements off the diagonal."""
    return scipy_csr(_core.graph.adjacency(_matrix(matrix)))


def components(A: Any) -> Components:
    """Connected components of the graph of a symmetric matrix.

    Examples
    --------
    >>> import echelon.graph, scipy.sparse as sp
    >>> echelon.graph.components(sp.eye(3)).number
    3
    """
    return Components(*_core.graph.components(_matrix(A)))


def resistances(laplacian: Any, pairs: Iterable[tuple[int, int]], *, method: str = "", rtol: float = 1e-10) -> NDArray[np.float64]:
    """Effective resistances between pairs of vertices; infinite between components."""
    values, core = _core.graph.resistances(_matrix(laplacian), [(int(i), int(j)) for i, j in pairs], method, rtol)
    report = Report(core)
    check_outcome(report, report.solved or report.ready, values, "raise")
    result: NDArray[np.float64] = values
    return result


def edge_resistances(laplacian: Any, *, error: float = 0.0, seed: int = 1, method: str = "",
                     rtol: float = 1e-10) -> EdgeResistances:
    """Effective resistances of all edges: exact, or estimates of a relative standard error."""
    *columns, core = _core.graph.edge_resistances(_matrix(laplacian), error, seed, method, rtol)
    report = Report(core)
    check_outcome(report, report.solved or report.ready, columns[3], "raise")
    return EdgeResistances(*(*columns, report))


def potentials(laplacian: Any, currents: Any, *, method: str = "", rtol: float = 1e-10, strict: bool = False) -> NDArray[np.float64]:
    """Potentials x with ``L @ x = currents``, of mean zero on each component.

    Parameters
    ----------
    strict : bool
        Raise `SingularMatrix` for currents that do not sum to zero on a component; otherwise their mean is removed.
    """
    matrix = _matrix(laplacian)
    rhs = as_vectors(np.asarray(currents), matrix.rows, FLOAT64, "currents")
    x, core = _core.graph.potentials(matrix, rhs, method, rtol, strict)
    report = Report(core)
    result: NDArray[np.float64] = x.reshape(rhs.shape, order="F")
    check_outcome(report, report.solved, result, "raise")
    return result


def fiedler(laplacian: Any, count: int = 1, *, tolerance: float = 1e-8, maxiter: int = 500, seed: int = 1) -> Eigenpairs:
    """Smallest eigenvalues of L other than the zero of each component, and their vectors, by LOBPCG.

    Raises
    ------
    Error
        The iteration has not converged.
    """
    values, vectors, residuals, status, message = _core.graph.fiedler(_matrix(laplacian), count, tolerance, maxiter, seed)
    if status != "converged":
        raise Error(f"the eigenvectors have not converged: {status}" + (f": {message}" if message else ""))
    return Eigenpairs(values, vectors, residuals)


def steady_state(A: Any, *, method: str = "auto") -> NDArray[np.float64]:
    """Steady state of a Markov chain: x >= 0 with the sum 1 and ``x @ A = 0`` or ``x @ A = x``.

    Each component is accurate to its own size, by elimination without subtractions; chains whose elimination would take more
    than a few seconds are iterated on, with a residual of at most 1e-12 of the largest flow.

    Parameters
    ----------
    A : matrix of shape (n, n)
        Transition rates, whose rows have the sum 0, or transition probabilities, whose rows have the sum 1, from the state of
        the row to that of the column; or an M-matrix with row sums of 0.
    method : {"auto", "gth", "iteration"}
        Elimination, iteration, or the choice between them.

    Raises
    ------
    InvalidMatrix
        A row is none of these.
    Error
        The steady state is not unique: several sets of states are never left; or the iteration has not converged.

    Examples
    --------
    >>> import echelon.graph
    >>> echelon.graph.steady_state([[0.5, 0.5], [0.25, 0.75]])
    array([0.33333333, 0.66666667])
    """
    x, closed_classes, _, converged, residual, _ = _core.graph.steady_state(_matrix(A), method)
    if closed_classes > 1:
        raise Error(f"the steady state is not unique: the chain has {closed_classes} closed classes of states")
    if not converged:
        raise Error(f"the iteration has not converged: the flows of a state differ by {residual:.3g} of the largest flow")
    steady: NDArray[np.float64] = x
    return steady
