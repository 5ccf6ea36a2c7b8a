# SPDX-License-Identifier: BSD-3-Clause
"""Devices that lack something, by a driver for tests. Usage: driver_test.py PATH-OF-ECHELON PATH-OF-DRIVER"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

DRIVER = sys.argv.pop(2)
TOOL = sys.argv.pop(1)
RESOURCES = 5


class Drivers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        vendors = os.path.join(folder.name, "vendors")
        os.mkdir(vendors)
        with open(os.path.join(vendors, "test.icd"), "w") as file:
            file.write(DRIVER + "\n")
        self.environment = dict(os.environ, OCL_ICD_VENDORS=vendors, ECHELON_CACHE_DIR=os.path.join(folder.name, "programs"))
        self.matrix = os.path.join(folder.name, "A.mtx")
        self.run_tool("generate", "poisson-2d", "--rows", "100", "-o", self.matrix)

    def run_tool(self, *arguments, code=0):
        done = subprocess.run([TOOL, *arguments], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def solve(self, *arguments, code=0):
        return self.run_tool("solve", self.matrix, *arguments, "--json", code=code)

    def error_on(self, device):
        done = self.solve("--method", "cg", "--device", device, code=RESOURCES)
        return json.loads(done.stdout)["error"]

    def devices(self):
        listed = json.loads(self.run_tool("devices", "--json").stdout)["devices"]
        return [device for device in listed if device["device"].startswith("opencl")]

    def test_lacks_are_the_reason_of_refusal(self):
        refusals = {device["hardware"]: device["refusal"] for device in self.devices()}
        self.assertIn("cl_khr_fp64", refusals["without double precision"])
        self.assertIn("shared virtual memory", refusals["without shared memory"])
        self.assertIn("cl_khr_int64_base_atomics", refusals["without wide atomics"])
        self.assertIn("SPIR-V", refusals["source only"])
        self.assertIn("not available", refusals["not available"])
        self.assertIsNone(refusals["without compiler"])

    def test_usable_devices_come_first(self):
        usable = [device["usable"] for device in self.devices()]
        self.assertEqual(usable, sorted(usable, reverse=True))
        self.assertEqual([device["device"] for device in self.devices()][:3], ["opencl", "opencl:1", "opencl:2"])

    def test_refused_device_explains(self):
        for device in self.devices():
            if device["usable"]:
                continue
            error = self.error_on(device["device"])
            self.assertEqual(error["kind"], "NoDevice")
            self.assertIn(device["refusal"], error["message"])
            self.assertIn(device["hardware"], error["message"])

    def test_failed_build_has_the_log(self):
        error = self.error_on("opencl")
        self.assertEqual(error["kind"], "OpenClError")
        for text in ("without compiler", "Test driver", "CL_BUILD_PROGRAM_FAILURE", "line 7: this device has no compiler"):
            self.assertIn(text, error["message"])
        self.assertFalse(os.path.exists(self.environment["ECHELON_CACHE_DIR"]), "a program that was not built was kept")

    def test_device_without_memory_explains(self):
        error = self.error_on("opencl:1")
        self.assertEqual(error["kind"], "OutOfMemory")
        self.assertIn("opencl:1", error["message"])

    def test_auto_stays_on_the_host(self):
        report = json.loads(self.solve().stdout)
        self.assertFalse(report["device"].startswith("opencl"))
        self.assertEqual(report["status"], "direct")

    def test_no_driver_explains(self):
        empty = tempfile.TemporaryDirectory()
        self.addCleanup(empty.cleanup)
        self.environment["OCL_ICD_VENDORS"] = empty.name
        self.assertEqual(self.devices(), [])
        self.assertEqual(self.error_on("opencl")["kind"], "NoDevice")


if __name__ == "__main__":
    unittest.main()
