#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the names that a shared libechelon exports with those that the public headers declare.

  - every exported C++ name is one of echelon's, and each part of it is a word of a public header;
  - every function that a public header marks with ECHELON_API is exported, and of C's functions no other;
  - all names have versions;
  - of the C library, nothing newer than glibc 2.34 is needed, excluding what its own headers substitute.

Usage: check_exports.py NM OBJDUMP LIBRARY INCLUDE_DIRECTORY
"""
import re
import subprocess
import sys
from pathlib import Path

NEWEST_GLIBC = (2, 34)
OPERATOR = re.compile(r"\boperator(?:<=>|<<=?|>>=?|->\*?|<=?|>=?|\(\)|[^\s\w(]+)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def without_templates(name):
    """The name without template arguments, whose brackets may contain others."""
    kept, depth = [], 0
    for character in name:
        depth += character == "<"
        if depth == 0:
            kept.append(character)
        depth -= character == ">"
    return "".join(kept)


def parts(demangled):
    """["echelon", "Solver", "solve"] for a function of this class, its type information, or a static variable in it."""
    name = re.sub(r"^(?:typeinfo(?: name)? for|vtable for|VTT for|guard variable for|(?:non-)?virtual thunk to) ", "", demangled)
    name = without_templates(OPERATOR.sub("operator", name.replace("[abi:cxx11]", "")))
    name = name.replace("(anonymous namespace)", "anonymous").split("(")[0]
    return name.split()[-1].split("::")


def exported(nm, library):
    """(name, version) of each defined dynamic symbol."""
    for line in output(nm, "-D", "--defined-only", "-C", "--with-symbol-versions", library).splitlines():
        kind, _, symbol = line[17:].partition(" ")
        name, _, version = symbol.partition("@@")
        if kind != "A":  # the versions themselves
            yield name, version


def declared(include):
    """Words of the C++ headers, their exported functions, and C's functions."""
    text = "\n".join(re.sub(r"//.*", "", path.read_text()) for path in sorted(include.rglob("*.hpp")))
    functions = set(re.findall(r"ECHELON_API (?!\w+ \{)[^;{(]*?(\w+)\(", text))
    functions_of_c = set(re.findall(r"ECHELON_API [^;(]*?(echelon_\w+)\(", (include / "echelon/echelon.h").read_text()))
    return set(re.findall(r"\w+", text)), functions, functions_of_c


def check(nm, objdump, library, include):
    words, functions, functions_of_c = declared(include)
    faults, found, found_of_c = [], set(), set()
    for name, version in exported(nm, library):
        if not version:
            faults.append(f"{name} has no version")
        if version == "ECHELON_1":
            found_of_c.add(name)
            continue
        words_of_name = [word.lstrip("~") for word in parts(name)]
        found.add(words_of_name[-1])
        if words_of_name[0] != "echelon":
            faults.append(f"{name} is not a name of echelon")
        unknown = [word for word in words_of_name[1:] if word not in words and not word.startswith("operator")]
        if unknown:
            faults.append(f"{name} is exported, but no public header has {unknown[0]}")
    faults += [f"{name} is declared with ECHELON_API, but not exported" for name in sorted(functions - found)]
    faults += [f"{name} is exported, but not in echelon.h" for name in sorted(found_of_c - functions_of_c)]
    faults += [f"{name} is in echelon.h, but not exported" for name in sorted(functions_of_c - found_of_c)]
    for version, name in re.findall(r"\(?GLIBC_([\d.]+)\)? +(\w+)", output(objdump, "-T", library)):
        if tuple(map(int, version.split("."))) > NEWEST_GLIBC and not name.startswith("__isoc23_"):
            faults.append(f"{name} needs GLIBC_{version}")
    print("\n".join(faults) if faults else f"{len(found)} C++ names and {len(found_of_c)} of C are exported")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(check(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])))
