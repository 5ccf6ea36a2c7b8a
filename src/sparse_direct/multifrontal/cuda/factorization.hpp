// SPDX-License-Identifier: BSD-3-Clause
/// Multifrontal factorisation on an NVIDIA GPU: Cholesky, and L D L^T and LU with pivots among the fully
/// summed rows of each front.
#pragma once

#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace echelon::sparse_direct::gpu {

/// Facts about a numeric factorisation.
struct DeviceFactorFacts {
  /// The first column of the permuted matrix without an acceptable pivot: not positive for Cholesky, zero for
  /// LU and L D L^T.
  std::optional<std::int32_t> failed_column = {};
  /// The largest |element| of L for LU and L D L^T, at least 1. Partial pivoting of a whole column keeps it
  /// at 1; rows outside the fully summed ones of a front are not candidates, and may exceed it.
  double largest_multiplier = 1;
  std::int64_t negative = 0;           ///< eigenvalues of D
  std::int64_t two_by_two_pivots = 0;  ///< of L D L^T
  bool cancelled = false;              ///< between levels: there are no factors
};

/// Places of the elements of the user's matrix in the permuted matrix, and their scaling.
template <class T>
struct Placement {
  std::span<const std::int32_t> row_position;     ///< n: of the user's rows
  std::span<const std::int32_t> column_position;  ///< n: of the user's columns
  std::span<const T> row_scale;                   ///< n, in the user's order
  std::span<const T> column_scale;
};

/// Matrix that a solve is for: the user's, or the one with scaled rows and columns, which was factored.
enum class Equilibrated : bool { no, yes };

/// Device memory that a factorisation will take, in bytes.
struct DeviceFactorMemory {
  std::size_t factor = 0;  ///< kept
  std::size_t stack = 0;   ///< during the factorisation, with working memory
  std::size_t maps = 0;    ///< kept: places of elements, relative indices, pivots
};

/// Factorisation on a GPU after its set-up: `factor` may be called for every change of values, `solve` any
/// number of times afterwards. All pointers are to device memory, work is queued on the calling thread's
/// stream; only `factor` waits.
template <class T>
class DeviceFactorization {
 public:
  /// Constructor. Row offsets and columns of the matrix to be factored are host memory here. The order of
  /// `symbolic` is that of the matrix, or larger if the plan has spare pivots. Throws OutOfMemory.
  DeviceFactorization(const Device& device, const SymbolicFactor& symbolic, FrontPlan plan,
                      std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> columns,
                      const Placement<T>& placement);
  ~DeviceFactorization();
  DeviceFactorization(DeviceFactorization&&) noexcept;
  DeviceFactorization& operator=(DeviceFactorization&&) noexcept;

  [[nodiscard]] static DeviceFactorMemory predict(const FrontPlan& plan, std::int64_t nonzeros);

  /// Factors the CSR matrix whose pattern was given, on the device. With borders, `complements` receives
  /// their Schur complements in the scaled matrix, one after the other, column-major, without the elements of
  /// the matrix in the borders' rows and columns; for symmetric factors the lower triangles.
  DeviceFactorFacts factor(const std::int64_t* row_offsets, const std::int32_t* columns, const T* values,
                           const std::stop_token& cancel = {}, T* complements = nullptr);

  /// Number of elements of `vectors` that a solve of `columns` right-hand sides needs.
  [[nodiscard]] std::int64_t workspace_size(std::int64_t columns) const;
  /// Computes X = A^-1 B, or A^-T B, in the user's order, column-major. X and B may be the same. With
  /// Equilibrated::yes A is the scaled matrix. In the rows of a border B holds X, divided by the scale of its
  /// row and its column; the other rows of X follow from the equations of these rows.
  void solve(bool transposed, std::int64_t columns, const T* B, std::int64_t leading_b, T* X,
             std::int64_t leading_x, T* workspace, Equilibrated equilibrated = Equilibrated::no) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace echelon::sparse_direct::gpu
