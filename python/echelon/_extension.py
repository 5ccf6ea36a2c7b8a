# SPDX-License-Identifier: BSD-3-Clause
"""Which extension module is `echelon._core`: that of echelon-solvers-cu13, which computes on GPUs, where it is installed and
a driver of NVIDIA's is found, or else the one in this package. ECHELON_DEVICE=cpu in the environment chooses the latter."""
import ctypes
import importlib
import importlib.util
import os
import sys
import warnings

_GPU_PACKAGE = "echelon_cu13"


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def obstacle() -> str:
    """Why the extension module for GPUs is not used; empty if it can be."""
    if importlib.util.find_spec(_GPU_PACKAGE) is None:
        return "echelon-solvers-cu13 is not installed"
    if os.environ.get("ECHELON_DEVICE") == "cpu":
        return "ECHELON_DEVICE is cpu"
    return "" if _has_driver() else "there is no driver of NVIDIA's, libcuda.so.1"


def choose() -> None:
    """Puts the extension module for GPUs in the place of `echelon._core` if it can be used."""
    if obstacle():
        return
    try:
        extension = importlib.import_module(f"{_GPU_PACKAGE}._core")
    except ImportError as error:
        warnings.warn(f"GPUs are not used, since {_GPU_PACKAGE} cannot be loaded: {error}", RuntimeWarning, stacklevel=3)
        return
    sys.modules["echelon._core"] = extension
    setattr(sys.modules["echelon"], "_core", extension)
