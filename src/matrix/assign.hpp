// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/dispatch.hpp"

#include <echelon/dense.hpp>

namespace echelon {

template <class Side, class T>
void assign_on(DenseView<const T> from, DenseView<T> to);

/// to(i, j) = from(i, j) for views of one shape in one memory, whatever their layouts. Does not wait.
template <class T>
void assign(DenseView<const T> from, DenseView<T> to) {
  on_side(to.device, [&]<class Side>() { assign_on<Side, T>(from, to); });
}

}  // namespace echelon
