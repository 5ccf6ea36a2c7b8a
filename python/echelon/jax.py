# SPDX-License-Identifier: BSD-3-Clause
"""Solutions of linear systems that JAX transforms: `jit`, `grad`, `jvp`, `vjp` and `vmap`.

The solve is a callback on the host. Derivatives cost a solve with A or with its transpose, by the same factorisation."""
from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._packages import SparseArrays, sparse_arrays
from ._solve import Solver

__all__ = ["solve"]


class _KeptSolver:
    """The solver of one call of `solve`, set up for the matrix that its callbacks had last."""

    def __init__(self, method: str, options: dict[str, Any], layout: str, shape: tuple[int, ...]) -> None:
        self._method, self._options, self._layout, self._shape = method, options, layout, shape
        self._lock = threading.Lock()
        self._values: Any = None
        self._pattern: tuple[Any, ...] = ()
        self._solver: Solver | None = None

    def __call__(self, trans: str, b: Any, *arrays: Any) -> Any:
        b = np.asarray(b)
        with self._lock:
            solver = self._for(*(np.asarray(array) for array in arrays))
            return np.asarray(solver.solve(b, trans=trans), b.dtype)

    def _for(self, values: Any, *pattern: Any) -> Solver:
        if self._solver is None or not all(map(np.array_equal, self._pattern, pattern)):
            self._solver = Solver(self._method, **self._options).setup(self._matrix(values, *pattern))
            self._pattern = tuple(np.array(indices) for indices in pattern)
        elif not np.array_equal(self._values, values):
            self._solver.update(self._matrix(values, *pattern))
        else:
            return self._solver
        self._values = np.array(values)
        return self._solver

    def _matrix(self, values: Any, *pattern: Any) -> Any:
        if self._layout == "dense":
            return values
        first, second = pattern
        return SparseArrays(self._layout, self._shape, first, second, values)


def solve(A: Any, b: Any, *, method: str = "auto", symmetric: bool = False, **options: Any) -> Any:
    """Solve ``A @ x = b``, with derivatives of x with respect to b and to the elements of A.

    Parameters
    ----------
    A : array, or sparse matrix of jax.experimental.sparse
        A dense array, or BCSR, BCOO, CSR, CSC or COO. Its derivatives have its pattern.
    b : array of shape (n,) or (n, k)
        Right-hand sides, of A's type.
    symmetric : bool
        A is symmetric: nothing is solved with its transpose.
    method, options
        As in `echelon.Solver`. "auto" takes a direct method, which derivatives of full accuracy need.

    Returns
    -------
    x : array
        Of b's shape.

    Raises
    ------
    SolveError
        The system is not solved. JAX wraps exceptions of callbacks in its own.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, echelon.jax
    >>> A, b = jnp.array([[4.0, 1.0], [2.0, 3.0]]), jnp.array([5.0, 5.0])
    >>> jax.grad(lambda b: echelon.jax.solve(A, b).sum())(b).round(3)
    Array([0.1, 0.3], dtype=float32)
    """
    if method == "auto":
        options.setdefault("methods", "direct")
    b = jnp.asarray(b)
    sparse = sparse_arrays(A)
    if sparse is None:
        A = jnp.asarray(A)
        sparse = SparseArrays("dense", A.shape, None, None, A)
    values = jnp.asarray(sparse.values)
    if b.dtype != values.dtype or b.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"A has elements of type {values.dtype} and b of {b.dtype}: both should be float32, or both float64")
    if b.ndim not in (1, 2) or len(sparse.shape) != 2 or b.shape[0] != sparse.shape[0]:
        raise ValueError(f"b has the shape {b.shape} and A {tuple(sparse.shape)}: b should be a vector or a matrix of "
                         f"{sparse.shape[0]} rows")
    pattern = () if sparse.format == "dense" else (jnp.asarray(sparse.offsets_or_rows), jnp.asarray(sparse.indices))
    kept = _KeptSolver(method, options, sparse.format, tuple(sparse.shape))

    def solved(trans: str, right_hand_side: Any) -> Any:
        shape = jax.ShapeDtypeStruct(right_hand_side.shape, right_hand_side.dtype)
        return jax.pure_callback(lambda *arrays: kept(trans, *arrays), shape, right_hand_side, values, *pattern,
                                 vmap_method="sequential")

    return jax.lax.custom_linear_solve(lambda x: _product(sparse.format, values, pattern, x), b,
                                       lambda _, c: solved("N", c),
                                       (lambda _, c: solved("N", c)) if symmetric else (lambda _, c: solved("T", c)),
                                       symmetric=symmetric)


def _product(layout: str, values: Any, pattern: tuple[Any, ...], x: Any) -> Any:
    """``A @ x`` as a function that JAX differentiates."""
    if layout == "dense":
        return values @ x
    first, second = pattern
    if layout != "coo":
        first = jnp.repeat(jnp.arange(len(first) - 1), jnp.diff(first), total_repeat_length=len(second))
    rows, columns = (second, first) if layout == "csc" else (first, second)
    terms = (values if x.ndim == 1 else values[:, None]) * x[columns]
    return jnp.zeros_like(x).at[rows].add(terms)
