// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the singletons of a matrix, around that with the factors of its core.
#pragma once

#include "sparse_direct/left_looking/factors.hpp"
#include "sparse_direct/singletons/singletons.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

template <class T>
class SingletonFactors {
 public:
  SingletonFactors() = default;

  /// Takes the elements r_i a_ij c_j outside the core. Row core_rows[k] of the core, counted from 0 in the
  /// core, is its k-th in the factors, of which the first core_rank ones have pivots.
  SingletonFactors(const Csr<T>& a, Singletons order, std::span<const double> row_scale,
                   std::span<const double> column_scale, std::span<const std::int32_t> core_rows,
                   std::span<const std::int32_t> core_columns, std::int64_t core_rank)
      : order_(std::move(order)), core_rank_(core_rank), pivots_(order_.rows.size(), T{1}) {
    reorder(core_rows, order_.rows);
    reorder(core_columns, order_.columns);
    std::vector<std::int32_t> position(order_.columns.size());
    for (std::size_t k = 0; k < position.size(); ++k)
      position[order_.columns[k]] = static_cast<std::int32_t>(k);
    elements_.reserve(a.nonzeros());
    for (std::int64_t k = 0; k < order_.size(); ++k) {
      const std::int64_t i = order_.rows[k];
      std::int64_t end = elements_.size();
      for (std::int64_t p = a.row_offsets()[i]; p < a.row_offsets()[i + 1] && k < order_.end; ++p) {
        const std::int32_t j = a.column_indices()[p];
        const T value = static_cast<T>(row_scale[i] * static_cast<double>(a.values()[p]) * column_scale[j]);
        if (position[j] == k && !is_core(k)) pivots_[k] = value;
        if (position[j] >= (is_core(k) ? order_.core_begin : k)) continue;
        elements_.index[end] = position[j];
        elements_.value[end++] = value;
      }
      elements_.begin.push_back(end);
    }
    elements_.shrink();
  }

  /// Rows and columns of A in the order of their pivots; rows and columns without one are among them.
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const { return order_.rows; }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const { return order_.columns; }
  [[nodiscard]] std::int64_t count() const { return order_.count(); }
  [[nodiscard]] std::int64_t entries() const { return elements_.size() + count(); }
  [[nodiscard]] std::size_t bytes() const {
    return elements_.bytes() + pivots_.size() * sizeof(T) + 2 * order_.rows.size() * sizeof(std::int32_t);
  }
  /// The numbers without a pivot of a list in the order of pivots.
  [[nodiscard]] std::vector<std::int32_t> without_pivot(const std::vector<std::int32_t>& order) const {
    std::vector<std::int32_t> list(order.begin() + order_.core_begin + core_rank_,
                                   order.begin() + order_.core_end);
    list.insert(list.end(), order.begin() + order_.end, order.end());
    return list;
  }

  /// Computes X = A^-1 X or A^-T X for rows of X in the order of pivots. `solve_core(x)` does so for the rows
  /// of the core, which begin at x, and sets those without a pivot to zero.
  template <class SolveCore>
  void substitute(bool transposed, int columns, T* x, const SolveCore& solve_core) const {
    const auto row = [&](std::int64_t k) { return x + k * columns; };
    std::fill(row(order_.end), row(order_.size()), T{0});
    if (!transposed) {
      for (std::int64_t k = 0; k < order_.core_end; ++k) gather(k, columns, x);
      solve_core(row(order_.core_begin));
      for (std::int64_t k = order_.core_end; k < order_.end; ++k) gather(k, columns, x);
    } else {
      for (std::int64_t k = order_.end; k-- > order_.core_end;) scatter(k, columns, x);
      solve_core(row(order_.core_begin));
      for (std::int64_t k = order_.core_end; k-- > 0;) scatter(k, columns, x);
    }
  }

 private:
  [[nodiscard]] bool is_core(std::int64_t k) const { return k >= order_.core_begin && k < order_.core_end; }

  /// Puts the numbers of the core into the order of its pivots.
  void reorder(std::span<const std::int32_t> core, std::vector<std::int32_t>& numbers) const {
    const std::vector<std::int32_t> before(numbers.begin() + order_.core_begin,
                                           numbers.begin() + order_.core_end);
    for (std::size_t k = 0; k < before.size(); ++k) numbers[order_.core_begin + k] = before[core[k]];
  }

  /// Subtracts from row k its elements times the rows before, and divides it by its pivot.
  void gather(std::int64_t k, int columns, T* x) const {
    T* target = x + k * columns;
    for (std::int64_t p = elements_.begin[k]; p < elements_.begin[k + 1]; ++p) {
      const T* source = x + std::int64_t{elements_.index[p]} * columns;
      for (int c = 0; c < columns; ++c) target[c] -= elements_.value[p] * source[c];
    }
    for (int c = 0; c < columns; ++c) target[c] /= pivots_[k];
  }
  /// Divides row k by its pivot, and subtracts its multiples from the rows before.
  void scatter(std::int64_t k, int columns, T* x) const {
    T* source = x + k * columns;
    for (int c = 0; c < columns; ++c) source[c] /= pivots_[k];
    for (std::int64_t p = elements_.begin[k]; p < elements_.begin[k + 1]; ++p) {
      T* target = x + std::int64_t{elements_.index[p]} * columns;
      for (int c = 0; c < columns; ++c) target[c] -= elements_.value[p] * source[c];
    }
  }

  Singletons order_;
  std::int64_t core_rank_ = 0;
  std::vector<T> pivots_;      // of singletons, and 1 elsewhere
  SparseVectors<T> elements_;  // of each row before its diagonal block
};

}  // namespace echelon::sparse_direct
