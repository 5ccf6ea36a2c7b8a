// SPDX-License-Identifier: BSD-3-Clause
/// Linear systems in band storage: one of any size, or many of one shape.
#pragma once

#include <echelon/array.hpp>
#include <echelon/batched.hpp>
#include <echelon/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {

/// View of `count` n-by-n band matrices in LAPACK's band layout, which the caller owns and which must outlive
/// the view. A column holds its elements from `upper` rows above the diagonal to `lower` rows below it.
/// Element (i, j) of matrix b, for j - upper <= i <= j + lower, is at
///     data()[b * stride() + j * leading() + upper + i - j],
/// with leading() >= lower + upper + 1. Array elements that lie outside the matrix (in its corners) are not
/// read. An array for LAPACK's gbsv has `lower` further rows on top for fill; it is passed as `ab + lower`.
template <class T>
class ECHELON_API BandBatch {
 public:
  BandBatch() = default;
  BandBatch(T* data, std::int64_t n, std::int64_t lower, std::int64_t upper, std::int64_t count,
            std::int64_t leading, std::int64_t stride, const Device& device)
      : data_(data),
        n_(n),
        lower_(lower),
        upper_(upper),
        count_(count),
        leading_(leading),
        stride_(stride),
        device_(device) {}
  /// View of a single matrix.
  BandBatch(T* data, std::int64_t n, std::int64_t lower, std::int64_t upper, std::int64_t leading,
            const Device& device)
      : BandBatch(data, n, lower, upper, 1, leading, leading * n, device) {}

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::int64_t n() const { return n_; }
  /// Number of diagonals below the main one.
  [[nodiscard]] std::int64_t lower() const { return lower_; }
  /// Number of diagonals above the main one.
  [[nodiscard]] std::int64_t upper() const { return upper_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Distance between columns of a matrix, in elements.
  [[nodiscard]] std::int64_t leading() const { return leading_; }
  /// Distance between matrices, in elements.
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  T* data_ = nullptr;
  std::int64_t n_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  std::int64_t count_ = 0;
  std::int64_t leading_ = 1;
  std::int64_t stride_ = 0;
  Device device_;
};

template <class T>
class BandFactors;

/// LU factorisation with partial pivoting of band matrices, for repeated solves. It neither scales, refines
/// nor estimates a condition number: BandedLu (<echelon/methods/banded_lu.hpp>) does that for a sparse
/// matrix. Not thread-safe: one thread at a time may use an object.
template <class T>
class ECHELON_API BandFactorization {
 public:
  /// Throws NotBuilt, NoDevice.
  explicit BandFactorization(const Device& device = {});
  BandFactorization(BandFactorization&&) noexcept;
  BandFactorization& operator=(BandFactorization&&) noexcept;
  ~BandFactorization();

  /// Factors the matrices of A, which is not changed and not needed afterwards. Memory is kept for further
  /// calls with the same shape. About 2 n lower (lower + upper) flops and n (2 lower + upper + 1) elements
  /// per matrix; with more than three threads up to four times these flops for a single matrix. Returns an
  /// outcome for each matrix: `singular` with the first column without a pivot, or `not_a_number` if an
  /// element is NaN or infinite, or overflowed. A pivot below the smallest normal number counts as zero.
  /// Throws DimensionMismatch, DeviceMismatch, OutOfMemory.
  Array<BatchOutcome> factor(const BandBatch<const T>& A);

  /// Replaces the n-by-k B of each matrix by A^-1 B, or by NaN where the outcome is not `direct`, in about
  /// 2 n (2 lower + upper) k flops. Throws DimensionMismatch, DeviceMismatch, OutOfMemory, and Error when
  /// nothing was factored.
  void solve(const DenseBatch<T>& B);

  /// Memory held, in bytes.
  [[nodiscard]] std::size_t bytes() const;

 private:
  Device device_;
  std::unique_ptr<BandFactors<T>> factors_;
};

extern template class BandFactorization<float>;
extern template class BandFactorization<double>;

/// Solves A X = B for each matrix of A and of B (n by k) by LU with partial pivoting, and replaces B by X.
/// Outcomes are those of BandFactorization; the factors are not kept. Throws NotBuilt, NoDevice,
/// DimensionMismatch, DeviceMismatch, OutOfMemory.
template <class T>
ECHELON_API Array<BatchOutcome> solve_band(const BandBatch<const T>& A, const DenseBatch<T>& B);

}  // namespace echelon
