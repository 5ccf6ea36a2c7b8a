# SPDX-License-Identifier: BSD-3-Clause
"""LU factorisation on a GPU by the libraries that PyTorch has, cuSOLVER and MAGMA, compared with Echelon's.

  lu_torch.py [--runs N] [--program PATH] [N]...

prints milliseconds of the factorisation with partial pivoting of uniform random matrices of N rows in double, medians of
several runs, and the times of bench_crout_gpu (PROGRAM) for the same sizes. A library that this PyTorch lacks is left out.
"""
import argparse
import statistics
import subprocess
import time

import torch


def milliseconds(library, n, runs):
    torch.backends.cuda.preferred_linalg_library(library)
    matrix = 2 * torch.rand(n, n, dtype=torch.float64, device="cuda") - 1
    times = []
    for _ in range(runs + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        torch.linalg.lu_factor(matrix)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[1:])  # the first one warms up


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--program", default="")
    arguments.add_argument("sizes", type=int, nargs="*", default=[512, 1024, 2048, 4096, 10135])
    settings = arguments.parse_args()
    libraries = ["cusolver"] + (["magma"] if torch.cuda.has_magma else [])
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}, libraries: {', '.join(libraries)}\n")
    print("| n | " + " | ".join(f"{library} ms" for library in libraries) + " |\n|" + " ---: |" * (1 + len(libraries)))
    for n in settings.sizes:
        print(f"| {n} | " + " | ".join(f"{milliseconds(library, n, settings.runs):.2f}" for library in libraries) + " |", flush=True)
    if settings.program:
        print(flush=True)
        subprocess.run([settings.program, "--runs", str(settings.runs), *map(str, settings.sizes)], check=True)


if __name__ == "__main__":
    main()
