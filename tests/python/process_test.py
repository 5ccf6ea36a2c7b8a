# SPDX-License-Identifier: BSD-3-Clause
"""The process around a solve: threads, fork, Ctrl-C, memory."""
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np
import scipy.sparse.linalg as sla

import echelon
from support import known_solution, poisson, unsymmetric


def interrupted_after(seconds, call):
    """Sends Ctrl-C to this process after some seconds of a call, and returns the time from then to KeyboardInterrupt."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(seconds, send)
    timer.start()
    try:
        call()
        timer.join()  # ended too soon: the signal comes now
        time.sleep(1)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    raise AssertionError("no KeyboardInterrupt")


class Threads(unittest.TestCase):
    def test_concurrent_solves(self):
        A = unsymmetric()
        solver = echelon.factor(A, method="sparse-lu")
        failures = []

        def work(seed):
            try:
                for i in range(50):
                    x = known_solution(40) * (seed + i + 1)
                    got = solver.solve(A @ x)
                    np.testing.assert_allclose(got, x, rtol=1e-9)
                    np.testing.assert_allclose(A @ solver.apply(x), x, rtol=1e-9)
                    assert solver.report.solved
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_report_is_per_thread(self):
        solver = echelon.factor(np.eye(2))
        failures = []

        def work():
            try:
                solver.report
            except echelon.Error as error:
                failures.append(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(len(failures), 1)

    def test_lock_is_released(self):
        A = poisson(150)
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.002)
        thread = threading.Thread(target=tick)
        thread.start()
        before = len(ticks)
        start = time.perf_counter()
        while time.perf_counter() - start < 0.3:
            echelon.factor(A, method="sparse-lu")
        self.assertGreater(len(ticks) - before, 20)
        done.set()
        thread.join()

    def test_cancel_from_another_thread(self):
        A = poisson(60)
        solver = echelon.Solver("cg").setup(A)
        started = threading.Event()
        threading.Thread(target=lambda: (started.wait(), solver.cancel())).start()

        def progress(_):
            started.set()
            time.sleep(0.001)
        with self.assertRaises(echelon.Cancelled):
            solver.solve(np.ones(3600), rtol=1e-15, callback=progress)
        solver.solve(np.ones(3600))


class Fork(unittest.TestCase):
    def test_child_solves(self):
        A = poisson(40)
        b = np.ones(1600)
        solver = echelon.factor(A)
        x = solver.solve(b)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                fine = np.allclose(solver.solve(b), x) and np.allclose(echelon.solve(A, b), x, rtol=1e-5)
                os._exit(0 if fine else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        np.testing.assert_allclose(solver.solve(b), x)


# Solves in a second thread until the program ends, from which a thread that is a daemon does not return.
ENDLESS = """
import sys, threading, echelon, numpy
A = echelon.generate("poisson-3d", nx=25, ny=25, nz=25)
b = A @ numpy.ones(15625)
method, kind = sys.argv[1:]
started = threading.Event()
callback = (lambda progress: started.set()) if kind != "silent" else None
def work():
    while True:
        x = echelon.Solver(method).setup(A, callback=callback).solve(b, callback=callback)
        started.set()
        if kind == "waited":
            print("solved", abs(x - 1).max() < 1e-3)
            return
threading.Thread(target=work, daemon=kind != "waited").start()
assert started.wait(60)
print("end of the program", flush=True)
"""


class InterpreterExit(unittest.TestCase):
    def test_with_a_running_solve(self):
        for method in ("sparse-lu", "cg"):
            for kind, after in (("waited", "solved True\n"), ("daemon", ""), ("silent", "")):
                for _ in range(2):
                    with self.subTest(method=method, kind=kind):
                        done = subprocess.run([sys.executable, "-c", ENDLESS, method, kind], capture_output=True, text=True, timeout=100)
                        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "end of the program\n" + after, ""))


class Interrupts(unittest.TestCase):
    def check(self, call):
        """Ctrl-C ends the call within 0.1 s; of five times one counts, since other programs may have the processors."""
        times = []
        for seconds in (0.1, 0.15, 0.2, 0.25, 0.3):
            times.append(interrupted_after(seconds, call))
            if times[-1] < 0.1:
                return
        self.fail(f"KeyboardInterrupt came after {times} s")

    def test_sparse_factorization(self):
        A = echelon.generate("poisson-3d", nx=45, ny=45, nz=45)
        for method in ("sparse-cholesky", "sparse-lu"):
            with self.subTest(method):
                solver = echelon.Solver(method).analyze(A)
                self.check(lambda: [solver.update(A) for _ in range(20)])
                solver.update(A)
                np.testing.assert_allclose(A @ solver.solve(np.ones(45**3)), 1, rtol=1e-9)

    def test_dense_factorization(self):
        A = np.random.default_rng(1).random((1500, 1500))
        self.check(lambda: [echelon.factor(A, method="lu") for _ in range(50)])

    def test_iteration(self):
        A = poisson(500)
        self.check(lambda: echelon.solve(A, np.ones(250000), method="cg", rtol=1e-15, maxiter=10**7, check="ignore"))

    def test_operator(self):
        operator = sla.LinearOperator((3, 3), matvec=lambda x: (time.sleep(10), x)[1], dtype=np.float64)
        self.check(lambda: echelon.solve(operator, np.ones(3), method="cg"))

    def test_computation_in_callback(self):
        A = poisson(300)
        operator = sla.LinearOperator(A.shape, matvec=lambda x: echelon.solve(A, x, method="cg", rtol=1e-14, check="ignore"),
                                      dtype=np.float64)
        self.check(lambda: echelon.solve(operator, np.ones(90000), method="gmres"))

    def test_handlers_of_the_program_stay(self):
        before, caught = signal.getsignal(signal.SIGINT), []
        signal.signal(signal.SIGINT, lambda *_: caught.append(1))
        try:
            timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            A = poisson(150)
            while not caught:
                self.assertTrue(echelon.factor(A, method="sparse-lu").report.ready)
        finally:
            signal.signal(signal.SIGINT, before)

    def test_other_threads_go_on(self):
        A, results = poisson(300), []
        thread = threading.Thread(target=lambda: results.append(echelon.factor(A, method="sparse-lu").report.ready))
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        thread.join()
        self.assertEqual(results, [True])

    def test_handler_is_restored(self):
        before = signal.getsignal(signal.SIGINT)
        echelon.solve(poisson(40), np.ones(1600))
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)


class Memory(unittest.TestCase):
    def assert_no_leak(self, call, rounds, most_bytes):
        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for _ in range(rounds):
            call()
        before = resident()
        for _ in range(3 * rounds):
            call()
        self.assertLess(resident() - before, most_bytes)

    def test_solves_and_setups(self):
        A, b = poisson(40), np.ones(1600)
        solver = echelon.factor(A)
        dense = np.eye(100)
        operator = sla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=np.float64)

        def fail(*_):
            raise ValueError

        def failing():
            try:
                echelon.solve(A, b, method="cg", callback=fail)
            except ValueError:
                pass

        def not_converged():
            try:
                echelon.solve(A, b, method="cg", maxiter=1)
            except echelon.NotConverged:
                pass
        megabytes = 1 << 20
        for name, call, rounds in (("solve", lambda: solver.solve(b), 300), ("report", lambda: solver.solve(b, return_report=True)[1].to_dict(), 300),
                                   ("factor", lambda: echelon.factor(A), 20), ("update", lambda: solver.update(A.copy()), 30),
                                   ("dense", lambda: echelon.solve(dense, dense), 30), ("csc", lambda: echelon.factor(A.tocsc()), 20),
                                   ("operator", lambda: echelon.solve(operator, b, method="cg"), 10),
                                   ("apply", lambda: solver.apply(b), 300), ("exception", failing, 30), ("status", not_converged, 50),
                                   ("generate", lambda: echelon.generate("poisson-2d", nx=100, ny=100), 30)):
            with self.subTest(name):
                self.assert_no_leak(call, rounds, 4 * megabytes)

    def test_arrays_outlive_their_names(self):
        def solver():
            A = poisson(40)
            return echelon.factor(A), A.copy()
        F, A = solver()
        gc.collect()
        np.zeros(100000)
        np.testing.assert_allclose(A @ F.solve(np.ones(1600)), 1, rtol=1e-9)
        parts = echelon.generate("poisson-2d", nx=30, ny=30).data
        gc.collect()
        self.assertEqual(parts.max(), 4)


# A driver that is found or not, and the extension of this package under the name of that for GPUs.
PROGRAM = """
import ctypes, sys
load = ctypes.CDLL
def load_library(name, *arguments):
    if name != "libcuda.so.1":
        return load(name, *arguments)
    if sys.argv[1] == "without":
        raise OSError(name)
ctypes.CDLL = load_library
import echelon
assert echelon.solve([[2.0]], [4.0]) == [2.0]
print(echelon._core.__name__)
"""
EXTENSION = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location(__name__, {path!r})
sys.modules[__name__] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[__name__])
"""


class ExtensionForGpus(unittest.TestCase):
    def name_of_extension(self, driver, extension, **environment):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "echelon_cu13"
            package.mkdir()
            (package / "__init__.py").touch()
            (package / "_core.py").write_text(extension)
            path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
            done = subprocess.run([sys.executable, "-c", PROGRAM, driver], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": path, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    def test_taken_where_there_is_a_driver(self):
        extension = EXTENSION.format(path=echelon._core.__file__)
        self.assertEqual(self.name_of_extension("with", extension), ("echelon_cu13._core", ""))
        self.assertEqual(self.name_of_extension("without", extension), ("echelon._core", ""))
        self.assertEqual(self.name_of_extension("with", extension, ECHELON_DEVICE="cpu"), ("echelon._core", ""))

    def test_broken_one_is_replaced(self):
        name, warning = self.name_of_extension("with", "raise ImportError('libcublas.so.13 is missing')")
        self.assertEqual(name, "echelon._core")
        self.assertIn("libcublas.so.13 is missing", warning)


class CommandLine(unittest.TestCase):
    def test_prints_build(self):
        output = subprocess.run([sys.executable, "-m", "echelon"], capture_output=True, text=True, check=True).stdout
        self.assertIn(echelon.__version__, output)
        self.assertIn("device openmp", output)
        self.assertRegex(output, r"(?m)^BLAS: \S")
        self.assertRegex(output, "library of CUDA: .*libcublas" if echelon._core.cuda_built() else "no extension for GPUs: echelon")

    def test_tool(self):
        """The command echelon of a wheel becomes the tool beside the extension."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "echelon"
            program.write_text("#!/bin/sh\necho tool \"$@\"\nexit 3\n")
            program.chmod(0o755)
            call = f"import sys, echelon.__main__ as m; m._core.__file__ = {folder!r} + '/_core.so'; sys.argv[1:] = ['solve', 'a b']; m.tool()"
            done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (3, "tool solve a b\n"))
            program.unlink()
            done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no tool", done.stderr)
