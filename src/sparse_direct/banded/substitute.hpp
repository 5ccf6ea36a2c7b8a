// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with a node's factors, for a group of threads on any device. One right-hand side at a time.
#pragma once

#include "sparse_direct/banded/nodes.hpp"

namespace echelon::banded {

/// Applies the node's row operations. `window`: an element for each slot.
template <bool is_interface, class Group, class T>
ECHELON_ANYWHERE void substitute_forward(const Group& group, const BandNode& node,
                                         const FactorView<T>& factors, const RhsView<T>& rhs, T* window) {
  const std::int32_t* pivots = factors.pivots + node.first_step;
  const T* lower = factors.lower + node.lower_offset;
  for (std::int64_t s = group.rank(); s < node.slots; s += group.size()) {
    window[s] = rhs_element<is_interface>(node, rhs, s);
  }
  group.sync();
  for (std::int64_t step = 0; step < node.steps; ++step, lower += node.slots) {
    const std::int32_t p = pivots[step];
    const T y = window[p];
    const T next = rhs_element<is_interface>(node, rhs, node.slots + step);
    group.sync();
    if (group.rank() == 0) rhs.x[node_column(node, step)] = y;
    for (std::int64_t s = group.rank(); s < node.slots; s += group.size()) {
      window[s] = s == p ? next : window[s] - lower[s] * y;
    }
    group.sync();
  }
  for (std::int64_t r = group.rank(); r < node.block_rows; r += group.size()) {
    rhs.reduced[node.block_row + r] = window[factors.kept[node.block_row + r]];
  }
}

/// Solves for the node's eliminated columns from the last to the first; x holds the interfaces.
template <class Group, class T>
ECHELON_ANYWHERE void substitute_backward(const Group& group, const BandNode& node,
                                          const FactorView<T>& factors, T* x) {
  for (std::int64_t step = node.steps; step-- > 0;) {
    const T* upper = factors.upper + node.upper_offset + step * node.width();
    const T sum = group.template sum<T>(node.width() - 1, [&](std::int32_t i) {
      const std::int32_t d = i + 1;
      if (d >= node.ahead) return upper[d] * x[node.left_column + d - node.ahead];
      return step + d < node.columns ? upper[d] * x[node_column(node, step + d)] : T{0};
    });
    if (group.rank() == 0) {
      T& element = x[node_column(node, step)];
      element = (element - sum) * upper[0];
    }
    group.sync();
  }
}

/// Forward substitution with A^T: solves for the eliminated columns from the first to the last, in place of b
/// in x, and subtracts their products from the later columns and from the interfaces. The sums for the
/// interfaces are kept for each node: `sums` has k elements for the left and k for the right interface, in
/// the order of A's columns, and at first holds those of the children for an interface.
template <class Group, class T>
ECHELON_ANYWHERE void substitute_transposed_forward(const Group& group, const BandNode& node,
                                                    const FactorView<T>& factors, T* x, T* sums,
                                                    std::int64_t k) {
  for (std::int64_t step = 0; step < node.steps; ++step) {
    const T* upper = factors.upper + node.upper_offset + step * node.width();
    const T z = x[node_column(node, step)] * upper[0];
    group.sync();
    if (group.rank() == 0) x[node_column(node, step)] = z;
    for (std::int64_t i = 1 + group.rank(); i < node.width(); i += group.size()) {
      const std::int64_t g = step + i;
      if (i >= node.ahead) {
        sums[i - node.ahead] -= upper[i] * z;
      } else if (g < node.steps) {
        x[node_column(node, g)] -= upper[i] * z;
      } else if (g < node.columns) {
        const std::int64_t c = g - node.steps;
        sums[node.direction < 0 ? k - 1 - c : k + c] -= upper[i] * z;
      }
    }
    group.sync();
  }
}

/// Back substitution with A^T: undoes the node's row operations from the last to the first. A partition
/// writes its rows of the result, an interface those of its children.
template <bool is_interface, class Group, class T>
ECHELON_ANYWHERE void substitute_transposed_backward(const Group& group, const BandNode& node,
                                                     const FactorView<T>& factors, const T* z, T* result,
                                                     T* reduced, T* window) {
  for (std::int64_t s = group.rank(); s < node.slots; s += group.size()) window[s] = T{0};
  group.sync();
  for (std::int64_t r = group.rank(); r < node.block_rows; r += group.size()) {
    window[factors.kept[node.block_row + r]] = reduced[node.block_row + r];
  }
  group.sync();
  const auto store = [&](std::int64_t t, T value) {
    if (t < node.rows)
      (is_interface ? reduced[interface_row(node, t)] : result[partition_row(node, t)]) = value;
  };
  for (std::int64_t step = node.steps; step-- > 0;) {
    const std::int32_t p = factors.pivots[node.first_step + step];
    const T* lower = factors.lower + node.lower_offset + step * node.slots;
    const T leaving = window[p];
    const T sum = group.template sum<T>(node.slots,
                                        [&](std::int32_t s) { return s == p ? T{0} : lower[s] * window[s]; });
    group.sync();
    if (group.rank() == 0) {
      store(node.slots + step, leaving);
      window[p] = z[node_column(node, step)] - sum;
    }
    group.sync();
  }
  for (std::int64_t s = group.rank(); s < node.slots; s += group.size()) store(s, window[s]);
}

}  // namespace echelon::banded
