# SPDX-License-Identifier: BSD-3-Clause
"""Prints what an answer to a question about an installation needs: versions, build, devices, BLAS and CUDA's libraries. The
command `echelon` of a wheel is the tool beside the extension module."""
import os
import platform
import sys
from pathlib import Path

import numpy

from . import __version__, _core, methods
from ._extension import obstacle


def loaded_libraries(*words: str) -> list[str]:
    """Libraries of this process with one of the words in their names; those inside the extension are not listed."""
    maps = Path("/proc/self/maps")
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines() if "/" in line} if maps.exists() else set()
    return sorted(path for path in paths if any(word in Path(path).name for word in words))


def main() -> None:
    print(f"echelon {__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}")
    print(f"extension: {_core.__file__}")
    print(f"built {'with' if _core.cuda_built() else 'without'} CUDA, {len(methods())} methods")
    for name, hardware in _core.devices().items():
        print(f"device {name}: {hardware}")
    print(f"BLAS: {_core.blas() or 'not OpenBLAS'}")
    for path in loaded_libraries("blas", "libmkl"):
        print(f"library of BLAS: {path}")
    if _core.cuda_built():
        for path in loaded_libraries("libcuda", "libcublas", "libcusolver"):
            print(f"library of CUDA: {path}")
    else:
        print(f"no extension for GPUs: {obstacle() or 'it cannot be loaded'}")


def tool() -> None:
    """Becomes the command-line tool, with the arguments of this process."""
    program = Path(_core.__file__).with_name("echelon")
    if not program.exists():
        sys.exit(f"echelon: this build of the Python package has no tool: {program} is missing")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
