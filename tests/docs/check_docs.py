#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the documents promise: README's C++ is a program that the tests run, excerpts of the sources are in the
sources, no link is dead, README and the guide's index reach every page, and README's table has a row for each method.

A block "```cpp src/a.cpp" is an excerpt of that file, whatever its indentation; a line "..." leaves something out.
A link "[`name`](../src/a.cpp)" to a source file promises that the file contains the name. In docs/architecture.md a
path in backquotes, `src/a.cpp` or `krylov/`, exists below the root or below src/.

Usage: check_docs.py SOURCE_DIRECTORY
"""
import re
import sys
from pathlib import Path

SOURCES = {".hpp", ".cpp", ".cuh", ".cu", ".py", ".cmake"}

root = Path(sys.argv[1])
faults = []

program = (root / "examples/01_solve/main.cpp").read_text()
region = re.search(r"// README begins\n(.*?)// README ends", program, re.DOTALL)
snippets = re.findall(r"```cpp\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
if region is None or not snippets or snippets[0] != region.group(1):
    faults.append("README.md: the C++ example differs from the marked part of examples/01_solve/main.cpp")

documents = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", root / "data/README.md"]
documents += sorted((root / "docs").rglob("*.md"))


def stripped(text):
    return [line.strip() for line in text.strip().splitlines()]


def shows(excerpt, source):
    part, whole = stripped(excerpt), stripped(source)
    return any(whole[i:i + len(part)] == part for i in range(len(whole)))


def has_name(path, name):
    """Whether a source file contains `name`, without its qualifiers, template arguments and parameters."""
    last = re.split(r"::|\.|->", re.sub(r"[<(].*", "", name))[-1]
    return re.search(rf"(?<!\w){re.escape(last)}(?!\w)", path.read_text()) is not None


def anchors(document):
    """Names of the headings, as GitHub spells them in links."""
    prose = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


linked, linked_by_readme = set(), set()
for document in documents:
    name = document.relative_to(root)
    for path, block in re.findall(r"```\w+ (\S+)\n(.*?)```", document.read_text(), re.DOTALL):
        source = (root / path).read_text() if (root / path).exists() else ""
        for excerpt in block.split("\n...\n"):
            if not shows(excerpt, source):
                faults.append(f"{name}: {path} has no such lines: {stripped(excerpt)[0]} ...")
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        page = document.parent / target if target else document
        if document in (root / "README.md", root / "docs/README.md"):
            linked.add(page.resolve())
        if document == root / "README.md":
            linked_by_readme.add(page.resolve())
        if not page.exists():
            faults.append(f"{name}: no such file: {target}")
        elif anchor and anchor not in anchors(page):
            faults.append(f"{name}: no such heading: {target}#{anchor}")
    for label, target in re.findall(r"\[`([^`\]]+)`\]\(([^)#\s]+)\)", text):
        source = document.parent / target
        if source.suffix in SOURCES and source.is_file() and not has_name(source, label):
            faults.append(f"{name}: {target} has no {label}")
    if document.name == "architecture.md":
        for path in re.findall(r"`([\w.-]+/[\w./-]*)`", text):
            anywhere = path.count("/") == 1 and path.endswith("/") and any((root / "src").rglob(path))
            if not anywhere and not any((base / path).exists() for base in (root, root / "src")):
                faults.append(f"{name}: no such file or folder: {path}")
for page in sorted((root / "docs").rglob("*.md")):
    if page.resolve() not in linked and page.parent.resolve() not in linked:
        faults.append(f"docs/README.md: no link to {page.relative_to(root)}")
    if page.parent.name == "methods" and page.resolve() not in linked_by_readme:
        faults.append(f"README.md: no row for {page.relative_to(root)}")

print("\n".join(faults) or f"{len(documents)} documents are in order")
sys.exit(1 if faults else 0)
