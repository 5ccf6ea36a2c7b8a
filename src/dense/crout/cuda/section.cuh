// SPDX-License-Identifier: BSD-3-Clause
/// Factorisation of a section of a few columns by Crout's formulas in the shared memory of a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "dense/crout/cuda/grid.cuh"
#include "dense/crout/iteration.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::crout {

inline constexpr std::int64_t widest_section = 32;

/// Facts of all sections, on the GPU.
struct BlockedState {
  std::int64_t zero_pivot = -1;
  std::int64_t overflow = 0;  ///< nonzero: an iterated section cannot converge
  IterationCounts counts = {};
};

/// Memory in which the blocks of a grid exchange pivots, for one thread at a time.
template <class T>
struct SectionWorkspace {
  explicit SectionWorkspace(const Device& device);
  Array<Candidate> candidates;
  Array<T> rows;
  Array<unsigned> arrivals;
  Array<BlockedState> state;
};

/// P A = L U in place of columns [first, last) of A, from row `first` down; at most widest_section columns.
/// `pivots[j]` is the row that was exchanged with row j: in these columns only. Iterated: all columns at
/// once, by sweeps over the rows of the diagonal, until no element changes by more than `tolerance`; else one
/// after the other. Every block has a share of the rows and a copy of the diagonal's; a column has one
/// barrier of the grid. Does nothing if an earlier section has failed. Does not wait.
template <class T>
void factor_section(Cuda& backend, DenseView<T> A, std::int64_t first, std::int64_t last, bool iterated,
                    double tolerance, std::int64_t* pivots, SectionWorkspace<T>& workspace);

}  // namespace echelon::crout
