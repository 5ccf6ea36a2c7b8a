// SPDX-License-Identifier: BSD-3-Clause
/// Reports as JSON, for programs in other languages and for logs.
#pragma once

#include <echelon/export.h>
#include <echelon/report.hpp>

#include <string>

namespace echelon {

/// The report as one line of JSON, an object whose names are those of the members of Report; with `solved`,
/// `status_code` (the value of Status), `expected_digits`, and `name`, the method without its options.
/// Statistics are an object. Values that are not set or not finite are null, and so are the residuals and the
/// backward error where nothing was computed. Invalid UTF-8 is replaced by U+FFFD.
[[nodiscard]] ECHELON_API std::string to_json(const Report& report);

/// The certificate as one line of JSON, without the bounds of single elements; an infinite bound is null.
[[nodiscard]] ECHELON_API std::string to_json(const ErrorCertificate& certificate);

}  // namespace echelon
