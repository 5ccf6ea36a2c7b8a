// SPDX-License-Identifier: BSD-3-Clause
/// Crout's method with partial pivoting, column by column, on a GPU.
#pragma once

#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "studies/crout/cuda/grid.cuh"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::crout {

/// Scratch memory of `eliminate_columns` for matrices of up to `columns` columns, and the threads of its
/// blocks: a power of two from 32 to 512, or rounded down to one.
template <class T>
struct ColumnWorkspace {
  ColumnWorkspace(const Device& device, std::int64_t columns, std::int64_t threads = 512);
  std::int64_t threads_per_block;
  Array<PivotMaximum> candidates;  ///< of each block
  Array<T> row;                    ///< row j of L
  Array<unsigned> arrivals;        ///< of the grid barrier
  Array<FirstIndex> zero_pivot;    ///< the first column without a nonzero pivot
};

/// P A = L U in place of columns [begin, end) of A and the rows of U that they complete; columns before
/// `begin` are complete. `pivots[j]` is the row that was exchanged with row j. Stops at a column without a
/// nonzero pivot, which `workspace.zero_pivot` names. One launch; a column has three barriers of the whole
/// grid. Reads L once for each column and U once for each row: n^3/3 elements in all. Does not wait.
template <class T>
void eliminate_columns(Cuda& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                       std::int64_t* pivots, ColumnWorkspace<T>& workspace);

}  // namespace echelon::crout
