# SPDX-License-Identifier: BSD-3-Clause
"""Functions with the signatures of scipy.sparse.linalg.

They differ in this: a singular matrix raises `echelon.SingularMatrix`, a numpy.linalg.LinAlgError, rather than giving NaN
with a warning; gmres preconditions from the right, so that its residuals are those of A; and spilu factors without fill-in.
Matrices and right-hand sides may be complex; complex64 is computed in complex128.

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
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import (common_type, dense_array, is_operator, is_sparse, preconditioner_function, scalar_type,
                      type_of_matrix)
from ._errors import BadOption
from ._solve import Factors, Progress, Solver, factor, solve

__all__ = ["LU", "bicgstab", "cg", "factorized", "gmres", "lsmr", "lsqr", "minres", "spilu", "splu", "spsolve"]

_ORDERINGS: dict[str | None, dict[str, Any]] = {None: {}, "COLAMD": {}, "MMD_ATA": {}, "MMD_AT_PLUS_A": {}, "NATURAL": {"ordering": "natural"}}


def _ordering(permc_spec: str | None) -> dict[str, Any]:
    if permc_spec not in _ORDERINGS:
        raise ValueError(f"permc_spec is one of {', '.join(map(str, _ORDERINGS))}, not {permc_spec!r}")
    return _ORDERINGS[permc_spec]


def _widened(a: Any) -> Any:
    """The same in complex128 for complex64, which the library has no numbers for."""
    if getattr(a, "dtype", None) != np.complex64:
        return a
    if not is_operator(a):
        return a.astype(np.complex128)
    from scipy.sparse.linalg import LinearOperator
    return LinearOperator(a.shape, a.matvec, rmatvec=getattr(a, "rmatvec", None), dtype=np.complex128)


def _square_sparse(A: Any) -> Any:
    A = _widened(A)
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
    rhs = _widened(dense_array(b, "b"))
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
    L, U : csc_array
        Triangles with ``L @ U == (Pr @ A) @ Pc`` up to rounding errors, where the permutations are those of `perm_r` and
        `perm_c`. They are formed when they are asked for.
    perm_r, perm_c : array of int
        Row i of A is row ``perm_r[i]`` of L, and column j of A is column ``perm_c[j]`` of U.
    """

    def __init__(self, A: Any, method: str, **options: Any) -> None:
        self._solver = Solver(method, **options).setup(_square_sparse(A))
        self.shape = self._solver.shape
        statistics = self._solver.report.statistics
        self.nnz = int(statistics.get("factor_entries", A.nnz if is_sparse(A) else 0))

    def solve(self, rhs: NDArray[Any], trans: str = "N") -> NDArray[Any]:
        """Solve with A ("N"), its transpose ("T") or its adjoint ("H")."""
        x: NDArray[Any] = self._solver.solve(_widened(rhs), trans=trans)
        return x

    @cached_property
    def _factors(self) -> Factors:
        return self._solver.factors()

    @cached_property
    def _triangles(self) -> tuple[Any, Any]:
        """L and U of A, out of those of A with scaled rows and columns."""
        from scipy.sparse import csc_array, diags
        from scipy.sparse.linalg import spsolve_triangular
        f = self._factors
        L, U = csc_array(f.L), csc_array(f.U)
        if f.coupling.nnz > 0:  # the rows of U between the diagonal blocks
            U = U + csc_array(spsolve_triangular(L.tocsr(), f.coupling.toarray()))
        row_scales = f.row_scales[f.row_permutation]
        pivots = L.diagonal()
        L = diags(1 / row_scales) @ (L @ diags(1 / pivots)) @ diags(row_scales)
        L.setdiag(1)
        U = diags(pivots / row_scales) @ U @ diags(2.0 ** -f.exponent / f.column_scales[f.column_permutation])
        return csc_array(L, dtype=f.L.dtype), csc_array(U, dtype=f.L.dtype)

    @property
    def L(self) -> Any:
        return self._triangles[0]

    @property
    def U(self) -> Any:
        return self._triangles[1]

    @cached_property
    def perm_r(self) -> NDArray[np.int32]:
        return np.argsort(self._factors.row_permutation).astype(np.int32)

    @cached_property
    def perm_c(self) -> NDArray[np.int32]:
        return np.argsort(self._factors.column_permutation).astype(np.int32)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self._solver, self.shape, self.nnz)

    def __repr__(self) -> str:
        return f"<LU of {self.shape[0]} x {self.shape[1]} by {self._solver.describe()}>"


def _unpickled(kind: type[LU], solver: Solver, shape: tuple[int, int], nnz: int) -> LU:
    lu = kind.__new__(kind)
    lu._solver, lu.shape, lu.nnz = solver, shape, nnz
    return lu


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
    return lambda b: solver.solve(_widened(b))


class _IncompleteLU(LU):
    def solve(self, rhs: NDArray[Any], trans: str = "N") -> NDArray[Any]:
        if trans != "N":
            raise BadOption("an incomplete factorisation solves with A only: trans='N'", "trans")
        return self._solver.apply(_widened(rhs))

    @property
    def _triangles(self) -> tuple[Any, Any]:
        raise AttributeError("the triangles of an incomplete factorisation are not given out")

    @property
    def perm_c(self) -> NDArray[np.int32]:
        return np.arange(self.shape[0], dtype=np.int32)

    perm_r = perm_c


def spilu(A: Any, drop_tol: float | None = None, fill_factor: float | None = None, drop_rule: str | None = None,
          permc_spec: str | None = None, diag_pivot_thresh: float | None = None, relax: int | None = None,
          panel_size: int | None = None, options: dict[str, Any] | None = None) -> LU:
    """Incomplete factorisation without fill-in, ILU(0), as a preconditioner: an object with `solve`, `shape` and `nnz`."""
    if drop_tol is not None or fill_factor is not None or drop_rule is not None:
        warnings.warn("spilu factors without fill-in: drop_tol, fill_factor and drop_rule have no effect", UserWarning,
                      stacklevel=2)
    return _IncompleteLU(A, "ilu0")


class _Callback:
    """SciPy's callback of a solve: `function` gets the iterate or the residual after each `interval`-th iteration."""

    def __init__(self, function: Callable[[Any], Any], wants_iterate: bool, interval: int = 1) -> None:
        self._function = function
        self._wants_iterate = wants_iterate
        self._interval = interval
        self._last = 0

    def __call__(self, progress: Progress) -> bool:
        if progress.phase == "solve" and progress.iteration > self._last and progress.iteration % self._interval == 0:
            self._last = progress.iteration
            self._function(progress.iterate() if self._wants_iterate else np.float64(progress.relative_residual))
        return False

    def finish(self, x: NDArray[Any], iterations: int) -> None:
        """The call for the x of a last interval that is not complete."""
        if self._wants_iterate and iterations > self._last:
            self._function(x)


def _first_guess(x0: Any, M: Any, rhs: NDArray[Any]) -> Any:
    """The guess of SciPy's `x0`, where "Mb" stands for M b."""
    if not isinstance(x0, str):
        return x0
    if x0 != "Mb":
        raise ValueError(f"x0 is a vector, None or 'Mb', not {x0!r}")
    return rhs.copy() if M is None else preconditioner_function(M, rhs.dtype, rhs.shape[0])(rhs)


def _absolute_tolerance(atol: Any) -> float:
    if isinstance(atol, str) or atol is None or not atol >= 0:
        raise ValueError(f"atol is a number of at least 0, not {atol!r}")
    return float(atol)


def _iterate(method: str, A: Any, b: Any, x0: Any, rtol: float, atol: Any, maxiter: int | None, M: Any,
             callback: _Callback | None, **options: Any) -> tuple[NDArray[Any], int]:
    """x, and 0 if it meets the tolerance, or else the number of iterations."""
    atol = _absolute_tolerance(atol)
    rhs = _widened(dense_array(b, "b"))
    if rhs.ndim == 2 and rhs.shape[1] == 1:
        rhs = rhs.reshape(-1)
    if M is None and hasattr(A, "psolve"):  # SciPy takes it as the preconditioner
        M = A.psolve
    A, x0 = _widened(A), _widened(x0)
    dtype = common_type(type_of_matrix(A, complex_too=True), scalar_type(rhs.dtype, "b", complex_too=True))
    guess = _first_guess(x0, M, rhs.astype(dtype, copy=False))
    A = A if is_sparse(A) or is_operator(A) else np.asarray(A)
    if np.isinf(max(rtol, atol)):  # any x will do
        return np.zeros(A.shape[1], dtype) if guess is None else np.array(guess, dtype).reshape(-1), 0
    count = 10 * A.shape[0] if maxiter is None else maxiter
    solver = Solver(method, M=M, **options)._set_up(A, dtype, "ignore", None)
    x, report = solver.solve(rhs, x0=guess, rtol=min(rtol, 1.0), atol=atol, maxiter=count, measure_error=False, check="ignore",
                             callback=callback, return_report=True)
    if callback is not None:
        callback.finish(x, report.iterations)
    return x, 0 if report.solved else max(report.iterations, 1)


def _each_iterate(callback: Callable[[Any], Any] | None) -> _Callback | None:
    return None if callback is None else _Callback(callback, wants_iterate=True)


def cg(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None,
       callback: Any = None) -> tuple[NDArray[Any], int]:
    """Conjugate gradients for a symmetric (Hermitian) positive definite A: (x, info), where info is 0 if x meets the tolerance
    ``norm(b - A @ x) <= max(rtol * norm(b), atol)``, or else the number of iterations. `callback` is called with x after
    each iteration."""
    return _iterate("cg", A, b, x0, rtol, atol, maxiter, M, _each_iterate(callback))


def bicgstab(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
             M: Any = None, callback: Any = None) -> tuple[NDArray[Any], int]:
    """BiCGStab for any A: (x, info) as in `cg`."""
    return _iterate("bicgstab", A, b, x0, rtol, atol, maxiter, M, _each_iterate(callback))


def _shifted(A: Any, shift: float) -> Any:
    """A - shift I."""
    if is_operator(A):
        from scipy.sparse.linalg import LinearOperator
        return LinearOperator(A.shape, lambda x: A.matvec(x) - shift * x, dtype=type_of_matrix(A, complex_too=True))
    if is_sparse(A):
        from scipy.sparse import eye
        return (A - shift * eye(A.shape[0], dtype=A.dtype)).tocsr()
    return np.asarray(A) - shift * np.eye(np.shape(A)[0])


def _check_symmetry(A: Any) -> None:
    """ValueError unless two products show A to be symmetric (Hermitian) up to rounding errors."""
    product = A.matvec if is_operator(A) else lambda x: A @ x
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((2, A.shape[0]))
    dtype = type_of_matrix(A, complex_too=True)
    is_complex = np.issubdtype(dtype, np.complexfloating)
    if is_complex:
        x, y = x + 1j * generator.standard_normal(x.shape), y + 1j * generator.standard_normal(y.shape)
    Ax, Ay = product(x), product(y)
    tolerance = np.finfo(dtype).eps ** (1 / 3) * np.linalg.norm(Ax) * np.linalg.norm(y)
    if abs(np.vdot(y, Ax) - np.vdot(Ay, x)) > tolerance:
        raise ValueError(f"A is not {'Hermitian' if is_complex else 'symmetric'}")


def minres(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, shift: float = 0.0, maxiter: int | None = None,
           M: Any = None, callback: Any = None, show: bool = False, check: bool = False) -> tuple[NDArray[Any], int]:
    """MINRES for a symmetric (Hermitian) A, or for ``A - shift * I``: (x, info) as in `cg`. With `check`, an A that is not
    symmetric raises ValueError. `show` has no effect."""
    A = A if is_sparse(A) or is_operator(A) else np.asarray(A)
    if check:
        _check_symmetry(A)
    return _iterate("minres", A if shift == 0 else _shifted(A, shift), b, x0, rtol, 0.0, maxiter, M, _each_iterate(callback))


def gmres(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: int | None = None,
          maxiter: int | None = None, M: Any = None, callback: Any = None,
          callback_type: str | None = None) -> tuple[NDArray[Any], int]:
    """GMRES for any A: (x, info) as in `cg`. `restart` is 20 by default, and `maxiter` counts cycles of that length, as
    does info. M preconditions from the right, so that residuals are those of A.

    Parameters
    ----------
    callback_type : {"x", "pr_norm", "legacy"}
        `callback` gets x after each cycle, or the relative residual after each iteration. With "legacy", the default, it
        gets the relative residual as well, and `maxiter` counts iterations.
    """
    if callback is not None and callback_type is None:
        warnings.warn("gmres was called without specifying `callback_type`: by default, 'legacy', maxiter counts iterations, by "
                      "'pr_norm' and 'x' cycles", DeprecationWarning, stacklevel=2)
        callback_type = "legacy"
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"callback_type is 'x', 'pr_norm' or 'legacy', not {callback_type!r}")
    n = np.shape(A)[0]
    restart = min(20 if restart is None else restart, max(n, 1))
    unit = 1 if callback_type == "legacy" else restart
    adapted = None
    if callback is not None:
        adapted = _Callback(callback, callback_type == "x", restart if callback_type == "x" else 1)
    x, info = _iterate("gmres", A, b, x0, rtol, atol, None if maxiter is None else maxiter * unit, M, adapted, restart=restart)
    return x, -(-info // unit)


def _norm_of_matrix(A: Any) -> float:
    """The Frobenius norm of a matrix; of an operator, an estimate by random vectors."""
    if is_operator(A):
        vectors = np.random.default_rng(0).standard_normal((4, A.shape[1]))
        return float(np.sqrt(np.mean([np.linalg.norm(A.matvec(v))**2 for v in vectors])))
    return float(np.linalg.norm(A.data if is_sparse(A) else A))


def _times_adjoint(A: Any, r: NDArray[Any]) -> NDArray[Any]:
    product: NDArray[Any] = A.rmatvec(r) if is_operator(A) else A.conj().T @ r
    return product


def _least_squares(method: str, A: Any, b: Any, damp: float, atol: float, btol: float, count: int,
                   x0: Any) -> tuple[NDArray[Any], int, int, NDArray[Any], NDArray[Any], Any]:
    """x, SciPy's istop, the number of iterations, b - A x, A^H (b - A x) - damp^2 (x - x0), and the report."""
    rhs = _widened(dense_array(b, "b")).reshape(-1)
    dtype = common_type(type_of_matrix(A, complex_too=True), scalar_type(rhs.dtype, "b", complex_too=True))
    dtype = dtype if x0 is None else common_type(dtype, scalar_type(np.result_type(x0), "x0", complex_too=True))
    rhs = rhs.astype(dtype, copy=False)
    guess = None if x0 is None else np.array(x0, dtype).reshape(-1)
    product = A.matvec if is_operator(A) else lambda v: A @ v
    right = rhs if guess is None else rhs - product(guess)
    rtol = min(max(min(atol, btol), float(np.finfo(dtype).eps)), 1.0)
    solver = Solver(method, damping=float(damp), scale_columns=False)._set_up(A, dtype, "ignore", None)
    x, report = solver.solve(right, rtol=rtol, maxiter=count, least_squares=True, measure_error=False, check="ignore",
                             return_report=True)
    residual = right - product(x)
    normal = _times_adjoint(A, residual) - damp**2 * x
    if report.solved:
        istop = 2 if str(report.status) == "least_squares" else 1
    else:
        istop = 7
    if not np.any(x):
        istop = 0
    return x if guess is None else guess + x, istop, report.iterations, residual, normal, report


def _as_least_squares_matrix(A: Any) -> Any:
    if not is_operator(A):
        A = A.tocsr() if is_sparse(A) else np.atleast_2d(np.asarray(A))
    return _widened(A)


def lsqr(A: Any, b: Any, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
         iter_lim: int | None = None, show: bool = False, calc_var: bool = False, x0: Any = None) -> tuple[Any, ...]:
    """LSQR: least squares for an A of any shape, and the solution of least norm of an underdetermined system.

    Minimises ``norm(b - A @ x)**2 + damp**2 * norm(x - x0)**2``, until ``norm(r) <= tol * norm(b)`` or
    ``norm(A.conj().T @ r) <= tol * norm(r)`` times the norm of A's columns, for tol = min(atol, btol). `conlim` and `show` have no
    effect.

    Returns
    -------
    x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var
        As of SciPy: istop is 0 for x = 0, 1 if x satisfies the equations, 2 if x has the least residual, 7 at the limit of
        iterations. anorm is the Frobenius norm, and acond an estimate from below, NaN without one.
    """
    if calc_var:
        raise BadOption("the variances of x are not computed", "calc_var")
    A = _as_least_squares_matrix(A)
    count = 2 * A.shape[1] if iter_lim is None else iter_lim
    x, istop, iterations, r, normal, report = _least_squares("lsqr", A, b, damp, atol, btol, count, x0)
    r1norm = float(np.linalg.norm(r))
    step = x if x0 is None else x - np.asarray(x0).reshape(-1)
    r2norm = float(np.sqrt(r1norm**2 + (damp * np.linalg.norm(step))**2))
    condition = report.preconditioned_condition
    return (x, istop, iterations, r1norm, r2norm, _norm_of_matrix(A), np.nan if condition is None else condition,
            float(np.linalg.norm(normal)), float(np.linalg.norm(x)), np.zeros(A.shape[1]))


def lsmr(A: Any, b: Any, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
         maxiter: int | None = None, show: bool = False, x0: Any = None) -> tuple[Any, ...]:
    """LSMR: as `lsqr`, with a ``norm(A.conj().T @ r)`` that falls in every iteration.

    Returns
    -------
    x, istop, itn, normr, normar, norma, conda, normx
        As of SciPy; see `lsqr`.
    """
    A = _as_least_squares_matrix(A)
    count = min(A.shape) if maxiter is None else maxiter
    x, istop, iterations, r, normal, report = _least_squares("lsmr", A, b, damp, atol, btol, count, x0)
    step = x if x0 is None else x - np.asarray(x0).reshape(-1)
    normr = float(np.sqrt(np.linalg.norm(r)**2 + (damp * np.linalg.norm(step))**2))
    condition = report.preconditioned_condition
    return (x, istop, iterations, normr, float(np.linalg.norm(normal)), _norm_of_matrix(A),
            np.nan if condition is None else condition, float(np.linalg.norm(x)))
