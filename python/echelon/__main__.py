# SPDX-License-Identifier: BSD-3-Clause
"""Prints what an answer to a question about an installation needs: versions, build, devices and BLAS."""
import platform
from pathlib import Path

import numpy

from . import __version__, _core, methods


def blas_libraries() -> list[str]:
    """BLAS libraries of this process; those inside the extension are not listed."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return sorted({line.split(maxsplit=5)[-1] for line in lines if "blas" in line or "libmkl" in line})


def main() -> None:
    print(f"echelon {__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}")
    print(f"extension: {_core.__file__}")
    print(f"built {'with' if _core.cuda_built() else 'without'} CUDA, {len(methods())} methods")
    for name, hardware in _core.devices().items():
        print(f"device {name}: {hardware}")
    for path in blas_libraries():
        print(f"BLAS: {path}")


if __name__ == "__main__":
    main()
