// SPDX-License-Identifier: BSD-3-Clause
/// Measurements of several methods, as text, JSON and page.
#include "bindings.hpp"
#include "matrix.hpp"

#include <echelon/page/comparison.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace echelon::python {

namespace {

/// The value of a name; the default where it is missing or None.
template <class Value>
Value value_of(const nb::dict& figures, const char* name, Value fallback = {}) {
  if (!figures.contains(name) || figures[name].is_none()) return fallback;
  return nb::cast<Value>(figures[name]);
}

template <class Value>
std::optional<Value> optional_of(const nb::dict& figures, const char* name) {
  if (!figures.contains(name) || figures[name].is_none()) return std::nullopt;
  return nb::cast<Value>(figures[name]);
}

void add_result(Comparison& comparison, const nb::dict& figures) {
  comparison.results.push_back({.method = value_of<std::string>(figures, "method"),
                                .device = value_of<std::string>(figures, "device"),
                                .reason = value_of<std::string>(figures, "reason"),
                                .status = value_of<std::string>(figures, "status"),
                                .message = value_of<std::string>(figures, "message"),
                                .reached = value_of<bool>(figures, "reached"),
                                .setup_seconds = optional_of<double>(figures, "setup_seconds"),
                                .update_seconds = optional_of<double>(figures, "update_seconds"),
                                .solve_seconds = optional_of<double>(figures, "solve_seconds"),
                                .solve_10_seconds = optional_of<double>(figures, "solve_10_seconds"),
                                .iterations = optional_of<std::int64_t>(figures, "iterations"),
                                .relative_residual = optional_of<double>(figures, "relative_residual"),
                                .backward_error = optional_of<double>(figures, "backward_error"),
                                .expected_digits = optional_of<int>(figures, "expected_digits"),
                                .bytes = optional_of<std::size_t>(figures, "bytes"),
                                .peak_bytes = value_of<std::size_t>(figures, "peak_bytes")});
}

nb::list rows_of(const Comparison& comparison) {
  nb::list rows;
  for (const ReportRow& row : comparison_rows(comparison)) rows.append(nb::make_tuple(row.label, row.value));
  return rows;
}

nb::tuple table_of(const Comparison& comparison) {
  const PageTable table = measurements_of(comparison);
  return nb::make_tuple(table.columns, table.rows);
}

template <class T>
std::string page_of(const Comparison& comparison, const PythonMatrix<T>* matrix, const std::string& command) {
  const Unlocked unlocked;
  std::optional<MatrixPortrait> facts;
  if (matrix != nullptr) facts = portrait(matrix->ref());
  return to_html(comparison, facts, command);
}

}  // namespace

void bind_comparisons(nb::module_& module) {
  nb::class_<Comparison>(module, "Comparison")
      .def(nb::init<>())
      .def_rw("matrix", &Comparison::matrix)
      .def_rw("right_hand_side", &Comparison::right_hand_side)
      .def_rw("tolerance", &Comparison::tolerance)
      .def_rw("limit_seconds", &Comparison::limit_seconds)
      .def_rw("limit_bytes", &Comparison::limit_bytes)
      .def("add", add_result)
      .def("rows", rows_of)
      .def("table", table_of)
      .def("to_json", [](const Comparison& comparison) { return to_json(comparison); })
      .def("to_html", &page_of<float>, nb::arg("matrix").none(), nb::arg("command"))
      .def("to_html", &page_of<double>, nb::arg("matrix").none(), nb::arg("command"));
}

}  // namespace echelon::python
