// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/store.hpp"
#include "linalg/spgemm/positions.cuh"
#include "linalg/spgemm/product.hpp"

#include <bit>
#include <memory>

namespace echelon::product_kernels {

/// Positions of the operands of C = A B, by which the values of C are updated without searching its pattern.
template <class T>
class StoredPositions {
 public:
  using Pattern = typename ProductPlan<T>::Pattern;

  /// Finds the positions for a known pattern of C; null if they would take more than a quarter of the memory
  /// available. Synchronises.
  [[nodiscard]] static std::unique_ptr<StoredPositions> make(const Device& device, const View<T>& A,
                                                             const View<T>& B, const Pattern& pattern) {
    std::unique_ptr<StoredPositions> positions(new StoredPositions(device, A.rows));
    return positions->find(A, B, pattern) ? std::move(positions) : nullptr;
  }

  /// Index of each row's first product; a row without products here has no positions.
  [[nodiscard]] const std::int64_t* offsets() const { return offsets_.data(); }

  /// Computes the values of the rows that have positions. They become NaN if the operands have other patterns
  /// than at the construction. Neither allocates nor waits.
  void update(const View<T>& A, const View<T>& B, const Pattern& pattern, T* values) {
    sum_patterns(A, B);
    for_bins([&]<class Group>(unsigned size, const unsigned* rows) {
      launch<Group>(gather_rows<Group, T>, sizeof(GatherMemory<Group, T>), size, rows, A, B,
                    pattern.row_offsets.data(), view(), found_.data(), expected_, values);
    });
  }

  [[nodiscard]] std::size_t bytes() const {
    return binned_.rows.bytes() + offsets_.bytes() + codes_.bytes() + starts_.bytes();
  }

 private:
  /// Part of the available memory that positions may take.
  static constexpr double memory_part = 0.25;

  StoredPositions(const Device& device, std::int64_t rows)
      : backend_(device), offsets_(device, rows + 1), found_(device, 1) {}

  bool find(const View<T>& A, const View<T>& B, const Pattern& pattern) {
    const std::int64_t* const offsets = pattern.row_offsets.data();
    shift_ = bits_for_rows_of(B);
    binned_ = bin_rows(backend_, A.rows, BinByPositions<T>{A, B, offsets, shift_, offsets_.data()});
    const std::int64_t products = backend_.exclusive_scan(A.rows, offsets_.data(), offsets_.data());
    const std::int64_t elements = pattern.column_indices.size();
    const double bytes = static_cast<double>(products + elements) * sizeof(std::uint16_t);
    if (bytes > memory_part * static_cast<double>(memory(backend_.device()).available)) return false;
    codes_ = Array<std::uint16_t>(backend_.device(), products);
    starts_ = Array<std::uint16_t>(backend_.device(), elements);
    for_bins([&]<class Group>(unsigned size, const unsigned* rows) {
      launch<Group>(find_positions<Group, T>, sizeof(PositionsMemory<Group>), size, rows, A, B, offsets,
                    pattern.column_indices.data(), view());
    });
    sum_patterns(A, B);
    expected_ = backend_.read(found_.data());
    return true;
  }

  /// Bits that number the elements of any row of B short enough to have its positions stored.
  int bits_for_rows_of(const View<T>& B) {
    Array<Largest> longest(backend_.device(), 1);
    backend_.reduce(B.rows, StoredLength{B.row_offsets}, Store<Largest>{longest.data()});
    const auto length = static_cast<unsigned>(backend_.read(longest.data()).value);
    return length == 0 ? 0 : static_cast<int>(std::bit_width(length - 1));
  }

  void sum_patterns(const View<T>& A, const View<T>& B) {
    const PatternTerm<T> term{A, B};
    backend_.reduce(term.count(), term, Store<Checksum>{found_.data()});
  }

  [[nodiscard]] PositionsView view() { return {offsets_.data(), codes_.data(), starts_.data(), shift_}; }

  /// f(rows, list) for each thread group.
  template <class F>
  void for_bins(F f) {
    f.template operator()<FillByFew>(binned_.size(by_few), binned_.begin(by_few));
    f.template operator()<FillByWarp>(binned_.size(by_warp), binned_.begin(by_warp));
    f.template operator()<FillByBlock>(binned_.size(by_block), binned_.begin(by_block));
  }

  Cuda backend_;
  int shift_ = 0;
  BinnedRows binned_;
  Array<std::int64_t> offsets_;
  Array<std::uint16_t> codes_;
  Array<std::uint16_t> starts_;
  Array<Checksum> found_;
  Checksum expected_;
};

}  // namespace echelon::product_kernels
