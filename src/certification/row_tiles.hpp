// SPDX-License-Identifier: BSD-3-Clause
/// Sums over the rows of a column-major matrix, for every backend.
#pragma once

#include "linalg/tile_loop.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {
class Cuda;
}  // namespace echelon

namespace echelon::certification {

/// Rows and columns of a tile. Each thread of a GPU has one row, so that neighbouring threads read
/// neighbouring elements; a tile on the host covers whole cache lines of each column.
template <class B>
constexpr int tile_rows = B::on_host ? 32 : 1;
template <class B>
constexpr std::int64_t tile_columns(std::int64_t columns) {
  return B::on_host ? std::max<std::int64_t>(columns, 1) : 128;
}

/// Adds up the elements of each of the rows of a tile: `Sum` is default-constructible and adds with
/// add(element, terms(column)).
template <int height, class Sum, class Terms>
struct SumTile {
  const double* matrix;  ///< rows by columns, contiguous
  std::int64_t rows, columns, tiles_of_rows, width;
  Terms terms;
  Sum* sums;  ///< element (row, tile of columns) is row + tile * rows

  ECHELON_ANYWHERE void operator()(std::int64_t tile) const {
    const std::int64_t row = tile % tiles_of_rows * height;
    const std::int64_t tile_of_columns = tile / tiles_of_rows;
    const std::int64_t begin = tile_of_columns * width;
    const std::int64_t end = begin + width < columns ? begin + width : columns;
    const int count = rows - row < height ? static_cast<int>(rows - row) : height;
    Sum own[height];
    for (std::int64_t j = begin; j < end; ++j) {
      const auto term = terms(j);
      for (int i = 0; i < count; ++i) own[i].add(matrix[row + i + j * rows], term);
    }
    for (int i = 0; i < count; ++i) sums[row + i + tile_of_columns * rows] = own[i];
  }
};

/// Stores sums[row] = the sum of the row's tiles, in their order.
template <class Sum>
struct CombineTiles {
  std::int64_t rows, tiles_of_columns;
  Sum* sums;
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    Sum sum = sums[row];
    for (std::int64_t tile = 1; tile < tiles_of_columns; ++tile) sum = combine(sum, sums[row + tile * rows]);
    sums[row] = sum;
  }
};

/// Sums over the elements of each row. Queued on a GPU.
template <class Sum, class B, class Terms>
Array<Sum> sum_rows(B& backend, const double* matrix, std::int64_t rows, std::int64_t columns,
                    const Terms& terms) {
  constexpr int height = tile_rows<B>;
  const std::int64_t width = tile_columns<B>(columns);
  const std::int64_t tiles_of_rows = (rows + height - 1) / height;
  const std::int64_t tiles_of_columns = (columns + width - 1) / width;
  Array<Sum> sums(backend.device(), rows * tiles_of_columns);
  for_each_tile(backend, tiles_of_rows * tiles_of_columns,
                SumTile<height, Sum, Terms>{matrix, rows, columns, tiles_of_rows, width, terms, sums.data()});
  if (tiles_of_columns > 1) backend.for_each(rows, CombineTiles<Sum>{rows, tiles_of_columns, sums.data()});
  sums.shrink(rows);
  return sums;
}

}  // namespace echelon::certification
