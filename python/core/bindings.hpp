// SPDX-License-Identifier: BSD-3-Clause
/// Parts of the extension module echelon._core. Functions with a template argument are bound once in each of
/// its submodules float32 and float64, those of matrices, solvers, files and eliminations in complex128 as
/// well.
#pragma once

#include <echelon/options.hpp>

#include <nanobind/nanobind.h>

namespace echelon::python {

namespace nb = nanobind;

void bind_errors();
void bind_reports(nb::module_& module);
void bind_comparisons(nb::module_& module);
void bind_requests(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_graphs(nb::module_& module);

template <class T>
void bind_matrices(nb::module_& module);
template <class T>
void bind_solvers(nb::module_& module);
template <class T>
void bind_batches(nb::module_& module);
template <class T>
void bind_files(nb::module_& module);
template <class T>
void bind_eliminations(nb::module_& module);

/// Options from a dictionary of names and booleans, integers, floats or texts.
[[nodiscard]] Options options_of(const nb::dict& values);
[[nodiscard]] nb::dict dictionary_of(const Options& options);

}  // namespace echelon::python
