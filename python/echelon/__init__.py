# SPDX-License-Identifier: BSD-3-Clause
"""Solves linear systems, and says how well.

Examples
--------
>>> import echelon, numpy
>>> A = echelon.generate("poisson-2d", nx=30, ny=30)
>>> b = A @ numpy.ones(900)
>>> x, report = echelon.solve(A, b, return_report=True)
>>> report.solved
True
"""
from ._arrays import Symmetric, symmetric
from ._core import version as __version__
from ._errors import (BadOption, Cancelled, CudaError, DeviceMismatch, DimensionMismatch, EfficiencyWarning, Error,
                      InvalidMatrix, NoDevice, NotANumber, NotBuilt, NotConverged, NotPositiveDefinite, OutOfMemory,
                      OverlappingOperands, ParseError, SingularMatrix, SolveError, SolveWarning)
from ._report import Certificate, Report, Status
from ._solve import Candidate, Progress, Solution, Solver, choose, factor, solve
