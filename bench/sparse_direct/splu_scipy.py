# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's splu (SuperLU) on the matrices of bench_multifrontal: splu_scipy.py [RUNS] FILE.mtx.gz... prints the
shortest seconds of ordering and factorisation together, of a solve, and the entries of L and U in millions."""

import gzip
import pathlib
import sys
import time

import numpy
import scipy.io
import scipy.sparse.linalg


def seconds_of(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


arguments = sys.argv[1:]
runs = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 3
print("| matrix | splu s | solve s | entries, millions |\n| --- | ---: | ---: | ---: |")
for name in arguments:
    file = gzip.open(name) if name.endswith(".gz") else name
    matrix = scipy.io.mmread(file).tocsc()
    b = numpy.ones(matrix.shape[0])
    try:
        pairs = [seconds_of(lambda: scipy.sparse.linalg.splu(matrix)) for _ in range(runs)]
        factor = pairs[0][1]
        solve = min(seconds_of(lambda: factor.solve(b))[0] for _ in range(runs))
        words = f"{min(pair[0] for pair in pairs):.3f} | {solve:.4f} | {(factor.L.nnz + factor.U.nnz) / 1e6:.2f}"
    except (RuntimeError, MemoryError) as error:
        words = f"{error} | |"
    print(f"| {pathlib.Path(name).name} | {words} |", flush=True)
