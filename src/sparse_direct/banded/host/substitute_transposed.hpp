// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the transpose of a node's factors on one core.
#pragma once

#include "sparse_direct/banded/nodes.hpp"

#include <algorithm>

namespace echelon::banded {

/// Solves for the eliminated columns from the first to the last, in place of b in x, and subtracts their
/// products from the later columns and from the interfaces. The sums for the interfaces are kept for each
/// node: `sums` has k elements for the left and k for the right interface, in the order of A's columns, and
/// at first holds those of the children for an interface node.
template <class T>
void substitute_transposed_forward(const BandNode& node, const FactorView<T>& factors, T* x, T* sums,
                                   std::int64_t k) {
  for (std::int64_t step = 0; step < node.steps; ++step) {
    const T* upper = factors.upper + node.upper_offset + step * node.width();
    const T z = x[node_column(node, step)] * upper[0];
    x[node_column(node, step)] = z;
    const std::int64_t ahead = std::min<std::int64_t>(node.ahead, node.columns - step);
    const std::int64_t inner = std::min(ahead, node.steps - step);
    for (std::int64_t d = 1; d < inner; ++d) x[node_column(node, step + d)] -= upper[d] * z;
    for (std::int64_t d = inner; d < ahead; ++d) {
      const std::int64_t c = step + d - node.steps;
      sums[node.direction < 0 ? k - 1 - c : k + c] -= upper[d] * z;
    }
    for (std::int64_t c = 0; c < node.left; ++c) sums[c] -= upper[node.ahead + c] * z;
  }
}

/// Undoes the node's row operations from the last to the first. A partition writes its rows of x, an
/// interface node those of its children. `window`: an element for each slot.
template <bool interface, class T>
void substitute_transposed_backward(const BandNode& node, const FactorView<T>& factors, const RhsView<T>& rhs,
                                    T* window) {
  std::fill_n(window, node.slots, T{0});
  for (std::int64_t r = node.block_row; r < node.block_row + node.block_rows; ++r) {
    window[factors.kept[r]] = rhs.reduced[r];
  }
  const auto store = [&](std::int64_t t, T value) {
    if (t < node.rows)
      (interface ? rhs.reduced[interface_row(node, t)] : rhs.x[partition_row(node, t)]) = value;
  };
  for (std::int64_t step = node.steps; step-- > 0;) {
    const std::int32_t p = factors.pivots[node.first_step + step];
    const T* lower = factors.lower + node.lower_offset + step * node.slots;
    T value = rhs.x[node_column(node, step)];
    for (std::int32_t s = 0; s < node.slots; ++s) {
      if (s != p) value -= lower[s] * window[s];
    }
    store(node.slots + step, window[p]);
    window[p] = value;
  }
  for (std::int64_t s = 0; s < node.slots; ++s) store(s, window[s]);
}

}  // namespace echelon::banded
