// SPDX-License-Identifier: BSD-3-Clause
/// Construction of a method's implementation, instantiated for each target.
#pragma once

#include <echelon/device.hpp>

#include <memory>

namespace echelon {

template <class T>
class SolverImplementation;

/// Makes the method with the options `MethodOptions` on `device`, which belongs to `Target`.
template <class Target, class T, class MethodOptions>
[[nodiscard]] std::unique_ptr<SolverImplementation<T>> make_implementation(const Device& device,
                                                                           const MethodOptions& options);

}  // namespace echelon
