# SPDX-License-Identifier: BSD-3-Clause
"""Reports of set-ups and solves."""
from __future__ import annotations

import html
import json
import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Status(str, Enum):
    """Outcome of a computation; equal to its text."""

    converged = "converged"
    direct = "direct"
    least_squares = "least_squares"
    ready = "ready"
    max_iterations = "max_iterations"
    stagnated = "stagnated"
    diverged = "diverged"
    breakdown = "breakdown"
    singular = "singular"
    inconsistent = "inconsistent"
    underdetermined = "underdetermined"
    not_a_number = "not_a_number"
    not_spd = "not_spd"
    out_of_memory = "out_of_memory"
    cancelled = "cancelled"

    def __str__(self) -> str:
        return self.value


class Certificate(NamedTuple):
    """Proven bound on the error of x, or the reason why there is none (`proof` is "none", and the bounds are infinite)."""

    proof: str
    reason: str
    error_bound: float
    relative_error_bound: float
    element_bounds: NDArray[np.float64]
    smallest_eigenvalue: float | None

    @property
    def proven(self) -> bool:
        return self.proof != "none"


def certificate_of(core: Any) -> Certificate:
    return Certificate(*(getattr(core, name) for name in Certificate._fields))


class _Snapshot:
    """Fields of a report that came out of a pickle."""

    def __init__(self, fields: dict[str, Any], text: str, json: str) -> None:
        self.__dict__.update(fields)
        self._text = text
        self._json = json

    def text(self) -> str:
        return self._text

    def to_json(self) -> str:
        return self._json


class Report:
    """Outcome of a set-up or a solve. True if the system is solved.

    Residuals are computed from ``b - A @ x`` with the A and b that were given, and describe the worst right-hand side. A
    field is converted when it is read.

    Attributes
    ----------
    status : Status
    solved, ready : bool
        Whether x can be taken as the solution; whether a set-up succeeded.
    method, device, reason, message : str
        The method and why it was chosen, and an explanation of `status`.
    warnings : list of str
    row, column : int or None
        Place that `status` refers to, from 0.
    iterations : int
    history : numpy.ndarray
        Relative residuals after 0, 1, 2, ... iterations.
    residual_norm, relative_residual, tolerance, backward_error : float
        2-norm of the residual, the same over that of b, its bound, and the normwise backward error.
    reciprocal_condition, preconditioned_condition, error_estimate, normal_residual, error_bound : float or None
    expected_digits, rank : int or None
    is_proven : bool
        Whether the rank, or a status such as "singular", is proven.
    statistics : dict
        Facts that the method reports about its work.
    choosing_seconds, analysis_seconds, setup_seconds, solve_seconds, transfer_seconds : float
    nbytes : int
        Memory held by the solver.
    columns, attempts : list of dict
        Figures of each right-hand side; methods that were tried before.
    computed : bool
        Whether there is an x.
    """

    __slots__ = ("_core",)

    solved: bool
    ready: bool
    method: str
    device: str
    reason: str
    message: str
    warnings: list[str]
    row: int | None
    column: int | None
    iterations: int
    history: NDArray[np.float64]
    residual_norm: float
    relative_residual: float
    tolerance: float
    backward_error: float
    reciprocal_condition: float | None
    condition_kind: str
    preconditioned_condition: float | None
    error_estimate: float | None
    normal_residual: float | None
    error_bound: float | None
    expected_digits: int | None
    rank: int | None
    is_proven: bool
    statistics: dict[str, Any]
    choosing_seconds: float
    analysis_seconds: float
    setup_seconds: float
    solve_seconds: float
    transfer_seconds: float
    nbytes: int
    columns: list[dict[str, Any]]
    attempts: list[dict[str, Any]]
    computed: bool

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in Report.__annotations__:
            raise AttributeError(f"a report has no {name!r}")
        return getattr(self._core, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *Report.__annotations__})

    @property
    def status(self) -> Status:
        return Status(self._core.status)

    @property
    def certificate(self) -> Certificate | None:
        """The proven bound that ``certify=True`` asked for."""
        core = self._core.certificate
        return core if core is None or isinstance(core, Certificate) else certificate_of(core)

    def __bool__(self) -> bool:
        return self.solved

    def __str__(self) -> str:
        return str(self._core.text())

    def __repr__(self) -> str:
        facts = [str(self.status), f"method={self.method!r}"]
        if self.iterations > 0:
            facts.append(f"iterations={self.iterations}")
        if self.computed:
            facts.append(f"relative_residual={self.relative_residual:.2g}")
            facts.append(f"backward_error={self.backward_error:.2g}")
        return f"<Report {' '.join(facts)}>"

    def to_json(self) -> str:
        """The report as one line of JSON, as ``echelon solve --json`` prints it."""
        return str(self._core.to_json())

    def to_dict(self) -> dict[str, Any]:
        """The report as a dictionary of what JSON can hold; None for what is not set."""
        result: dict[str, Any] = json.loads(self.to_json())
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self._core, name) for name in Report.__annotations__}
        fields.update(status=self._core.status, certificate=self.certificate)
        return _restored, (fields, str(self), self.to_json())

    def _repr_html_(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("status", f"{self.status}" + (f": {self.message}" if self.message else "")),
            ("method", f"{self.method} on {self.device}" + (f": {self.reason}" if self.reason else "")),
            ("iterations", self.iterations),
            ("relative residual", f"{self.relative_residual:.3g}"),
            ("backward error", f"{self.backward_error:.3g}"),
            ("expected digits", "unknown" if self.expected_digits is None else self.expected_digits),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(str(value))}</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>{_history_svg(self.history, self.relative_residual)}"


def _restored(fields: dict[str, Any], text: str, json: str) -> Report:
    return Report(_Snapshot(fields, text, json))


def _history_svg(history: NDArray[np.float64], final: float) -> str:
    """The residuals of an iteration as a line in a logarithmic scale."""
    values = [math.log10(value) for value in history if 0 < value < math.inf]
    if len(values) < 2:
        return ""
    low, high = math.floor(min(values)), math.ceil(max(values))
    span = max(high - low, 1)
    width, height, left, step = 480, 200, 60, max(1, len(values) // 1000)
    shown = list(enumerate(values))[::step]
    points = " ".join(f"{left + (width - left) * i / (len(values) - 1):.1f},{10 + height * (high - value) / span:.1f}"
                      for i, value in shown)
    labels = "".join(f'<text x="{left - 6}" y="{14 + height * (high - tick) / span:.0f}" text-anchor="end">1e{tick}</text>'
                     for tick in range(low, high + 1, max(1, math.ceil(span / 5))))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 20}" height="{height + 40}" font-size="12" '
            f'font-family="sans-serif" role="img" aria-label="residuals to {final:.2g}">'
            f'<rect x="{left}" y="10" width="{width - left}" height="{height}" fill="none" stroke="#999"/>{labels}'
            f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.5"/>'
            f'<text x="{(left + width) / 2:.0f}" y="{height + 32}" text-anchor="middle">relative residual over '
            f'{len(history) - 1} iterations</text></svg>')
