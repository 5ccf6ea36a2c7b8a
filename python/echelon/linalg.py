# SPDX-License-Identifier: BSD-3-Clause
"""Functions with the signatures of scipy.sparse.linalg.

They differ in this: a singular matrix raises `echelon.SingularMatrix`, a numpy.linalg.LinAlgError, rather than giving NaN
with a warning, and the factors L and U are not given out.

Examples
--------
>>> import numpy as np, scipy.sparse as sp
>>> from echelon.linalg import cg, spsolve
>>> A = sp.csc_matrix([[4.0, 1.0], [1.0, 3.0]])
>>> spsolve(A, np.array([5.0, 4.0]))
array([1., 1.])
>>> x, info = cg(A, np.array([5.0, 4.0]))
>>> info
0
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import common_type, dense_vectors, is_operator, is_sparse, scalar_type, type_of_matrix
from ._errors import BadOption
from ._solve import Progress, Solver, factor, solve

__all__ = ["LU", "bicgstab", "cg", "factorized", "gmres", "minres", "spilu", "splu", "spsolve"]

_ORDERINGS: dict[str | None, dict[str, Any]] = {None: {}, "COLAMD": {}, "MMD_ATA": {}, "MMD_AT_PLUS_A": {}, "NATURAL": {"ordering": "natural"}}


def _ordering(permc_spec: str | None) -> dict[str, Any]:
    if permc_spec not in _ORDERINGS:
        raise ValueError(f"permc_spec is one of {', '.join(map(str, _ORDERINGS))}, not {permc_spec!r}")
    return _ORDERINGS[permc_spec]


def _square_sparse(A: Any) -> Any:
    if not is_sparse(A):
        from scipy.sparse import csr_array
        A = csr_array(np.asarray(A))
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A is not square: {A.shape[0]} x {A.shape[1]}")
    return A


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """Solve ``A @ x = b`` by a factorisation of A.

    Parameters
    ----------
    b : array or sparse matrix
        Right-hand sides; of one column, x is a vector. x is sparse if b is a sparse matrix of several columns.
    permc_spec : str, optional
        "NATURAL" keeps the order of the columns; all others leave the ordering to the library.
    use_umfpack : bool
        Has no effect.
    """
    A = _square_sparse(A)
    rhs = dense_vectors(b)
    is_vector = rhs.ndim == 1 or rhs.shape[1] == 1
    if is_vector:
        rhs = rhs.reshape(-1)
    ordering = _ordering(permc_spec)
    x = solve(A, rhs, method="sparse-lu", **ordering) if ordering else solve(A, rhs, methods="direct")
    return type(b)(x) if is_sparse(b) and not is_vector else x


class LU:
    """Factorisation of a sparse matrix, as scipy.sparse.linalg.splu returns it.

    Attributes
    ----------
    shape : tuple of int
    nnz : int
        Elements of the factors.
    """

    def __init__(self, A: Any, method: str, **options: Any) -> None:
        self._solver = Solver(method, **options).setup(_square_sparse(A))
        self.shape = self._solver.shape
        statistics = self._solver.report.statistics
        self.nnz = int(statistics.get("factor_entries", A.nnz if is_sparse(A) else 0))

    def solve(self, rhs: NDArray[Any], trans: str = "N") -> NDArray[Any]:
        """Solve with A ("N"), its transpose ("T") or its adjoint ("H")."""
        x: NDArray[Any] = self._solver.solve(rhs, trans=trans)
        return x

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U", "perm_r", "perm_c"):
            raise AttributeError(f"the factor {name} of a factorisation by fronts is not given out; use solve()")
        raise AttributeError(f"a factorisation has no {name!r}")

    def __repr__(self) -> str:
        return f"<LU of {self.shape[0]} x {self.shape[1]} by {self._solver.describe()}>"


def splu(A: Any, permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
         panel_size: int | None = None, options: dict[str, Any] | None = None) -> LU:
    """Factor a sparse square matrix: an object with `solve`, `shape` and `nnz`, which can be pickled.

    `relax`, `panel_size` and `options` are SuperLU's own and have no effect; other values than None of
    `diag_pivot_thresh` are refused.
    """
    if diag_pivot_thresh is not None:
        raise BadOption("diag_pivot_thresh is chosen by the library", "diag_pivot_thresh")
    return LU(A, "sparse-lu", **_ordering(permc_spec))


def factorized(A: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A function that solves ``A @ x = b`` for a b, with factors of A."""
    solver = factor(_square_sparse(A))
    return lambda b: solver.solve(b)


class _IncompleteLU(LU):
    def solve(self, rhs: NDArray[Any], trans: str = "N") -> NDArray[Any]:
        if trans != "N":
            raise BadOption("an incomplete factorisation solves with A only: trans='N'", "trans")
        return self._solver.apply(rhs)


def spilu(A: Any, drop_tol: float | None = None, fill_factor: float | None = None, drop_rule: str | None = None,
          permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
          panel_size: int | None = None, options: dict[str, Any] | None = None) -> LU:
    """Incomplete factorisation without fill-in, ILU(0), as a preconditioner: an object with `solve`, `shape` and `nnz`."""
    if drop_tol is not None or fill_factor is not None or drop_rule is not None:
        warnings.warn("spilu factors without fill-in: drop_tol, fill_factor and drop_rule have no effect", UserWarning,
                      stacklevel=2)
    return _IncompleteLU(A, "ilu0")


def _scalar_callback(callback: Any, callback_type: str | None) -> Any:
    """The callback of this package for SciPy's. The iterate is not known to it, only the residual."""
    if callback is None:
        return None
    if callback_type != "pr_norm":
        raise TypeError("the iterate is not known during an iteration: only gmres with callback_type='pr_norm' calls back; "
                        "echelon.solve takes a callback that gets the residual")

    def call(progress: Progress) -> bool:
        if progress.phase == "solve":
            callback(progress.relative_residual)
        return False
    return call


def _iterate(method: str, A: Any, b: Any, x0: Any, rtol: float, atol: float, maxiter: int | None, M: Any, callback: Any,
             **options: Any) -> tuple[NDArray[Any], int]:
    """x, and 0 if it meets the tolerance, or else the number of iterations."""
    rhs = dense_vectors(b)
    if rhs.ndim == 2 and rhs.shape[1] == 1:
        rhs = rhs.reshape(-1)
    dtype = common_type(type_of_matrix(A), scalar_type(rhs.dtype, "b"))
    A = A if is_sparse(A) or is_operator(A) else np.asarray(A)
    count = 10 * A.shape[0] if maxiter is None else maxiter
    solver = Solver(method, M=M, **options)._set_up(A, dtype, "ignore", None)
    x, report = solver.solve(rhs, x0=x0, rtol=rtol, atol=atol, maxiter=count, measure_error=False, check="ignore",
                             callback=callback, return_report=True)
    return x, 0 if report.solved else max(report.iterations, 1)


def cg(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None,
       callback: Any = None) -> tuple[NDArray[Any], int]:
    """Conjugate gradients for a symmetric positive definite A: (x, info), where info is 0 if x meets the tolerance
    ``norm(b - A @ x) <= max(rtol * norm(b), atol)``, or else the number of iterations."""
    return _iterate("cg", A, b, x0, rtol, atol, maxiter, M, _scalar_callback(callback, None))


def bicgstab(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
             M: Any = None, callback: Any = None) -> tuple[NDArray[Any], int]:
    """BiCGStab for any A: (x, info) as in `cg`."""
    return _iterate("bicgstab", A, b, x0, rtol, atol, maxiter, M, _scalar_callback(callback, None))


def minres(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, shift: float = 0.0, maxiter: int | None = None,
           M: Any = None, callback: Any = None, show: bool = False, check: bool = False) -> tuple[NDArray[Any], int]:
    """MINRES for a symmetric A: (x, info) as in `cg`. `show` and `check` have no effect; a `shift` is refused."""
    if shift != 0:
        raise BadOption("minres takes no shift; pass A - shift * identity", "shift")
    return _iterate("minres", A, b, x0, rtol, 0.0, maxiter, M, _scalar_callback(callback, None))


def gmres(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: int | None = None,
          maxiter: int | None = None, M: Any = None, callback: Any = None,
          callback_type: str | None = None) -> tuple[NDArray[Any], int]:
    """GMRES for any A: (x, info) as in `cg`. `restart` is 20 by default, and `maxiter` counts cycles of that length. M
    preconditions from the right, so that residuals are those of A."""
    restart = min(20 if restart is None else restart, max(np.shape(A)[0], 1))
    iterations = None if maxiter is None else maxiter * restart
    return _iterate("gmres", A, b, x0, rtol, atol, iterations, M, _scalar_callback(callback, callback_type), restart=restart)
