#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the source tree to its architecture (docs/architecture.md):

  - files of src/ include only folders below their own, in the order of layers.txt, every included file exists, and no files
    include each other in a circle;
  - public headers include only public headers and the standard library, in the same order (headers.txt); an adapter to
    another library includes that one, and is included by no other header;
  - public headers export what they declare: each class and each function without a body is marked ECHELON_API;
  - the command-line tool, the examples, the plug-in for PETSc and the Python package include only public headers and
    their own files;
  - a benchmark includes no other folder of bench/ than bench/support;
  - no folder has more than 24 files;
  - the lists of src/source_lists.cmake name the files that they are for;
  - host files that may be compiled together (ECHELON_UNITY) define no type or constant of one name in unnamed namespaces;
  - counts of what the tree should have fewer of are those of counts.txt (check_counts.py);
  - with --words, doc comments begin with a noun or a verb, metaphors are no names (words.txt), and the name of a test is
    Subject_Condition_Outcome or at most five words.

Each offending line is printed as FILE:LINE. Exceptions that are no longer needed are faults as well.

Usage: check_structure.py SOURCE_DIRECTORY [--words]
"""
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

CODE = {".hpp", ".cpp", ".cuh", ".cu"}
MOST_FILES = 24
MOST_WORDS = 5  # of a test's name without underscores
SELF_CONTAINED = ["apps/echelon", "examples", "petsc", "python/core"]
# Headers of the standard library have no suffix; of the system's, public headers use none.
STANDARD = re.compile(r"[a-z_]+")
# Public headers that adapt the library to another one, whose headers they include. No other header includes them.
ADAPTERS = {"echelon/eigen.hpp": re.compile(r"Eigen/\w+")}

HERE = Path(__file__).resolve().parent


def table(path):
    """Lines "key: word word" of a file, without comments, in order."""
    rows = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, words = line.partition(":")
            rows[key] = words.split()
    return rows


class Layers:
    """The order of layers.txt: which layer a file belongs to and which layers it may include."""

    def __init__(self, faults):
        self.below = {}
        for layer, direct in table(HERE / "layers.txt").items():
            for lower in direct:
                if lower not in self.below:
                    faults.append(f"tests/structure/layers.txt: {layer} names {lower}, which no earlier line has")
            self.below[layer] = {layer}.union(direct, *(self.below.get(lower, ()) for lower in direct))
        self.headers = {}
        for layer, names in table(HERE / "headers.txt").items():
            if layer not in self.below:
                faults.append(f"tests/structure/headers.txt: {layer} is not in layers.txt")
            self.headers.update({f"echelon/{name}.hpp": layer for name in names})

    def of_source(self, path):
        """Layer of a path relative to src/: its own line, else that of its folder; None if there is neither."""
        folder = path.parent.as_posix()
        return str(path) if str(path) in self.below else folder if folder in self.below else None

    def of_header(self, name):
        """Layer of <echelon/...>; None for a header that no layer owns, which only methods include."""
        return self.headers.get(name)

    def allows(self, layer, included):
        return included in self.below[layer]


def includes(path):
    """(line number, "<" or '"', name) of each #include."""
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found[1], found[2]


def code_files(root, folder):
    return sorted(path for path in (root / folder).rglob("*") if path.suffix in CODE)


def resolve(root, path, name):
    """File that `#include "name"` in `path` means; None if there is none."""
    for base in (path.parent, root / "src", root / "tests", root / "bench", root / "apps/echelon", root / "petsc/include"):
        if (base / name).is_file():
            return (base / name).resolve()
    return None


# What the files of each list of src/source_lists.cmake have, and no other .cpp of src/.
LISTED = {
    "sources_of_targets": r"\bThisTarget\b",
    "sources_that_dispatch": r'#include "(backend/dispatch|matrix/(assign|views/(gather|sparse_view_state)))\.hpp"',
}


class Structure:
    """All checks of one source tree; `faults` has a line for each finding."""

    def __init__(self, root, words=True):
        self.words = words
        self.root = root.resolve()
        self.faults = []
        self.layers = Layers(self.faults)
        self.exceptions = table(HERE / "exceptions.txt")
        self.used = set()

    def fault(self, path, line, message):
        self.faults.append(f"{path.relative_to(self.root)}:{line}: {message}")

    def excepted(self, kind, what):
        """Whether exceptions.txt lists it."""
        if what in self.exceptions.get(kind, []):
            self.used.add((kind, what))
            return True
        return False

    def check_arrow(self, path, line, layer, included):
        if self.layers.allows(layer, included) or self.excepted("arrows", f"{layer}>{included}"):
            return
        self.fault(path, line, f"{layer} may not include {included} (tests/structure/layers.txt)")

    def check_sources(self):
        source = self.root / "src"
        for path in code_files(self.root, "src"):
            layer = self.layers.of_source(path.relative_to(source))
            if layer is None:
                self.fault(path, 1, "its folder is not in tests/structure/layers.txt")
                continue
            for line, quote, name in includes(path):
                if quote == "<":
                    included = self.layers.of_header(name)
                    if included is not None:
                        self.check_arrow(path, line, layer, included)
                    continue
                target = resolve(self.root, path, name)
                if target is None or source not in target.parents:
                    if target is not None:
                        self.fault(path, line, f"{name} is not in src/")
                    continue
                included = self.layers.of_source(target.relative_to(source))
                if included is not None:
                    self.check_arrow(path, line, layer, included)

    def check_public_headers(self):
        include = self.root / "include"
        for path in code_files(self.root, "include"):
            name = path.relative_to(include).as_posix()
            layer = self.layers.of_header(name)
            for line, quote, included in includes(path):
                adapted = name in ADAPTERS and ADAPTERS[name].fullmatch(included)
                if quote == '"' or included in ADAPTERS or not (STANDARD.fullmatch(included) or adapted
                                                                or included.startswith("echelon/")):
                    self.fault(path, line, f"public headers include public and standard headers only, not {included}")
                lower = self.layers.of_header(included)
                if name != "echelon/echelon.hpp" and layer is not None and lower is not None:
                    self.check_arrow(path, line, layer, lower)

    def check_exports(self):
        """A shared library hides what is not marked (include/echelon/export.h)."""
        statement = re.compile(r"^(?!namespace|using|enum|inline|constexpr|extern|requires|template|concept|#)([\w\[][^;{}]*)([;{])", re.M)
        for path in code_files(self.root, "include"):
            # Comments and default arguments are blanked; lines and columns stay.
            text = re.sub(r"//.*", "", path.read_text()).replace("= {}", "    ")
            for found in statement.finditer(text):
                words, end = found[1], found[2]
                is_class = words.startswith(("class ", "struct "))
                declares = end == "{" if is_class else end == ";" and "(" in words and "= delete" not in words
                if declares and "ECHELON_API" not in words:
                    line = text.count("\n", 0, found.start()) + 1
                    self.fault(path, line, f"ECHELON_API is missing: {' '.join(words.split())[:60]}")

    def check_self_contained(self):
        """The tool and the examples use the library as a user does."""
        for folder in SELF_CONTAINED:
            base = self.root / folder
            for path in code_files(self.root, folder):
                for line, quote, name in includes(path):
                    target = resolve(self.root, path, name) if quote == '"' else None
                    private = quote == '"' and (target is None or base not in target.parents)
                    if private and not self.excepted(folder, name):
                        self.fault(path, line, f"{folder} includes public headers and its own files only, not {name}")

    def check_benchmarks(self):
        bench = self.root / "bench"
        for path in code_files(self.root, "bench"):
            for line, quote, name in includes(path):
                target = resolve(self.root, path, name) if quote == '"' else None
                if target is None or bench not in target.parents:
                    continue
                if target.parent not in (path.parent, bench / "support"):
                    self.fault(path, line, f"a benchmark includes its own folder and bench/support, not {name}")

    def check_source_lists(self):
        """CMake does not read sources, so that it notices what changes."""
        lists = self.root / "src/source_lists.cmake"
        if not lists.is_file():
            return
        text = lists.read_text()
        for name, mark in LISTED.items():
            found = re.search(rf"^set\({name}\n([^)]*)\)", text, re.M)
            listed = found[1].split() if found else []
            marked = [path.relative_to(self.root / "src").as_posix() for path in code_files(self.root, "src")
                      if path.suffix == ".cpp" and re.search(mark, path.read_text())]
            for missing in sorted(set(marked) - set(listed)):
                self.fault(lists, 1, f"{name} lacks {missing}")
            for extra in sorted(set(listed) - set(marked)):
                self.fault(lists, 1, f"{name} has {extra}, which does not belong there")
            if listed != sorted(listed):
                self.fault(lists, 1, f"{name} is not in order")

    def check_files(self):
        """Includes of files that do not exist, and files that include each other, which #pragma once would hide."""
        graph = defaultdict(list)
        for folder in ("src", "include", "apps", "petsc", "python", "tests", "bench"):
            for path in code_files(self.root, folder):
                for line, quote, name in includes(path):
                    target = resolve(self.root, path, name)
                    if quote == '"' and target is None:
                        self.fault(path, line, f"{name} does not exist")
                    if quote == "<" and name.startswith("echelon/"):
                        target = self.root / "include" / name
                    if target is not None and target.is_file():
                        graph[path].append((line, target))
        done, open_files = set(), set()

        def visit(path):
            open_files.add(path)
            for line, target in graph[path]:
                if target in open_files:
                    self.fault(path, line, f"circle: {target.relative_to(self.root)} includes this file")
                elif target not in done:
                    visit(target)
            open_files.remove(path)
            done.add(path)

        for path in list(graph):
            if path not in done:
                visit(path)

    def check_folder_sizes(self):
        for folder in ("src", "include", "apps", "petsc", "python", "tests", "bench"):
            counts = Counter(path.parent for path in code_files(self.root, folder))
            for place, count in sorted(counts.items()):
                name = place.relative_to(self.root).as_posix()
                if count > MOST_FILES and not self.excepted("large-folders", name):
                    self.faults.append(f"{name}: {count} files, more than {MOST_FILES}: divide it")

    def check_united_files(self):
        """Names that two files of a folder define would clash where src/CMakeLists.txt unites these."""
        definition = re.compile(r"(?:struct|class|enum(?: class)?) (?:alignas\([^)]*\) )?(\w+)\b[^;]*$|"
                                r"(?:const|constexpr) [\w:<>, *]+?\b(\w+)(?:\[.*\])? ?[={]")
        found = {}
        for path in code_files(self.root, "src"):
            name = path.relative_to(self.root / "src").as_posix()
            if path.suffix != ".cpp" or name.startswith("krylov/") or "/kernels_" in name or "/lamg/" in name:
                continue
            group = re.match(r"(?:dense|sparse_direct|io)/[^/]+/|[^/]+", name)[0]
            unnamed = False
            space = ""
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if line == "namespace {":
                    unnamed = True
                elif line.startswith("}  // namespace"):
                    unnamed = False
                elif line.startswith("namespace "):
                    space = line
                elif unnamed and (match := definition.match(line)):
                    key = (group, space, match[1] or match[2])
                    other = found.setdefault(key, path)
                    if other != path:
                        self.fault(path, number, f"{key[2]} is also defined in {other.relative_to(self.root)}")

    def check_words(self):
        """Beginnings of doc comments, words, and phrases of comments, that a reader in the field stumbles over."""
        lists = table(HERE / "words.txt")
        beginning = re.compile(r"\s*/// (" + "|".join(lists["beginnings"]) + r")\b")
        # "Random walk" and "page walk" are terms.
        word = re.compile(r"(?<![A-Za-z])(?<!random )(?<!page )(" + "|".join(lists["words"]) + r")s?(?![a-z])", re.IGNORECASE)
        comment = re.compile(r'"(?:\\.|[^"\\])*"|//(.*)')
        phrase = re.compile(r"\b(" + "|".join(lists["phrases"]) + r")\b", re.IGNORECASE)
        for folder in ("src", "include", "apps", "petsc", "python", "bench", "examples", "tests"):
            for path in code_files(self.root, folder):
                previous = ""
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    found = beginning.match(line)
                    if found and not previous.lstrip().startswith("///"):
                        self.fault(path, number, f'a doc comment begins with "{found[1]}"')
                    found = word.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", line))
                    if found:
                        self.fault(path, number, f'"{found[1]}" is not a term of the field')
                    found = phrase.search(" ".join(found[1] for found in comment.finditer(line) if found[1]))
                    if found:
                        self.fault(path, number, f'"{found[1]}" has another meaning in English (CONTRIBUTING.md, "Style")')
                    previous = line

    def check_test_names(self):
        macro = re.compile(r"(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\w+,\s*([A-Za-z0-9]+)\)")
        for path in code_files(self.root, "tests"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = macro.match(line)
                if found and len(re.findall("[A-Z]", found[1])) > MOST_WORDS:
                    self.fault(path, number, f"{found[1]} is a sentence: name the test Subject_Condition_Outcome")

    def check_exceptions(self):
        for kind, names in self.exceptions.items():
            for name in names:
                if (kind, name) not in self.used:
                    self.faults.append(f"tests/structure/exceptions.txt: {kind}: {name} is not needed any more")

    def check(self):
        self.check_sources()
        self.check_public_headers()
        self.check_exports()
        self.check_self_contained()
        self.check_benchmarks()
        self.check_source_lists()
        self.check_files()
        self.check_folder_sizes()
        self.check_united_files()
        if self.words:
            self.check_words()
            self.check_test_names()
        self.check_exceptions()
        return self.faults


def main():
    from check_counts import count_faults  # which uses this module

    root = Path(sys.argv[1])
    faults = Structure(root, words="--words" in sys.argv[2:]).check() + count_faults(root)
    count = sum(len(code_files(root, folder)) for folder in ("src", "include", "apps", "petsc", "python", "bench", "examples"))
    print("\n".join(faults) or f"{count} files are in order")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
