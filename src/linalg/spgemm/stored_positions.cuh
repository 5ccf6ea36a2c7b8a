// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/store.hpp"
#include "linalg/spgemm/positions.cuh"
#include "linalg/spgemm/product.hpp"

#include <bit>
#include <limits>
#include <memory>

namespace echelon::product_kernels {

/// Positions of the operands of C = A B, by which the values of C are updated without searching its pattern.
template <class T>
class StoredPositions {
 public:
  using Pattern = typename ProductPlan<T>::Pattern;

  /// Finds the positions for a known pattern of C, and the `others`, rows without positions; null if the
  /// positions would take more than a quarter of the memory available, or if there are none. Synchronises.
  [[nodiscard]] static std::unique_ptr<StoredPositions> make(const Device& device, const View<T>& A,
                                                             const View<T>& B, const Pattern& pattern,
                                                             BinnedRows& others) {
    std::unique_ptr<StoredPositions> positions(new StoredPositions(device));
    return positions->find(A, B, pattern, others) ? std::move(positions) : nullptr;
  }

  /// Computes the values of the rows that have positions. They become NaN if the operands have other patterns
  /// than at the construction. Neither allocates nor waits.
  void update(const View<T>& A, const View<T>& B, T* values) {
    if (tiles_.size() == 0) return;
    backend_.fill(1, WrappingSum(), checksum_.data());
    gather_tiles<<<checking_blocks + static_cast<unsigned>(tiles_.size()), block_size, 0, stream()>>>(
        A, B, view(), checksum_.data(), values);
    check(cudaGetLastError());
    invalidate_unless_equal<<<checking_blocks, block_size, 0, stream()>>>(checksum_.data(), expected_,
                                                                          starts_.size(), values);
    check(cudaGetLastError());
  }

  [[nodiscard]] std::size_t bytes() const {
    return tiles_.bytes() + begins_.bytes() + codes_.bytes() + starts_.bytes();
  }

 private:
  /// Part of the available memory that positions may take.
  static constexpr double memory_part = 0.25;

  explicit StoredPositions(const Device& device) : backend_(device), checksum_(device, 1) {}

  bool find(const View<T>& A, const View<T>& B, const Pattern& pattern, BinnedRows& others) {
    if (B.nonzeros > std::numeric_limits<std::uint32_t>::max()) return false;
    const Device& device = backend_.device();
    const std::int64_t* const elements = pattern.row_offsets.data();
    shift_ = bits_for_rows_of(B);
    Array<std::int64_t> products(device, A.rows + 1);
    Array<std::int64_t> costs(device, A.rows + 1);
    const BinnedRows binned =
        bin_rows(backend_, A.rows, BinByPositions<T>{A, B, elements, shift_, products.data(), costs.data()});
    const std::int64_t total = backend_.exclusive_scan(A.rows, products.data(), products.data());
    const std::int64_t cost = backend_.exclusive_scan(A.rows, costs.data(), costs.data());
    const std::int64_t tiles = cost / cost_of_tile + 1;
    if (total == 0 || !allocate(total, A.nonzeros, pattern.column_indices.size(), tiles)) return false;
    backend_.for_each(A.nonzeros, FindRowBegins<T>{A, B, begins_.data()});
    backend_.for_each(tiles_.size(), MakeTile{A.rows, costs.data(), A.row_offsets, products.data(), elements,
                                              tiles_.data()});
    const auto find_for = [&]<class Group>(Bin bin) {
      launch<Group>(find_positions<Group, T>, sizeof(PositionsMemory<Group>), binned.size(bin),
                    binned.begin(bin), A, B, elements, pattern.column_indices.data(),
                    ProductRows{costs.data(), products.data()}, view());
    };
    find_for.template operator()<FillByFew>(by_few);
    find_for.template operator()<FillByWarp>(by_warp);
    find_for.template operator()<FillByBlock>(by_block);
    backend_.fill(1, WrappingSum(), checksum_.data());
    find_checksum<<<checking_blocks, block_size, 0, stream()>>>(A, B, checksum_.data());
    check(cudaGetLastError());
    expected_ = backend_.read(checksum_.data());
    others = bin_rows(backend_, A.rows, BinOfOthers<T>{BinByElements<T>{A, elements}, products.data()});
    return true;
  }

  /// Allocates what stays; false if that is too much.
  bool allocate(std::int64_t products, std::int64_t factors, std::int64_t elements, std::int64_t tiles) {
    const double bytes = static_cast<double>(products + elements) * sizeof(std::uint16_t) +
                         static_cast<double>(factors) * sizeof(std::uint32_t) +
                         static_cast<double>(tiles) * sizeof(ProductTile);
    const Device& device = backend_.device();
    if (bytes > memory_part * static_cast<double>(memory(device).available)) return false;
    begins_ = Array<std::uint32_t>(device, factors);
    codes_ = Array<std::uint16_t>(device, products);
    starts_ = Array<std::uint16_t>(device, elements);
    tiles_ = Array<ProductTile>(device, tiles);
    return true;
  }

  /// Bits that number the elements of any row of B short enough to have its positions stored.
  int bits_for_rows_of(const View<T>& B) {
    Array<Largest> longest(backend_.device(), 1);
    backend_.reduce(B.rows, StoredLength{B.row_offsets}, Store<Largest>{longest.data()});
    const auto length = static_cast<unsigned>(backend_.read(longest.data()).value);
    return length == 0 ? 0 : static_cast<int>(std::bit_width(length - 1));
  }

  [[nodiscard]] PositionsView view() {
    return {tiles_.data(), begins_.data(), codes_.data(), starts_.data(), shift_};
  }

  Cuda backend_;
  int shift_ = 0;
  Array<ProductTile> tiles_;
  Array<std::uint32_t> begins_;
  Array<std::uint16_t> codes_;
  Array<std::uint16_t> starts_;
  Array<WrappingSum> checksum_;
  WrappingSum expected_;
};

}  // namespace echelon::product_kernels
