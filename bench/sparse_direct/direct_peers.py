# SPDX-License-Identifier: BSD-3-Clause
"""Sparse direct solvers on the host, side by side.

  direct_peers.py [--program PATH] [--mkl PATH] [--threads N] [--rounds N] [--limit SECONDS] [--save FILE] FILE.mtx[.gz]...

runs, for each matrix, bench_multifrontal (PROGRAM), UMFPACK, PARDISO of MKL, splu of SciPy and, for symmetric
matrices, CHOLMOD. Each run is a process of its own that repeats analysis, factorisation and solve, and reports
the shortest time of each; the solvers take turns for ROUNDS rounds. A run that takes longer than LIMIT is left
out. The table has milliseconds, the normwise backward error, and ratios of the times of analysis, factorisation
and solve together; the last lines are geometric means. Libraries that are not installed are left out.
"""

import argparse
import ctypes
import ctypes.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

PHASES = ("analysis", "factor", "solve")
PARDISO_KINDS = {"general": 11, "indefinite": -2, "definite": 2}


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def integer(value):
    return ctypes.byref(ctypes.c_int(value))


class Umfpack:
    def __init__(self, matrix, _kind):
        self.library = ctypes.CDLL(ctypes.util.find_library("umfpack"))
        columns = matrix.tocsc()
        columns.sort_indices()
        self.order = matrix.shape[0]
        self.arrays = (columns.indptr.astype(numpy.int32), columns.indices.astype(numpy.int32), columns.data.copy())
        self.symbolic, self.numeric = ctypes.c_void_p(), ctypes.c_void_p()

    def analysis(self):
        size = ctypes.c_int(self.order)
        code = self.library.umfpack_di_symbolic(
            size, size, *map(pointer, self.arrays), ctypes.byref(self.symbolic), None, None)
        assert code == 0, f"umfpack_di_symbolic returns {code}"

    def factor(self):
        code = self.library.umfpack_di_numeric(
            *map(pointer, self.arrays), self.symbolic, ctypes.byref(self.numeric), None, None)
        assert code == 0, f"umfpack_di_numeric returns {code}"

    def solve(self, b):
        x = numpy.empty_like(b)
        code = self.library.umfpack_di_solve(
            0, *map(pointer, self.arrays), pointer(x), pointer(b), self.numeric, None, None)
        assert code == 0, f"umfpack_di_solve returns {code}"
        return x

    def free(self):
        self.library.umfpack_di_free_symbolic(ctypes.byref(self.symbolic))
        self.library.umfpack_di_free_numeric(ctypes.byref(self.numeric))


class CholmodSparse(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("nrow", "ncol", "nzmax")] + [
        (name, ctypes.c_void_p) for name in ("p", "i", "nz", "x", "z")] + [
        (name, ctypes.c_int) for name in ("stype", "itype", "xtype", "dtype", "sorted", "packed")]


class CholmodDense(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("nrow", "ncol", "nzmax", "d")] + [
        (name, ctypes.c_void_p) for name in ("x", "z")] + [(name, ctypes.c_int) for name in ("xtype", "dtype")]


class Cholmod:
    def __init__(self, matrix, _kind):
        self.library = ctypes.CDLL(ctypes.util.find_library("cholmod"))
        for name in ("cholmod_analyze", "cholmod_solve"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.common = ctypes.create_string_buffer(1 << 16)  # larger than cholmod_common
        self.library.cholmod_start(self.common)
        self.order = matrix.shape[0]
        self.arrays = (matrix.indptr.astype(numpy.int32), matrix.indices.astype(numpy.int32), matrix.data.copy())
        p, i, x = map(pointer, self.arrays)
        self.matrix = CholmodSparse(self.order, self.order, matrix.nnz, p, i, None, x, None, 1, 0, 1, 0, 1, 1)
        self.factors = ctypes.c_void_p()

    def analysis(self):
        self.factors = ctypes.c_void_p(self.library.cholmod_analyze(ctypes.byref(self.matrix), self.common))

    def factor(self):
        self.library.cholmod_factorize(ctypes.byref(self.matrix), self.factors, self.common)
        pivots = ctypes.cast(self.factors, ctypes.POINTER(ctypes.c_size_t))[1]  # cholmod_factor::minor
        assert pivots == self.order, "not positive definite"

    def solve(self, b):
        rhs = CholmodDense(self.order, 1, self.order, self.order, pointer(b), None, 1, 0)
        found = ctypes.c_void_p(self.library.cholmod_solve(0, self.factors, ctypes.byref(rhs), self.common))
        data = ctypes.cast(found, ctypes.POINTER(CholmodDense)).contents.x
        x = numpy.ctypeslib.as_array(ctypes.cast(data, ctypes.POINTER(ctypes.c_double)), b.shape).copy()
        self.library.cholmod_free_dense(ctypes.byref(found), self.common)
        return x

    def free(self):
        self.library.cholmod_free_factor(ctypes.byref(self.factors), self.common)


class Pardiso:
    """Two kinds of symmetric matrices get their upper triangle, with every element of the diagonal."""

    def __init__(self, matrix, kind):
        self.library = ctypes.CDLL(os.environ["MKL_RT"])
        self.kind = PARDISO_KINDS[kind]
        if kind != "general":
            n = matrix.shape[0]
            rows = numpy.repeat(numpy.arange(n), numpy.diff(matrix.indptr))
            upper = matrix.indices > rows
            rows = numpy.concatenate([numpy.arange(n), rows[upper]])
            columns = numpy.concatenate([numpy.arange(n), matrix.indices[upper]])
            values = numpy.concatenate([matrix.diagonal(), matrix.data[upper]])
            place = numpy.lexsort((columns, rows))
            offsets = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(rows, minlength=n))])
            self.arrays = (values[place].copy(), offsets.astype(numpy.int32), columns[place].astype(numpy.int32))
        else:
            self.arrays = (matrix.data.copy(), matrix.indptr.astype(numpy.int32), matrix.indices.astype(numpy.int32))
        self.order = matrix.shape[0]
        self.handle = numpy.zeros(64, numpy.int64)
        self.permutation = numpy.zeros(self.order, numpy.int32)
        self.parameters = numpy.zeros(64, numpy.int32)
        self.parameters[[0, 1, 34]] = 1, 2, 1  # these values, dissection of METIS, counted from 0
        self.parameters[9] = 13 if kind == "general" else 8
        self.parameters[[10, 12]] = 0 if kind == "definite" else 1  # scaling and matching

    def call(self, phase, b, x):
        code = ctypes.c_int(0)
        self.library.pardiso(
            pointer(self.handle), integer(1), integer(1), integer(self.kind), integer(phase), integer(self.order),
            *map(pointer, self.arrays), pointer(self.permutation), integer(1), pointer(self.parameters), integer(0),
            pointer(b), pointer(x), ctypes.byref(code))
        assert code.value == 0, f"pardiso returns {code.value} in phase {phase}"

    def analysis(self):
        self.call(11, numpy.zeros(1), numpy.zeros(1))

    def factor(self):
        self.call(22, numpy.zeros(1), numpy.zeros(1))

    def solve(self, b):
        x = numpy.empty_like(b)
        self.call(33, b, x)
        return x

    def free(self):
        self.call(-1, numpy.zeros(1), numpy.zeros(1))


class Splu:
    def __init__(self, matrix, _kind):
        self.matrix = matrix.tocsc()

    def analysis(self):
        pass

    def factor(self):
        self.factors = scipy.sparse.linalg.splu(self.matrix)

    def solve(self, b):
        return self.factors.solve(b)

    def free(self):
        pass


PEERS = {"umfpack": Umfpack, "cholmod": Cholmod, "pardiso": Pardiso, "splu": Splu}


def repeats_for(seconds):
    return 1 if seconds > 5 else max(2, min(20, int(2 / max(seconds, 1e-3))))


def measure_peer(name, kind, file):
    """Runs in a process of its own."""
    arrays = numpy.load(file)
    matrix = scipy.sparse.csr_matrix((arrays["values"], arrays["columns"], arrays["offsets"]))
    b = numpy.ones(matrix.shape[0])
    peer = PEERS[name](matrix, kind)
    best = dict.fromkeys(PHASES, math.inf)
    repeats, done = 1, 0
    while done < repeats:
        total = 0
        for phase in PHASES:
            start = time.perf_counter()
            x = getattr(peer, phase)(*([b] if phase == "solve" else []))
            seconds = time.perf_counter() - start
            best[phase] = min(best[phase], 1000 * seconds)
            total += seconds
        peer.free()
        done += 1
        repeats = repeats_for(total)
    norm = abs(matrix).sum(axis=1).max()
    best["error"] = float(abs(b - matrix @ x).max() / (norm * abs(x).max() + 1))
    print(json.dumps(best))


def limited(command, limit, environment):
    """The last line of the output, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None
    lines = done.stdout.strip().splitlines()
    return lines[-1] if done.returncode == 0 and lines else None


def own_result(program, method, file, options):
    line = limited([program, "--method", method, "--runs", "10", "--threads", str(options.threads), file],
                   options.limit, options.environment)
    if line is None:
        return None
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    if cells[-1] != "direct":
        return None
    analysis, factor, solve, error = map(float, cells[-5:-1])
    return {"analysis": analysis, "factor": factor, "solve": solve, "error": error, "gflop": float(cells[3])}


def peer_result(name, kind, file, options):
    line = limited([sys.executable, __file__, "--worker", name, kind, file], options.limit, options.environment)
    result = None if line is None else json.loads(line)
    return result if result and result["error"] < 1e-6 else None


def better(a, b):
    if a is None or b is None:
        return a or b
    return {key: min(a[key], b[key]) for key in a}


def results_for(file, options):
    matrix = scipy.sparse.csr_matrix(scipy.io.mmread(file), dtype=float)
    matrix.sum_duplicates()
    symmetric = (matrix != matrix.T).nnz == 0
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        arrays = os.path.join(folder, "matrix.npz")
        numpy.savez(arrays, values=matrix.data, columns=matrix.indices.astype(numpy.int32), offsets=matrix.indptr)
        runs = [("sparse-lu", "general"), ("umfpack", "general"), ("pardiso", "general"), ("splu", "general")]
        if symmetric:
            runs += [("sparse-cholesky", "definite"), ("cholmod", "definite"), ("pardiso", "definite")]
            runs += [("sparse-ldlt", "indefinite"), ("pardiso", "indefinite")]
        failed = set()
        for _ in range(options.rounds):
            for name, kind in runs:
                if kind in failed or (name, kind) in failed or (name == "pardiso" and not options.mkl):
                    continue
                if kind == "indefinite" and "sparse-cholesky" in found:
                    continue
                is_own = name.startswith("sparse-")
                result = (own_result(options.program, name, file, options) if is_own else
                          peer_result(name, kind, arrays, options))
                if result is None:
                    failed.add((name, kind))
                    if name == "sparse-cholesky":
                        failed.add(kind)
                    continue
                key = name if name != "pardiso" else f"pardiso {kind}"
                found[key] = better(found.get(key), result)
    return {"matrix": pathlib.Path(file).name.split(".mtx")[0], "n": matrix.shape[0], "nonzeros": matrix.nnz,
            "results": found}


def total(result):
    return sum(result[phase] for phase in PHASES)


COMPARISONS = (
    ("sparse-lu", "umfpack", total), ("sparse-lu", "splu", total),
    ("sparse-lu", "pardiso general", total), ("sparse-lu", "pardiso general", lambda r: r["factor"]),
    ("sparse-cholesky", "cholmod", total), ("sparse-cholesky", "pardiso definite", total),
    ("sparse-cholesky", "pardiso definite", lambda r: r["factor"]),
    ("sparse-ldlt", "pardiso indefinite", total), ("sparse-ldlt", "pardiso indefinite", lambda r: r["factor"]))


def print_rows(row):
    for name, result in row["results"].items():
        cells = " | ".join(f"{result[phase]:.2f}" for phase in PHASES)
        print(f"| {row['matrix']} | {row['n']} | {row['nonzeros']} | {name} | {cells} | {total(result):.2f} | "
              f"{result['error']:.0e} |", flush=True)


def print_means(rows):
    print("\n| ratio of times, geometric mean | phases | matrices | mean | least | most |\n"
          "| --- | --- | ---: | ---: | ---: | ---: |")
    for own, peer, measure in COMPARISONS:
        pairs = [(row["results"][own], row["results"][peer]) for row in rows
                 if own in row["results"] and peer in row["results"]]
        ratios = [measure(b) / measure(a) for a, b in pairs]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            phases = "all" if measure is total else "factor"
            print(f"| {peer} / {own} | {phases} | {len(ratios)} | {mean:.2f} | {min(ratios):.2f} | {max(ratios):.2f} |")


def main():
    if sys.argv[1:2] == ["--worker"]:
        measure_peer(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/bench_multifrontal")
    parser.add_argument("--mkl", help="libmkl_rt.so; without it PARDISO is left out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--save", help="file to which a line of JSON is appended for each matrix")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    threads = str(options.threads)
    options.environment = dict(os.environ, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads,
                               MKL_NUM_THREADS=threads, MKL_RT=options.mkl or "")
    print("| matrix | n | nonzeros | solver | analysis ms | factor ms | solve ms | sum ms | backward error |\n"
          "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for file in options.files:
        rows.append(results_for(file, options))
        print_rows(rows[-1])
        if options.save:
            with open(options.save, "a", encoding="utf-8") as out:
                out.write(json.dumps(rows[-1]) + "\n")
    print_means(rows)


if __name__ == "__main__":
    main()
