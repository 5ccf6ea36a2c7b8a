// SPDX-License-Identifier: BSD-3-Clause
/// Crout's formulas as a fixed-point iteration in sections, with partial pivoting, on a GPU. See
/// iteration.hpp.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "studies/crout/cuda/grid.cuh"
#include "studies/crout/iteration.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::crout {

/// Changes of elements by sweeps over a diagonal section.
struct Changes {
  static constexpr int none = INT32_MAX;
  int least[3] = {none, none, none};  ///< greater index of a changed element, of three sweeps in turn
  int overflow = -1;                  ///< the last column with an element of L that is not finite
};

/// State of a section that the kernels leave for the host.
struct SectionState {
  std::int64_t zero_pivot = -1;
  std::int64_t overflow = 0;      ///< nonzero: the iteration cannot converge
  std::int64_t lower_sweeps = 0;  ///< over the region below, without pivoting
  std::int64_t upper_sweeps = 0;  ///< over the region to the right
  IterationCounts counts = {};    ///< of the diagonal section
};

/// Fixed-point iteration for a square matrix. Contributions of earlier sections to a section are subtracted
/// once, by a product of matrices, since no sweep changes them. One launch factors a diagonal section with
/// its pivots, and one more each the regions to its right and below it; the host waits once for each section.
/// Sweeps omit elements that are final.
template <class T>
class CudaIteration {
 public:
  struct Result : EliminationResult {
    std::int64_t zero_pivot = -1;  ///< a zero on the diagonal that ended the iteration
    bool converged = true;         ///< false: too many sweeps, or infinite elements of L by overflow
  };

  CudaIteration(Cuda& backend, DenseView<T> A, std::int64_t* pivots, const IterationSettings& settings);

  /// P A = L U in place of A. `pivots[j]`, on the GPU, is the row that was exchanged with row j.
  Result factor(const CancellationToken& cancel);

  [[nodiscard]] const IterationCounts& counts() const { return counts_; }

 private:
  void subtract_earlier_sections(std::int64_t first, std::int64_t row_end, std::int64_t column_begin,
                                 std::int64_t column_end);
  void iterate_diagonal(std::int64_t first, std::int64_t last);
  void iterate_beside(std::int64_t first, std::int64_t last, Factor part);
  /// Waits for the section's kernels and takes their counts; false if the iteration has failed.
  bool finish_section(std::int64_t first, std::int64_t last);

  Cuda& backend_;
  DenseView<T> A_;
  std::int64_t* pivots_;
  IterationSettings settings_;
  Array<T> square_[2];  ///< iterates of the diagonal section
  Array<T> beside_[2];  ///< iterates of the region to its right or below it
  Array<PivotMaximum> candidates_;
  Array<Changes> changes_;
  Array<unsigned> arrivals_;
  Array<SectionState> state_;
  Result result_ = {};
  IterationCounts counts_ = {};
};

}  // namespace echelon::crout
