// SPDX-License-Identifier: BSD-3-Clause
#include "arrays.hpp"
#include "bindings.hpp"
#include "matrix.hpp"

#include <echelon/page/report_page.hpp>
#include <echelon/report.hpp>
#include <echelon/solver/report_json.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <sstream>
#include <string>

namespace echelon::python {

namespace {

nb::dict statistics_of(const Report& report) {
  nb::dict result;
  for (const Statistic& statistic : report.statistics) {
    result[statistic.name.c_str()] = nb::cast(statistic.value);
  }
  return result;
}

nb::list columns_of(const Report& report) {
  nb::list result;
  for (const ColumnReport& column : report.columns) {
    nb::dict row;
    row["status"] = to_string(column.status);
    row["iterations"] = column.iterations;
    row["relative_residual"] = column.relative_residual;
    row["backward_error"] = column.backward_error;
    row["error_estimate"] = column.error_estimate;
    row["normal_residual"] = column.normal_residual;
    result.append(row);
  }
  return result;
}

nb::list attempts_of(const Report& report) {
  nb::list result;
  for (const Attempt& attempt : report.attempts) {
    nb::dict row;
    row["method"] = attempt.method;
    row["status"] = to_string(attempt.status);
    row["message"] = attempt.message;
    row["seconds"] = attempt.seconds;
    result.append(row);
  }
  return result;
}

std::string text_of(const Report& report) {
  std::ostringstream out;
  out << report;
  return out.str();
}

/// The page, with a portrait of the matrix if one is given.
template <class T>
std::string page_of(const Report& report, const PythonMatrix<T>* matrix, const std::string& title,
                    const std::string& command) {
  const Unlocked unlocked;
  PageDetails details;
  details.title = title;
  details.command = command;
  if (matrix != nullptr) details.matrix = portrait(matrix->ref());
  return to_html(report, details);
}

void bind_certificate(nb::module_& module) {
  nb::class_<ErrorCertificate>(module, "ErrorCertificate")
      .def_prop_ro("proven", &ErrorCertificate::proven)
      .def_prop_ro("proof", [](const ErrorCertificate& c) { return to_string(c.proof); })
      .def_ro("reason", &ErrorCertificate::reason)
      .def_ro("error_bound", &ErrorCertificate::error_bound)
      .def_ro("relative_error_bound", &ErrorCertificate::relative_error_bound)
      .def_ro("smallest_eigenvalue", &ErrorCertificate::smallest_eigenvalue)
      .def_prop_ro("element_bounds", [](const ErrorCertificate& c) { return numpy_array(c.element_bounds); })
      .def("to_json", [](const ErrorCertificate& c) { return to_json(c); });
}

}  // namespace

void bind_reports(nb::module_& module) {
  bind_certificate(module);
  nb::class_<Report>(module, "Report")
      .def_prop_ro("status", [](const Report& r) { return to_string(r.status); })
      .def_prop_ro("solved", &Report::solved)
      .def_prop_ro("ready", &Report::ready)
      .def_ro("method", &Report::method)
      .def_prop_ro("device", [](const Report& r) { return r.device.name(); })
      .def_ro("reason", &Report::reason)
      .def_ro("message", &Report::message)
      .def_ro("warnings", &Report::warnings)
      .def_ro("row", &Report::row)
      .def_ro("column", &Report::column)
      .def_ro("iterations", &Report::iterations)
      .def_prop_ro("history", [](const Report& r) { return numpy_array(r.history); })
      .def_ro("residual_norm", &Report::residual_norm)
      .def_ro("relative_residual", &Report::relative_residual)
      .def_ro("tolerance", &Report::tolerance)
      .def_ro("backward_error", &Report::backward_error)
      .def_ro("reciprocal_condition", &Report::reciprocal_condition)
      .def_prop_ro("condition_kind", [](const Report& r) { return to_string(r.condition_kind); })
      .def_ro("preconditioned_condition", &Report::preconditioned_condition)
      .def_ro("error_estimate", &Report::error_estimate)
      .def_ro("normal_residual", &Report::normal_residual)
      .def_prop_ro("expected_digits", &Report::expected_digits)
      .def_prop_ro("error_bound", &Report::error_bound)
      .def_prop_ro("certificate",
                   [](const Report& r) { return r.certificate ? nb::cast(*r.certificate) : nb::none(); })
      .def_ro("rank", &Report::rank)
      .def_prop_ro("row_of_unknown",
                   [](const Report& r) {
                     return r.row_of_unknown == nullptr ? nb::none()
                                                        : nb::object(numpy_array(*r.row_of_unknown));
                   })
      .def_prop_ro("is_proven", [](const Report& r) { return r.certainty == Certainty::proven; })
      .def_prop_ro("statistics", statistics_of)
      .def_ro("choosing_seconds", &Report::choosing_seconds)
      .def_ro("analysis_seconds", &Report::analysis_seconds)
      .def_ro("setup_seconds", &Report::setup_seconds)
      .def_ro("solve_seconds", &Report::solve_seconds)
      .def_ro("transfer_seconds", &Report::transfer_seconds)
      .def_ro("nbytes", &Report::bytes)
      .def_prop_ro("columns", columns_of)
      .def_prop_ro("attempts", attempts_of)
      .def_prop_ro("computed", [](const Report& r) { return !r.columns.empty(); })
      .def("text", text_of)
      .def("to_json", [](const Report& r) { return to_json(r); })
      .def("to_html", &page_of<float>, nb::arg("matrix").none(), nb::arg("title"), nb::arg("command"))
      .def("to_html", &page_of<double>, nb::arg("matrix").none(), nb::arg("title"), nb::arg("command"));
}

}  // namespace echelon::python
