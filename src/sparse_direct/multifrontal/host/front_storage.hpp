// SPDX-License-Identifier: BSD-3-Clause
/// Memory of the fronts of a factorisation, and the numbers of their pivots.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/fronts/panel_layout.hpp"
#include "sparse_direct/multifrontal/host/assembly.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// Panels and pivots' row and column identifiers of all fronts. A front has its place in the arrays of the
/// layout, or memory of its own if it takes over pivots that its children have delayed. Different threads may
/// add and use different fronts.
template <class T>
class FrontStorage {
 public:
  FrontStorage(const PanelLayout& layout, MultifrontalFactors<T>& factors)
      : layout_(layout),
        tree_(layout.tree),
        factors_(factors),
        larger_(tree_.parent.size()),
        row_ids_(static_cast<std::size_t>(tree_.n)) {
    std::iota(row_ids_.begin(), row_ids_.end(), 0);
    column_ids_ = row_ids_;
    factors.kind = layout.kind;
    factors.n = tree_.n;
    factors.largest_front = layout.largest_front;
    factors.overflow = Array<T>();
    if (factors.values.size() != layout.panel_begin.back()) {
      factors.values = Array<T>();
      factors.values = Array<T>(Device::serial(), layout.panel_begin.back());
    }
    factors.fronts.assign(tree_.parent.size(), {});
  }

  /// Finds a place for front s with this many pivots.
  void add(std::int32_t s, std::int64_t pivots) {
    const std::int64_t below = layout_.below(s);
    if (pivots > tree_.pivots(s)) {
      auto larger = std::make_unique<LargerFront>();
      larger->values = Array<T>(Device::serial(), layout_.panel_entries(pivots, below));
      larger->row_ids.resize(static_cast<std::size_t>(pivots));
      larger->column_ids.resize(static_cast<std::size_t>(pivots));
      std::iota(larger->row_ids.begin(), larger->row_ids.begin() + tree_.pivots(s), tree_.supernode_begin[s]);
      std::copy_n(larger->row_ids.begin(), tree_.pivots(s), larger->column_ids.begin());
      larger_[s] = std::move(larger);
    }
    factors_.fronts[s] = {.values = layout_.panel_begin[s],
                          .size = static_cast<std::int32_t>(pivots + below),
                          .pivots = static_cast<std::int32_t>(pivots)};
  }

  /// Memory of front s, without its update matrix.
  [[nodiscard]] FrontMemory<T> front(std::int32_t s) {
    const FrontRecord& record = factors_.fronts[s];
    FrontMemory<T> front;
    front.size = record.size;
    front.own_pivots = tree_.pivots(s);
    front.pivots = record.pivots;
    front.eliminated = record.eliminated;
    front.mirror = {is_hermitian(layout_.kind)};
    front.lower = factors_.values.data() + record.values;
    if (LargerFront* larger = larger_[s].get()) {
      front.lower = larger->values.data();
      front.row_ids = larger->row_ids.data();
      front.column_ids = larger->column_ids.data();
    } else {
      front.row_ids = row_ids_.data() + tree_.supernode_begin[s];
      front.column_ids = column_ids_.data() + tree_.supernode_begin[s];
    }
    if (layout_.kind == FactorKind::lu) front.upper = front.lower + front.size * front.pivots;
    return front;
  }

  /// Numbers the pivots in the order of their elimination, and by them the rows and columns of each front.
  /// Called once, after the elimination of all fronts.
  void number_pivots() {
    if (layout_.kind == FactorKind::cholesky) return number_in_given_order();
    gather_larger_fronts();
    number_eliminated();
    number_without_pivot();
    number_rows_below();
  }

 private:
  /// A front that took over pivots from its children.
  struct LargerFront {
    Array<T> values;
    std::vector<std::int32_t> row_ids, column_ids;
  };

  void number_in_given_order() {
    factors_.facts.rank = tree_.interior();
    factors_.row_order = factors_.column_order = tree_.permutation;
    for (std::int64_t s = 0; s < tree_.supernodes(); ++s) {
      factors_.fronts[s].first_pivot = tree_.supernode_begin[s];
      factors_.fronts[s].below = tree_.row_begin[s];
    }
    factors_.row_numbers = tree_.rows;
  }

  /// Copies the panels that are not in the arrays of the layout to one array.
  void gather_larger_fronts() {
    std::int64_t entries = 0;
    for (const auto& larger : larger_) entries += larger ? larger->values.size() : 0;
    if (entries == 0) return;
    factors_.overflow = Array<T>(Device::serial(), entries);
    std::int64_t at = 0;
    for (std::size_t s = 0; s < larger_.size(); ++s) {
      if (!larger_[s]) continue;
      const Array<T>& values = larger_[s]->values;
      std::copy_n(values.data(), values.size(), factors_.overflow.data() + at);
      factors_.fronts[s].values = factors_.values.size() + at;
      at += values.size();
      larger_[s]->values = Array<T>();
    }
  }

  /// Pivots in the order of their elimination; their number is the rank.
  void number_eliminated() {
    row_number_.resize(static_cast<std::size_t>(tree_.n));
    column_number_.resize(static_cast<std::size_t>(layout_.symmetric() ? 0 : tree_.n));
    factors_.row_order.resize(static_cast<std::size_t>(tree_.n));
    factors_.column_order.resize(static_cast<std::size_t>(tree_.n));
    for (std::int32_t s = 0; s < tree_.supernodes(); ++s) {
      const FrontMemory<T> front = this->front(s);
      factors_.fronts[s].first_pivot = numbered_;
      for (std::int64_t p = 0; p < front.eliminated; ++p) number(front, p);
    }
    factors_.facts.rank = numbered_;
  }

  /// Rows and columns that no front has eliminated, and those of the border.
  void number_without_pivot() {
    for (std::int32_t s = 0; s < tree_.supernodes(); ++s) {
      if (tree_.parent[s] >= 0) continue;
      const FrontMemory<T> front = this->front(s);
      for (std::int64_t p = front.eliminated; p < front.pivots; ++p) number(front, p);
    }
    for (auto k = static_cast<std::int32_t>(tree_.interior()); k < tree_.n; ++k) set_number(k, k, k);
  }

  /// Numbers of the rows and columns of each front after its eliminated pivots.
  void number_rows_below() {
    const bool symmetric = layout_.symmetric();
    std::size_t count = 0;
    for (const FrontRecord& front : factors_.fronts)
      count += static_cast<std::size_t>(front.size - front.eliminated);
    factors_.row_numbers.clear();
    factors_.row_numbers.reserve(count);
    factors_.column_numbers.clear();
    factors_.column_numbers.reserve(symmetric ? 0 : count);
    for (std::int32_t s = 0; s < tree_.supernodes(); ++s) {
      const FrontMemory<T> front = this->front(s);
      factors_.fronts[s].below = static_cast<std::int64_t>(factors_.row_numbers.size());
      for (std::int64_t p = front.eliminated; p < front.pivots; ++p) {
        const std::int32_t row = symmetric ? front.column_ids[p] : front.row_ids[p];
        factors_.row_numbers.push_back(row_number_[row]);  // NOLINT(clang-analyzer-core.NullDereference)
        if (!symmetric) factors_.column_numbers.push_back(column_number_[front.column_ids[p]]);
      }
      for (const std::int32_t row : tree_.rows_of(s)) {
        factors_.row_numbers.push_back(row_number_[row]);
        if (!symmetric) factors_.column_numbers.push_back(column_number_[row]);
      }
      factors_.largest_front = std::max(factors_.largest_front, factors_.fronts[s].size);
    }
  }

  /// Gives pivot p of a front the next number.
  void number(const FrontMemory<T>& front, std::int64_t p) {
    // The identifiers are not null, since pivots can be delayed.
    const std::int32_t column = front.column_ids[p];  // NOLINT(clang-analyzer-core.NullDereference)
    set_number(layout_.symmetric() ? column : front.row_ids[p], column, numbered_++);
  }
  void set_number(std::int32_t row, std::int32_t column, std::int32_t number) {
    factors_.row_order[number] = layout_.row_permutation[row];
    factors_.column_order[number] = tree_.permutation[column];
    row_number_[row] = number;
    if (!layout_.symmetric()) column_number_[column] = number;
  }

  const PanelLayout& layout_;
  const SymbolicFactor& tree_;
  MultifrontalFactors<T>& factors_;
  std::vector<std::unique_ptr<LargerFront>> larger_;      // fronts that took over delayed pivots
  std::vector<std::int32_t> row_ids_, column_ids_;        // of the pivots of all other fronts
  std::vector<std::int32_t> row_number_, column_number_;  // of each row and column, by its identifier
  std::int32_t numbered_ = 0;
};

}  // namespace echelon::sparse_direct
