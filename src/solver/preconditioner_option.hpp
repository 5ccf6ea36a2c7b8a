// SPDX-License-Identifier: BSD-3-Clause
/// The option `preconditioner` of iterative methods.
#pragma once

#include <echelon/solver.hpp>

#include <string>

namespace echelon {

/// The method that the option names, or null for "none". Throws BadOption if it does not exist or cannot be
/// used as a preconditioner, and for `options` without a preconditioner.
[[nodiscard]] const Method* find_preconditioner(const std::string& name, const Options& options);

}  // namespace echelon
