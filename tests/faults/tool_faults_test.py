#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tool with little memory, failing writes and signals at any time.

Usage: tool_faults_test.py PATH_OF_THE_TOOL PATH_OF_THE_LIBRARY_OF_FAILING_WRITES [unittest arguments]
"""
import collections
import errno
import gzip
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL, FAILING_WRITES = sys.argv[1], sys.argv[2]
del sys.argv[1:3]

SOLVED, NOT_CONVERGED, RESOURCES = 0, 1, 5
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
METHODS = ["sparse-cholesky", "sparse-lu", "amg", "lamg", "gmres", "bddc", "banded-lu", "gauss-jordan", "lu"]


class Faults(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def matrix(self, generator, rows, name="A.petsc"):
        path = self.folder / name
        subprocess.run([TOOL, "generate", generator, "--rows", str(rows), "-o", path, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        return path

    def address_space(self):
        """Bytes that the tool has mapped while it waits for a matrix."""
        pipe = self.folder / "pipe.mtx"
        os.mkfifo(pipe)
        process = subprocess.Popen([TOOL, "info", pipe], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.5)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmPeak:\s*(\d+)", status).group(1))


class Memory(Faults):
    def test_limits_of_address_space(self):
        sparse, small = self.matrix("poisson-3d", 8000), self.matrix("poisson-2d", 400, "small.petsc")
        base = self.address_space()
        ends = collections.Counter()
        for method in METHODS:
            matrix = small if method in ["gauss-jordan", "lu"] else sparse
            for more in [2, 20, 80, 150, 200, 300, 500, 900]:
                limit = base + (more << 20)
                done = subprocess.run([TOOL, "solve", matrix, "--method", method, "--json", "--quiet"],
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
                                      env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
                where = f"{method} with {more} MiB: {done.stderr}"
                self.assertIn(done.returncode, [SOLVED, RESOURCES], where)
                ends[done.returncode] += 1
                if done.returncode == SOLVED:
                    self.assertLess(json.loads(done.stdout)["backward_error"], 1e-6, where)
                else:
                    self.assertRegex(done.stderr + done.stdout, "out.of.memory|no thread can be started", where)
        print(f"address space: {ends[SOLVED]} solved, {ends[RESOURCES]} refused")
        self.assertGreater(ends[SOLVED], 0)
        self.assertGreater(ends[RESOURCES], 0)

    def test_too_many_threads_wanted(self):
        matrix = self.matrix("poisson-2d", 2500)
        for threads in ["4096", "99999", "2000000000"]:
            done = subprocess.run([TOOL, "solve", matrix, "--method", "lamg", "--json", "--quiet"], capture_output=True,
                                  text=True, timeout=120, env={**ENVIRONMENT, "OMP_NUM_THREADS": threads})
            self.assertEqual(done.returncode, SOLVED, done.stderr)
        for stack in ["16k", "100G"]:
            done = subprocess.run([TOOL, "solve", matrix, "--json", "--quiet"], capture_output=True, text=True,
                                  timeout=120, env={**ENVIRONMENT, "OMP_STACKSIZE": stack})
            self.assertEqual(done.returncode, SOLVED, done.stderr)


    def test_no_thread_can_be_started(self):
        if os.geteuid() != 0:
            self.skipTest("another user, without other processes, is needed")
        nobody = 65534

        def become_nobody():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            os.setgroups([])
            os.setuid(nobody)
        self.folder.chmod(0o755)
        matrix = self.folder / "A.mtx"
        matrix.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n")
        for command, code in [("info", SOLVED), ("solve", RESOURCES)]:
            try:
                done = subprocess.run([TOOL, command, matrix, "--json"], capture_output=True, text=True,
                                      timeout=60, preexec_fn=become_nobody, env={**ENVIRONMENT, "OMP_NUM_THREADS": "4"})
            except PermissionError:
                self.skipTest("the tool is not for other users")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertTrue(code == SOLVED or "no thread can be started" in done.stderr, done.stderr)


class Writes(Faults):
    def content(self, path):
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()

    def is_old_or_whole(self, path, expected):
        """Another output of the command may fail after this one is written."""
        return path.read_bytes() == b"old" or self.content(path) == expected

    def commands(self):
        """Commands that write a file, and the file."""
        matrix = self.matrix("poisson-2d", 40000)
        edges = self.folder / "graph.edges"
        edges.write_text("".join(f"{i} {i + 1}\n" for i in range(20000)))
        for name in ["out.mtx.gz", "out.mtx", "out.petsc"]:
            yield ["convert", matrix, self.folder / name], self.folder / name
        yield ["info", matrix, "--plot", self.folder / "out.svg"], self.folder / "out.svg"
        yield (["convert", edges, "/dev/null", "--to", "matrix-market", "--labels", self.folder / "out.labels.gz"],
               self.folder / "out.labels.gz")

    def expect_no_leftovers(self, out, where):
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"A.petsc", "graph.edges", out.name}, where)

    def run_with_fault(self, command, write, **fault):
        environment = {**ENVIRONMENT, "LD_PRELOAD": FAILING_WRITES, "WRITE_NUMBER": str(write),
                       **{name: str(value) for name, value in fault.items()}}
        return subprocess.run([TOOL, *command, "--quiet"], env=environment, capture_output=True, text=True, timeout=30)

    def test_every_write_fails_once(self):
        ends = collections.Counter()
        for command, out in self.commands():
            subprocess.run([TOOL, *command, "--quiet"], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
            expected = self.content(out)
            for number in [errno.EIO, errno.ENOSPC, errno.EINTR]:
                for k in range(1000):
                    out.write_text("old")
                    done = self.run_with_fault(command, k, WRITE_ERROR=number)
                    where = f"{out.name}, write {k}: {os.strerror(number)}"
                    self.assertIn(done.returncode, [SOLVED, RESOURCES], where)
                    ends[done.returncode] += 1
                    if done.returncode == RESOURCES:
                        self.assertIn(os.strerror(number), done.stderr, where)
                        self.assertTrue(self.is_old_or_whole(out, expected), where)
                    else:
                        self.assertEqual(self.content(out), expected, where)
                    self.expect_no_leftovers(out, where)
                    if (done.returncode == SOLVED and number != errno.EINTR) or k > 20:
                        break
            out.unlink()
        print(f"writes: {ends[SOLVED]} written, {ends[RESOURCES]} refused")
        self.assertGreater(ends[RESOURCES], 0)

    def test_process_killed_while_writing_leaves_nothing(self):
        killed = 0
        for command, out in self.commands():
            subprocess.run([TOOL, *command, "--quiet"], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
            expected = self.content(out)
            for k in range(1000):
                out.write_text("old")
                done = self.run_with_fault(command, k, WRITE_SIGNAL=int(signal.SIGKILL))
                if done.returncode == SOLVED:
                    break
                where = f"{out.name}, write {k}: {done.stderr}"
                self.assertEqual(done.returncode, -signal.SIGKILL, where)
                self.assertTrue(self.is_old_or_whole(out, expected), where)
                self.expect_no_leftovers(out, where)
                killed += 1
            out.unlink()
        print(f"kills while writing: {killed}")
        self.assertGreaterEqual(killed, 5)


class Signals(Faults):
    def test_signals_at_any_time(self):
        matrix = self.matrix("poisson-3d", 8000)
        small = self.matrix("poisson-2d", 1600, "small.petsc")
        ends = collections.Counter()
        for method in METHODS:
            one = small if method in ["gauss-jordan", "lu"] else matrix
            command = [TOOL, "solve", one, "--method", method, "--json", "--quiet"]
            if method == "sparse-cholesky":
                command += ["-p", "ordering=metis"]
            start = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
            length = time.monotonic() - start
            for step in range(12):
                number = [signal.SIGINT, signal.SIGTERM][step % 2]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           env=ENVIRONMENT)
                time.sleep(length * step / 12)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
                # Before the solve and after it, the signal ends the process.
                self.assertIn(process.returncode, [SOLVED, NOT_CONVERGED, -number], f"{method}: {stderr}")
                ends[process.returncode] += 1
                if process.returncode == NOT_CONVERGED:
                    self.assertEqual(json.loads(stdout)["status"], "cancelled", method)
        print(f"signals: {sum(ends.values())} sent, {ends[NOT_CONVERGED]} cancelled, {ends[SOLVED]} too late")


if __name__ == "__main__":
    unittest.main()
