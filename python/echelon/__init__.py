# SPDX-License-Identifier: BSD-3-Clause
"""Solves linear systems, and says how well.

Examples
--------
>>> import echelon, numpy as np
>>> A = echelon.generate("poisson-2d", nx=30, ny=30)
>>> x, report = echelon.solve(A, A @ np.ones(900), return_report=True)
>>> report.solved, report.expected_digits > 5
(True, True)
"""
from . import _extension

_extension.choose()  # before the modules that import the extension

from . import config, graph, linalg  # noqa: E402
from ._arrays import Stencil, Symmetric, symmetric
from ._batch import BatchReport, BatchSolution, SparseBatch
from ._compare import Comparison, Measurement, compare
from ._core import version as __version__
from ._errors import (BadOption, Cancelled, CudaError, DeviceMismatch, DimensionMismatch, EfficiencyWarning, Error,
                      InvalidMatrix, NoDevice, NotANumber, NotBuilt, NotConverged, NotPositiveDefinite, OpenClError,
                      OutOfMemory, OverlappingOperands, ParseError, SingularMatrix, SolveError, SolveWarning)
from ._report import Certificate, Report, Status
from ._solve import (Candidate, Factors, Inertia, LogDeterminant, Progress, Solution, Solver, choose, factor,
                     solve)
from ._tools import (ConstrainedSolution, EchelonForm, Generator, MatrixFile, MatrixInfo, Method, OptionInfo, SchurComplement,
                     certify, constrained_least_squares, generate, generators, info, invert, methods, rank, read, read_file, rref, schur_complement, solve_shifted, write)

__all__ = [
    "BadOption", "BatchReport", "BatchSolution", "Cancelled", "Candidate", "Certificate", "Comparison", "ConstrainedSolution", "CudaError", "DeviceMismatch", "DimensionMismatch", "EchelonForm",
    "EfficiencyWarning", "Error", "Factors", "Generator", "Inertia", "InvalidMatrix", "LogDeterminant", "MatrixFile",
    "MatrixInfo", "Measurement", "Method", "NoDevice", "NotANumber", "NotBuilt", "NotConverged", "NotPositiveDefinite", "OpenClError", "OptionInfo",
    "OutOfMemory", "OverlappingOperands", "ParseError", "Progress", "Report", "SchurComplement", "SingularMatrix",
    "Solution", "SolveError", "SolveWarning", "Solver", "SparseBatch", "Status", "Stencil", "Symmetric", "__version__", "certify", "choose", "compare", "config", "constrained_least_squares", "factor",
    "generate", "generators", "graph", "info", "invert", "linalg", "methods", "rank", "read", "read_file", "rref",
    "schur_complement", "solve", "solve_shifted", "symmetric", "write",
]
