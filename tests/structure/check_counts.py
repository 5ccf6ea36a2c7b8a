# SPDX-License-Identifier: BSD-3-Clause
"""Counts of what the source tree should have fewer of. counts.txt says what each counts and holds its number, which may
fall and never rises: check_structure.py reports a count above its number, and a number that can be lowered.

As a program it prints the counts, in the form of counts.txt; with --list the places counted.

Usage: check_counts.py SOURCE_DIRECTORY [--list NAME]
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

from check_structure import HERE, code_files, includes, resolve, table

NO_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*')
CAST = re.compile(r"\b(?:find_interface|dynamic_cast)<(?:const )?([\w:]*)")
COMPILER = re.compile(r"^#.*\b__CUDA(?:CC|_ARCH)__", re.M)
CUDA = re.compile(r"\bis_same_v<[^<>]*\bCuda>")
PROGRESS = re.compile(r"\bon_progress\s*\(")
# Head of a loop over steps of iterative refinement: its upper bound is an option or member of such a name.
REFINEMENT = re.compile(r"\b(?:for|while) \([^{}]*?<=? (?:\w+(?:\.|->))*"
                        r"(?:refine|refinement_steps|max_steps|most_corrections)_?\b(?!\()")
# A function of this name with a body, as opposed to a call or a declaration.
REFINE = re.compile(r"\brefine(?:_[a-z]\w*)?\(")
BODY = re.compile(r"(?:\s|const|noexcept|override|final)*\{")
LOOP = re.compile(r"\b(?:for|while) \(")
# At namespace scope, which clang-format does not indent; not a declaration, nor a specialisation.
TYPE = re.compile(r"^(?:template <[^;{]*?>\n)?(?:struct|class|union|enum|enum class) (?:(?:alignas\([^)]*\)|ECHELON_API) )?(\w+)"
                  r"(?: final)?(?: :[^:;{][^;{]*)? \{", re.MULTILINE)


def code_of(path):
    """Text of a file without comments; line numbers stay."""
    return NO_COMMENT.sub(lambda found: found[1] or "", path.read_text(errors="replace"))


def end_of(text, begin):
    """Position past the bracket that closes the one at `begin`; the end of the text if none does."""
    depth = 0
    for found in re.compile(r"[(){}]").finditer(text, begin):
        depth += 1 if found[0] in "({" else -1
        if depth == 0:
            return found.end()
    return len(text)


class Counts:
    """Places of each count, by name: "FILE:LINE: what"."""

    def __init__(self, root):
        self.root = root.resolve()
        self.places = {name[6:].replace("_", "-"): [] for name in dir(self) if name.startswith("count_")}
        self.sources = [(path, code_of(path)) for path in code_files(self.root, "src")]
        for name in self.places:
            getattr(self, "count_" + name.replace("-", "_"))(self.places[name])

    def inside(self, path, *folders):
        name = path.relative_to(self.root).as_posix()
        return any(name == folder or name.startswith(folder + "/") for folder in folders)

    def place(self, path, text, position, what):
        return f"{path.relative_to(self.root)}:{text.count(chr(10), 0, position) + 1}: {what}"

    def matches(self, pattern, *excluded):
        for path, text in self.sources:
            if not self.inside(path, *excluded):
                for found in pattern.finditer(text):
                    yield path, text, found

    def count_compiler_macros(self, places):
        for path, text, found in self.matches(COMPILER, "src/backend"):
            if path.suffix in (".hpp", ".cpp"):
                places.append(self.place(path, text, found.start(), found[0]))

    def count_progress_files(self, places):
        found_in = {}
        for path, text, found in self.matches(PROGRESS):
            found_in.setdefault(path, self.place(path, text, found.start(), found[0]))
        places.extend(found_in.values())

    def count_refinement_files(self, places):
        """Files with a loop of refinement: by the loop's bound, or in a function refine... that calls no other one."""
        found_in = {}
        excluded = ("src/certification", "src/dense/batched", "src/sparse_direct/ordering")
        for path, text, found in self.matches(REFINEMENT, *excluded):
            found_in.setdefault(path, self.place(path, text, found.start(), "loop"))
        for path, text, found in self.matches(REFINE, *excluded):
            body = BODY.match(text, end_of(text, found.end() - 1))
            inner = text[body.end():end_of(text, body.end() - 1)] if body else ""
            if LOOP.search(inner) and not REFINE.search(inner):
                found_in.setdefault(path, self.place(path, text, found.start(), found[0]))
        places.extend(found_in.values())

    def count_interface_casts(self, places):
        for path, text, found in self.matches(CAST):
            if not found[1].endswith(("Error", "exception")):
                places.append(self.place(path, text, found.start(), found[0]))

    def count_method_names_compared(self, places):
        declared = re.compile(r'string_view name = "([\w-]+)"')
        names = [found[1] for path in code_files(self.root, "include/echelon/methods")
                 for found in declared.finditer(path.read_text()) if found[1] != "auto"]
        literal = r'"(?:' + "|".join(map(re.escape, names)) + r')"|\w+Options::name'
        compared = re.compile(rf'[=!]= (?:std::string_view\()?({literal})|({literal})\)? [=!]=')
        for folder in ("src", "apps", "petsc"):
            for path in code_files(self.root, folder):
                if names and not self.inside(path, "src/registry", "src/solver/selection", "petsc/factor.cpp"):
                    text = code_of(path)
                    places.extend(self.place(path, text, found.start(), found[1] or found[2])
                                  for found in compared.finditer(text))

    def count_multifrontal_internals(self, places):
        source = self.root / "src"
        inner = [source / "sparse_direct/multifrontal" / part for part in ("host", "cuda")]
        for path, _ in self.sources:
            if self.inside(path, "src/sparse_direct/multifrontal"):
                continue
            for line, quote, name in includes(path):
                target = resolve(self.root, path, name) if quote == '"' else None
                if target is not None and any(folder in target.parents for folder in inner):
                    places.append(f"{path.relative_to(self.root)}:{line}: {name}")

    def count_cuda_by_type(self, places):
        places.extend(self.place(path, text, found.start(), found[0])
                      for path, text, found in self.matches(CUDA, "src/backend"))

    def count_layers_of_one_file(self, places):
        places.extend(f"tests/structure/layers.txt: {layer}" for layer in table(self.structure("layers.txt"))
                      if Path(layer).suffix)

    def count_exceptions(self, places):
        places.extend(f"tests/structure/exceptions.txt: {kind}: {name}"
                      for kind, names in table(self.structure("exceptions.txt")).items() for name in names)

    def count_shared_type_names(self, places):
        files = defaultdict(set)
        for folder in ("src", "include"):
            for path in code_files(self.root, folder):
                for found in TYPE.finditer(code_of(path)):
                    files[found[1]].add(path.relative_to(self.root).as_posix())
        places.extend(f"{name}: {' '.join(sorted(found_in))}" for name, found_in in sorted(files.items())
                      if len(found_in) > 1)

    def structure(self, name):
        """A table of the tree; that of this folder in a tree without one."""
        own = self.root / "tests/structure" / name
        return own if own.is_file() else HERE / name


def count_faults(root, path=HERE / "counts.txt"):
    """A line for each count that differs from its number."""
    counts = Counts(root).places
    numbers = {name: int(words[0]) for name, words in table(path).items()}
    faults = [f"tests/structure/counts.txt: {name} is not counted" for name in numbers if name not in counts]
    for name, places in counts.items():
        if name not in numbers:
            faults.append(f"tests/structure/counts.txt: {name} has no number: it is {len(places)}")
        elif len(places) > numbers[name]:
            faults.append(f"tests/structure/counts.txt: {name} rose from {numbers[name]} to {len(places)}; see "
                          f"tests/structure/check_counts.py . --list {name}")
        elif len(places) < numbers[name]:
            faults.append(f"tests/structure/counts.txt: {name} fell from {numbers[name]} to {len(places)}: lower the number")
    return faults


def main():
    counts = Counts(Path(sys.argv[1])).places
    if "--list" in sys.argv:
        print("\n".join(counts[sys.argv[sys.argv.index("--list") + 1]]))
    else:
        print("\n".join(f"{name}: {len(places)}" for name, places in counts.items()))


if __name__ == "__main__":
    main()
