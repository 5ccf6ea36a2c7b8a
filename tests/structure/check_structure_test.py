#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_structure.py finds each kind of fault that it is there for, in small trees made for it."""
import tempfile
import unittest
from pathlib import Path

from check_structure import MOST_FILES, Structure


class CheckStructure(unittest.TestCase):
    def faults(self, files):
        """Faults of a tree of these files, excluding exceptions that the tree does not need."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return [fault for fault in Structure(Path(folder)).check() if "exceptions.txt" not in fault]

    def expect(self, files, beginning):
        faults = self.faults(files)
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(beginning), faults[0])

    def test_arrow_down_is_allowed(self):
        self.assertEqual(self.faults({
            "src/support/text.hpp": "", "src/krylov/cg.cpp": '#include "support/text.hpp"\n#include <echelon/solver.hpp>\n',
            "include/echelon/solver.hpp": "#include <vector>\n", "apps/echelon/main.cpp": "#include <echelon/solver.hpp>\n",
        }), [])

    def test_arrow_up(self):
        self.expect({"src/support/text.cpp": '\n#include "solver/make.hpp"\n', "src/solver/make.hpp": ""},
                    "src/support/text.cpp:2: support may not include solver")

    def test_arrow_between_methods(self):
        self.expect({"src/krylov/cg.cpp": '#include "relaxation/sweep.hpp"\n', "src/relaxation/sweep.hpp": ""},
                    "src/krylov/cg.cpp:1: krylov may not include relaxation")

    def test_arrow_between_subfolders(self):
        self.expect({"src/dense/panels/panel.cu": '#include "dense/batched/batch.hpp"\n', "src/dense/batched/batch.hpp": ""},
                    "src/dense/panels/panel.cu:1: dense/panels may not include dense/batched")

    def test_arrow_up_through_a_public_header(self):
        self.expect({"src/backend/memory.cpp": "#include <echelon/solver.hpp>\n", "include/echelon/solver.hpp": ""},
                    "src/backend/memory.cpp:1: backend may not include solver")

    def test_unknown_folder(self):
        self.expect({"src/misc/a.cpp": ""}, "src/misc/a.cpp:1: its folder is not in")

    def test_circle_of_files(self):
        self.expect({"src/solver/a.hpp": '#include "solver/b.hpp"\n', "src/solver/b.hpp": '#include "solver/a.hpp"\n'},
                    "src/solver/b.hpp:1: circle")

    def test_equal_names_in_united_files(self):
        text = "namespace echelon {\nnamespace {\nconstexpr int limit = %d;\n}  // namespace\n}  // namespace echelon\n"
        files = {"src/solver/a.cpp": text % 1, "src/krylov/b.cpp": text % 2}
        self.assertEqual(self.faults(files), [])
        self.expect({**files, "src/solver/c.cpp": text % 3}, "src/solver/c.cpp:3: limit is also defined in src/solver/a.cpp")

    def test_private_header_in_the_tool(self):
        self.expect({"src/solver/make.hpp": "", "apps/echelon/main.cpp": '#include "solver/make.hpp"\n'},
                    "apps/echelon/main.cpp:1: apps/echelon includes public headers")

    def test_other_header_in_a_public_header(self):
        self.expect({"include/echelon/solver.hpp": "#include <fmt/format.h>\n"}, "include/echelon/solver.hpp:1: public")

    def test_benchmark_of_another_folder(self):
        self.expect({"bench/spmv/a.cpp": '#include "spgemm/b.hpp"\n', "bench/spgemm/b.hpp": ""}, "bench/spmv/a.cpp:1: ")

    def test_too_many_files(self):
        self.expect({f"src/krylov/a{i}.cpp": "" for i in range(MOST_FILES + 1)}, f"src/krylov: {MOST_FILES + 1} files")

    def test_beginning_of_a_doc_comment(self):
        self.expect({"src/krylov/cg.cpp": "/// Step length,\n/// What follows a first line may begin so.\nint a;\n  /// The same in float.\n"},
                    'src/krylov/cg.cpp:4: a doc comment begins with "The same"')

    def test_metaphor(self):
        self.expect({"src/krylov/cg.cpp": "struct FactorVerdict {};  // crewless, sidewalk\n"},
                    'src/krylov/cg.cpp:1: "Verdict"')

    def test_sentence_as_test_name(self):
        self.expect({"tests/unit/a_test.cpp": "TEST(Solver, Rectangular_IsRefused) {}\nTEST(Solver, AgreesWithPlainLoops) {}\n"
                                              "TEST_F(Solver, WhoDoesNotTakeAnyShapeRefusesARectangle) {}\n"},
                    "tests/unit/a_test.cpp:3: WhoDoesNotTakeAnyShapeRefusesARectangle")


if __name__ == "__main__":
    unittest.main()
