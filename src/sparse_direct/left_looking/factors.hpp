// SPDX-License-Identifier: BSD-3-Clause
/// The result of a left-looking factorisation.
#pragma once

#include "sparse_direct/left_looking/elimination_schedule.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// Sparse vectors, stored one after the other in memory that grows.
template <class T>
struct SparseVectors {
  std::vector<std::int64_t> begin{0};  ///< vectors + 1 offsets
  Array<std::int32_t> index;
  Array<T> value;

  /// Number of entries of the vectors that are complete.
  [[nodiscard]] std::int64_t size() const { return begin.back(); }
  /// Reserves memory for further entries. Throws OutOfMemory.
  void reserve(std::int64_t entries) {
    const std::int64_t needed = size() + entries;
    if (needed <= index.size()) return;
    const std::int64_t capacity = std::max(needed, 2 * index.size());
    Array<std::int32_t> new_index(Device::serial(), capacity);
    Array<T> new_value(Device::serial(), capacity);
    std::copy_n(index.data(), size(), new_index.data());
    std::copy_n(value.data(), size(), new_value.data());
    index = std::move(new_index);
    value = std::move(new_value);
  }
  /// Releases the memory beyond the last elements of the complete vectors.
  void shrink() {
    index.shrink(size());
    value.shrink(size());
  }
  void clear() { begin.assign(1, 0); }
  [[nodiscard]] std::size_t bytes() const {
    return begin.size() * sizeof(std::int64_t) + index.bytes() + value.bytes();
  }
};

/// Factors of P A Q, which is block upper triangular. Row k of P A Q is column k of its transpose, and the
/// diagonal blocks of the transpose are factored: B_b = P_b^T L_b U_b, with the columns of L_b and U_b in
/// `lower` and `upper`, without their diagonals. Indices are numbers of pivots in the whole matrix.
template <class T>
struct LeftLookingFactors {
  LeftLookingFactors() = default;
  LeftLookingFactors(LeftLookingFactors&&) noexcept = default;
  LeftLookingFactors& operator=(LeftLookingFactors&&) noexcept = default;
  LeftLookingFactors(const LeftLookingFactors&) = delete;
  LeftLookingFactors& operator=(const LeftLookingFactors&) = delete;
  ~LeftLookingFactors() = default;

  std::vector<std::int32_t> block_begin;
  SparseVectors<T> lower;     ///< unit diagonal
  SparseVectors<T> upper;     ///< each column's entries in the order in which they were computed
  SparseVectors<T> coupling;  ///< entries of row k of P A Q in the columns of later blocks
  Array<T> pivot;
  /// The pivots, and the values of `lower`, `upper` and `coupling`, one after the other in one array, which
  /// the four borrow once the factorisation is complete: a place in it tells any of these elements.
  Array<T> values;
  std::vector<T> reciprocal;               ///< of each pivot
  std::vector<std::int32_t> row_order;     ///< row of A that is eliminated as k-th
  std::vector<std::int32_t> column_order;  ///< column of A in which its pivot is
  std::int64_t exchanges = 0;              ///< pivots that are not on the diagonal of the matched matrix
  double largest_given = 0;                ///< magnitude of the elements of the factored matrix
  double largest_element = 0;              ///< magnitude of the elements that arise in the elimination
  double flops = 0;
  std::optional<EliminationSchedule> schedule;  ///< for new values, from the first of them on

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(row_order.size()); }
  /// Number of nonzeros of L and U, whose diagonal counts once, and of the blocks right of them.
  [[nodiscard]] std::int64_t entries() const {
    return lower.size() + upper.size() + coupling.size() + size();
  }
  /// Whether later blocks have entries in row k.
  [[nodiscard]] bool is_coupled(std::int32_t k) const { return coupling.begin[k] < coupling.begin[k + 1]; }
  /// Completes the factors: releases unused memory, and finds the reciprocals of the pivots.
  void complete() {
    for (SparseVectors<T>* vectors : {&lower, &upper, &coupling}) vectors->shrink();
    reciprocal.resize(row_order.size());
    for (std::size_t k = 0; k < reciprocal.size(); ++k) reciprocal[k] = T{1} / pivot[k];
  }
  /// Moves the values of complete factors into one array. Throws OutOfMemory.
  void join_values() {
    Array<T> all(Device::serial(), entries());
    T* next = all.data();
    const auto move = [&next](Array<T>& from) {
      const std::int64_t count = from.size();
      std::copy_n(from.data(), count, next);
      from = Array<T>::borrow(Device::serial(), next, count);
      next += count;
    };
    move(pivot);
    for (SparseVectors<T>* vectors : {&lower, &upper, &coupling}) move(vectors->value);
    values = std::move(all);
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = static_cast<std::size_t>(entries()) * sizeof(T) + reciprocal.size() * sizeof(T);
    for (const SparseVectors<T>* vectors : {&lower, &upper, &coupling})
      bytes += vectors->begin.size() * sizeof(std::int64_t) + vectors->index.bytes();
    bytes += (row_order.size() + column_order.size() + block_begin.size()) * sizeof(std::int32_t);
    return bytes + (schedule ? schedule->bytes() : 0);
  }
};

}  // namespace echelon::sparse_direct
