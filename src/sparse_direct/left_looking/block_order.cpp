// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/block_order.hpp"

#include "sparse_direct/matching/diagonal_blocks.hpp"
#include "sparse_direct/ordering/minimum_degree.hpp"
#include "sparse_direct/symbolic/elimination_tree.hpp"

#include <echelon/array.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// An ordering of one block, and its cost: entries of L, and flops of L U.
struct OrderedBlock {
  std::vector<std::int32_t> permutation;
  DegreeBounds cost;
};

/// The pattern of B + B^T for the pattern of a square B.
PatternStorage symmetrized(const Pattern& b) {
  PatternStorage result;
  std::vector<std::int64_t> length(static_cast<std::size_t>(b.n) + 1, 0);
  for (std::int64_t i = 0; i < b.n; ++i) {
    for (const std::int32_t j : b.row(i)) {
      ++length[i + 1];
      ++length[j + 1];
    }
  }
  std::partial_sum(length.begin(), length.end(), length.begin());
  std::vector<std::int32_t> columns(static_cast<std::size_t>(length.back()));
  std::vector<std::int64_t> next(length.begin(), length.end() - 1);
  for (std::int32_t i = 0; i < b.n; ++i) {
    for (const std::int32_t j : b.row(i)) {
      columns[next[i]++] = j;
      columns[next[j]++] = i;
    }
  }
  result.row_begin.push_back(0);
  for (std::int64_t i = 0; i < b.n; ++i) {
    const auto begin = columns.begin() + length[i];
    const auto end = columns.begin() + length[i + 1];
    std::sort(begin, end);
    for (auto j = begin; j != end; ++j) {
      if (*j != i && (j == begin || *j != *(j - 1))) result.columns.push_back(*j);
    }
    result.row_begin.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

OrderedBlock ordered(const Pattern& block, const OrderingOptions& options) {
  OrderedBlock result;
  if (options.ordering == Ordering::automatic || options.ordering == Ordering::amd) {
    result.permutation = minimum_degree_ordering(block, &result.cost);
    return result;
  }
  const PatternStorage pattern = symmetrized(block);
  EliminationForest forest = elimination_forest(pattern.view(), order(pattern.view(), options));
  result.cost = {static_cast<double>(forest.factor_entries), 2 * forest.flops};
  result.permutation = std::move(forest.permutation);
  return result;
}

/// Collects patterns of diagonal blocks, and orders these.
template <class T>
class BlockOrdering {
 public:
  BlockOrdering(const Csr<T>& a, std::span<const std::int32_t> row_of_column, DiagonalBlocks blocks)
      : a_(a),
        row_of_(row_of_column),
        blocks_(std::move(blocks)),
        position_(row_of_column.size()),
        columns_(Device::serial(), a.nonzeros()) {
    for (std::size_t k = 0; k < position_.size(); ++k) {
      position_[blocks_.columns[k]] = static_cast<std::int32_t>(k);
    }
  }

  BlockOrder order(const OrderingOptions& options) {
    BlockOrder result;
    result.ordering = to_string(options.ordering == Ordering::automatic ? Ordering::amd : options.ordering);
    result.columns = blocks_.columns;
    result.entries = static_cast<double>(
        a_.nonzeros());  // the loop replaces the entries of blocks by those of their factors
    for (std::size_t b = 0; b + 1 < blocks_.block_begin.size(); ++b) {
      const std::int32_t begin = blocks_.block_begin[b];
      const std::int32_t size = blocks_.block_begin[b + 1] - begin;
      if (size == 1) continue;
      test_for_stop(options.cancel);
      const Pattern pattern = collect(begin, size);
      const OrderedBlock block = ordered(pattern, options);
      for (std::int32_t k = 0; k < size; ++k) {
        result.columns[begin + k] = blocks_.columns[begin + block.permutation[k]];
      }
      result.entries += 2 * block.cost.entries - size - static_cast<double>(pattern.entries());
      result.flops += block.cost.lu_flops;
    }
    result.rows.reserve(result.columns.size());
    for (const std::int32_t column : result.columns) result.rows.push_back(row_of_[column]);
    result.block_begin = std::move(blocks_.block_begin);
    return result;
  }

 private:
  /// The pattern of one block. Its columns ascend, since those of A do, and those in each block.
  Pattern collect(std::int32_t begin, std::int32_t size) {
    row_begin_.assign(1, 0);
    std::int64_t end = 0;
    for (std::int32_t k = begin; k < begin + size; ++k) {
      const std::int32_t row = row_of_[blocks_.columns[k]];
      for (std::int64_t p = a_.row_offsets()[row]; p < a_.row_offsets()[row + 1]; ++p) {
        const std::int32_t position = position_[a_.column_indices()[p]] - begin;
        if (position < size) columns_[end++] = position;
      }
      row_begin_.push_back(end);
    }
    return {size, row_begin_, columns_.span().first(static_cast<std::size_t>(end))};
  }

  const Csr<T>& a_;
  std::span<const std::int32_t> row_of_;
  DiagonalBlocks blocks_;
  std::vector<std::int32_t> position_;   // of each column in the order of the blocks
  std::vector<std::int64_t> row_begin_;  // of the pattern of a block
  Array<std::int32_t> columns_;
};

}  // namespace

template <class T>
BlockOrder block_order(const Csr<T>& a, std::span<const std::int32_t> row_of_column,
                       const OrderingOptions& options) {
  DiagonalBlocks blocks = diagonal_blocks(a.row_offsets().span(), a.column_indices().span(), row_of_column);
  return BlockOrdering<T>(a, row_of_column, std::move(blocks)).order(options);
}

template BlockOrder block_order(const Csr<float>&, std::span<const std::int32_t>, const OrderingOptions&);
template BlockOrder block_order(const Csr<double>&, std::span<const std::int32_t>, const OrderingOptions&);

}  // namespace echelon::sparse_direct
