// SPDX-License-Identifier: BSD-3-Clause
/// Many small dense matrices at once: inverses and solutions.
#pragma once

#include <echelon/array.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <optional>

namespace echelon {

/// `count` column-major matrices of one shape that somebody else owns. Element (i, j) of matrix b is at
/// `data[b * stride + j * leading + i]`.
template <class T>
struct DenseBatch {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t count = 0;
  std::int64_t leading = 0;
  std::int64_t stride = 0;
  Device device;

  DenseBatch() = default;
  DenseBatch(T* data_, std::int64_t rows_, std::int64_t columns_, std::int64_t count_, std::int64_t leading_,
             std::int64_t stride_, const Device& device_)
      : data(data_),
        rows(rows_),
        columns(columns_),
        count(count_),
        leading(leading_),
        stride(stride_),
        device(device_) {}
  /// One matrix right after the other.
  DenseBatch(T* data_, std::int64_t rows_, std::int64_t columns_, std::int64_t count_, const Device& device_)
      : DenseBatch(data_, rows_, columns_, count_, rows_, rows_ * columns_, device_) {}
};

struct BatchOptions {
  /// As that of GaussJordan: relative to ||A||_inf; 4 sqrt(n) eps by default.
  std::optional<double> tolerance = {};
  /// Steps of iterative refinement, 0 to 10, for solving.
  std::int64_t refine = 1;
};

/// How it went for one matrix.
struct BatchOutcome {
  /// `direct`; `singular`, with the first column that depends on those before it; `not_a_number`, with the
  /// column where the elimination met a NaN or Inf, or none when only the result overflows.
  Status status = Status::direct;
  std::int32_t column = -1;
};

/// Replaces square matrices by their inverses, by Gauss-Jordan elimination with partial pivoting; those that
/// have none are filled with NaN. 2 n^3 flops each. Returns an outcome for each matrix.
/// A is taken as it is: near the ends of T's range, elimination may overflow or find too small a pivot.
/// Throws DimensionMismatch, BadOption, OutOfMemory.
template <class T>
[[nodiscard]] Array<BatchOutcome> invert_batch(const DenseBatch<T>& A, const BatchOptions& options = {});

/// Solves A X = B for each matrix of A and of B (n by k), with X in place of B, and refines with A: by the
/// inverse, which is not written; on a GPU up to n = 128 by the elimination alone. 2 n^3 + 2 n^2 k (1 + 2
/// refine) flops each, or half of the first term. X is NaN where A is singular. Otherwise as `invert_batch`.
/// Throws DeviceMismatch, too.
template <class T>
[[nodiscard]] Array<BatchOutcome> solve_batch(const DenseBatch<const T>& A, const DenseBatch<T>& B,
                                              const BatchOptions& options = {});

}  // namespace echelon
