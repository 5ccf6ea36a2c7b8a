#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the documents promise: README's C++ is a program that the tests run, and no link is dead.

Usage: check_docs.py SOURCE_DIRECTORY
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
faults = []

program = (root / "examples/01_solve/main.cpp").read_text()
region = re.search(r"// README begins\n(.*?)// README ends", program, re.DOTALL)
snippets = re.findall(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
if region is None or not snippets or snippets[0] != region.group(1):
    faults.append("README.md: the C++ example differs from the marked part of examples/01_solve/main.cpp")

documents = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", root / "data/README.md"]
documents += sorted((root / "docs").rglob("*.md"))
for document in documents:
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target) and not (document.parent / target).exists():
            faults.append(f"{document.relative_to(root)}: no such file: {target}")

print("\n".join(faults) or f"{len(documents)} documents are in order")
sys.exit(1 if faults else 0)
