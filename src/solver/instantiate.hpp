// SPDX-License-Identifier: BSD-3-Clause
/// Support for files that define methods: specialise `MethodWith` for the method's options, then instantiate
/// `make_implementation<ThisTarget, float>` and `<ThisTarget, double>`.
#pragma once

#include "backend/target.hpp"
#include "solver/implementation.hpp"
#include "solver/make.hpp"

namespace echelon {

/// `MethodWith<CgOptions>::Type<Backend, T>` is the implementation, made from (device, options).
template <class MethodOptions>
struct MethodWith;

template <class Target, class T, class MethodOptions>
std::unique_ptr<SolverImplementation<T>> make_implementation(const Device& device,
                                                             const MethodOptions& options) {
  static_assert(std::is_same_v<Target, ThisTarget>);
  return on_backend(device, [&]<class B>() -> std::unique_ptr<SolverImplementation<T>> {
    return std::make_unique<typename MethodWith<MethodOptions>::template Type<B, T>>(device, options);
  });
}

}  // namespace echelon
