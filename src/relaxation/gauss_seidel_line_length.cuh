// SPDX-License-Identifier: BSD-3-Clause
/// Finds out whether a matrix may have its rows in lines, from a few thousand of them, without the host's
/// knowing the answer: nobody waits for it.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "relaxation/gauss_seidel_lines.hpp"
#include "relaxation/gauss_seidel_row.hpp"
#include "relaxation/gauss_seidel_sweep.hpp"

#include <algorithm>

namespace echelon::gauss_seidel {

/// Rows in the middle of a matrix.
struct SampledRows {
  std::int64_t rows;  ///< of the matrix
  std::int64_t first;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;

  /// The length of lines that number i suggests.
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t line_length(std::int64_t i) const {
    const std::int64_t row = first + i;
    const Part lower = split_row(column_indices, row_offsets[row], row_offsets[row + 1], row).lower_part();
    return guess_line_length(rows, row, column_indices + lower.first, lower.count);
  }
};

/// The length that most rows suggest, if more than half of them agree: rows with different suggestions are
/// struck out in pairs, in whatever order.
struct MajorityLength {
  std::int32_t length = 0;
  std::int32_t surplus = 0;
  friend ECHELON_ANYWHERE MajorityLength combine(MajorityLength a, MajorityLength b) {
    if (a.length == b.length) return {a.length, a.surplus + b.surplus};
    return a.surplus >= b.surplus ? MajorityLength{a.length, a.surplus - b.surplus}
                                  : MajorityLength{b.length, b.surplus - a.surplus};
  }
};
struct SuggestLength {
  SampledRows sample;
  ECHELON_ANYWHERE MajorityLength operator()(std::int64_t i) const { return {sample.line_length(i), 1}; }
};
struct AcceptLength {
  std::int32_t* line_length;
  ECHELON_ANYWHERE void operator()(MajorityLength majority) const { *line_length = majority.length; }
};

struct Agreement {
  std::int64_t rows = 0;
  friend ECHELON_ANYWHERE Agreement combine(Agreement a, Agreement b) { return {a.rows + b.rows}; }
};
struct AgreeOnLength {
  SampledRows sample;
  const std::int32_t* line_length;
  ECHELON_ANYWHERE Agreement operator()(std::int64_t i) const {
    return {sample.line_length(i) == *line_length ? 1 : 0};
  }
};
struct ForgetUnlessMost {
  std::int64_t sampled;
  std::int32_t* line_length;
  ECHELON_ANYWHERE void operator()(Agreement agreement) const {
    if (2 * agreement.rows < sampled) *line_length = 0;
  }
};

/// Queues what leaves the length of A's lines in *line_length, or 0.
template <class T>
void find_line_length(Cuda& backend, const Csr<T>& A, std::int32_t* line_length) {
  const std::int64_t sampled = std::min<std::int64_t>(A.rows(), 4096);
  const SampledRows sample{A.rows(), (A.rows() - sampled) / 2, A.row_offsets().data(),
                           A.column_indices().data()};
  backend.reduce(sampled, SuggestLength{sample}, AcceptLength{line_length});
  backend.reduce(sampled, AgreeOnLength{sample, line_length}, ForgetUnlessMost{sampled, line_length});
}

}  // namespace echelon::gauss_seidel
