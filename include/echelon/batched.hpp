// SPDX-License-Identifier: BSD-3-Clause
/// Many small dense matrices at once: inverses and solutions. Those of std::complex<float> are on the host.
#pragma once

#include <echelon/array.hpp>
#include <echelon/export.h>
#include <echelon/report.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace echelon {

/// View of `count` column-major matrices of one shape, which the caller owns and which must outlive the view.
/// Element (i, j) of matrix b is at `data()[b * stride() + j * leading() + i]`.
template <class T>
class ECHELON_API DenseBatch {
 public:
  DenseBatch() = default;
  DenseBatch(T* data, std::int64_t rows, std::int64_t columns, std::int64_t count, std::int64_t leading,
             std::int64_t stride, const Device& device)
      : data_(data),
        rows_(rows),
        columns_(columns),
        count_(count),
        leading_(leading),
        stride_(stride),
        device_(device) {}
  /// View of contiguous matrices without padding.
  DenseBatch(T* data, std::int64_t rows, std::int64_t columns, std::int64_t count, const Device& device)
      : DenseBatch(data, rows, columns, count, rows, rows * columns, device) {}

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Distance between columns of a matrix, in elements.
  [[nodiscard]] std::int64_t leading() const { return leading_; }
  /// Distance between matrices, in elements.
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  T* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t count_ = 0;
  std::int64_t leading_ = 0;
  std::int64_t stride_ = 0;
  Device device_;
};

/// Options of `invert_batch`, `solve_batch` and `BatchFactors`.
struct ECHELON_API BatchOptions {
  /// Threshold of singularity, 0 to 1: a matrix is singular if it has a pivot of at most tolerance ||A||_inf,
  /// or in a Cholesky factorisation of at most tolerance a_jj. Default: 4 sqrt(n) eps.
  std::optional<double> tolerance = {};
  /// Steps of iterative refinement in `solve_batch`, 0 to 10; `invert_batch` and `BatchFactors` ignore it.
  std::int64_t refine = 1;
};

/// Outcome for one matrix of a batch.
struct ECHELON_API BatchOutcome {
  /// `direct`; `singular`, with the first column that depends on those before it; `not_spd`, with the first
  /// column whose pivot is negative; `not_a_number`, with the column whose pivot is NaN or Inf, or none when
  /// only the result overflows.
  Status status = Status::direct;
  std::int32_t column = -1;
};

/// Replaces square matrices by their inverses, by Gauss-Jordan elimination with partial pivoting, or on a GPU
/// for several matrices of 129 to 1024 rows by LU, which copies A; singular ones are filled with NaN. 2 n^3
/// to 8/3 n^3 flops each. Returns an outcome for each matrix. A is not scaled: near the ends of T's range,
/// elimination may overflow or reject pivots. Throws DimensionMismatch, BadOption, OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API Array<BatchOutcome> invert_batch(const DenseBatch<T>& A,
                                                           const BatchOptions& options = {});

/// Solves A X = B for each matrix of A and of B (n by k), replaces B by X, and refines X with A. X is
/// computed with an inverse that is not stored: 2 n^3 + 2 n^2 k (1 + 2 refine) flops each. On a GPU,
/// elimination takes its place up to n = 512, and for several matrices up to n = 8192, and reduces the first
/// term to one half or one third; it copies A from n = 129 on. X is NaN where A is singular. Outcomes and
/// scaling are those of `invert_batch`. Throws DimensionMismatch, DeviceMismatch, BadOption, OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API Array<BatchOutcome> solve_batch(const DenseBatch<const T>& A,
                                                          const DenseBatch<T>& B,
                                                          const BatchOptions& options = {});

/// A factorisation of the matrices of a batch.
enum class BatchFactorization {
  lu,       ///< P A = L U with partial pivoting, 2/3 n^3 flops each
  cholesky  ///< A = L L^T for symmetric positive definite A, L L^H for a Hermitian one, 1/3 n^3 flops each;
            ///< reads the lower triangle only, and the real parts of its diagonal
};

namespace batch_detail {
template <class T>
struct Factors;
}  // namespace batch_detail

/// Factors of the matrices of a batch, stored in place of the matrices, for any number of solves. On a GPU
/// some lanes of a warp factor a matrix of up to 32 rows, a block one of up to 512 rows, and panels of all
/// matrices together those of up to `max_gpu_rows` rows; on the host one thread factors each matrix.
template <class T>
class ECHELON_API BatchFactors {
 public:
  static constexpr std::int64_t max_gpu_rows = 8192;

  /// Replaces the square matrices of A, which must outlive this object, by their factors in an internal
  /// format. The contents of matrices that cannot be factored are undefined. Additional memory: n integers
  /// for each matrix, and on a GPU 32 n elements from n = 33 on, for LU up to n = 512. Neither A nor B is
  /// scaled: near the ends of T's range, elimination may overflow. On a GPU the work is queued. Throws
  /// DimensionMismatch, BadOption, InvalidMatrix for too many rows, OutOfMemory.
  BatchFactors(const DenseBatch<T>& A, BatchFactorization kind, const BatchOptions& options = {});

  /// An outcome for each matrix, in the memory of A.
  [[nodiscard]] const Array<BatchOutcome>& outcomes() const;
  /// Memory held in addition to A, in bytes.
  [[nodiscard]] std::size_t bytes() const;

  /// Solves A X = B for each matrix of A and of B (n by k), and replaces B by X: NaN where A was not
  /// factored. 2 n^2 k flops each, without refinement. Thread-safe. On a GPU the work is queued. Throws
  /// DimensionMismatch, DeviceMismatch.
  void solve(const DenseBatch<T>& B) const;

 private:
  std::shared_ptr<const batch_detail::Factors<T>> factors_;
};

extern template class BatchFactors<float>;
extern template class BatchFactors<double>;

}  // namespace echelon
