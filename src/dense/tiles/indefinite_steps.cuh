// SPDX-License-Identifier: BSD-3-Clause
/// Launches of the kernels for symmetric indefinite fronts.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/tiles/indefinite_front.cuh"

#include <algorithm>

namespace echelon::tiles {

/// Sizes of several fronts that are factored together.
struct IndefiniteBatch {
  int count;   ///< of fronts
  int rows;    ///< the most
  int pivots;  ///< the most, spare ones included
};

/// A step of fronts that are factored together.
struct IndefiniteStep {
  int p;            ///< column of the blocks
  int rows_below;   ///< the most below a block
  bool has_narrow;  ///< blocks of up to `narrow` columns
  bool has_wide;    ///< blocks of more
};

inline dim3 indefinite_grid(int blocks, const IndefiniteBatch& batch) {
  return {static_cast<unsigned>(std::max(blocks, 1)), static_cast<unsigned>(batch.count)};
}

/// Lets the kernels that need tiles have more dynamic shared memory than others get.
template <class T, class Fronts>
void allow_tiles() {
  allow_shared_memory(apply_blocks<T, Fronts>);
  allow_shared_memory(accept_blocks<T, Fronts>);
  allow_shared_memory(update_rests<T, Fronts>);
}

template <class T, class Fronts>
void start_fronts(const Fronts& fronts, const IndefiniteBatch& batch, cudaStream_t on = stream()) {
  constexpr int threads_of_start = 256;
  start_indefinite_fronts<T>
      <<<indefinite_grid((batch.pivots + threads_of_start - 1) / threads_of_start, batch), threads_of_start,
         0, on>>>(fronts);
  check(cudaGetLastError());
}

/// Eliminates blocks, except for the update of the columns to their right. Queued.
template <class T, class Fronts>
void eliminate_blocks(const Fronts& fronts, const IndefiniteBatch& batch, const IndefiniteStep& step,
                      IndefiniteFacts* facts, cudaStream_t on = stream()) {
  const int p = step.p;
  const dim3 one = indefinite_grid(1, batch);
  if (step.has_narrow)
    factor_blocks<T, narrow><<<one, IndefiniteBlock<T, narrow>::threads, 0, on>>>(fronts, p);
  if (step.has_wide) factor_blocks<T, side><<<one, IndefiniteBlock<T, side>::threads, 0, on>>>(fronts, p);
  check(cudaGetLastError());
  if (step.rows_below > 0) {
    apply_blocks<T>
        <<<indefinite_grid((step.rows_below + side - 1) / side, batch), threads, two_tiles<T>, on>>>(fronts,
                                                                                                     p);
  }
  using Acceptance = BlockAcceptance<T>;
  accept_blocks<T><<<indefinite_grid(acceptance_roles(step.rows_below, p), batch), Acceptance::threads,
                     sizeof(typename Acceptance::Shared), on>>>(fronts, p, facts);
  check(cudaGetLastError());
}

/// Updates the columns right of the blocks. Queued.
template <class T, class Fronts>
void update_rest(const Fronts& fronts, const IndefiniteBatch& batch, const IndefiniteStep& step,
                 cudaStream_t on = stream()) {
  if (step.rows_below <= 0) return;
  update_rests<T>
      <<<indefinite_grid(rest_tiles(step.rows_below), batch), threads, two_tiles<T>, on>>>(fronts, step.p);
  check(cudaGetLastError());
}

}  // namespace echelon::tiles
