// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with a node's factors on one core, with vector instructions.
#pragma once

#include "sparse_direct/banded/host/vector.hpp"
#include "sparse_direct/banded/nodes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace echelon::banded {

/// Stores the right-hand side of the node's reduced block.
template <class T>
void store_reduced(const BandNode& node, const FactorView<T>& factors, const RhsView<T>& rhs,
                   const T* window) {
  for (std::int64_t r = node.block_row; r < node.block_row + node.block_rows; ++r) {
    rhs.reduced[r] = window[factors.kept[r]];
  }
}

/// Applies the node's row operations. `window` has an element for each slot, in whole vectors; the
/// multipliers may be read up to a vector beyond their end.
template <bool interface, std::int64_t bytes, class T>
void substitute_forward(const BandNode& node, const FactorView<T>& factors, const RhsView<T>& rhs,
                        T* window) {
  const std::int32_t* pivots = factors.pivots + node.first_step;
  const T* lower = factors.lower + node.lower_offset;
  for (std::int64_t s = 0; s < node.slots; ++s) window[s] = rhs_element<interface>(node, rhs, s);
  using Vector = typename VectorOf<T, bytes>::Type;
  using Bits = typename VectorOf<T, bytes>::BitsOfOne;
  constexpr std::int64_t lanes = VectorOf<T, bytes>::lanes;
  typename VectorOf<T, bytes>::Bits lane;
  count_lanes(lane);
  for (std::int64_t step = 0; step < node.steps; ++step, lower += node.slots) {
    const std::int32_t p = pivots[step];
    const T y = window[p];
    const Vector next = Vector{} + rhs_element<interface>(node, rhs, node.slots + step);
    rhs.x[node_column(node, step)] = y;
    Vector v;
    Vector l;
    for (std::int64_t s = 0; s < node.slots; s += lanes) {
      load(v, window + s);
      load(l, lower + s);
      v -= l * y;
      // a scalar store would stall the next load
      v = lane + static_cast<Bits>(s) == static_cast<Bits>(p) ? next : v;
      store(v, window + s);
    }
  }
  store_reduced(node, factors, rhs, window);
}

/// Forward substitution for at most as many slots as two vectors have elements, with the window in
/// registers.
template <bool interface, std::int64_t bytes, class T>
void substitute_forward_in_registers(const BandNode& node, const FactorView<T>& factors,
                                     const RhsView<T>& rhs, T* window) {
  using Vector = typename VectorOf<T, bytes>::Type;
  using VectorBits = typename VectorOf<T, bytes>::Bits;
  using Bits = typename VectorOf<T, bytes>::BitsOfOne;
  constexpr std::int64_t lanes = VectorOf<T, bytes>::lanes;
  const std::int32_t* pivots = factors.pivots + node.first_step;
  const T* lower = factors.lower + node.lower_offset;
  for (std::int64_t s = 0; s < node.slots; ++s) window[s] = rhs_element<interface>(node, rhs, s);
  VectorBits lane;
  count_lanes(lane);
  Vector first;
  Vector second;
  Vector l;
  Vector y;
  load(first, window);
  load(second, window + lanes);
  for (std::int64_t step = 0; step < node.steps; ++step, lower += node.slots) {
    const VectorBits p = VectorBits{} + static_cast<Bits>(pivots[step]);
    broadcast_element(first, second, p, y);
    const Vector next = Vector{} + rhs_element<interface>(node, rhs, node.slots + step);
    rhs.x[node_column(node, step)] = y[0];
    load(l, lower);
    first = lane == p ? next : first - l * y;
    load(l, lower + lanes);
    second = lane + lanes == p ? next : second - l * y;
  }
  store(first, window);
  store(second, window + lanes);
  store_reduced(node, factors, rhs, window);
}

/// Solves for the node's eliminated columns from the last to the first, with `ahead` columns of the window.
template <int ahead, class T>
void substitute_backward_narrow(const BandNode& node, const FactorView<T>& factors, T* x) {
  std::array<T, ahead> known{};  // of columns step + 1, ...
  for (int d = 0; d + 1 < ahead && node.steps + d < node.columns; ++d) {
    known[d] = x[node_column(node, node.steps + d)];
  }
  const T* upper = factors.upper + node.upper_offset + node.steps * node.width();
  for (std::int64_t step = node.steps; step-- > 0;) {
    upper -= node.width();
    T& element = x[node.column + node.direction * step];
    T value = element;
    for (std::int32_t c = 0; c < node.left; ++c) value -= upper[ahead + c] * x[node.left_column + c];
    for (int d = ahead - 1; d > 0; --d) value -= upper[d] * known[d - 1];
    value *= upper[0];
    for (int d = ahead - 1; d > 0; --d) known[d] = known[d - 1];
    known[0] = value;
    element = value;
  }
}

/// Solves for the node's eliminated columns from the last to the first. The products with unknowns after a
/// block of rows are summed before those within the block, which wait for each other.
template <class T, std::int64_t bytes>
class BackwardSubstitution {
  using Vector = typename VectorOf<T, bytes>::Type;
  static constexpr std::int64_t lanes = VectorOf<T, bytes>::lanes;

 public:
  BackwardSubstitution(const BandNode& node, const FactorView<T>& factors, T* x)
      : node_(node),
        upper_(factors.upper + node.upper_offset),
        x_(x),
        eliminated_(x + node.column),
        right_(x + node.right) {}

  void run() {
    if (node_.direction < 0) reverse_columns();
    for (std::int64_t last = node_.steps; last > 0;) {
      const std::int64_t rows = std::min<std::int64_t>(last, block);
      solve_block(last - rows, rows);
      last -= rows;
    }
    if (node_.direction > 0) return;
    for (std::int64_t g = 0; g < node_.steps; ++g) x_[node_column(node_, g)] = eliminated_[g];
  }

 private:
  static constexpr std::int64_t block = 8;

  [[nodiscard]] const T* upper(std::int64_t step) const { return upper_ + step * node_.width(); }

  /// Copies the columns in the node's own order, to work on the copy.
  void reverse_columns() {
    own_order_.resize(static_cast<std::size_t>(node_.columns));
    eliminated_ = own_order_.data();
    right_ = own_order_.data() + node_.steps;
    for (std::int64_t g = 0; g < node_.columns; ++g) eliminated_[g] = x_[node_column(node_, g)];
  }

  void solve_block(std::int64_t first, std::int64_t rows) {
    std::array<T, block> sums{};
    for (std::int64_t r = 0; r < rows; ++r)
      sums[static_cast<std::size_t>(r)] = known_products(first + r, rows - r);
    for (std::int64_t r = rows; r-- > 0;) {
      const T* row = upper(first + r);
      T& element = eliminated_[first + r];
      const T value = (element - sums[static_cast<std::size_t>(r)]) * row[0];
      element = value;
      for (std::int64_t q = 0; q < r; ++q) {
        if (r - q < node_.ahead) sums[static_cast<std::size_t>(q)] += upper(first + q)[r - q] * value;
      }
    }
  }

  /// Sums the products of a pivot row with the left interface and with the columns from the `begin`-th after
  /// its own on.
  [[nodiscard]] T known_products(std::int64_t step, std::int64_t begin) const {
    const T* row = upper(step);
    const std::int64_t end = std::min<std::int64_t>(node_.ahead, node_.columns - step);
    const std::int64_t inner = std::clamp(node_.steps - step, begin, std::max(begin, end));
    return dot(row + begin, eliminated_ + step + begin, inner - begin) +
           dot(row + inner, right_ + step + inner - node_.steps, end - inner) +
           dot(row + node_.ahead, x_ + node_.left_column, node_.left);
  }

  [[nodiscard]] static T dot(const T* a, const T* x, std::int64_t n) {
    T sum = 0;
    std::int64_t i = 0;
    if (n >= lanes) {
      Vector sums{};
      Vector u;
      Vector v;
      for (; i + lanes <= n; i += lanes) {
        load(u, a + i);
        load(v, x + i);
        sums += u * v;
      }
      for (int l = 0; l < lanes; ++l) sum += sums[l];
    }
    for (; i < n; ++i) sum += a[i] * x[i];
    return sum;
  }

  const BandNode& node_;
  const T* upper_;
  T* x_;
  T* eliminated_;  // the node's columns
  T* right_;       // and its right interface
  std::vector<T> own_order_;
};

}  // namespace echelon::banded
