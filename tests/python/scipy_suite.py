#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's own tests of the functions that echelon.linalg has as well, run against these.

The tests come with SciPy's wheel, in the version of tests/python/scipy-requirements.txt, and are not changed: the functions
are replaced in the modules from which they import them. Exits with 77, which ctest takes as skipped, without them."""
import importlib
import sys
from pathlib import Path

REPLACED = ["bicgstab", "cg", "gmres", "minres", "lsmr", "lsqr", "factorized", "spilu", "splu", "spsolve"]
MODULES = ["scipy.sparse.linalg._isolve.tests.test_iterative", "scipy.sparse.linalg._isolve.tests.test_minres",
           "scipy.sparse.linalg._isolve.tests.test_lsmr", "scipy.sparse.linalg._isolve.tests.test_lsqr",
           "scipy.sparse.linalg._dsolve.tests.test_linsolve"]

MESSAGES = "the exception has the class that SciPy raises, and a text of its own"
SINGULAR = "a singular matrix raises an exception, or has a solution that satisfies the equations, in place of NaN with a warning"

ROUNDING = ("with the complex matrix an element of L U differs from that of A, whose elements are up to 100, by 3e-14, and the test "
            "allows 2.2e-14: it passes where other kernels round otherwise")

# Tests that fail by decision, by a part of their names, and why.
DIFFERENT = {
    "test_singular_without_umfpack": MESSAGES,
    "test_cannot_factorize_nonsquare_matrix_without_umfpack": MESSAGES,
    "test_call_with_incorrectly_sized_matrix_without_umfpack": MESSAGES,
    "test_call_with_cast_to_complex_without_umfpack": MESSAGES,
    "TestLinsolve::test_singular": SINGULAR,
    "test_singular_matrix": SINGULAR,
    "TestGMRES::test_callback": "gmres preconditions from the right: its residuals are those of A",
    "test_precond_inverse": "three products estimate the norm of an operator, and the residual of x is computed, so that more than "
                            "three products are counted",
    "test_lu_attr": ROUNDING,
    "test_threads_parallel": "it repeats test_spilu_smoketest",
    "test_spilu_smoketest": "spilu factors without fill-in",
    "test_spilu_nnz0": "a missing pivot of an incomplete factorisation is a breakdown, which raises NotConverged",
    "test_natural_permc[splu-1e-07]": "the natural order is kept up to a postorder of the elimination tree and a block triangular form",
    "test_natural_permc[spilu-0.1]": "spilu keeps the order of rows and columns",
    "test_lu_refcount": "perm_r and perm_c are arrays of their own, which do not refer to the factorisation",
}


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(77)


def replace_functions() -> None:
    import scipy.sparse.linalg as linalg
    from echelon import linalg as ours
    for module in (linalg, linalg._isolve, linalg._dsolve):
        for name in REPLACED:
            if hasattr(module, name):
                setattr(module, name, getattr(ours, name))
    linalg.SuperLU = ours.LU


class Selection:
    """Leaves out the tests of functions that are not replaced, and marks those of DIFFERENT."""

    def __init__(self) -> None:
        self.unused = set(DIFFERENT)

    def pytest_collection_modifyitems(self, config, items) -> None:
        import pytest
        selected, others = [], []
        for item in items:
            (selected if self.tests_us(item) else others).append(item)
        items[:] = selected
        config.hook.pytest_deselected(items=others)
        for item in items:
            for part in DIFFERENT:
                if item.nodeid.endswith(part) or f"{part}[" in item.nodeid or f"[{part}-" in item.nodeid or (
                        part == "cmplx" and "cmplx" in item.nodeid):
                    self.unused.discard(part)
                    item.add_marker(pytest.mark.xfail(reason=DIFFERENT[part], strict=DIFFERENT[part] is not ROUNDING))

    @staticmethod
    def tests_us(item) -> bool:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        solver = parameters.get("solver", getattr(parameters.get("case"), "solver", None))
        if solver is None:
            return not any(word in item.nodeid for word in ("QMR", "test_show", "Gstrs", "gssv", "Triangular", "triangular",
                                                            "bandwidth"))
        return solver.__module__.startswith("echelon")


def main() -> int:
    try:
        import nanobind_backend  # noqa: F401
        import pytest
        import scipy.sparse.linalg
    except ImportError as error:
        skip(f"{error} (scripts/python-environment)")
    files = []
    for module in MODULES:
        found = importlib.util.find_spec(module)
        if found is None:
            skip(f"SciPy {scipy.__version__} at {Path(scipy.__file__).parent} comes without its tests")
        files.append(found.origin)
    replace_functions()
    selection = Selection()
    outcome = pytest.main(["-q", "-p", "no:cacheprovider", "-rxX" if "-v" in sys.argv else "-rX", "--tb=short", *sys.argv[1:], *files],
                          plugins=[selection])
    if selection.unused and len(sys.argv) == 1:
        print(f"no test is named {', '.join(sorted(selection.unused))}")
        return 1
    return int(outcome)


if __name__ == "__main__":
    sys.exit(main())
