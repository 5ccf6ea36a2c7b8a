// SPDX-License-Identifier: BSD-3-Clause
/// One operation on several vectors of equal length, in one launch on a GPU. Each vector gets the bits that
/// it gets alone.
#pragma once

#include "backend/target.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace echelon {

/// Functors of the same type, one for each vector.
template <class F>
struct EachColumn {
  static constexpr std::size_t capacity = 32;
  F at[capacity] = {};
  int count = 0;
};

/// make(column) for at most EachColumn::capacity columns.
template <class Column, class Make>
auto each_column(std::span<const Column> columns, Make make) {
  EachColumn<decltype(make(columns.front()))> functors;
  for (const Column& column : columns) functors.at[functors.count++] = make(column);
  return functors;
}

}  // namespace echelon

#ifdef __CUDACC__
#include "backend/cuda/columns.cuh"
#else

namespace echelon {

/// Backend::for_each for each column.
template <class B, class F>
void for_each_column(B& backend, std::int64_t n, const EachColumn<F>& f) {
  for (int c = 0; c < f.count; ++c) backend.for_each(n, f.at[c]);
}

/// Backend::reduce for each column.
template <class B, class F, class Finish>
void reduce_columns(B& backend, std::int64_t n, const EachColumn<F>& f, const EachColumn<Finish>& finish) {
  for (int c = 0; c < f.count; ++c) backend.reduce(n, f.at[c], finish.at[c]);
}

/// Backend::segmented_reduce for each column.
template <class B, class F, class V>
void segmented_reduce_columns(B& backend, std::int64_t n, const std::int64_t* offsets, const EachColumn<F>& f,
                              const EachColumn<V*>& sums) {
  for (int c = 0; c < f.count; ++c) backend.segmented_reduce(n, offsets, f.at[c], sums.at[c]);
}

}  // namespace echelon

#endif
