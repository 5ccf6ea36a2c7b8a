# SPDX-License-Identifier: BSD-3-Clause
"""Many sparse systems with one pattern at once."""
from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import as_matrix, core_of, dense_array, in_family_of, scalar_type, type_of_matrix
from ._errors import DimensionMismatch, Error, SolveError, SolveWarning, valid_check
from ._packages import contiguous, element_type, gpu_of, new_array


class BatchReport(NamedTuple):
    """Outcomes of the systems of a batch.

    Attributes
    ----------
    status : array of str
        Of each system, as in `Status`.
    solved : array of bool
        Which systems are solved.
    column : array of int
        The column that depends on others or has the NaN, where one is known; otherwise -1.
    backward_error : array of float
        The largest of each system's solutions.
    solved_singly : int
        Systems that were solved one by one, because the common order of pivots did not serve them.
    parts : int
        Parts in which the batch was solved so that it fits in memory.
    """

    status: NDArray[np.str_]
    solved: NDArray[np.bool_]
    column: NDArray[np.int32]
    backward_error: NDArray[np.float64]
    solved_singly: int
    parts: int


class BatchSolution(NamedTuple):
    """Solutions of a batch and how they were obtained."""

    x: Any
    report: BatchReport


class SparseBatch:
    """Solves many systems ``A_s @ x_s = b_s`` whose sparse matrices have one pattern.

    The systems are eliminated in one order of pivots, several in the registers of a core, or each by threads of a GPU. Each x
    is verified, and a system that the common order does not serve is solved by `sparse-lu`.

    Parameters
    ----------
    A : sparse matrix
        The pattern, on the host or a GPU; its values are not used.

    Examples
    --------
    >>> import echelon, numpy as np
    >>> A = echelon.generate("poisson-2d", nx=10, ny=10)
    >>> values = np.linspace(1, 2, 1000)[:, None] * A.data       # the elements of 1,000 matrices
    >>> batch = echelon.SparseBatch(A)
    >>> x = batch.solve(values, np.ones((1000, 100)))
    >>> bool(np.allclose(values[7, 0] / 4 * (A @ x[7]), 1))
    True
    """

    def __init__(self, A: Any) -> None:
        self._dtype = type_of_matrix(A)
        matrix = as_matrix(A, self._dtype)
        if not matrix.is_sparse:
            raise Error("a batch has the pattern of a sparse matrix")
        self.shape = (matrix.rows, matrix.columns)
        self._nonzeros = matrix.nonzeros
        self._core = core_of(self._dtype).SparseBatch(matrix)

    def solve(self, values: Any, b: Any, *, check: str = "raise", return_report: bool = False) -> Any:
        """Solve all systems.

        Parameters
        ----------
        values : array of shape (systems, nonzeros)
            The elements of each matrix in the order of the pattern.
        b : array of shape (systems, n) or (systems, n, k)
            Right-hand sides.
        check : {"raise", "warn", "ignore"}
            What to do when a system is not solved.
        return_report : bool
            Return a `BatchSolution` of x and a `BatchReport`.

        Returns
        -------
        x : array
            Of b's shape, in b's package and memory; NaN where nothing was computed.

        Raises
        ------
        SolveError
            A system is not solved; `x` and the `report` of the exception are those of the whole batch.
        """
        valid_check(check)
        elements, rhs = dense_array(values, "values"), dense_array(b, "b")
        for array, name in ((elements, "values"), (rhs, "b")):
            scalar_type(element_type(array), name)
        if elements.ndim != 2 or elements.shape[1] != self._nonzeros:
            raise DimensionMismatch(f"values has the shape {tuple(elements.shape)}; it should have a row of {self._nonzeros} "
                                    "elements for each system")
        if rhs.ndim not in (2, 3) or tuple(rhs.shape[:2]) != (elements.shape[0], self.shape[0]):
            raise DimensionMismatch(f"b has the shape {tuple(rhs.shape)}; it should begin with {elements.shape[0]} systems of "
                                    f"{self.shape[0]} rows")
        columns = rhs[:, None, :] if rhs.ndim == 2 else rhs.swapaxes(1, 2)
        columns = contiguous(columns, self._dtype)
        x = new_array(columns)
        report = _report_of(self._core.solve(contiguous(elements, self._dtype), columns, x))
        result = x[:, 0, :] if rhs.ndim == 2 else x.swapaxes(1, 2)
        result = result if gpu_of(rhs) else in_family_of(b, result)
        if not report.solved.all():
            _complain(report, result, check)
        return BatchSolution(result, report) if return_report else result

    @property
    def nbytes_per_system(self) -> int:
        """Memory of one system's elements, factors and vectors; 0 before the first solve."""
        return int(self._core.bytes_per_system)


def _report_of(found: tuple[Any, ...]) -> BatchReport:
    names, numbers, columns, errors, singly, parts = found
    texts = np.array([name for name, _ in names] or [""])
    solved = np.array([solved for _, solved in names] or [True])
    return BatchReport(texts[numbers], solved[numbers], columns, errors, singly, parts)


def _complain(report: BatchReport, x: Any, check: str) -> None:
    if check == "ignore":
        return
    failed = np.flatnonzero(~report.solved)
    message = (f"{len(failed)} of {len(report.solved)} systems are not solved: the first is system {failed[0]} (from 0), "
               f"{report.status[failed[0]]}. check='ignore' with return_report=True returns all statuses")
    if check == "raise":
        raise SolveError(message, x, report)
    warnings.warn(message, SolveWarning, stacklevel=3)
