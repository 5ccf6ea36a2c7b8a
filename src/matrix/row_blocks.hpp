// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of consecutive rows with about equally many nonzeros, for products on a GPU.
#pragma once

#include "matrix/row_stencils.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

/// Capacity of a block in nonzeros. A longer row is cut into pieces of this size.
inline constexpr std::int64_t row_block_size = 2048;

/// Alignment, in nonzeros, of the first one that a block loads: 16 bytes of float values.
inline constexpr std::int64_t row_block_alignment = 4;

/// True if the nonzeros [begin, end) fit into a block.
ECHELON_ANYWHERE inline bool fits_row_block(std::int64_t begin, std::int64_t end) {
  return end - begin / row_block_alignment * row_block_alignment <= row_block_size;
}

/// Rows and nonzeros of a block, which count as equal work.
inline constexpr std::int64_t row_block_work = row_block_size - row_block_alignment;

/// The block of row i, whose first nonzero is `begin`: block b begins with the first row for which
/// begin + i >= b * row_block_work.
ECHELON_ANYWHERE inline std::int64_t row_block_of(std::int64_t i, std::int64_t begin) {
  return (begin + i) / row_block_work;
}

/// Partition of the rows for products with CUDA.
struct RowBlocks {
  /// Part of a row that is too long for one block.
  struct Piece {
    std::int64_t row = 0;
    std::int64_t begin = 0;  ///< of its nonzeros
    std::int64_t end = 0;
    std::int64_t first = 0;  ///< the number of the row's first piece
    std::int64_t count = 0;  ///< of the row's pieces
  };
  /// For each block its first row and that row's first nonzero; one more pair ends the last block.
  Array<std::int64_t> starts;
  Array<Piece> pieces;
  std::shared_ptr<const void> memory = {};  ///< of arrays that are borrowed
};

/// Partitions the rows of a matrix whose offsets are on a GPU. Allocates 16 bytes for every 2000 nonzeros and
/// rows; synchronises. Defined in row_blocks.cu, or in cuda_absent.cpp.
[[nodiscard]] RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros,
                                        const Array<std::int64_t>& row_offsets);

/// Pattern of a matrix on a GPU, by its rows.
struct RowPattern {
  std::int64_t rows;
  std::int64_t nonzeros;
  const std::int64_t* offsets;
  /// Number of blocks.
  [[nodiscard]] std::int64_t blocks() const {
    return (nonzeros + rows + row_block_work - 1) / row_block_work;
  }
};
/// Number of blocks up to which those of several matrices are made together: they are copied to the host.
inline constexpr std::int64_t few_row_blocks = 1024;
/// make_row_blocks() for several matrices of few blocks each, with one wait for all of them.
[[nodiscard]] std::vector<RowBlocks> make_row_blocks(const Device& device,
                                                     std::span<const RowPattern> patterns);

/// The row blocks of a Csr, computed by the first call that needs them.
class LazyRowBlocks {
 public:
  /// Every call must pass the same pattern. Thread-safe; after a call that throws, the next one tries again.
  const RowBlocks& get(std::int64_t rows, std::int64_t nonzeros, const Array<std::int64_t>& row_offsets) {
    std::call_once(once_, [&] { blocks_ = make_row_blocks(rows, nonzeros, row_offsets); });
    return blocks_;
  }
  /// Finds the stencils of the rows. Like get().
  void find_stencils(std::int64_t rows, const Array<std::int64_t>& row_offsets,
                     const Array<std::int32_t>& column_indices) {
    const RowBlocks& blocks = get(rows, column_indices.size(), row_offsets);
    std::call_once(stencils_once_, [&] {
      stencils_ = find_row_stencils(rows, row_offsets, column_indices, blocks.starts);
      if (stencils_.rows.size() > 0) found_.store(&stencils_, std::memory_order_release);
    });
  }
  /// The stencils that find_stencils() has found, or null.
  [[nodiscard]] const RowStencils* stencils() const { return found_.load(std::memory_order_acquire); }
  /// Takes the row blocks, unless it has them.
  void set(RowBlocks blocks) {
    std::call_once(once_, [&] { blocks_ = std::move(blocks); });
  }

 private:
  std::once_flag once_;
  RowBlocks blocks_;
  std::once_flag stencils_once_;
  RowStencils stencils_;
  std::atomic<const RowStencils*> found_ = nullptr;
};

/// Access to the row blocks of a matrix on a GPU.
struct CsrAccess {
  /// Partitioned by the first call, which synchronises, and shared with copies in the same memory.
  /// Thread-safe.
  template <class T>
  [[nodiscard]] static const RowBlocks& row_blocks(const Csr<T>& A) {
    return A.row_blocks_->get(A.rows(), A.nonzeros(), A.row_offsets());
  }
  /// Prepares A for many products: finds the stencils that its rows follow, if A is large and on a GPU.
  /// Products have the same bits with them; those of complex numbers do not use them. Synchronises;
  /// thread-safe.
  template <class T>
  static void find_stencils(const Csr<T>& A) {
    if (!is_complex<T> && A.row_blocks_)
      A.row_blocks_->find_stencils(A.rows(), A.row_offsets(), A.column_indices());
  }
  /// The stencils of A, which is on a GPU, or null.
  template <class T>
  [[nodiscard]] static const RowStencils* stencils(const Csr<T>& A) {
    return A.row_blocks_->stencils();
  }
  /// Partitions those of the matrices on a GPU that have few blocks together, with one wait: the first
  /// product with each of them would wait otherwise.
  template <class T>
  static void prepare_row_blocks(const Device& device, const std::vector<const Csr<T>*>& matrices) {
    std::vector<RowPattern> patterns;
    std::vector<LazyRowBlocks*> targets;
    for (const Csr<T>* A : matrices) {
      const RowPattern pattern{A->rows(), A->nonzeros(), A->row_offsets().data()};
      if (A->row_blocks_ == nullptr || A->nonzeros() == 0 || pattern.blocks() > few_row_blocks) continue;
      patterns.push_back(pattern);
      targets.push_back(A->row_blocks_.get());
    }
    if (patterns.empty()) return;
    std::vector<RowBlocks> blocks = make_row_blocks(device, patterns);
    for (std::size_t m = 0; m < targets.size(); ++m) targets[m]->set(std::move(blocks[m]));
  }
  /// A matrix without values that borrows a pattern, for with_pattern_of().
  template <class T>
  [[nodiscard]] static Csr<T> with_pattern(std::int64_t rows, std::int64_t columns,
                                           const Array<std::int64_t>& row_offsets,
                                           const Array<std::int32_t>& column_indices) {
    return Csr<T>::unchecked(rows, columns, borrowed(row_offsets), borrowed(column_indices),
                             Array<T>(row_offsets.device(), 0));
  }
  /// A matrix with the pattern of A, which it borrows, with its row blocks, and values of its own. A must
  /// outlive it.
  template <class To, class From>
  [[nodiscard]] static Csr<To> with_pattern_of(const Csr<From>& A, Array<To> values) {
    Csr<To> result;
    result.rows_ = A.rows_;
    result.columns_ = A.columns_;
    result.row_offsets_ = borrowed(A.row_offsets_);
    result.column_indices_ = borrowed(A.column_indices_);
    result.values_ = std::move(values);
    result.row_blocks_ = A.row_blocks_;
    return result;
  }

 private:
  /// Refers to the elements of a pattern, to which nothing writes.
  template <class I>
  [[nodiscard]] static Array<I> borrowed(const Array<I>& indices) {
    return Array<I>::borrow(indices.device(), const_cast<I*>(indices.data()), indices.size());
  }
};

}  // namespace echelon
