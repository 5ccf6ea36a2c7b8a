# SPDX-License-Identifier: BSD-3-Clause
"""How OpenMP's threads wait. Usage: wait_policy_test.py PATH-OF-ECHELON"""
import os
import subprocess
import sys
import unittest

TOOL = sys.argv.pop(1)


def wait_policy(**variables):
    """The policy that gcc's OpenMP run time says it uses."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    environment.update(variables, OMP_DISPLAY_ENV="true")
    run = subprocess.run([TOOL, "--version"], env=environment, capture_output=True, text=True, check=True)
    lines = [line for line in run.stderr.splitlines() if "OMP_WAIT_POLICY" in line]
    return lines[-1].split("=")[1].strip(" '") if lines else None


@unittest.skipIf(wait_policy() is None, "an OpenMP run time that does not display its settings")
class WaitPolicy(unittest.TestCase):
    def setUp(self):
        program = "print('running', flush=True)\nwhile True: pass"
        self.other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.other.stdout.readline()

    def tearDown(self):
        self.other.kill()
        self.other.communicate()

    def test_busy_machine_waits_asleep(self):
        self.assertEqual(wait_policy(), "PASSIVE")

    def test_user_choice_is_kept(self):
        self.assertEqual(wait_policy(OMP_WAIT_POLICY="active"), "ACTIVE")


if __name__ == "__main__":
    unittest.main()
