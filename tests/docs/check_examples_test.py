#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_examples.py compiles each kind of example and names the place of a fault; a small library replaces Echelon.

Usage: check_examples_test.py COMPILER [unittest arguments]
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

from check_examples import compile_examples, read_pages

COMPILER = sys.argv.pop(1)

LIBRARY = """\
#include <vector>
namespace echelon {
struct Device {};
template <class T> struct Csr { T value; };
template <class T> struct Dense { T value; };
struct Options { int steps = 0; };
template <class T> void solve(const Device&, const Csr<T>&) {}
template <class T> int rank(const Dense<T>&) { return 0; }
inline void run(const Options&) {}
}
"""


class CheckExamples(unittest.TestCase):
    def check(self, text, *places):
        """Checks a page, docs/a.md; `places` are the lines with a fault."""
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            for name, content in {"include/echelon/echelon.hpp": LIBRARY, "README.md": "", "docs/a.md": text}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
            messages = compile_examples(read_pages(root), COMPILER, [f"-I{root}/include"])
        lines = {int(line) for line in re.findall(r"docs/a\.md:(\d+):\d+: (?:fatal )?error:", messages)}
        self.assertEqual(lines, set(places), messages)
        self.assertEqual(bool(messages), bool(places), messages)

    def test_fragments(self):
        self.check("```cpp\nec::solve(device, A);\n```\n")
        self.check("# Title\n\n```cpp\nec::solve(device, A);\nec::solve(A);\n```\n\n```c++\nec::none();\n```\n", 5, 9)

    def test_fragments_share_no_variables(self):
        self.check("```cpp\nint once = 1;\n```\n```cpp\nint again = once;\n```\n", 5)

    def test_whole_program(self):
        program = "```cpp\n#include <vector>\nnamespace ec = echelon;\nint main() {\n  return ec::rank(B)%s\n}\n```\n"
        self.check(program % ";")
        self.check(program % " + none;", 5)

    def test_missing_header(self):
        self.check("```cpp\nint i = 0;\n#include <echelon/none.hpp>\n```\n", 3)

    def test_context_hides_earlier_declarations(self):
        block = "```cpp\nec::rank(A);\n```\n"
        self.check(block, 2)
        self.check("<!-- context: ec::Dense<double> A; ec::Csr<double> B, C -->\n\n" + block)
        self.check("<!-- context: ec::Dense<double> A -->\n<!-- context: ec::Csr<float> A -->\n" + block, 4)
        self.check("<!-- context: ec::Missing A -->\n", 1)

    def test_spans(self):
        self.check("`ec::solve(device, A)`, `solve<double>(device, A)`, `run({.steps = 2})`\n")
        self.check("\n`ec::solve(A)`\n\n`solve<double>(A)`\n\n`run({.step = 2})`\n", 2, 4, 6)

    def test_column_of_table(self):
        table = "| to get | in C++ | by |\n| --- | --- | --- |\n| `none(A)` | `rank(%s)` | `none(B)` |\n"
        self.check(table % "B")
        self.check(table % "A", 3)
        self.check(table % "B" + "\n| a | b |\n| --- | --- |\n| | `none(A)` |\n")

    def test_other_code_is_ignored(self):
        self.check("```cpp src/a.cpp\nnone(A) {\n```\n```sh\nnone(A)\n```\n```\nnone(A)\n```\n`none(A)`, `Csr<T>(n)`\n")


if __name__ == "__main__":
    unittest.main()
