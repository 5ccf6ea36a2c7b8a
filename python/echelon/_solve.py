# SPDX-License-Identifier: BSD-3-Clause
"""Solution in one call, and solvers that keep a factorisation or a hierarchy."""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import (COMPLEX128, FLOAT64, as_matrix, as_vectors, check_one_memory, common_type, copied, core_of, dense_array,
                      in_columns, in_family_of, in_single_complex, is_plain_vector, is_single_complex, is_sparse,
                      preconditioner_function, python_matrix, result_like, scalar_type, type_of_matrix)
from ._errors import BadOption, Error, check_outcome, valid_check
from ._packages import element_type, gpu_of
from ._report import Report
from .config import default_device

log = logging.getLogger("echelon")


class Progress(NamedTuple):
    """State of a set-up or a solve, for callbacks. `tolerance` is the relative residual to reach.

    `phase` is "analysis", "setup" or "solve", and `fraction` the share of its work that is done, from 0 to 1, or None in a
    solve, whose end is not known. In a set-up `iteration` is 0, `relative_residual` 1 and `tolerance` 0.

    ``iterate()`` is a copy of the x of a solve on the host after `iteration` iterations, formed when it is asked for, during
    the call only. It raises `Error` in a set-up.
    """

    method: str
    phase: str
    fraction: float | None
    right_hand_side: int
    iteration: int
    relative_residual: float
    tolerance: float
    iterate: Callable[[], NDArray[Any]]


class Factors(NamedTuple):
    """Factors of a matrix, scaled and permuted, by `Solver.factors`.

    With ``p = row_permutation`` and ``q = column_permutation``,
    ``S = 2.0**exponent * row_scales[p, None] * A[p][:, q] * column_scales[q]`` is ``L @ U + coupling`` if `form` is "lu",
    ``L @ L.conj().T`` if it is "cholesky", ``L @ D @ L.T`` if it is "ldlt", and ``L @ D @ L.conj().T`` if it is
    "hermitian-ldlt", up to rounding errors. L, U and `coupling` are sparse where A is; all diagonals are stored.

    Attributes
    ----------
    coupling : sparse array
        Elements right of the diagonal blocks of a block triangular S, which are not eliminated; otherwise without elements.
    diagonal, subdiagonal : array
        D: its diagonal, and the elements below the diagonal, which are not zero for pivots of order two; empty without D. The
        elements above the diagonal are the same, or their conjugates if D is Hermitian.
    """

    form: str
    L: Any
    U: Any
    coupling: Any
    diagonal: NDArray[Any]
    subdiagonal: NDArray[Any]
    row_permutation: NDArray[np.int64]
    column_permutation: NDArray[np.int64]
    row_scales: NDArray[np.float64]
    column_scales: NDArray[np.float64]
    exponent: int


class LogDeterminant(NamedTuple):
    """Sign, of magnitude 1 for a complex matrix, and natural logarithm of the magnitude of a determinant, as
    numpy.linalg.slogdet returns them."""

    sign: int | complex
    logabsdet: float


class Inertia(NamedTuple):
    """Numbers of the eigenvalues of a symmetric or Hermitian matrix by their sign."""

    positive: int
    negative: int
    zero: int


class Solution(NamedTuple):
    """A solution and how it was obtained."""

    x: NDArray[Any]
    report: Report


class Candidate(NamedTuple):
    """A method that may suit a matrix, and why. `seconds` is a rough estimate of the time of a direct method."""

    method: str
    device: str
    options: dict[str, Any]
    reason: str
    seconds: float | None


Callback = Callable[[Progress], Any]


def _progress(callback: Callback | None) -> Any:
    return None if callback is None else lambda *state: callback(Progress(*state))


def method_name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a method is given by its name, not by {type(name).__name__}")
    return name.replace("_", "-")


def flat_options(options: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Options as the library names them: those of a nested method are dotted."""
    flat: dict[str, Any] = {}
    for key, value in options.items():
        name = prefix + key.replace("-", "_")
        if isinstance(value, Mapping):
            nested = dict(value)
            if "method" in nested:
                flat[name] = method_name(nested.pop("method"))
            flat.update(flat_options(nested, name + "."))
        elif isinstance(value, np.generic):
            flat[name] = value.item()
        elif isinstance(value, (bool, int, float, str)):
            flat[name] = value
        else:
            raise BadOption(f"{name} is a bool, an int, a float, a text or a dictionary, not {type(value).__name__}", name)
    return flat


def _log(report: Any) -> None:
    if log.isEnabledFor(logging.INFO):
        for attempt in report.attempts:
            log.debug("tried %s: %s", attempt["method"], attempt["status"])
        log.info("%r", Report(report))


def _finished(A: Any, b: Any, x: NDArray[Any], out: Any, report: Any, check: str, return_report: bool) -> Any:
    """What a solve of A x = b returns, or raises."""
    _log(report)
    if out is None and not report.computed:
        x[...] = np.nan
    if out is None and element_type(x) == COMPLEX128 and is_single_complex(A, dense_array(b, "b")):
        x = in_single_complex(x)
    result = in_family_of(b, x) if out is None else out
    if not report.solved:
        check_outcome(Report(report), False, result, check)
    return Solution(result, Report(report)) if return_report else result


def _stop_at(request: Any, rtol: Any, atol: Any, maxiter: Any) -> None:
    """Sets tolerances and the limit of iterations of a request; None leaves those of the method."""
    for argument, name, value, kind in (("rtol", "rtol", rtol, "a number"), ("atol", "atol", atol, "a number"),
                                        ("maxiter", "max_iterations", maxiter, "an integer")):
        try:
            setattr(request, name, value)
        except TypeError:
            raise TypeError(f"{argument} is {kind}, not {value!r}") from None


def solve(A: Any, b: Any, *, method: str = "auto", device: str | None = None, rtol: float | None = None,
          atol: float | None = None, maxiter: int | None = None, x0: Any = None, M: Any = None,
          near_null_space: Any = None, least_squares: bool = False, measure_error: bool = True, certify: bool = False,
          out: NDArray[Any] | None = None, callback: Callback | None = None, check: str = "raise",
          return_report: bool = False, **options: Any) -> Any:
    """Solve ``A @ x = b``.

    Parameters
    ----------
    A : array, sparse matrix, LinearOperator, `Stencil` or `symmetric`
        CSR arrays and dense arrays of either order are used in place; other forms are converted. An operator has `shape`
        and `matvec`, and `rmatvec` where the transpose is needed.
    b : array of shape (m,) or (m, k)
        Right-hand sides. The computation is in float32 if both A and b are, in complex128 if one of them is complex, else in
        float64. x is rounded to complex64 if A and b have no more digits.
    method : str
        "auto", or a name from `methods`.
    device : str, optional
        "serial", "openmp", "openmp:4", "cuda:0" or "opencl:0"; default: the fastest. A and b, which are in one memory, are
        moved there, and x back.
    rtol, atol : float, optional
        Iterative methods stop when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``. rtol is 1e-8 by default, 1e-5 in
        float32.
    maxiter : int, optional
        Largest number of iterations.
    x0 : array, optional
        First guess of iterative methods.
    M : solver, callable, LinearOperator or matrix, optional
        Preconditioner: an approximation of the inverse of A. It needs an iterative `method` by name.
    near_null_space : array of shape (n, k), optional
        Vectors that A nearly maps to zero, by which `amg` coarsens.
    least_squares : bool
        Accept an x of least residual where no x satisfies the equations of a square A; of any other A that is always
        the solution.
    measure_error : bool
        Measure the error of x: ``report.error_estimate``.
    certify : bool
        Bound the error of x by a proof: ``report.certificate``.
    out : array, optional
        Array for x.
    callback : callable, optional
        Called with a `Progress` at every convergence check, and from time to time in a set-up; the solve ends when it
        returns True.
    check : {"raise", "warn", "ignore"}
        What to do when the system is not solved.
    return_report : bool
        Return a `Solution` of x and a `Report`.
    **options
        Options of the method, such as ``methods="direct"`` of "auto". Those of a nested method are a dictionary:
        ``preconditioner=dict(method="amg", coarsening="classical")``.

    Returns
    -------
    x : numpy.ndarray
        Of shape (n,) or (n, k), in the order of b; or a `Solution`.

    Raises
    ------
    SolveError
        The system is not solved; `x` of the exception is the last iterate, `report` says why.
    Error
        Wrong shapes, options and so on.

    Examples
    --------
    >>> import numpy as np, echelon
    >>> echelon.solve([[2.0, 1.0], [1.0, 3.0]], [3.0, 4.0])
    array([1., 1.])
    >>> x, report = echelon.solve(np.eye(3), np.ones(3), method="lu", return_report=True)
    >>> str(report.status)
    'direct'
    """
    valid_check(check)
    vectors = dense_array(b, "b")
    dtype = common_type(type_of_matrix(A, complex_too=True), scalar_type(element_type(vectors), "b", complex_too=True))
    if M is not None:
        if method == "auto":
            raise BadOption("M needs an iterative method by name: 'cg', 'minres', 'bicgstab' or 'gmres'", "M")
        solver = Solver(method, device=device, rtol=rtol, atol=atol, maxiter=maxiter, M=M, near_null_space=near_null_space,
                        **options)
        solver._set_up(A, dtype, "ignore", callback)
        return solver.solve(b, x0=x0, out=out, check=check, callback=callback, return_report=return_report)
    request = _core.SolveRequest()
    request.method = method_name(method)
    _stop_at(request, rtol, atol, maxiter)
    request.least_squares, request.measure_error, request.certify = least_squares, measure_error, certify
    if options:
        request.set_parameters(flat_options(options))
    if near_null_space is not None:
        request.set_near_null_space(_as_columns(near_null_space))
    if callback is not None:
        request.set_callback(_progress(callback))
    matrix = as_matrix(A, dtype)
    rhs = as_vectors(vectors, matrix.rows, dtype)
    if not matrix.is_operator:
        check_one_memory("b", rhs, "A", matrix.gpu)
    if device is None and not matrix.is_operator and not matrix.gpu:
        device = default_device()
    if device is not None:
        request.set_device(device)
    if x0 is not None:
        guess = as_vectors(x0, matrix.columns, dtype, "x0")
        check_one_memory("x0", guess, "b", gpu_of(rhs))
        request.set_initial_guess(guess)
    x = result_like(rhs, matrix.columns, out)
    report = core_of(dtype).solve_once(matrix, rhs, x, request)
    return _finished(A, b, x, out, report, check, return_report)


def choose(A: Any, *, device: str | None = None) -> list[Candidate]:
    """Methods that ``method="auto"`` would try for A, best first, without solving.

    Examples
    --------
    >>> import numpy as np, echelon
    >>> [candidate.method for candidate in echelon.choose(np.eye(3))][:1]
    ['cholesky']
    """
    dtype = type_of_matrix(A, complex_too=True)
    matrix = as_matrix(A, dtype)
    return [Candidate(*found) for found in core_of(dtype).choose(matrix, device or not matrix.gpu and default_device() or "")]


def factor(A: Any, *, method: str = "auto", device: str | None = None, **options: Any) -> Solver:
    """Factor A: a `Solver` by a direct method, that of "auto" if no other is named.

    Examples
    --------
    >>> import numpy as np, echelon
    >>> F = echelon.factor(np.array([[4.0, 1.0], [1.0, 3.0]]))
    >>> F.solve(np.array([5.0, 4.0]))
    array([1., 1.])
    >>> F.update(np.array([[2.0, 0.0], [0.0, 2.0]])).solve(np.array([2.0, 4.0]))
    array([1., 2.])
    """
    if method == "auto":
        options.setdefault("methods", "direct")
    return Solver(method, device=device, **options).setup(A)


def _as_columns(vectors: Any) -> NDArray[np.float64]:
    array = np.asarray(vectors, np.float64, order="F")
    return array.reshape(-1, 1) if array.ndim == 1 else array


class Solver:
    """A linear solver that is set up once and solves many times.

    A solver that is set up is a linear operator by its attributes `shape`, `dtype` and `matvec`: one application as a
    preconditioner, so that it can be passed as M to the functions of scipy.sparse.linalg.

    Parameters
    ----------
    method : str
        A name from `methods`, or "auto": the first of `choose` that can be set up.
    device : str, optional
        "serial", "openmp", "openmp:4", "cuda:0" or "opencl:0", in whose memory A and b have to be; default: "openmp", or A's
        GPU.
    rtol, atol, maxiter : optional
        As in `solve`, for iterative methods.
    M : solver, callable, LinearOperator or matrix, optional
        Preconditioner, in place of the option `preconditioner`.
    near_null_space : array of shape (n, k), optional
        As in `solve`.
    **options
        Options of the method.

    Notes
    -----
    `solve` and `apply` may be called by several threads at once. A's arrays are referred to: a change of their elements
    counts from the next `update` on. Pickles and copies hold the method, its options and A, and are set up on first use.

    Examples
    --------
    >>> import numpy as np, echelon
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> solver = echelon.Solver("cg", rtol=1e-10).setup(A)
    >>> solver.solve(np.array([5.0, 4.0])).round(8)
    array([1., 1.])
    >>> solver.report.solved
    True
    """

    def __init__(self, method: str = "auto", *, device: str | None = None, rtol: float | None = None,
                 atol: float | None = None, maxiter: int | None = None, M: Any = None, near_null_space: Any = None,
                 **options: Any) -> None:
        self._arguments: dict[str, Any] = dict(device=device, rtol=rtol, atol=atol, maxiter=maxiter, M=M,
                                               near_null_space=near_null_space, **options)
        self.method = method_name(method)
        self._device = device
        self._default_device = default_device()
        self._M = M
        self._near_null_space = near_null_space
        stop = {name: value for name, value in dict(rtol=rtol, atol=atol, max_iterations=maxiter).items() if value is not None}
        # The stopping criterion is an option of a method, but no option of "auto", which has it in each solve.
        self._stop = stop if self.method == "auto" else {}
        self._options = flat_options(options if self._stop else {**options, **stop})
        self._A: Any = None
        self._matrix: Any = None
        self._core: Any = None
        self._pending = False
        self._dtype = FLOAT64
        self.shape = (0, 0)
        self._last = threading.local()
        _core.float64.Solver(self.method, self.device, self._options)  # raises for options that do not exist

    # Set-up

    def analyze(self, A: Any) -> Solver:
        """Analyse the pattern of A only; `setup` follows. The analysis is kept while the pattern stays."""
        self._take(A, type_of_matrix(A, complex_too=True))
        self._core = self._make()
        self._prepare(self._core.analyze)
        return self

    def setup(self, A: Any, *, check: str = "raise", callback: Callback | None = None) -> Solver:
        """Prepare for solving with A; returns the solver.

        Raises
        ------
        SolveError
            The factorisation failed, or whatever the method prepares.
        """
        return self._set_up(A, type_of_matrix(A, complex_too=True), valid_check(check), callback)

    def update(self, A_or_values: Any, *, check: str = "raise", callback: Callback | None = None) -> Solver:
        """Set up for new values in an unchanged pattern; what depends on the pattern alone is kept.

        Parameters
        ----------
        A_or_values : matrix, or array of shape (nonzeros,)
            A matrix of the same pattern, or the values of a sparse one in the order of the matrix of the last set-up.
        """
        valid_check(check)
        if self._core is None or self._pending:
            self._make_ready()
        self._take_update(A_or_values)
        return self._checked(self._prepare(self._core.update, self._request(callback)), check)

    def _take(self, A: Any, dtype: np.dtype[Any]) -> None:
        matrix = as_matrix(A, dtype)
        if dtype != self._dtype:
            self._core = None
        self._A, self._matrix, self._dtype, self._pending = A, matrix, dtype, False
        self.shape = (matrix.rows, matrix.columns)

    def _take_update(self, A: Any) -> None:
        old: Any = self._A if self._matrix is not None else None
        if getattr(A, "ndim", 2) == 1 and not is_sparse(A):
            self._make_ready()
            self._matrix.update_values(as_vectors(A, A.shape[0], self._dtype, "the array of values"))
        elif (is_sparse(A) and is_sparse(old) and A.format == old.format and A.format in ("csr", "csc")
              and A.indptr is old.indptr and A.indices is old.indices):
            self._A = A
            self._matrix.update_values(np.ascontiguousarray(A.data[:self._matrix.nonzeros], self._dtype))
        else:
            self._take(A, self._dtype)

    def _make(self) -> Any:
        core = core_of(self._dtype).Solver(self.method, self.device, self._options)
        if self._near_null_space is not None:
            core.set_near_null_space(_as_columns(self._near_null_space))
        if isinstance(self._M, Solver) and self._M._dtype == self._dtype:
            self._M._make_ready()
            core.precondition_by_solver(self._M._core)
        elif self._M is not None:
            core.precondition_by_function(preconditioner_function(self._M, self._dtype, self.shape[0]), self.shape[0])
        return core

    def _set_up(self, A: Any, dtype: np.dtype[Any], check: str, callback: Callback | None) -> Solver:
        self._take(A, dtype)
        request = self._request(callback)
        if self._core is None:
            self._core = self._make()
        report = self._prepare(self._core.setup, request)
        return self._checked(report, check)

    def _prepare(self, phase: Any, *request: Any) -> Any:
        """Calls a phase of the extension's solver with the matrix. After an exception there is none."""
        try:
            self._last.report = phase(self._matrix, *request)
        except BaseException:
            self._matrix = None
            raise
        return self._last.report

    def _checked(self, report: Any, check: str) -> Solver:
        _log(report)
        check_outcome(Report(report), report.ready, None, check)
        return self

    def _make_ready(self) -> None:
        """Sets up a copy or what a pickle held; complains without a matrix."""
        if self._matrix is not None:
            return
        if not self._pending:
            raise Error("the solver has no matrix: call setup(A) first")
        self._set_up(self._A, self._dtype, "raise", None)

    # Solution

    def solve(self, b: NDArray[Any], *, x0: Any = None, trans: str = "N", rtol: float | None = None,
              atol: float | None = None, maxiter: int | None = None, least_squares: bool = False, measure_error: bool = True,
              out: NDArray[Any] | None = None, check: str = "raise", callback: Callback | None = None,
              return_report: bool = False) -> Any:
        """Solve ``A @ x = b``, or with the transpose.

        Parameters
        ----------
        b : array of shape (m,) or (m, k)
            Right-hand sides, which are computed with in the type of A.
        trans : {"N", "T", "H"}
            The system: A, its transpose, or its adjoint.
        out : array, optional
            Array for x, which may be b itself.
        x0, rtol, atol, maxiter, least_squares, measure_error, callback, check, return_report
            As in `echelon.solve`, for this solve alone.

        Returns
        -------
        x : numpy.ndarray
            In the shape and the order of b; or a `Solution`.
        """
        if self._matrix is None:
            self._make_ready()
        if check != "raise":
            valid_check(check)
        rows, columns = self.shape if trans == "N" else self.shape[::-1]
        rhs = b if is_plain_vector(b, rows, self._dtype) else as_vectors(b, rows, self._dtype)
        x: NDArray[Any] = (out if type(rhs) is np.ndarray and rhs.ndim == 1  # type: ignore[assignment]
                           and is_plain_vector(out, columns, self._dtype)
                           else result_like(rhs, columns, out))
        if (x0 is None and trans == "N" and callback is None and rtol is None and atol is None and maxiter is None
                and measure_error and not least_squares and not self._stop):
            report = self._core.solve(rhs, x)
        else:
            request = self._request(callback)
            request.set_operation(trans)
            _stop_at(request, self._stop.get("rtol") if rtol is None else rtol,
                     self._stop.get("atol") if atol is None else atol,
                     self._stop.get("max_iterations") if maxiter is None else maxiter)
            request.least_squares, request.measure_error = least_squares, measure_error
            if x0 is not None:
                guess = as_vectors(x0, columns, self._dtype, "x0")
                check_one_memory("x0", guess, "b", gpu_of(rhs))
                if out is not None and (gpu_of(rhs) or np.may_share_memory(rhs, x)):
                    rhs = copied(rhs, self._dtype)
                x[...] = guess
                request.use_initial_guess = True
            report = self._core.solve_as(rhs, x, request)
        self._last.report = report
        if x is out and report.solved and not return_report and not log.isEnabledFor(logging.INFO):
            return x
        return _finished(self._A, b, x, out, report, check, return_report)

    @staticmethod
    def _request(callback: Callback | None) -> Any:
        request = _core.Request()
        if callback is not None:
            request.set_callback(_progress(callback))
        return request

    def cancel(self) -> None:
        """End the calls that are running, from any thread: they raise `Cancelled`."""
        if self._core is not None:
            self._core.cancel()

    # Application as a preconditioner

    def apply(self, r: Any, out: NDArray[Any] | None = None, *, trans: str = "N") -> NDArray[Any]:
        """One application as a preconditioner, ``z = M @ r``: a cycle, or a substitution without refinement. A method that
        is no preconditioner solves."""
        self._make_ready()
        if not self._is_preconditioner():
            x: NDArray[Any] = self.solve(r, trans=trans, out=out)
            return x
        rhs = in_columns(as_vectors(r, self.shape[0], self._dtype, "r"))
        z: NDArray[Any] = result_like(rhs, self.shape[0], None)
        self._core.apply(rhs, z, trans != "N")
        if out is None:
            return z
        out[...] = z
        return out

    def _is_preconditioner(self) -> bool:
        return self._core.describe().split(" ")[0].split("(")[0] in _preconditioners()

    def matvec(self, r: Any) -> NDArray[Any]:
        """`apply`, under the name of SciPy's operators."""
        return self.apply(r)

    def rmatvec(self, r: Any) -> NDArray[Any]:
        """`apply` with the transpose."""
        self._make_ready()
        if self._is_preconditioner() and not self._core.is_transposable(self.shape[0]):
            x: NDArray[Any] = self.solve(r, trans="T")
            return x
        return self.apply(r, trans="T")

    matmat = matvec
    rmatmat = rmatvec
    __matmul__ = matvec

    def aspreconditioner(self) -> Solver:
        """The solver itself, which is an operator."""
        return self

    # What a factorisation knows

    def slogdet(self) -> LogDeterminant:
        """Sign and logarithm of the determinant of A, by the factors of a direct method.

        Examples
        --------
        >>> import numpy as np, echelon
        >>> echelon.Solver("lu").setup(np.diag([2.0, -1.0])).slogdet().sign
        -1
        """
        self._make_ready()
        return LogDeterminant(*self._core.determinant())

    def inertia(self) -> Inertia:
        """Numbers of positive, negative and zero eigenvalues of a symmetric or Hermitian A, by a factorisation for these."""
        self._make_ready()
        return Inertia(*self._core.inertia())

    def factors(self) -> Factors:
        """Copies of the factors of a direct method, on the host.

        Raises
        ------
        Error
            The method has no factors, or A has a lower rank than n.
        """
        self._make_ready()
        form, L, U, coupling, *rest = self._core.factors()
        if coupling[0] == (0, 0):
            coupling = (L[0] if isinstance(L, tuple) else L.shape, np.zeros(self.shape[0] + 1, np.int64), *coupling[2:])
        return Factors(form, python_matrix(L), python_matrix(U), python_matrix(coupling), *rest)

    # What it is

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers that are computed with."""
        return self._dtype

    @property
    def report(self) -> Report:
        """Report of this thread's last call."""
        try:
            return Report(self._last.report)
        except AttributeError:
            raise Error("this thread has neither set up the solver nor solved with it") from None

    @property
    def device(self) -> str:
        """Where it computes."""
        on_gpu = self._matrix.gpu if self._matrix is not None else None
        return self._device or on_gpu or self._default_device or "openmp"

    @property
    def nbytes(self) -> int:
        """Memory of the set-up and of one solve, without A."""
        self._make_ready()
        return int(self._core.nbytes)

    def describe(self) -> str:
        """The method with the options that differ from their defaults."""
        return self.method if self._core is None else str(self._core.describe())

    def __repr__(self) -> str:
        state = f"{self.shape[0]} x {self.shape[1]}, {self._dtype}" if self._A is not None else "not set up"
        return f"<Solver {self.describe()}, {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self.method, self._arguments, self._A, self._dtype, self.shape)


def _copied(method: str, arguments: dict[str, Any], A: Any, dtype: np.dtype[Any], shape: tuple[int, int]) -> Solver:
    """A solver out of a pickle or a copy, to be set up on first use."""
    solver = Solver(method, **arguments)
    solver._A, solver._dtype, solver.shape, solver._pending = A, dtype, shape, A is not None
    return solver


_PRECONDITIONERS: set[str] = set()


def _preconditioners() -> set[str]:
    """Methods that can be applied without a whole solve."""
    if not _PRECONDITIONERS:
        _PRECONDITIONERS.update(row[0] for row in _core.methods() if row[6])
    return _PRECONDITIONERS
