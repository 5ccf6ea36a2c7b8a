// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisations of new values with the pivots of earlier ones: the rows of each front are stored in the
/// order of its pivots, so that no exchanges are needed.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <echelon/array.hpp>

#include <cstdint>

namespace echelon::sparse_direct::gpu {

/// Moves the offset of an element of A in the factor to the place of its row among the pivots.
template <class T>
struct OffsetOfPivot {
  FactorArrays<T> arrays;
  std::int64_t fronts;
  const std::int64_t* offsets;
  std::int64_t* kept;

  __device__ void operator()(std::int64_t e) const {
    const std::int64_t offset = offsets[e];
    kept[e] = offset < 0 ? offset : moved(front_of(offset), offset);
  }

 private:
  /// The last front whose panel begins at or before an offset.
  [[nodiscard]] __device__ const Front& front_of(std::int64_t offset) const {
    std::int64_t low = 0;
    std::int64_t high = fronts;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (arrays.fronts[middle].panel <= offset ? low : high) = middle;
    }
    return arrays.fronts[low];
  }
  [[nodiscard]] __device__ std::int64_t moved(const Front& front, std::int64_t offset) const {
    const std::int32_t* const position = arrays.position + front.first;
    if (offset >= front.row_panel) {
      const std::int64_t border = front.rows - front.pivots;
      const std::int64_t in_panel = offset - front.row_panel;
      return front.row_panel + in_panel % border + position[in_panel / border] * border;
    }
    const std::int64_t row = (offset - front.panel) % front.rows;
    return row < front.pivots ? offset - row + position[row] : offset;
  }
};

/// Moves the places of the children's rows in a front that are pivots to the places of these. One block for
/// each front.
template <class T>
__global__ void move_rows_of_children(FactorArrays<T> arrays, std::int32_t* rows) {
  const Front& front = arrays.fronts[blockIdx.x];
  for (int c = front.child_begin; c < front.child_end; ++c) {
    const Front& child = arrays.fronts[arrays.children[c]];
    const int order = child.rows - child.pivots;
    for (int i = static_cast<int>(threadIdx.x); i < order; i += static_cast<int>(blockDim.x)) {
      const std::int32_t row = arrays.relative[child.border + i];
      if (row < front.pivots) rows[child.border + i] = arrays.position[front.first + row];
    }
  }
}

/// Places of the elements of A and of the children's rows in fronts whose rows are in the order of their
/// pivots.
class KeptPivots {
 public:
  /// Takes the present pivots, unless those are taken. Queued.
  template <class T>
  void take(Cuda& backend, const FactorArrays<T>& arrays, std::int64_t fronts,
            const Array<std::int64_t>& offsets, const Array<std::int32_t>& relative) {
    if (is_current_) return;
    const Device& device = backend.device();
    if (offsets_.size() != offsets.size()) offsets_ = Array<std::int64_t>(device, offsets.size());
    if (rows_.size() != relative.size()) rows_ = Array<std::int32_t>(device, relative.size());
    backend.for_each(offsets.size(), OffsetOfPivot<T>{arrays, fronts, offsets.data(), offsets_.data()});
    backend.copy(relative.size(), relative.data(), rows_.data());
    if (fronts > 0) {
      move_rows_of_children<<<static_cast<unsigned>(fronts), warp_size, 0, stream()>>>(arrays, rows_.data());
      check(cudaGetLastError());
    }
    is_current_ = true;
  }
  /// After a search for other pivots.
  void forget() { is_current_ = false; }

  [[nodiscard]] const std::int64_t* offsets() const { return offsets_.data(); }
  [[nodiscard]] const std::int32_t* rows() const { return rows_.data(); }

 private:
  Array<std::int64_t> offsets_;
  Array<std::int32_t> rows_;
  bool is_current_ = false;
};

}  // namespace echelon::sparse_direct::gpu
