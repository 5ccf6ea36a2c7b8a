#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's lsqr and lsmr on the systems of bench_least_squares, in the rows of its table.

Usage: least_squares_peers.py [--tolerance X] FILE...
"""
import argparse
import time
from pathlib import Path

import numpy as np
from scipy.io import mmread
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsmr, lsqr

parser = argparse.ArgumentParser()
parser.add_argument("--tolerance", type=float, default=1e-8)
parser.add_argument("files", nargs="+")
arguments = parser.parse_args()
for file in arguments.files:
    A = csr_matrix(mmread(file))
    b = np.sin(np.arange(1, A.shape[0] + 1))
    options = {"atol": arguments.tolerance, "btol": arguments.tolerance, "conlim": 0}
    for name, method, limit in (("SciPy lsmr", lsmr, "maxiter"), ("SciPy lsqr", lsqr, "iter_lim")):
        start = time.process_time()
        x, stop, iterations = method(A, b, **options, **{limit: 10000})[:3]
        seconds = time.process_time() - start
        r = b - A @ x
        normal = np.linalg.norm(A.T @ r) / (np.linalg.norm(A.data) * np.linalg.norm(r))
        print(f"| {Path(file).name.split('.')[0]} | {name} | stop {stop} | {seconds:.3g} | {np.linalg.norm(r):.6e} "
              f"| {normal:.1e} | {np.linalg.norm(x):.5e} |")
