# SPDX-License-Identifier: BSD-3-Clause
"""Reads the file named on the command line with SciPy, as CSR; prints the wall and CPU time in seconds and the
growth of the peak resident set in bytes."""

import resource
import sys
import time

import scipy.io
import scipy.sparse


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


before = resident_bytes()
cpu = time.process_time()
start = time.perf_counter()
matrix = scipy.sparse.csr_matrix(scipy.io.mmread(sys.argv[1]))
seconds = time.perf_counter() - start
cpu = time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(seconds, cpu, peak - before)
