#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_structure.py and check_counts.py find each kind of fault that they are there for, in small trees made for it."""
import tempfile
import unittest
from pathlib import Path

from check_counts import Counts, count_faults
from check_structure import MOST_FILES, Structure


def write_tree(folder, files):
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class CheckStructure(unittest.TestCase):
    def faults(self, files):
        """Faults of a tree of these files, excluding exceptions that the tree does not need."""
        with tempfile.TemporaryDirectory() as folder:
            write_tree(folder, files)
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

    def test_source_lists(self):
        files = {"src/krylov/cg.cpp": "template int make<ThisTarget>();\n", "src/source_lists.cmake":
                 "set(sources_of_targets\n  krylov/cg.cpp\n)\nset(sources_that_dispatch\n)\n"}
        self.assertEqual(self.faults(files), [])
        self.expect(files | {"src/krylov/cr.cpp": "template int make<ThisTarget>();\n"},
                    "src/source_lists.cmake:1: sources_of_targets lacks krylov/cr.cpp")
        self.expect(files | {"src/krylov/cg.cpp": ""},
                    "src/source_lists.cmake:1: sources_of_targets has krylov/cg.cpp")

    def test_names_that_are_not_exported(self):
        header = ("namespace echelon {\nclass ECHELON_API Csr {\n  int rows();\n};\nclass Dense;\ninline int one() { return 1; }\n"
                  "template <class T>\n[[nodiscard]] ECHELON_API T solve(T b,\n    Options o = {});\n}\n")
        self.assertEqual(self.faults({"include/echelon/solver.hpp": header}), [])
        self.expect({"include/echelon/solver.hpp": header.replace("class ECHELON_API", "class")},
                    "include/echelon/solver.hpp:2: ECHELON_API is missing: class Csr")
        self.expect({"include/echelon/solver.hpp": header.replace("ECHELON_API T", "T")},
                    "include/echelon/solver.hpp:8: ECHELON_API is missing: [[nodiscard]] T solve")

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

    def test_adapter_to_another_library(self):
        adapter = {"include/echelon/eigen.hpp": "#include <Eigen/Core>\n"}
        self.assertEqual(self.faults(adapter), [])
        self.expect({**adapter, "include/echelon/other.hpp": "#include <echelon/eigen.hpp>\n"}, "include/echelon/other.hpp:1: public")
        self.expect({"include/echelon/eigen.hpp": "#include <fmt/format.h>\n"}, "include/echelon/eigen.hpp:1: public")

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

    def test_phrase_of_a_comment(self):
        self.expect({"src/krylov/cg.cpp": "T* behind;  // old values behind the sweep\nint a;  // columns behind the panel\n"},
                    'src/krylov/cg.cpp:2: "behind"')
        self.expect({"src/krylov/cg.cpp": '/// Bytes besides x.\nconst char* text = "// besides";\n'},
                    'src/krylov/cg.cpp:1: "besides"')
        self.expect({"src/krylov/cg.cpp": "/// So many rows that a copy pays.\n/// At most so many rows.\n"},
                    'src/krylov/cg.cpp:2: "At most so many"')

    def test_sentence_as_test_name(self):
        self.expect({"tests/unit/a_test.cpp": "TEST(Solver, Rectangular_IsRefused) {}\nTEST(Solver, AgreesWithPlainLoops) {}\n"
                                              "TEST_F(Solver, WhoDoesNotTakeAnyShapeRefusesARectangle) {}\n"},
                    "tests/unit/a_test.cpp:3: WhoDoesNotTakeAnyShapeRefusesARectangle")


class CheckCounts(unittest.TestCase):
    def expect(self, name, files, places):
        """The places of one count in a tree, by their beginnings."""
        with tempfile.TemporaryDirectory() as folder:
            write_tree(folder, files)
            found = Counts(Path(folder)).places[name]
        self.assertEqual(len(found), len(places), found)
        for place, beginning in zip(found, places):
            self.assertTrue(place.startswith(beginning), place)

    def test_calls_of_on_progress(self):
        self.expect("progress-files", {
            "src/krylov/a.cpp": "if (control.on_progress) control.on_progress({1});\ncontrol.on_progress({2});\n",
            "src/krylov/b.cpp": "// calls on_progress(x)\ncontrol.on_progress = report;\n",
        }, ["src/krylov/a.cpp:1: "])

    def test_loops_of_refinement(self):
        loop = "  for (int step = 0; step < %s; ++step) {\n  }\n"
        self.expect("refinement-files", {
            "src/dense/bound.cpp": "void f() {\n" + loop % "options_.refine" + "}\n",
            "src/dense/name.cpp": "int refine(double x) const {\n" + loop % "9" + "}\n",
            "src/dense/call.cpp": "void refine_columns() {\n  for (auto& c : columns) {\n    refine(c);\n  }\n}\n",
            "src/dense/columns.cpp": "void f() {\n  for (int j = 0; j < n && options_.refine > 0; ++j) {\n  }\n}\n",
            "src/dense/batched/kernel.cu": "void f() {\n" + loop % "refine" + "}\n",
        }, ["src/dense/bound.cpp:2: ", "src/dense/name.cpp:1: "])

    def test_casts(self):
        self.expect("interface-casts", {
            "src/solver/a.cpp": "find_interface<User>(x);  // dynamic_cast<A*>\ndynamic_cast<const Error*>(&e);\n"
                                "dynamic_cast<Own*>(x);\n",
        }, ["src/solver/a.cpp:1: find_interface<User", "src/solver/a.cpp:3: dynamic_cast<Own"])

    def test_names_of_methods(self):
        self.expect("method-names-compared", {
            "include/echelon/methods/amg.hpp": 'static constexpr std::string_view name = "amg";\n',
            "src/solver/a.cpp": 'if (name == "amg" || name == "auto") f();\nname = "amg";\n',
            "apps/echelon/a.cpp": "if (AmgOptions::name != method) f();\n",
            "src/registry/a.cpp": 'if (name == "amg") f();\n', "petsc/factor.cpp": 'if (name == "amg") f();\n',
        }, ['src/solver/a.cpp:1: "amg"', "apps/echelon/a.cpp:1: AmgOptions::name"])

    def test_internals_of_the_multifrontal_method(self):
        include = '#include "sparse_direct/multifrontal/host/f.hpp"\n'
        self.expect("multifrontal-internals", {
            "src/sparse_direct/multifrontal/host/f.hpp": "", "src/sparse_direct/multifrontal/lu.cpp": include,
            "src/domain_decomposition/schur/a.cpp": include,
        }, ["src/domain_decomposition/schur/a.cpp:1: "])

    def test_backend_by_type(self):
        self.expect("cuda-by-type", {
            "src/linalg/a.cpp": "std::is_same_v<B, Cuda>\nstd::is_same_v<B, Host>\n",
            "src/backend/a.cpp": "std::is_same_v<B, Cuda>\n",
        }, ["src/linalg/a.cpp:1: "])

    def test_tables(self):
        files = {"tests/structure/layers.txt": "a:\na/b.cpp: a\n", "tests/structure/exceptions.txt": "arrows: a>b c>d\n"}
        self.expect("layers-of-one-file", files, ["tests/structure/layers.txt: a/b.cpp"])
        self.expect("exceptions", files, [f"tests/structure/exceptions.txt: arrows: {arrow}" for arrow in ("a>b", "c>d")])

    def test_shared_type_names(self):
        self.expect("shared-type-names", {
            "src/krylov/a.cpp": "template <class T>\nclass Step final : public Base<T> {\n};\n"
                                "struct Own {\n  struct Inner {};\n};\n",
            "src/solver/b.hpp": "struct Step;\nstruct Step {};\nstruct Own;\nstruct Outer {\n  struct Inner {};\n};\n",
        }, ["Step: src/krylov/a.cpp src/solver/b.hpp"])

    def test_numbers_fall_and_never_rise(self):
        with tempfile.TemporaryDirectory() as folder:
            write_tree(folder, {"src/krylov/a.cpp": "on_progress(x);\n", "tests/structure/layers.txt": "a:\n",
                                "tests/structure/exceptions.txt": ""})
            numbers = Path(folder) / "counts.txt"

            def faults(progress_files):
                counts = {name: len(places) for name, places in Counts(Path(folder)).places.items()}
                counts["progress-files"] = progress_files
                numbers.write_text("".join(f"{name}: {count}\n" for name, count in counts.items()))
                return count_faults(Path(folder), numbers)

            self.assertEqual(faults(1), [])
            self.assertIn("progress-files rose from 0 to 1", faults(0)[0])
            self.assertIn("progress-files fell from 2 to 1: lower the number", faults(2)[0])
            numbers.write_text(numbers.read_text().replace("progress-files", "progress-file"))
            self.assertEqual(len(count_faults(Path(folder), numbers)), 2)


if __name__ == "__main__":
    unittest.main()
