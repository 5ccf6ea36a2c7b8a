# SPDX-License-Identifier: BSD-3-Clause
"""Reports of set-ups and solves."""
from __future__ import annotations

import html
import json
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._arrays import as_matrix, type_of_matrix


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

    def __init__(self, fields: dict[str, Any], text: str, json: str, page: str) -> None:
        self.__dict__.update(fields)
        self._text = text
        self._json = json
        self._page = page

    def text(self) -> str:
        return self._text

    def to_json(self) -> str:
        return self._json

    def to_html(self, matrix: Any, title: str, command: str) -> str:
        if matrix is not None or title or command:
            raise ValueError("a report that came out of a pickle has the page without arguments only")
        return self._page


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
    row_of_unknown : numpy.ndarray or None
        The map of `mapped-echelon`: the row that each unknown is eliminated by, -1 for a free one.
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
    row_of_unknown: NDArray[np.int64] | None
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
        return _restored, (fields, str(self), self.to_json(), self.to_html())

    def to_html(self, A: Any = None, *, title: str = "", command: str = "") -> str:
        """The report as a page in HTML that needs no other file, as ``echelon solve --report`` writes it.

        Parameters
        ----------
        A : matrix, optional
            Adds the facts and pictures of the matrix; not an operator.
        title : str
            Heading; by default the name of the method.
        command : str
            What repeats the computation; by default a command of the tool.
        """
        matrix = None if A is None else as_matrix(A, type_of_matrix(A))
        return str(self._core.to_html(matrix, title, command))

    def _repr_html_(self) -> str:
        # The style sheet is that of a page, so that the notebook shows the page in a frame.
        return ('<iframe title="report" sandbox="" style="width:100%;height:34em;border:0" '
                f'srcdoc="{html.escape(self.to_html())}"></iframe>')


def _restored(fields: dict[str, Any], text: str, json: str, page: str) -> Report:
    return Report(_Snapshot(fields, text, json, page))
