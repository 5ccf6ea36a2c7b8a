// SPDX-License-Identifier: BSD-3-Clause
/// Products of dense matrices: C = C - A B.
///
/// Every element of C is computed by one sequence of operations whatever the tile that it falls into, so that
/// the bits of a product do not depend on how it is divided into tiles, columns or threads.
#pragma once

#include "linalg/kernels/pack_buffers.hpp"
#include "linalg/kernels/simd.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::kernels {

/// The part of C that a product has to compute. Elements above the diagonal of a lower one may be
/// overwritten.
enum class Part { full, lower };

/// k-by-n matrix whose element (p, j) is data[p * term_step + j * column_step].
template <class T>
struct RightOperand {
  const T* data;
  std::int64_t term_step;
  std::int64_t column_step;
};

/// The transpose of a column-major n-by-k matrix.
template <class T>
inline __attribute__((always_inline)) RightOperand<T> transposed(const T* b, std::int64_t leading) {
  return {b, leading, 1};
}

namespace product_detail {

template <class Isa>
constexpr int tile_vectors = 3;
template <class Isa>
constexpr int tile_columns = 4;
template <>
inline constexpr int tile_columns<Avx512> = 8;

/// C = C - A B for a tile of `Vectors` vectors by `Columns`; the last vector has `last` elements. With
/// `Adjacent`, the elements of a row of B follow each other in memory.
template <class Isa, int Vectors, int Columns, bool Partial, bool Adjacent, class T>
void update_tile(int terms, const T* a, std::int64_t leading_a, RightOperand<T> b, T* c,
                 std::int64_t leading_c, int last) {
  using S = Simd<Isa, T>;
  using Vec = typename S::Vec;
  constexpr int width = S::width;
  // The last vector of a partial tile is loaded and stored apart, so that loops have no branches.
  constexpr int full = Partial ? Vectors - 1 : Vectors;
  Vec sum[Columns][Vectors];
#pragma GCC unroll 8
  for (int j = 0; j < Columns; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < full; ++v) sum[j][v] = S::load(c + j * leading_c + v * width);
    if constexpr (Partial) sum[j][full] = S::load(c + j * leading_c + full * width, last);
  }
  const T* b_p = b.data;
  for (int p = 0; p < terms; ++p) {
    Vec column[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < full; ++v) column[v] = S::load(a + v * width);
    if constexpr (Partial) column[full] = S::load(a + full * width, last);
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      const auto element = S::broadcast(b_p[Adjacent ? j : j * b.column_step]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[j][v] = S::multiply_subtract(column[v], element, sum[j][v]);
    }
    a += leading_a;
    b_p += b.term_step;
  }
  c = recomputed(c);
#pragma GCC unroll 8
  for (int j = 0; j < Columns; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < full; ++v) S::store(c + v * width + j * leading_c, sum[j][v]);
    if constexpr (Partial) S::store(c + full * width + j * leading_c, sum[j][full], last);
  }
}

/// One tile column of C; element (i, p) of A is a[i / block * block_step + i % block + p * leading_a], with
/// blocks as high as a tile: packed or, with block_step = block, not.
template <class Isa, int Columns, bool Adjacent, class T>
void update_columns(int rows, int terms, const T* a, std::int64_t leading_a, std::int64_t block_step,
                    RightOperand<T> b, T* c, std::int64_t leading_c) {
  constexpr int width = Simd<Isa, T>::width;
  constexpr int vectors = tile_vectors<Isa>;
  constexpr int block = vectors * width;
  int i = 0;
  for (; i + block <= rows; i += block, a += block_step) {
    update_tile<Isa, vectors, Columns, false, Adjacent>(terms, a, leading_a, b, c + i, leading_c, width);
  }
  const int rest = rows - i;
  if (rest == 0) return;
  const int last = (rest - 1) % width + 1;
  const auto update = [&]<int Vectors, bool Partial>() {
    update_tile<Isa, Vectors, Columns, Partial, Adjacent>(terms, a, leading_a, b, c + i, leading_c, last);
  };
  switch (2 * ((rest - 1) / width) + (last < width ? 1 : 0)) {
    case 0:
      return update.template operator()<1, false>();
    case 1:
      return update.template operator()<1, true>();
    case 2:
      return update.template operator()<2, false>();
    case 3:
      return update.template operator()<2, true>();
    default:
      return update.template operator()<3, true>();
  }
}

/// Up to tile_columns columns of C.
template <class Isa, bool Adjacent, class T>
void update_column_group(int columns, int rows, int terms, const T* a, std::int64_t leading_a,
                         std::int64_t block_step, RightOperand<T> b, T* c, std::int64_t leading_c) {
  const auto advance = [&](int by) {
    columns -= by;
    b.data += by * b.column_step;
    c += by * leading_c;
  };
  if constexpr (tile_columns<Isa> == 8) {
    if (columns == 8) {
      return update_columns<Isa, 8, Adjacent>(rows, terms, a, leading_a, block_step, b, c, leading_c);
    }
  }
  if (columns >= 4) {
    update_columns<Isa, 4, Adjacent>(rows, terms, a, leading_a, block_step, b, c, leading_c);
    advance(4);
  }
  if (columns >= 2) {
    update_columns<Isa, 2, Adjacent>(rows, terms, a, leading_a, block_step, b, c, leading_c);
    advance(2);
  }
  if (columns == 1) update_columns<Isa, 1, Adjacent>(rows, terms, a, leading_a, block_step, b, c, leading_c);
}

/// C = C - A B without copies of the operands.
template <class Isa, class T>
void update_in_place(Part part, int rows, int columns, int terms, const T* a, std::int64_t leading_a,
                     RightOperand<T> b, T* c, std::int64_t leading_c) {
  constexpr int block = tile_vectors<Isa> * Simd<Isa, T>::width;
  for (int j = 0; j < columns; j += tile_columns<Isa>) {
    const int skipped = part == Part::lower ? std::min(j, rows) : 0;
    const int count = std::min(tile_columns<Isa>, columns - j);
    const RightOperand<T> group{b.data + j * b.column_step, b.term_step, b.column_step};
    T* place = c + skipped + j * leading_c;
    if (b.column_step == 1) {
      update_column_group<Isa, true>(count, rows - skipped, terms, a + skipped, leading_a, block, group,
                                     place, leading_c);
    } else {
      update_column_group<Isa, false>(count, rows - skipped, terms, a + skipped, leading_a, block, group,
                                      place, leading_c);
    }
  }
}

/// Copies rows of A in blocks as high as a tile, each with its terms one after the other.
template <class Isa, class T>
void pack_rows(int rows, int terms, const T* a, std::int64_t leading, T* packed) {
  constexpr int block = tile_vectors<Isa> * Simd<Isa, T>::width;
  for (int i = 0; i < rows; i += block) {
    const int height = std::min(block, rows - i);
    for (int p = 0; p < terms; ++p) {
      std::copy_n(a + i + p * leading, height, packed);
      std::fill(packed + height, packed + block, T{0});
      packed += block;
    }
  }
}

/// Copies columns of B in groups as wide as a tile, each with its terms one after the other.
template <class Isa, class T>
void pack_columns(int terms, int columns, RightOperand<T> b, T* packed) {
  constexpr int width = tile_columns<Isa>;
  for (int j = 0; j < columns; j += width) {
    const int count = std::min(width, columns - j);
    for (int p = 0; p < terms; ++p) {
      const T* source = b.data + p * b.term_step + j * b.column_step;
      for (int q = 0; q < count; ++q) packed[q] = source[q * b.column_step];
      std::fill(packed + count, packed + width, T{0});
      packed += width;
    }
  }
}

/// Product of A with a packed block of B, in parts of `height` rows of C from first_row on.
template <class Isa, class T>
struct BlockProduct {
  using Buffers = PackBuffers<T>;
  static constexpr int block = tile_vectors<Isa> * Simd<Isa, T>::width;
  static constexpr int group = tile_columns<Isa>;
  static_assert(Buffers::rows % block == 0 && Buffers::columns % group == 0);

  Part part;
  int first_row, rows, height;
  int first_column, columns;  ///< of the block
  int terms;
  const T* a;
  std::int64_t leading_a;
  const T* b;  ///< packed
  T* c;
  std::int64_t leading_c;

  static void work(const void* product, int index, Buffers& buffers) {
    static_cast<const BlockProduct*>(product)->compute(index, buffers);
  }

  void compute(int index, Buffers& buffers) const {
    const int i0 = first_row + index * height;
    const int count = std::min(height, rows - i0);
    pack_rows<Isa>(count, terms, a + i0, leading_a, buffers.a.data());
    for (int j = 0; j < columns; j += group) {
      int skipped = 0;
      if (part == Part::lower) skipped = std::max(0, first_column + j - i0) / block * block;
      if (skipped >= count) break;
      const RightOperand<T> packed{b + static_cast<std::size_t>(j) * terms, group, 1};
      update_column_group<Isa, true>(std::min(group, columns - j), count - skipped, terms,
                                     buffers.a.data() + static_cast<std::size_t>(skipped) * terms, block,
                                     static_cast<std::int64_t>(block) * terms, packed,
                                     c + i0 + skipped + (first_column + j) * leading_c, leading_c);
    }
  }

  /// All parts, on several threads if the buffers have them and the product is worth it.
  void compute_all(Buffers& buffers) {
    height = Buffers::rows;
    const int active = rows - first_row;
    const double multiplications = 1.0 * active * columns * terms;
    if (buffers.threads != nullptr && multiplications >= Buffers::worth_threads) {
      const int parts = 4 * buffers.threads->count();
      height = std::min(height, (active / parts + block) / block * block);
      buffers.threads->run((active + height - 1) / height, &work, this);
    } else {
      for (int index = 0; index * height < active; ++index) compute(index, buffers);
    }
  }
};

/// Product without copies of the operands, in parts of `height` rows of C.
template <class Isa, class T>
struct ProductInPlace {
  Part part;
  int rows, columns, terms, height;
  const T* a;
  std::int64_t leading_a;
  RightOperand<T> b;
  T* c;
  std::int64_t leading_c;

  static void work(const void* product, int index, PackBuffers<T>& /*buffers*/) {
    static_cast<const ProductInPlace*>(product)->compute(index);
  }

  /// Rows of a lower triangle end with the diagonal element; those before the part are full.
  void compute(int index) const {
    const int first = index * height;
    const int count = std::min(height, rows - first);
    const int full = part == Part::full ? columns : std::min(first, columns);
    update_in_place<Isa>(Part::full, count, full, terms, a + first, leading_a, b, c + first, leading_c);
    const RightOperand<T> rest{b.data + full * b.column_step, b.term_step, b.column_step};
    update_in_place<Isa>(Part::lower, count, std::min(count, columns - full), terms, a + first, leading_a,
                         rest, c + first + full * leading_c, leading_c);
  }

  void compute_all(PackBuffers<T>& buffers) {
    constexpr int block = tile_vectors<Isa> * Simd<Isa, T>::width;
    const double multiplications = 1.0 * rows * columns * terms;
    height = rows;
    if (buffers.threads != nullptr && multiplications >= PackBuffers<T>::worth_threads) {
      height = (rows / (4 * buffers.threads->count()) + block) / block * block;
      buffers.threads->run((rows + height - 1) / height, &work, this);
    } else {
      compute(0);
    }
  }
};

/// C = C - A B by blocks that are copied to contiguous memory first.
template <class Isa, class T>
void update_packed(PackBuffers<T>& buffers, Part part, int rows, int columns, int terms, const T* a,
                   std::int64_t leading_a, RightOperand<T> b, T* c, std::int64_t leading_c) {
  using Buffers = PackBuffers<T>;
  buffers.allocate();
  for (int j0 = 0; j0 < columns; j0 += Buffers::columns) {
    const int block_columns = std::min(Buffers::columns, columns - j0);
    const int first_row = part == Part::lower ? std::min(j0, rows) : 0;
    for (int p0 = 0; p0 < terms && !buffers.is_cancelled(); p0 += Buffers::terms) {
      const int block_terms = std::min(Buffers::terms, terms - p0);
      pack_columns<Isa>(block_terms, block_columns,
                        {b.data + p0 * b.term_step + j0 * b.column_step, b.term_step, b.column_step},
                        buffers.b.data());
      BlockProduct<Isa, T> product{.part = part,
                                   .first_row = first_row,
                                   .rows = rows,
                                   .height = Buffers::rows,
                                   .first_column = j0,
                                   .columns = block_columns,
                                   .terms = block_terms,
                                   .a = a + p0 * leading_a,
                                   .leading_a = leading_a,
                                   .b = buffers.b.data(),
                                   .c = c,
                                   .leading_c = leading_c};
      product.compute_all(buffers);
    }
  }
}

}  // namespace product_detail

/// C = C - A B for column-major A (rows by terms) and C (rows by columns). Sizes and arrays stand in the
/// order of BLAS's gemm, whose place this function takes.
template <class Isa, class T>
void subtract_product(PackBuffers<T>& buffers, Part part, int rows, int columns, int terms, const T* a,
                      std::int64_t leading_a, RightOperand<T> b, T* c, std::int64_t leading_c) {
  if (rows <= 0 || columns <= 0 || terms <= 0) return;
  constexpr int worth_packing = 64;
  if (rows >= worth_packing && columns >= worth_packing && terms >= worth_packing) {
    product_detail::update_packed<Isa>(buffers, part, rows, columns, terms, a, leading_a, b, c, leading_c);
  } else {
    product_detail::ProductInPlace<Isa, T> product{.part = part,
                                                   .rows = rows,
                                                   .columns = columns,
                                                   .terms = terms,
                                                   .height = rows,
                                                   .a = a,
                                                   .leading_a = leading_a,
                                                   .b = b,
                                                   .c = c,
                                                   .leading_c = leading_c};
    product.compute_all(buffers);
  }
}

}  // namespace echelon::kernels
