// SPDX-License-Identifier: BSD-3-Clause
/// The option `preconditioner` of iterative methods.
#pragma once

#include <echelon/solver.hpp>

#include <optional>
#include <string>

namespace echelon {

/// The method that the option names, or null for "none". Throws BadOption if it does not exist or cannot be
/// used as a preconditioner, and for `options` without a preconditioner.
[[nodiscard]] const Method* find_preconditioner(const std::string& name, const Options& options);

/// Checks the method that the option names, and its options, whose paths in a BadOption begin with
/// "preconditioner.". Throws BadOption, NotBuilt.
void check_preconditioner(const std::string& name, const Device& device, const Options& options);

/// Makes the method that the option names; none for "none". Throws as check_preconditioner, and NoDevice.
template <class T>
[[nodiscard]] std::optional<Solver<T>> make_preconditioner(const std::string& name, const Device& device,
                                                           const Options& options);

}  // namespace echelon
