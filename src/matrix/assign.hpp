// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/dispatch.hpp"

#include <echelon/matrix/dense.hpp>

namespace echelon {

template <class Target, class T>
void assign_on(DenseView<const T> from, DenseView<T> to);

/// to(i, j) = from(i, j) for views of one shape in one memory, with any layouts. Does not wait.
template <class T>
void assign(DenseView<const T> from, DenseView<T> to) {
  on_target<targets_of<T>>(to.device(), [&]<class Target>() { assign_on<Target, T>(from, to); });
}

}  // namespace echelon
