# SPDX-License-Identifier: BSD-3-Clause
"""coo_matrix.tocsr of `scattered` or `elements`, made as bench_convert makes them: convert_scipy.py KIND ENTRIES
TYPE prints the median seconds of three runs and the nonzeros that remain once duplicates are summed."""

import sys
import time

import numpy
import scipy.sparse


def scattered(entries):
    rows = max(entries // 10, 1)
    random = numpy.random.default_rng(1)
    return rows, random.integers(0, rows, entries, numpy.int32), random.integers(0, rows, entries, numpy.int32)


def elements(entries):
    side = round((entries / 16) ** 0.5)
    element = numpy.arange(side * side)
    corner = element // side * (side + 1) + element % side
    nodes = numpy.stack([corner, corner + 1, corner + side + 1, corner + side + 2], axis=1).astype(numpy.int32)
    return (side + 1) ** 2, numpy.repeat(nodes, 4, axis=1).ravel(), numpy.tile(nodes, (1, 4)).ravel()


n, row, column = {"scattered": scattered, "elements": elements}[sys.argv[1]](int(sys.argv[2]))
values = (numpy.arange(row.size) % 17).astype(numpy.float64 if sys.argv[3] == "double" else numpy.float32)
seconds = []
for run in range(3):
    matrix = scipy.sparse.coo_matrix((values, (row, column)), shape=(n, n), copy=False)
    start = time.perf_counter()
    csr = matrix.tocsr()
    seconds.append(time.perf_counter() - start)
print(sorted(seconds)[1], csr.nnz)
