// SPDX-License-Identifier: BSD-3-Clause
/// One operation on several vectors of equal length, in one launch on a GPU. Each vector gets the bits that
/// it gets alone.
#pragma once

#include "backend/target.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace echelon {

/// Most vectors that are treated together.
inline constexpr std::size_t most_columns = 32;

/// The functors of some vectors, in an object that a kernel can take as an argument.
template <class F>
struct FunctorArray {
  F at[most_columns];
  int count = 0;
};

/// make(c) for c = 0, ..., columns - 1.
template <class Make>
auto make_functors(int columns, Make make) {
  FunctorArray<decltype(make(0))> functors;
  for (; functors.count < columns; ++functors.count) functors.at[functors.count] = make(functors.count);
  return functors;
}

}  // namespace echelon

#ifdef __CUDACC__
#include "backend/cuda/columns.cuh"
#else

namespace echelon {

/// Backend::for_each for each of at most `most_columns` vectors; make(c) returns the functor of vector c.
template <class B, class Make>
void for_each_column(B& backend, std::int64_t n, int columns, Make make) {
  for (int c = 0; c < columns; ++c) backend.for_each(n, make(c));
}

/// Backend::reduce for each of at most `most_columns` vectors.
template <class B, class Make, class MakeFinish>
void reduce_columns(B& backend, std::int64_t n, int columns, Make make, MakeFinish make_finish) {
  for (int c = 0; c < columns; ++c) backend.reduce(n, make(c), make_finish(c));
}

/// Backend::segmented_reduce for each of at most `most_columns` vectors; make_sums(c) is where those of
/// vector c are stored.
template <class B, class Make, class MakeSums>
void segmented_reduce_columns(B& backend, std::int64_t n, const std::int64_t* offsets, int columns, Make make,
                              MakeSums make_sums) {
  for (int c = 0; c < columns; ++c) backend.segmented_reduce(n, offsets, make(c), make_sums(c));
}

}  // namespace echelon

#endif

namespace echelon {

/// Overloads for records of vectors; make(columns[c]) returns the functor of column c.
template <class B, class Column, class Make>
void for_each_column(B& backend, std::int64_t n, std::span<Column> columns, Make make) {
  for_each_column(backend, n, static_cast<int>(columns.size()),
                  [&](int c) { return make(columns[static_cast<std::size_t>(c)]); });
}
template <class B, class Column, class Make, class MakeFinish>
void reduce_columns(B& backend, std::int64_t n, std::span<Column> columns, Make make,
                    MakeFinish make_finish) {
  reduce_columns(
      backend, n, static_cast<int>(columns.size()),
      [&](int c) { return make(columns[static_cast<std::size_t>(c)]); },
      [&](int c) { return make_finish(columns[static_cast<std::size_t>(c)]); });
}
template <class B, class Column, class Make, class MakeSums>
void segmented_reduce_columns(B& backend, std::int64_t n, const std::int64_t* offsets,
                              std::span<Column> columns, Make make, MakeSums make_sums) {
  segmented_reduce_columns(
      backend, n, offsets, static_cast<int>(columns.size()),
      [&](int c) { return make(columns[static_cast<std::size_t>(c)]); },
      [&](int c) { return make_sums(columns[static_cast<std::size_t>(c)]); });
}

}  // namespace echelon
