#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the calls of the C interface in julia/Echelon.jl with the functions that src/interface.jl declares, since there
may be no Julia to run them: every function that is called exists, and takes as many arguments. Likewise for constants.

Usage: check_julia_calls.py SOURCE_DIRECTORY
"""
import re
import sys
from pathlib import Path

OPENING, CLOSING = "([{", ")]}"


def argument_count(text, begin):
    """Number of arguments of the call whose opening bracket is at `begin`."""
    depth, count, empty = 0, 0, True
    for letter in text[begin:]:
        depth += (letter in OPENING) - (letter in CLOSING)
        if depth == 0:
            return 0 if empty else count + 1
        empty = empty and (letter in OPENING or letter.isspace())
        count += letter == "," and depth == 1
    return -1


def check(folder):
    interface = (folder / "src/interface.jl").read_text()
    functions = {name: len(re.findall(r"\w+", words)) for name, words in re.findall(r"^(echelon_\w+)\((.*?)\) =", interface, re.M)}
    constants = set(re.findall(r"^const (ECHELON_\w+)", interface, re.M))
    faults, calls = [], 0
    for path in sorted([*folder.rglob("*.jl")]):
        if path.name == "interface.jl":
            continue
        text = re.sub(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#.*', lambda found: " " * len(found[0]), path.read_text())
        for found in re.finditer(r"\b(echelon_\w+)(\(?)", text):
            calls += 1
            place = f"{path.relative_to(folder)}:{text.count(chr(10), 0, found.start()) + 1}"
            if found[1] not in functions:
                faults.append(f"{place}: echelon.h has no {found[1]}")
            elif found[2] and argument_count(text, found.end() - 1) != functions[found[1]]:
                faults.append(f"{place}: {found[1]} takes {functions[found[1]]} arguments")
        faults += [f"{path.relative_to(folder)}: echelon.h has no {name}"
                   for name in re.findall(r"\bECHELON_[A-Z_]+\b", text) if name not in constants]
    if calls == 0 or not functions:
        faults.append("no calls were found")
    print("\n".join(faults) or f"{calls} calls agree with echelon.h")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(check(Path(sys.argv[1]) / "julia/Echelon.jl"))
