# SPDX-License-Identifier: BSD-3-Clause
"""Defaults for a block of code.

Examples
--------
>>> import echelon, numpy as np
>>> with echelon.config.threads(1):
...     x, report = echelon.solve(np.eye(2), np.ones(2), return_report=True)
>>> report.device
'openmp:1'
"""
from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from ._errors import BadOption

__all__ = ["device", "threads"]

_host_device: contextvars.ContextVar[str | None] = contextvars.ContextVar("echelon_host_device", default=None)


def default_device() -> str | None:
    """The device of matrices in host memory for which none is named, or None."""
    return _host_device.get()


@contextlib.contextmanager
def device(name: str) -> Iterator[None]:
    """Lets `solve`, `factor`, `choose` and `Solver` compute on a device within a `with` block, for matrices in
    host memory and calls that name none. Threads and tasks have defaults of their own.

    Parameters
    ----------
    name : str
        ``"serial"``, ``"openmp"``, ``"openmp:4"``, ``"cuda"``, ``"cuda:1"`` or ``"opencl"``.
    """
    token = _host_device.set(name)
    try:
        yield
    finally:
        _host_device.reset(token)


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    """Lets them compute with at most `number` threads of the host within a `with` block.

    Parameters
    ----------
    number : int
        At least 1.
    """
    if number < 1:
        raise BadOption(f"threads: the number has to be at least 1, not {number}", "threads")
    with device(f"openmp:{number}"):
        yield
