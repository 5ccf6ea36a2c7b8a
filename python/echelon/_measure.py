# SPDX-License-Identifier: BSD-3-Clause
"""Measures one method, in the process that `compare` starts for it.

The argument is JSON: the files of A and b, the type, the method with its options and device, and limits. A line of JSON is
printed after each step, with the figures that are known by then, so that a process that is ended has said what it measured.
"""
from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import echelon


def private_bytes() -> int:
    """Private memory of this process, most of which BLAS reserves when it is loaded."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()


def limit_memory(limit: int) -> None:
    """Lets allocations beyond the limit fail."""
    least = private_bytes()
    if limit <= least:
        raise MemoryError(f"a limit of {limit} bytes is too little: the process takes {least} when it starts")
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


class Figures(dict[str, Any]):
    """The figures known so far."""

    def show(self, **figures: Any) -> None:
        """Adds figures, and prints all."""
        self.update(figures, peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        print(json.dumps(self), flush=True)


def measure(request: dict[str, Any], figures: Figures) -> None:
    dtype = np.dtype(request["dtype"])
    A = echelon.read(request["A"], dtype=dtype)
    b = np.load(request["b"])
    stop: dict[str, Any] = {}
    if echelon.methods()[request["method"]].kind == "iterative":
        stop = {"rtol": request["tolerance"], "maxiter": request["max_iterations"]}
    solver = echelon.Solver(request["method"], device=request["device"], **request["options"])
    begin = perf_counter()
    solver.setup(A, check="ignore")
    seconds = perf_counter() - begin
    report = solver.report
    figures.show(method=solver.describe(), setup_seconds=seconds, status=str(report.status), message=report.message,
                 bytes=solver.nbytes if report.ready else None)
    if not report.ready:
        return
    begin = perf_counter()
    solver.update(A, check="ignore")
    figures.show(update_seconds=perf_counter() - begin)
    report = solver.solve(b, check="ignore", return_report=True, **stop).report
    figures.show(status=str(report.status), message=report.message, solved=report.solved, iterations=report.iterations,
                 relative_residual=report.relative_residual, backward_error=report.backward_error,
                 expected_digits=report.expected_digits, bytes=solver.nbytes, solve_seconds=report.solve_seconds)
    if not report.solved:
        return
    for name, columns in (("solve_seconds", b), ("solve_10_seconds", np.multiply.outer(b, np.arange(1, 11, dtype=dtype)))):
        x = np.empty_like(columns)
        begin = perf_counter()
        timed = solver.solve(columns, out=x, measure_error=False, check="ignore", return_report=True, **stop).report
        if timed.solved:
            figures.show(**{name: perf_counter() - begin})


def main() -> None:
    request = json.loads(sys.argv[1])
    figures = Figures()
    try:
        if request["memory"] is not None:
            limit_memory(request["memory"])
        measure(request, figures)
    except (echelon.Error, MemoryError) as error:
        figures.show(status="failed", message=str(error) or "out of memory", solved=False)


if __name__ == "__main__":
    main()
