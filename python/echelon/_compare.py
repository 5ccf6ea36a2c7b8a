# SPDX-License-Identifier: BSD-3-Clause
"""Methods for one system, each in a process of its own, to the same true residual."""
from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import as_matrix, as_numpy, as_vectors, common_type, dense_array, is_operator, scalar_type, type_of_matrix
from ._errors import BadOption, DimensionMismatch, Error
from ._packages import element_type
from ._solve import choose, flat_options, method_name
from ._tools import methods as all_methods
from ._tools import read, write

Competitor = Callable[[Any, Any], Any]


class Measurement(NamedTuple):
    """Figures of one method; None for those that were not reached.

    Attributes
    ----------
    method, device, reason : str
        The method with its options, where it ran, and why it was chosen.
    status, message : str
        Status of the solve, "failed" or "stopped", and why.
    reached : bool
        Whether x is a solution whose true residual is within the tolerance.
    solve_10_seconds : float or None
        Time for ten right-hand sides, which are solved together.
    bytes, peak_bytes : int or None
        Memory of the solver, and resident memory of the process.
    """

    method: str
    device: str
    reason: str
    status: str
    message: str
    reached: bool
    setup_seconds: float | None
    update_seconds: float | None
    solve_seconds: float | None
    solve_10_seconds: float | None
    iterations: int | None
    relative_residual: float | None
    backward_error: float | None
    expected_digits: int | None
    bytes: int | None
    peak_bytes: int | None

    def total(self, columns: int = 1) -> float | None:
        """Seconds of the set-up and the solves for 1, 10 or 100 right-hand sides; 100 are ten times ten."""
        solves = self.solve_seconds if columns == 1 else self.solve_10_seconds
        if not self.reached or self.setup_seconds is None or solves is None:
            return None
        return self.setup_seconds + solves * max(1, columns // 10)


class Comparison:
    """Result of `compare`. Printed, it is a table; notebooks show the page of `to_html`.

    Attributes
    ----------
    results : list of Measurement
    tolerance : float
        Relative residual that had to be reached.
    """

    def __init__(self, core: Any, results: list[Measurement], A: Any) -> None:
        self._core, self._A = core, A
        self.results = results
        self.tolerance: float = core.tolerance

    def best(self, columns: int = 1) -> Measurement | None:
        """The method with the least total time for 1, 10 or 100 right-hand sides, among those that reached the tolerance."""
        totals = [(total, k) for k, total in enumerate(result.total(columns) for result in self.results) if total is not None]
        return self.results[min(totals)[1]] if totals else None

    def to_json(self) -> str:
        """One line of JSON with the names of ``echelon compare --json``."""
        return str(self._core.to_json())

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a dictionary of what JSON can hold."""
        result: dict[str, Any] = json.loads(self.to_json())
        return result

    def to_html(self) -> str:
        """A page in HTML that needs no other file, as ``echelon compare --report`` writes it."""
        return str(self._core.to_html(as_matrix(self._A, type_of_matrix(self._A)), ""))

    def to_pandas(self) -> Any:
        """The results as a pandas.DataFrame, with the total times."""
        import pandas

        rows = [{**result._asdict(), **{f"total_{n}_seconds": result.total(n) for n in (1, 10, 100)}} for result in self.results]
        return pandas.DataFrame(rows)

    def _repr_html_(self) -> str:
        return ('<iframe title="comparison" sandbox="" style="width:100%;height:34em;border:0" '
                f'srcdoc="{html.escape(self.to_html())}"></iframe>')

    def __str__(self) -> str:
        rows = self._core.rows()
        width = max(len(label) for label, _ in rows)
        columns, cells = self._core.table()
        table = [columns, *cells]
        widths = [max(len(row[k]) for row in table) for k in range(len(columns))]
        lines = [f"{label.ljust(width)}  {value}" for label, value in rows]
        return "\n".join([*lines, "", *("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)])

    def __repr__(self) -> str:
        best = self.best()
        return f"<Comparison of {len(self.results)} methods, fastest {best.method if best else 'none'}>"


def compare(A: Any, b: Any = None, *, methods: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
            devices: Sequence[str] | None = None, rtol: float | None = None, maxiter: int | None = None, limit: float = 30.0,
            memory: int | None = None, extra: Mapping[str, Competitor] | None = None) -> Comparison:
    """Solve one system by several methods, and measure time, memory and accuracy at the same true residual.

    Each method runs in a process of its own, one after the other, and gets A and b by way of temporary files.

    Parameters
    ----------
    A : array, sparse matrix or `symmetric`
        Square, real.
    b : array of shape (n,), optional
        Right-hand side; default: ``A @ ones``.
    methods : list of str or (str, dict), optional
        Methods, with options: ``["sparse-lu", ("cg", {"preconditioner": "amg"})]``; default: those of `choose`.
    devices : list of str, optional
        Default: "openmp", and "cuda" if there is a GPU.
    rtol : float, optional
        Relative residual to reach; default 1e-8, in float32 1e-5.
    maxiter : int, optional
        Largest number of iterations of iterative methods.
    limit : float
        Seconds for each method.
    memory : int, optional
        Bytes of private memory for each method, beyond which allocations fail.
    extra : dict of str to callable, optional
        Solvers of other packages: functions of A and b that return x. They run in this process, without limits, and their
        time is that of the call.

    Examples
    --------
    >>> import echelon
    >>> A = echelon.generate("poisson-2d", nx=20, ny=20)
    >>> comparison = echelon.compare(A, methods=["sparse-cholesky", ("cg", {"preconditioner": "jacobi"})], devices=["serial"])
    >>> [(result.method.split()[0], result.reached) for result in comparison.results]
    [('sparse-cholesky', True), ('cg', True)]
    """
    if is_operator(A):
        raise Error("compare needs the elements of A, which an operator does not have")
    if not limit > 0:
        raise BadOption(f"limit is a time above 0, not {limit}", "limit")
    dtype = type_of_matrix(A)
    if b is not None:
        dtype = common_type(dtype, scalar_type(element_type(dense_array(b, "b")), "b"))
    matrix = as_matrix(A, dtype)
    if matrix.rows != matrix.columns:
        raise DimensionMismatch(f"A is {matrix.rows} by {matrix.columns}: compare takes square systems")
    core = _core.Comparison()
    core.matrix = f"{matrix.rows} x {matrix.columns}"
    core.right_hand_side = "b = A * 1, as no b was given" if b is None else "b"
    core.tolerance = rtol if rtol is not None else 1e-5 if dtype == np.float32 else 1e-8
    core.limit_seconds, core.limit_bytes = limit, memory or 0
    competitors = _competitors(A, methods, list(devices or _default_devices()))
    with tempfile.TemporaryDirectory(prefix="echelon-compare-") as folder:
        files = {"A": str(Path(folder, "A.npz")), "b": str(Path(folder, "b.npy"))}
        write(files["A"], A)
        written = read(files["A"], dtype=dtype)
        rhs = as_numpy(written @ np.ones(matrix.rows, dtype) if b is None else as_vectors(b, matrix.rows, dtype))
        if rhs.ndim != 1:
            raise DimensionMismatch(f"b has the shape {rhs.shape}: compare takes one right-hand side")
        np.save(files["b"], np.ascontiguousarray(rhs))
        shared = dict(files, dtype=dtype.name, tolerance=core.tolerance, max_iterations=maxiter, memory=memory)
        found = [_measured(dict(shared, **competitor), core.tolerance, limit) for competitor in competitors]
    found += [_measured_here(name, solve, A, written, rhs, core.tolerance) for name, solve in (extra or {}).items()]
    for figures in found:
        core.add(figures)
    return Comparison(core, [_measurement(figures) for figures in found], A)


def _measurement(figures: dict[str, Any]) -> Measurement:
    return Measurement(**{name: figures.get(name) for name in Measurement._fields})  # type: ignore[arg-type]


def _default_devices() -> list[str]:
    return [name for name in _core.devices() if name == "openmp" or name == "cuda:0"]


def _competitors(A: Any, methods: Sequence[str | tuple[str, Mapping[str, Any]]] | None,
                 devices: list[str]) -> list[dict[str, Any]]:
    """Methods with their options, devices and reasons."""
    if methods is None:
        return [dict(method=found.method, options=found.options, device=found.device, reason=found.reason)
                for device in devices for found in choose(A, device=device)]
    table = all_methods()
    named = [(method_name(entry), {}) if isinstance(entry, str) else (method_name(entry[0]), flat_options(entry[1]))
             for entry in methods]
    result = []
    for device in devices:
        for name, options in named:
            if name in table and device.split(":")[0] not in table[name].devices:
                continue
            _core.float64.Solver(name, device, options)  # raises for names and options that do not exist
            result.append(dict(method=name, options=options, device=device, reason="asked for"))
    if not result:
        raise BadOption("none of these methods runs on these devices", "methods")
    return result


def _measured(request: dict[str, Any], tolerance: float, limit: float) -> dict[str, Any]:
    """Figures of a method in a process of its own."""
    folder = str(Path(__file__).parent.parent)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])]))
    process = subprocess.Popen([sys.executable, "-m", "echelon._measure", json.dumps(request)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    stopped = False
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        stopped = True
    except BaseException:
        process.kill()
        process.wait()
        raise
    lines = output.splitlines()
    figures: dict[str, Any] = {"method": request["method"], "status": "failed", "message": ""}
    figures.update(json.loads(lines[-1]) if lines else {})
    figures.update(device=request["device"], reason=request["reason"])
    if stopped:
        figures.update(status="stopped", message=f"not done after {limit:g} s")
    elif process.returncode < 0:
        figures.update(status="failed", message=f"its process was ended by signal {-process.returncode}")
    elif process.returncode > 0:
        figures.update(status="failed", message=(errors.strip().splitlines() or [""])[-1])
    return _judged(figures, tolerance)


def _judged(figures: dict[str, Any], tolerance: float) -> dict[str, Any]:
    """Adds whether the tolerance was reached."""
    solved, residual = figures.get("solved", False), figures.get("relative_residual")
    figures["reached"] = bool(solved and residual is not None and residual <= tolerance)
    if solved and not figures["reached"] and not figures["message"]:
        figures["message"] = f"its x has a residual of {residual:.2e}"
    return figures


def _measured_here(name: str, solve: Competitor, A: Any, written: Any, b: Any, tolerance: float) -> dict[str, Any]:
    """Figures of a caller's function, whose set-up is part of its solve; `written` is A for the residual."""
    figures: dict[str, Any] = dict(method=name, device="caller", reason="asked for", message="", setup_seconds=0.0)
    begin = perf_counter()
    try:
        x = np.asarray(solve(A, b))
    except Exception as error:  # whatever it raises is its result
        return _judged(dict(figures, status="failed", message=f"{type(error).__name__}: {error}"), tolerance)
    seconds = perf_counter() - begin
    residual = float(np.linalg.norm(b - written @ x) / (np.linalg.norm(b) or 1.0))
    return _judged(dict(figures, status="solved", solved=True, solve_seconds=seconds, relative_residual=residual), tolerance)
