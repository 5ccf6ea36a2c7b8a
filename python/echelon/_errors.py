# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions. Misuse and a lack of resources raise the classes that the extension names; outcomes of a computation that
are not a solution raise a SolveError, which has the last iterate and the report."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._report import Report


class Error(Exception):
    """Base of all exceptions of this package."""


class BadOption(Error, ValueError):
    """A method, option, generator or device that does not exist, or a value that an option does not take.

    Attributes
    ----------
    path : str
        The offending name, dotted where it is nested.
    did_you_mean : str
        The nearest name that exists, or an empty text.
    """

    def __init__(self, message: str, path: str = "", did_you_mean: str = "") -> None:
        super().__init__(message, path, did_you_mean)
        self.path = path
        self.did_you_mean = did_you_mean

    def __str__(self) -> str:
        return str(self.args[0])


class DimensionMismatch(Error, ValueError):
    """Operands whose shapes do not fit together."""


class InvalidMatrix(Error, ValueError):
    """Arrays that do not describe a matrix."""


class ParseError(Error, ValueError):
    """A file that cannot be read or written. `file`, `line` and `column` say where; lines and columns count from 1."""

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, file, line, column)
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])


class OverlappingOperands(Error, ValueError):
    """A result that shares memory with an operand."""


class DeviceMismatch(Error, RuntimeError):
    """Operands in different memories."""


class NoDevice(Error, RuntimeError):
    """A device that this machine lacks."""


class NotBuilt(Error, RuntimeError):
    """A capability that this build lacks, such as CUDA."""


class CudaError(Error, RuntimeError):
    """A failed call of CUDA."""


class OpenClError(Error, RuntimeError):
    """A failed call of an OpenCL driver, or a program that it could not build."""


class OutOfMemory(Error, MemoryError):
    """An allocation for which memory does not suffice: `asked` and `available` in bytes, 0 where they are unknown."""

    def __init__(self, message: str, asked: int = 0, available: int = 0) -> None:
        super().__init__(message, asked, available)
        self.asked = asked
        self.available = available

    def __str__(self) -> str:
        return str(self.args[0])


class SolveError(Error, np.linalg.LinAlgError):
    """A system that was not solved.

    Attributes
    ----------
    x : numpy.ndarray or None
        The last iterate; None after a set-up.
    report : Report
        How far it got, and why not further.
    """

    def __init__(self, message: str, x: Any = None, report: Any = None) -> None:
        super().__init__(message, x, report)
        self.x = x
        self.report = report

    def __str__(self) -> str:
        return str(self.args[0])


class SingularMatrix(SolveError, RuntimeError):
    """A is singular, or no x satisfies the equations. It is a RuntimeError as well, which scipy.sparse.linalg raises."""


class NotConverged(SolveError):
    """An iteration ended before it met the tolerance."""


class NotPositiveDefinite(SolveError):
    """The method needs a symmetric positive definite A, and A is not."""


class NotANumber(SolveError):
    """NaN or infinity in A, in b or in the result."""


class Cancelled(SolveError):
    """A callback or `Solver.cancel` asked to stop."""


class SolveWarning(UserWarning):
    """A system that was not solved, with ``check="warn"``."""


class EfficiencyWarning(UserWarning):
    """A matrix that had to be copied before it could be used."""


# Exception and advice for each status that is not a solution.
_OUTCOMES: dict[str, tuple[type[SolveError], str]] = {
    "max_iterations": (NotConverged, "Allow more iterations by maxiter, or use another preconditioner or method."),
    "stagnated": (NotConverged, "If the backward error is near rounding, the tolerance asks for too much; otherwise use a "
                                "better preconditioner or another method."),
    "diverged": (NotConverged, "The method does not suit A: use another one, or method='auto'."),
    "breakdown": (NotConverged, "Use another preconditioner or method."),
    "singular": (SingularMatrix, "Look for a missing boundary condition, an empty row or a repeated equation."),
    "inconsistent": (SingularMatrix, "For an x of least residual pass least_squares=True."),
    "underdetermined": (SingularMatrix, "x satisfies the equations, and others do as well."),
    "not_a_number": (NotANumber, "Mend the data, or scale the system."),
    "not_spd": (NotPositiveDefinite, "Use 'gmres' or a factorisation for general matrices, or another preconditioner."),
    "out_of_memory": (SolveError, "Pass a sparse matrix, or use an iterative method."),
    "cancelled": (Cancelled, ""),
}


def _describe(report: Report) -> str:
    """What happened, the numbers, and what to try."""
    sentences = [f"{report.method}: {report.status.value}" + (f": {report.message}" if report.message else "")]
    if report.computed:
        numbers = f"relative residual {report.relative_residual:.3g}"
        if report.tolerance > 0:
            numbers += f", tolerance {report.tolerance:.3g} on the norm of the residual"
        sentences.append(f"{numbers}, after {report.iterations} iterations")
    advice = _OUTCOMES[report.status.value][1]
    return "; ".join(sentences) + (f". {advice}" if advice else "")


def check_outcome(report: Report, fine: bool, x: Any, check: str) -> None:
    """Raises, warns of or ignores an outcome that is not fine."""
    if fine or check == "ignore":
        return
    message = _describe(report)
    if check == "warn":
        warnings.warn(message, SolveWarning, stacklevel=3)
    else:
        raise _OUTCOMES[report.status.value][0](message, x, report)


def valid_check(check: str) -> str:
    if check not in ("raise", "warn", "ignore"):
        raise ValueError(f"check is 'raise', 'warn' or 'ignore', not {check!r}")
    return check
