// SPDX-License-Identifier: BSD-3-Clause
/// Compressed columns of matrices whose rows follow a few stencils, for products on a GPU.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>

#include <cstdint>

namespace echelon {

/// A row of a block in 32 bits: its first nonzero, counted from the first one that the block loads, and the
/// columns of the row as a range of RowStencils::differences.
class StencilRow {
 public:
  static constexpr std::int64_t longest = (1 << 8) - 1;
  static constexpr std::int64_t most_differences = (1 << 12) - 1;

  StencilRow() = default;
  /// A row without a stencil.
  ECHELON_ANYWHERE explicit StencilRow(std::int64_t begin)
      : bits_(static_cast<std::uint32_t>(begin) | static_cast<std::uint32_t>(most_differences) << 20U) {}
  ECHELON_ANYWHERE StencilRow(std::int64_t begin, std::int64_t length, std::int64_t first)
      : bits_(static_cast<std::uint32_t>(begin) | static_cast<std::uint32_t>(length) << 12U |
              static_cast<std::uint32_t>(first) << 20U) {}

  [[nodiscard]] ECHELON_ANYWHERE bool has_stencil() const { return first() != most_differences; }
  [[nodiscard]] ECHELON_ANYWHERE int begin() const { return static_cast<int>(bits_ & 0xfffU); }
  [[nodiscard]] ECHELON_ANYWHERE int length() const { return static_cast<int>(bits_ >> 12U & 0xffU); }
  [[nodiscard]] ECHELON_ANYWHERE int first() const { return static_cast<int>(bits_ >> 20U); }

 private:
  std::uint32_t bits_ = 0;
};

/// Rows of a matrix whose columns, less the number of the row, are one of a few lists of differences. Rows
/// without a stencil keep their columns.
struct RowStencils {
  Array<StencilRow> rows;
  Array<std::int32_t> differences;  ///< columns less row of every stencil, one after another
};

/// Finds the stencils of a matrix on a GPU with these `starts` of row blocks; the result is empty if they
/// would not make products faster: the matrix fits into the caches, or more than a few rows follow no common
/// stencil. Allocates 4 bytes a row; reads the columns once; synchronises, twice if there are stencils.
/// Defined in row_stencils.cu, or in cuda_absent.cpp.
[[nodiscard]] RowStencils find_row_stencils(std::int64_t rows, const Array<std::int64_t>& row_offsets,
                                            const Array<std::int32_t>& column_indices,
                                            const Array<std::int64_t>& starts);

}  // namespace echelon
