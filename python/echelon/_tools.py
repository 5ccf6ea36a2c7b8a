# SPDX-License-Identifier: BSD-3-Clause
"""Properties, files, generated matrices, echelon forms, Schur complements and proofs: what the command-line tool does."""
from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _core
from ._arrays import (COMPLEX128, FLOAT64, Symmetric, as_matrix, as_vectors, common_type, copied, core_of, dense_array, python_matrix, result_like,
                      scalar_type, type_of_matrix)
from ._errors import Error, check_outcome, valid_check
from ._packages import element_type
from ._report import Certificate, Report, certificate_of
from ._solve import Solver, flat_options, method_name


class OptionInfo(NamedTuple):
    """An option: its name, type, default and allowed values as text, and a line of help."""

    name: str
    type: str
    default: str
    allowed: str
    help: str


def _options_table(rows: list[Any]) -> dict[str, OptionInfo]:
    return {row[0]: OptionInfo(*row) for row in rows}


class Method(NamedTuple):
    """A method: what it is for, what it needs of A, and its options."""

    name: str
    summary: str
    kind: str
    needs: str
    devices: list[str]
    takes_operators: bool
    usable_as_preconditioner: bool
    takes_near_null_space: bool
    options: dict[str, OptionInfo]


class Generator(NamedTuple):
    """A family of matrices for `generate`."""

    name: str
    family: str
    summary: str
    options: dict[str, OptionInfo]


def methods() -> dict[str, Method]:
    """All methods by name.

    Examples
    --------
    >>> import echelon
    >>> echelon.methods()["cg"].needs
    'symmetric_positive_definite'
    >>> sorted(echelon.methods()["ilu0"].options)
    []
    """
    return {row[0]: Method(*(*row[:-1], _options_table(row[-1]))) for row in _core.methods()}


def generators() -> dict[str, Generator]:
    """All families of matrices that `generate` makes, by name."""
    return {row[0]: Generator(*(*row[:-1], _options_table(row[-1]))) for row in _core.generators()}


class MatrixInfo(NamedTuple):
    """Properties of a matrix; all except `nonzeros` and `explicit_zeros` are those of the elements that are not zero.

    `asymmetry` is ``max |a_ij - a_ji|`` over ``max |a_ij|``; `definiteness` says what the diagonal and Gershgorin's circles show;
    `structural_rank` is an upper bound of the rank.
    """

    rows: int
    columns: int
    nonzeros: int
    explicit_zeros: int
    symmetric_pattern: bool
    symmetric_values: bool
    hermitian_values: bool
    asymmetry: float
    lower_bandwidth: int
    upper_bandwidth: int
    longest_row: int
    shortest_row: int
    empty_rows: int
    empty_columns: int
    zero_diagonals: int
    positive_diagonals: int
    strictly_dominant_rows: int
    weakly_dominant_rows: int
    largest_magnitude: float
    smallest_magnitude: float
    definiteness: str
    nonfinite_row: int | None
    nonfinite_column: int | None
    structural_rank: int | None

    def __str__(self) -> str:
        return "\n".join(f"{name.replace('_', ' '):24}{value}" for name, value in self._asdict().items())


def info(A: Any, *, structural_rank: bool = True) -> MatrixInfo:
    """Structure and properties of a matrix.

    Examples
    --------
    >>> import echelon
    >>> found = echelon.info(echelon.generate("poisson-2d", nx=4, ny=4))
    >>> found.symmetric_values, found.upper_bandwidth, found.definiteness
    (True, 4, 'positive_definite')
    """
    dtype = type_of_matrix(A, complex_too=True)
    return MatrixInfo(**core_of(dtype).info(as_matrix(A, dtype), structural_rank))


class MatrixFile(NamedTuple):
    """What a file holds: the matrix, its format, right-hand sides if there are any, and labels of a graph's vertices."""

    matrix: Any
    format: str
    right_hand_sides: NDArray[Any]
    labels: NDArray[np.int64]


def read_file(path: str | os.PathLike[str], *, format: str | None = None, role: str = "matrix",
              dtype: DTypeLike = np.float64) -> MatrixFile:
    """Read a matrix and what comes with it from a file; `read` with all that the file has.

    Parameters
    ----------
    format : str, optional
        "matrix-market", "npy", "npz", "metis", "edge-list", "petsc", "harwell-boeing" or "text"; default: by the content.
    role : {"matrix", "graph", "right_hand_side"}
        Decides how a text that fits two formats is read, and which array of an archive.
    """
    core = core_of(scalar_type(dtype, "the result", complex_too=True))
    matrix, found, rhs, labels = core.read(os.fspath(path), format or "", role)
    return MatrixFile(python_matrix(matrix), found, rhs, labels)


def read(path: str | os.PathLike[str], *, format: str | None = None, role: str = "matrix",
         dtype: DTypeLike = np.float64) -> Any:
    """Read a matrix from a file of any of eight formats.

    Returns
    -------
    scipy.sparse.csr_array or numpy.ndarray
        As the file stores it.

    Raises
    ------
    ParseError
        With the file, the line and the column of the first error.
    """
    return read_file(path, format=format, role=role, dtype=dtype).matrix


def write(path: str | os.PathLike[str], A: Any, *, format: str | None = None, directed: bool = False) -> None:
    """Write a matrix in the format of the name's ending, or in the one that is named. The file appears whole or not at all.

    Parameters
    ----------
    directed : bool
        Write an edge list of all elements rather than of one triangle.
    """
    A = A if isinstance(A, Symmetric) or np.ndim(A) != 1 else np.asarray(A).reshape(-1, 1)
    dtype = type_of_matrix(A, complex_too=True)
    core_of(dtype).write(os.fspath(path), as_matrix(A, dtype), format or "", directed)


def generate(name: str, *, rows: int | None = None, dtype: DTypeLike = np.float64, **options: Any) -> Any:
    """Make a matrix for tests, the same bits on every machine.

    Parameters
    ----------
    name : str
        A name from `generators`.
    rows : int, optional
        Number of rows, or the nearest smaller one that the family has; in place of options for the size.

    Returns
    -------
    scipy.sparse.csr_array or numpy.ndarray

    Examples
    --------
    >>> import echelon
    >>> echelon.generate("hilbert", n=2)
    array([[1.        , 0.5       ],
           [0.5       , 0.33333333]])
    """
    name = method_name(name)
    sizes = {} if rows is None else _core.rows_for(name, rows)
    return python_matrix(core_of(scalar_type(dtype, "the result", complex_too=True)).generate(name, {**sizes, **flat_options(options)}))


class EchelonForm(NamedTuple):
    """Reduced row echelon form R of A: T P A = R for a nonsingular T and the row permutation P.

    `facts` says how reliable the rank is; `determinant` is that of a square A, infinite or zero where a float cannot hold
    it, complex for a complex A, and `log10_determinant` the logarithm of its magnitude.
    """

    R: NDArray[Any]
    rank: int
    pivot_columns: NDArray[np.int64]
    row_permutation: NDArray[np.int64]
    null_space: NDArray[Any]
    determinant: float | complex | None
    log10_determinant: float | None
    facts: dict[str, Any]
    report: Report


def _scaled(mantissa: float, exponent: int) -> float:
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.copysign(math.inf, mantissa)


def _determinant(parts: tuple[int, float, int, complex] | None,
                 is_complex: bool) -> tuple[float | complex | None, float | None]:
    if parts is None:
        return None, None
    sign, mantissa, exponent, phase = parts
    if sign == 0:
        return 0j if is_complex else 0.0, -math.inf
    size = sign * mantissa
    value = complex(_scaled(size * phase.real, exponent), _scaled(size * phase.imag, exponent))
    return value if is_complex else value.real, math.log10(mantissa) + exponent * math.log10(2)


def rref(A: Any, *, tolerance: float | None = None) -> EchelonForm:
    """Reduced row echelon form by dense Gauss-Jordan elimination, with rank, null space and determinant.

    Parameters
    ----------
    tolerance : float, optional
        Columns whose pivot is at most this times the norm of A are dependent; default ``4 * sqrt(max(m, n)) * eps``.

    Examples
    --------
    >>> import echelon
    >>> form = echelon.rref([[1.0, 2.0], [2.0, 4.0]])
    >>> form.rank, form.determinant, form.null_space.ravel()
    (1, 0.0, array([-2.,  1.]))
    """
    dtype = type_of_matrix(A, complex_too=True)
    R, facts, pivots, permutation, determinant, kernel, core = core_of(dtype).rref(as_matrix(A, dtype), tolerance)
    report = Report(core)
    check_outcome(report, report.solved, None, "raise")
    return EchelonForm(R, facts["rank"], pivots, permutation, kernel, *_determinant(determinant, dtype == COMPLEX128), facts,
                       report)


def rank(A: Any, *, tolerance: float | None = None, modulo: int | None = None) -> int:
    """Rank by elimination: dense Gauss-Jordan of arrays and complex matrices, mapped echelon form of sparse real ones.

    Parameters
    ----------
    tolerance : float, optional
        As in `rref`.
    modulo : int, optional
        A prime below 2**31: the rank of a real matrix modulo the prime, in exact arithmetic.

    Examples
    --------
    >>> import echelon
    >>> echelon.rank([[1.0, 2.0], [2.0, 4.0]]), echelon.rank([[1, 1], [1, 4]], modulo=3)
    (1, 1)
    """
    dtype = type_of_matrix(A, complex_too=modulo is None)
    matrix = as_matrix(A, dtype)
    if modulo is not None:
        return int(core_of(dtype).rank_modulo(matrix, modulo))
    if not matrix.is_sparse or dtype == COMPLEX128:
        return rref(A, tolerance=tolerance).rank
    options: dict[str, Any] = {} if tolerance is None else {"tolerance": tolerance}
    report = Solver("mapped-echelon", **options).setup(A, check="ignore").report
    if report.rank is None:
        check_outcome(report, False, None, "raise")
    return int(report.rank or 0)


def invert(A: Any) -> NDArray[Any]:
    """Inverse of a dense square matrix by Gauss-Jordan elimination, in a new array.

    Raises
    ------
    SingularMatrix

    Examples
    --------
    >>> import echelon
    >>> echelon.invert([[2.0, 1.0], [1.0, 1.0]])
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    dtype = type_of_matrix(A, complex_too=True)
    inverse: NDArray[Any] = copied(dense_array(A, "A"), dtype)
    report = Report(core_of(dtype).invert(inverse))
    check_outcome(report, report.solved, None, "raise")
    return inverse


class ConstrainedSolution(NamedTuple):
    """Minimum of a constrained least-squares problem.

    Attributes
    ----------
    multipliers : numpy.ndarray
        Of the constraints: ``A.T @ (weights * (b - A @ x)) = C.T @ multipliers``, with adjoints for complex numbers.
    residual_norm : float
        ``sqrt(sum(weights * abs(b - A @ x)**2))``.
    constraint_error, gradient_error : float
        Errors of ``C @ x = d`` and of the equation of the multipliers, relative to the terms in them.
    report : Report
        Of the symmetric system that was solved.
    """

    x: NDArray[Any]
    multipliers: NDArray[Any]
    residual_norm: float
    constraint_error: float
    gradient_error: float
    report: Report


def constrained_least_squares(A: Any, b: Any, C: Any = None, d: Any = None, *, weights: Any = None,
                              check: str = "raise") -> ConstrainedSolution:
    """Minimise ``sum(weights * abs(b - A @ x)**2)`` subject to ``C @ x = d``.

    Parameters
    ----------
    A, C : array or sparse matrix of shape (m, n) and (p, n)
        Without C there are no constraints.
    b, d : array of shape (m,) and (p,)
    weights : array of shape (m,), optional
        Numbers of at least zero; 1 by default.
    check : {"raise", "warn", "ignore"}
        What to do when the problem is not solved: the rows of C contradict or depend on each other, or A and C have a null
        vector in common.

    Examples
    --------
    >>> import echelon, numpy as np
    >>> echelon.constrained_least_squares(np.eye(2), [0.0, 0.0], [[1.0, 1.0]], [2.0]).x
    array([1., 1.])
    """
    valid_check(check)
    dtype = FLOAT64
    for matrix in (A, C):
        dtype = dtype if matrix is None else common_type(dtype, type_of_matrix(matrix, complex_too=True))
    for vector, name in ((b, "b"), (d, "d")):
        element = FLOAT64 if vector is None else element_type(dense_array(vector, name))
        dtype = common_type(dtype, scalar_type(element, name, complex_too=True))
    matrix = as_matrix(A, dtype)
    constraints = None if C is None else as_matrix(C, dtype)
    vectors = [np.ascontiguousarray(as_vectors(np.zeros(0) if vector is None else vector, rows, of, name))
               for vector, rows, of, name in ((b, matrix.rows, dtype, "b"), (d, 0 if constraints is None else constraints.rows, dtype, "d"),
                                              (weights, 0 if weights is None else matrix.rows, FLOAT64, "weights"))]
    x, multipliers, norm, constraint_error, gradient_error, core = core_of(dtype).constrained_least_squares(
        matrix, vectors[0], constraints, *vectors[1:])
    solution = ConstrainedSolution(x, multipliers, norm, constraint_error, gradient_error, Report(core))
    check_outcome(solution.report, solution.report.solved, solution.x, check)
    return solution


def solve_shifted(A: Any, b: Any, shifts: Any, B: Any = None, *, rtol: float = 1e-8, basis: int = 300, maxiter: int = 3000,
                  method: str = "auto", check: str = "raise") -> NDArray[Any]:
    """Solve ``(A + shift * I) @ x = b`` for many shifts with one Krylov basis, or ``(A + shift * B) @ x = b`` by factors.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
    b : array of shape (n,)
    shifts : array of shape (k,)
        Real or complex numbers.
    B : array or sparse matrix, optional
        With it each shift has a factorisation, for one analysis of the pattern of A and B; `rtol`, `basis` and `maxiter` have no
        effect.
    rtol : float
        The residual of each shift is at most this share of the norm of b.
    basis : int
        Vectors that are kept before a restart.
    maxiter : int
        Largest number of products with A.
    method : str
        Direct method for a given B; "auto" takes ``sparse-ldlt`` for symmetric pencils, else ``sparse-lu``.
    check : {"raise", "ignore"}
        Whether `Error` is raised if a shift is not solved.

    Returns
    -------
    numpy.ndarray
        Of shape (n, k): a column for each shift.

    Examples
    --------
    >>> import echelon, numpy as np
    >>> echelon.solve_shifted(np.diag([1.0, 2.0]), np.array([2.0, 3.0]), [1.0, 4.0]).round(8)
    array([[1. , 0.4],
           [1. , 0.5]])
    """
    if check not in ("raise", "ignore"):
        raise ValueError(f"check is 'raise' or 'ignore', not {check!r}")
    shifts, vector = np.asarray(shifts), dense_array(b, "b")
    dtype = common_type(common_type(type_of_matrix(A, complex_too=True), scalar_type(element_type(vector), "b", complex_too=True)),
                        scalar_type(shifts.dtype, "shifts", complex_too=True))
    if B is not None:
        dtype = common_type(dtype, type_of_matrix(B, complex_too=True))
    matrix = as_matrix(A, dtype)
    rhs = np.ascontiguousarray(as_vectors(vector, matrix.rows, dtype))
    values = np.ascontiguousarray(as_vectors(shifts.reshape(-1), shifts.size, dtype, "shifts"))
    X: NDArray[Any] = np.empty((matrix.rows, shifts.size), dtype, order="F")
    if B is not None:
        solved, residuals, _ = core_of(dtype).solve_pencil(matrix, as_matrix(B, dtype), rhs, values, X, method)
        if not solved and check == "raise":
            raise Error(f"A + shift B is singular to working precision for a shift: the largest relative residual is {residuals.max():.3g}")
        return X
    solved, residuals, products = core_of(dtype).solve_shifted(matrix, rhs, values, X, rtol, basis, maxiter)
    if not solved and check == "raise":
        raise Error(f"after {products} products the largest relative residual of a shift is {residuals.max():.3g}, and rtol is "
                    f"{rtol:.3g}: a larger basis or maxiter may help, or a factorisation for each shift")
    return X


def certify(A: Any, b: Any, x: Any) -> Certificate:
    """Bound the error of x as a solution of ``A @ x = b`` by a proof, wherever x comes from.

    Examples
    --------
    >>> import echelon, numpy as np
    >>> found = echelon.certify(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0]), np.array([1.0, 1.0]))
    >>> found.proven, found.error_bound < 1e-14
    (True, True)
    """
    b, x = dense_array(b, "b"), dense_array(x, "x")
    dtype = common_type(type_of_matrix(A), common_type(scalar_type(element_type(b), "b"), scalar_type(element_type(x), "x")))
    matrix = as_matrix(A, dtype)
    return certificate_of(core_of(dtype).certify(matrix, as_vectors(b, matrix.rows, dtype),
                                                 as_vectors(x, matrix.columns, dtype, "x")))


class SchurComplement:
    """Schur complement of A on some of its unknowns, and the factors of the others; `schur_complement` makes one.

    Attributes
    ----------
    matrix : numpy.ndarray
        S = A_BB - A_BI inv(A_II) A_IB, in the order of `interface`.
    interface, interior : numpy.ndarray
        Unknowns of S, and all others.
    inertia : tuple of int, or None
        Numbers of positive, negative and zero eigenvalues of A_II, where the factorisation tells them: those of a real
        symmetric and of a Hermitian matrix.
    report : Report
    """

    def __init__(self, A: Any, interface: Sequence[int], factorization: str = "auto") -> None:
        self._dtype = type_of_matrix(A, complex_too=True)
        self.interface = np.asarray(interface, np.int32)
        if self.interface.ndim != 1:
            raise ValueError("the interface is a list of row numbers")
        matrix = as_matrix(A, self._dtype)
        self._rows = matrix.rows
        self._core = core_of(self._dtype).schur_complement(matrix, self.interface.tolist(), factorization)
        self.report = Report(self._core.report)
        check_outcome(self.report, self.report.ready, None, "raise")
        self.matrix = self._core.matrix
        self.interior = self._core.interior
        self.inertia = self._core.interior_inertia

    def reduce(self, b: Any) -> NDArray[Any]:
        """Right-hand sides of the interface's equations for b, of all rows."""
        rhs = as_vectors(b, self._rows, self._dtype)
        g: NDArray[Any] = result_like(rhs, len(self.interface), None)
        self._core.reduce(rhs, g)
        return g

    def expand(self, x_interface: Any, b: Any) -> NDArray[Any]:
        """The solution of all unknowns from that of the interface."""
        rhs = as_vectors(b, self._rows, self._dtype)
        x: NDArray[Any] = result_like(rhs, self._rows, None)
        self._core.expand(as_vectors(x_interface, len(self.interface), self._dtype, "x_interface"), rhs, x)
        return x

    def solve(self, b: Any) -> NDArray[Any]:
        """Solve ``A @ x = b`` by S."""
        rhs = as_vectors(b, self._rows, self._dtype)
        x: NDArray[Any] = result_like(rhs, self._rows, None)
        report = Report(self._core.solve(rhs, x))
        check_outcome(report, report.solved, x, "raise")
        return x


def schur_complement(A: Any, interface: Sequence[int], *, factorization: str = "auto") -> SchurComplement:
    """Eliminate all unknowns but those of the interface.

    Parameters
    ----------
    interface : sequence of int
        Rows of A that stay, from 0.
    factorization : {"auto", "cholesky", "ldlt", "lu"}
        Factorisation of the others.

    Examples
    --------
    >>> import echelon, numpy as np
    >>> S = echelon.schur_complement(np.array([[2.0, 1.0], [1.0, 3.0]]), [1])
    >>> S.matrix, S.solve(np.array([3.0, 4.0]))
    (array([[2.5]]), array([1., 1.]))
    """
    return SchurComplement(A, interface, factorization)
