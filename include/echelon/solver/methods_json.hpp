// SPDX-License-Identifier: BSD-3-Clause
/// Methods and their options as JSON, for programs that offer them.
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <span>
#include <string>

namespace echelon {

/// The methods as one line of JSON, a list of objects: `name`, `summary`, `kind`, `needs`, `devices` (of this
/// build), `sparse`, `dense`, `preconditioner` (usable as one), `study`, and `options`.
[[nodiscard]] ECHELON_API std::string to_json(std::span<const Method> methods);

/// Options as one line of JSON, a list of objects: `name`, `type`, `kind`, `default`, `allowed` (the values
/// as text), `words` and `range` (as data; a bound is null where there is none), and `help`.
[[nodiscard]] ECHELON_API std::string to_json(std::span<const OptionInfo> options);

}  // namespace echelon
