// SPDX-License-Identifier: BSD-3-Clause
/// The extension module echelon._core: the C++ interface as it is. What suits Python is written in Python.
#include "bindings.hpp"
#include "computation.hpp"

#include <nanobind/nanobind.h>

#include <complex>

namespace echelon::python {

namespace {

template <class T>
void bind_scalar(nb::module_ module) {
  bind_matrices<T>(module);
  bind_solvers<T>(module);
  bind_batches<T>(module);
  bind_files<T>(module);
  bind_eliminations<T>(module);
}

/// Binds what there is for complex numbers.
template <class T>
void bind_complex(nb::module_ module) {
  bind_matrices<T>(module);
  bind_solvers<T>(module);
  bind_files<T>(module);
  bind_eliminations<T>(module);
}

}  // namespace

}  // namespace echelon::python

NB_MODULE(_core, module) {
  using namespace echelon::python;
  nb::set_leak_warnings(false);  // the library never prints
  module.attr("version") = ECHELON_VERSION;
  bind_interpreter_end(module);
  bind_errors();
  bind_reports(module);
  bind_comparisons(module);
  bind_requests(module);
  bind_tables(module);
  bind_scalar<float>(module.def_submodule("float32"));
  bind_scalar<double>(module.def_submodule("float64"));
  bind_complex<std::complex<double>>(module.def_submodule("complex128"));
  nb::module_ graph = module.def_submodule("graph");
  bind_graphs(graph);
}
