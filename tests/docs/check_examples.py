#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the C++ examples of README.md and docs/, without linking or running them.

Examples are blocks "```cpp", and calls in code spans outside blocks, such as `ec::Cg<double>(device)`. A span is taken
for C++ if it stands in a table's column "in C++", begins with "ec::", has template arguments <double> or <float>, or
has a designated initialiser. Blocks "```cpp src/a.cpp" are excerpts of files that the build compiles (check_docs.py).

A block with `int main` is a whole program; any other is the body of a function; a span is an expression in namespace
echelon. CONTEXT declares the variables that examples use by convention. A comment in a page declares more, for the
examples after it. Variables of an example hide those of a comment, and these hide earlier ones of the same name:

    <!-- context: ec::Dense<double> A, C; std::stop_source source -->

All examples are one translation unit, since most of the time goes into the headers. An #include in one block therefore
serves all. The compiler reports a fault with its page and line.

Usage: check_examples.py SOURCE_DIRECTORY COMPILER [FLAG]...
"""
import re
import subprocess
import sys
from pathlib import Path

CONTEXT = """\
#include <echelon/echelon.hpp>
namespace ec = echelon;
extern ec::Device device, gpu;
extern ec::Csr<double> A;
extern std::vector<double> b, x;
extern ec::Dense<double> B, X;
"""

LANGUAGE = ("cpp", "c++")
CALL = re.compile(r"[A-Za-z_][^({]*[({].*")
CPP = re.compile(r"^ec::|<(double|float)>|\{\.\w")


class Page:
    """The examples of a page as C++: `includes`, and everything else as `code`. Lines #line name the page."""

    def __init__(self, name, text):
        self.name = name
        self.includes, self.code = [], []
        self.examples = 0
        self.contexts = 0
        self.cpp_column = None
        block = None
        for number, line in enumerate(text.splitlines(), 1):
            fence = line.lstrip().startswith("```")
            if fence and block is None:
                block, first, language = [], number + 1, line.strip("` ").lower()
            elif fence:
                if language in LANGUAGE:
                    self.add_block(block, first)
                block = None
            elif block is not None:
                block.append(line)
            else:
                self.read_prose(line, number)
        self.code += ["}"] * self.contexts

    def line(self, number):
        return f'#line {number} "{self.name}"'

    def add_block(self, block, number):
        self.examples += 1
        body = []
        for offset, line in enumerate(block):
            include = line.lstrip().startswith("#include")
            if include:
                self.includes += [self.line(number + offset), line]
            body.append("" if include else line)
        program = any(re.match(r"\s*int main\b", line) for line in block)
        name = f"namespace program_{number}" if program else f"void example_{number}()"
        self.code += [f"{name} {{", self.line(number), *body, "}"]

    def read_prose(self, line, number):
        comment = re.search(r"<!-- context: (.*?) *-->", line)
        if comment:
            self.add_context(comment.group(1), number)
        cells = re.split(r"(?<!\\)\|", line) if line.startswith("|") else [line]
        if len(cells) == 1:
            self.cpp_column = None
        for column, cell in enumerate(cells):
            if cell.strip() == "in C++":
                self.cpp_column = column
            for span in re.findall(r"`([^`]+)`", cell):
                if CALL.fullmatch(span) and (column == self.cpp_column or CPP.search(span)):
                    self.add_span(span, number)

    def add_context(self, declarations, number):
        """Opens a namespace for the rest of the page: its variables hide those of the namespaces around it."""
        self.contexts += 1
        self.code += [f"namespace context_{number} {{", self.line(number)]
        self.code.append(" ".join(f"extern {declaration};" for declaration in declarations.split(";")))

    def add_span(self, span, number):
        self.examples += 1
        self.code += [f"void span_{self.examples}() {{ using namespace echelon;", self.line(number),
                      f"static_cast<void>({span});", "}"]


def translation_unit(pages):
    includes = [line for page in pages for line in page.includes]
    code = [line for index, page in enumerate(pages) for line in [f"namespace page_{index} {{", *page.code, "}"]]
    return "\n".join([CONTEXT, *includes, *code, ""])


def read_pages(root):
    paths = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [Page(str(path.relative_to(root)), path.read_text()) for path in paths]


def compile_examples(pages, compiler, flags):
    """The compiler's messages, empty if every example compiles. Without warnings: examples leave variables unused."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", *flags, "-x", "c++", "-"]
    done = subprocess.run(command, input=translation_unit(pages), capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    pages = read_pages(Path(sys.argv[1]))
    messages = compile_examples(pages, sys.argv[2], sys.argv[3:])
    print(messages or f"{sum(page.examples for page in pages)} examples compile")
    sys.exit(1 if messages else 0)


if __name__ == "__main__":
    main()
