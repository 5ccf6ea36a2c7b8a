// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of consecutive rows with about equally many nonzeros, for products on a GPU.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace echelon {

/// Capacity of a block in nonzeros. A longer row is cut into pieces of this size.
inline constexpr std::int64_t row_block_size = 2048;

/// Alignment, in nonzeros, of the first one that a block loads: 16 bytes of float values.
inline constexpr std::int64_t row_block_alignment = 4;

/// True if the nonzeros [begin, end) fit into a block.
ECHELON_ANYWHERE inline bool fits_row_block(std::int64_t begin, std::int64_t end) {
  return end - begin / row_block_alignment * row_block_alignment <= row_block_size;
}

/// Partition of the rows for products on a GPU.
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
};

/// Partitions the rows of a matrix whose offsets are on a GPU. Allocates 16 bytes for every 2000 nonzeros and
/// rows; synchronises. Defined in row_blocks.cu, or in cuda_absent.cpp.
[[nodiscard]] RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros,
                                        const Array<std::int64_t>& row_offsets);

/// The row blocks of a Csr, computed by the first call that needs them.
class LazyRowBlocks {
 public:
  /// Every call must pass the same pattern. Thread-safe; after a call that throws, the next one tries again.
  const RowBlocks& get(std::int64_t rows, std::int64_t nonzeros, const Array<std::int64_t>& row_offsets) {
    std::call_once(once_, [&] { blocks_ = make_row_blocks(rows, nonzeros, row_offsets); });
    return blocks_;
  }

 private:
  std::once_flag once_;
  RowBlocks blocks_;
};

/// Access to the row blocks of a matrix on a GPU.
struct CsrAccess {
  /// Partitioned by the first call, which synchronises, and shared with copies in the same memory.
  /// Thread-safe.
  template <class T>
  [[nodiscard]] static const RowBlocks& row_blocks(const Csr<T>& A) {
    return A.row_blocks_->get(A.rows(), A.nonzeros(), A.row_offsets());
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
