#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program with two sets of options; passes if both solve, in equally many iterations.

Usage: equal_iterations.py COMMAND OPTIONS OTHER_OPTIONS, each a list of words separated by spaces or semicolons.
"""
import re
import subprocess
import sys


def iterations(command, options):
    words = re.split("[ ;]+", f"{command} {options}".strip())
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r"CONVERGED_\w+, iterations (\d+)", result.stdout)
    if result.returncode != 0 or found is None:
        sys.exit(f"{' '.join(words)}\nended with status {result.returncode}:\n{result.stdout}")
    return int(found[1])


counts = [iterations(sys.argv[1], options) for options in sys.argv[2:]]
print(f"iterations: {counts}")
sys.exit(len(set(counts)) != 1)
