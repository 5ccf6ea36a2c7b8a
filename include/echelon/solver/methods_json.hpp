// SPDX-License-Identifier: BSD-3-Clause
/// Methods and their options as JSON, for programs that offer them.
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <span>
#include <string>

namespace echelon {

/// The methods as one line of JSON, a list of objects: `name`, `summary`, `kind`, `needs`, `devices` (of this
/// build), `sparse`, `dense`, `preconditioner` (usable as one), and `options`, a list of objects with the names
/// `name`, `type`, `default`, `allowed` and `help`.
[[nodiscard]] ECHELON_API std::string to_json(std::span<const Method> methods);

}  // namespace echelon
