// SPDX-License-Identifier: BSD-3-Clause
/// A method and the preconditioner that its options name.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/matrix/dense.hpp>

namespace echelon {

/// The method, or else the preconditioner that its options name, if it has a property; null if neither has
/// it.
template <class T, class Property>
[[nodiscard]] SolverImplementation<T>* method_with(SolverImplementation<T>& method, Property has) {
  if (has(method)) return &method;
  SolverImplementation<T>* const nested = method.named_preconditioner();
  return nested != nullptr && has(*nested) ? nested : nullptr;
}

/// Gives near-null-space vectors to a method, and to its preconditioner.
template <class T>
void pass_near_null_space(SolverImplementation<T>& method, const Dense<double>& vectors) {
  method.keep_near_null_space(vectors);
  method.set_near_null_space(vectors);
  if (SolverImplementation<T>* const nested = method.named_preconditioner())
    nested->set_near_null_space(vectors);
}

}  // namespace echelon
