// SPDX-License-Identifier: BSD-3-Clause
// Batches of complex matrices on a GPU: a block of threads factors each matrix where it is, by LU or
// Cholesky, column by column.
#include "backend/cuda/cuda.cuh"
#include "dense/batched/operations.hpp"
#include "support/scalar.hpp"

#include <algorithm>
#include <complex>
#include <limits>

namespace echelon {

namespace complex_batches {

using T = std::complex<double>;

constexpr int block_threads = 128;

/// The largest value of all threads of the block, for each of them; NaN is larger than any number.
__device__ double largest_of_block(double value) {
  __shared__ double values[block_threads];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = block_threads / 2; half > 0; half /= 2) {
    const int other = static_cast<int>(threadIdx.x) + half;
    if (static_cast<int>(threadIdx.x) < half && !(values[threadIdx.x] >= values[other]) &&
        values[threadIdx.x] == values[threadIdx.x])
      values[threadIdx.x] = values[other];
    __syncthreads();
  }
  const double largest = values[0];
  __syncthreads();
  return largest;
}

/// One matrix of a batch, and the threads that work on it.
struct ComplexMatrix {
  T* data;
  std::int64_t leading;
  int n;

  __device__ T& operator()(std::int64_t i, std::int64_t j) const { return data[j * leading + i]; }
  /// Calls f(i) for begin <= i < end, by all threads, and waits for it.
  template <class F>
  static __device__ void for_each(std::int64_t begin, std::int64_t end, const F& f) {
    for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) f(i);
    __syncthreads();
  }
  [[nodiscard]] __device__ double norm_inf() const {
    double largest = 0;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += block_threads) {
      double sum = 0;
      for (int j = 0; j < n; ++j) sum += magnitude((*this)(i, j));
      if (!(sum <= largest)) largest = sum;
    }
    return largest_of_block(largest);
  }
};

/// The row of the largest |a_ik|, i >= k, the first of equal ones, and that magnitude.
struct PivotOfColumn {
  int row;
  double size;
};
__device__ PivotOfColumn find_pivot(const ComplexMatrix& A, int k) {
  __shared__ int row;
  double own = -1;
  for (int i = k + static_cast<int>(threadIdx.x); i < A.n; i += block_threads) {
    const double size = magnitude(A(i, k));
    if (!(size <= own)) own = size;
  }
  const double largest = largest_of_block(own);
  if (threadIdx.x == 0) row = A.n;
  __syncthreads();
  for (int i = k + static_cast<int>(threadIdx.x); i < A.n; i += block_threads) {
    if (magnitude(A(i, k)) == largest) atomicMin(&row, i);
  }
  __syncthreads();
  return {row, largest};
}

/// P A = L U in place; pivots[k] is the row that was exchanged with row k.
__device__ BatchOutcome factor_lu(const ComplexMatrix& A, std::int32_t* pivots, double tolerance) {
  const double norm = A.norm_inf();
  const double bound = norm - norm == 0 ? tolerance * norm : 0;  // NaN and Inf are found in their columns
  for (int k = 0; k < A.n; ++k) {
    const PivotOfColumn pivot = find_pivot(A, k);
    if (!(pivot.size - pivot.size == 0)) return {Status::not_a_number, k};
    if (!(pivot.size > bound)) return {Status::singular, k};
    if (threadIdx.x == 0) pivots[k] = pivot.row;
    ComplexMatrix::for_each(0, pivot.row == k ? 0 : A.n, [&](std::int64_t j) {
      const T upper = A(k, j);
      A(k, j) = A(pivot.row, j);
      A(pivot.row, j) = upper;
    });
    const T diagonal = A(k, k);
    ComplexMatrix::for_each(k + 1, A.n, [&](std::int64_t i) { A(i, k) = A(i, k) / diagonal; });
    const std::int64_t left = A.n - k - 1;
    ComplexMatrix::for_each(0, left * left, [&](std::int64_t e) {
      const std::int64_t i = k + 1 + e % left;
      const std::int64_t j = k + 1 + e / left;
      A(i, j) = A(i, j) - A(i, k) * A(k, j);
    });
  }
  return {};
}

/// A = L L^H in place, in the lower triangle.
__device__ BatchOutcome factor_cholesky(const ComplexMatrix& A, double tolerance) {
  for (int k = 0; k < A.n; ++k) {
    double given = A(k, k).real();  // a_kk, from which squares have been subtracted
    for (int j = 0; j < k; ++j) given += squared_magnitude(A(k, j));
    const double pivot = A(k, k).real();
    if (!(pivot - pivot == 0)) return {Status::not_a_number, k};
    const double bound = tolerance * fabs(given);
    if (!(pivot > bound)) return {pivot < -bound ? Status::not_spd : Status::singular, k};
    const double root = sqrt(pivot);
    __syncthreads();
    ComplexMatrix::for_each(k, A.n, [&](std::int64_t i) {
      A(i, k) = i == k ? T{root, 0} : A(i, k) / T{root, 0};
    });
    const std::int64_t left = A.n - k - 1;
    ComplexMatrix::for_each(0, left * left, [&](std::int64_t e) {
      const std::int64_t i = k + 1 + e % left;
      const std::int64_t j = k + 1 + e / left;
      if (i >= j) A(i, j) = A(i, j) - A(i, k) * conj(A(j, k));
    });
  }
  return {};
}

/// Solves with a triangle of the factors for `columns` columns of B, row by row. `at(i, k)`: its elements.
template <class At>
__device__ void substitute(const ComplexMatrix& B, std::int64_t columns, bool forward, bool has_unit_diagonal,
                           const At& at) {
  for (int step = 0; step < B.n; ++step) {
    const int k = forward ? step : B.n - 1 - step;
    if (!has_unit_diagonal)
      ComplexMatrix::for_each(0, columns, [&](std::int64_t c) { B(k, c) = B(k, c) / at(k, k); });
    const std::int64_t begin = forward ? k + 1 : 0;
    const std::int64_t left = forward ? B.n - k - 1 : k;
    ComplexMatrix::for_each(0, left * columns, [&](std::int64_t e) {
      const std::int64_t i = begin + e % left;
      const std::int64_t c = e / left;
      B(i, c) = B(i, c) - at(i, k) * B(k, c);
    });
  }
}

__device__ void solve_lu(const ComplexMatrix& A, const std::int32_t* pivots, const ComplexMatrix& B,
                         std::int64_t columns) {
  ComplexMatrix::for_each(0, columns, [&](std::int64_t c) {
    for (int k = 0; k < A.n; ++k) {
      const T upper = B(k, c);
      B(k, c) = B(pivots[k], c);
      B(pivots[k], c) = upper;
    }
  });
  const auto at = [&](std::int64_t i, std::int64_t k) { return A(i, k); };
  substitute(B, columns, true, true, at);
  substitute(B, columns, false, false, at);
}

__device__ void solve_cholesky(const ComplexMatrix& A, const ComplexMatrix& B, std::int64_t columns) {
  substitute(B, columns, true, false, [&](std::int64_t i, std::int64_t k) { return A(i, k); });
  substitute(B, columns, false, false, [&](std::int64_t i, std::int64_t k) { return conj(A(k, i)); });
}

__device__ void fill(const ComplexMatrix& B, std::int64_t columns, T value) {
  ComplexMatrix::for_each(0, columns * B.n, [&](std::int64_t e) { B(e % B.n, e / B.n) = value; });
}
__device__ T not_a_number() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {nan, nan};
}
/// Whether all elements are finite, in which case a solution or an inverse is one.
__device__ bool is_finite(const ComplexMatrix& B, std::int64_t columns) {
  double largest = 0;
  for (std::int64_t e = threadIdx.x; e < columns * B.n; e += block_threads) {
    const double size = magnitude(B(e % B.n, e / B.n));
    if (!(size <= largest)) largest = size;
  }
  const double all = largest_of_block(largest);
  return all - all == 0;
}

/// Matrices of a batch for kernels.
struct ComplexMatrices {
  T* data;
  std::int64_t leading, stride, columns;
  int n;
  __device__ ComplexMatrix matrix(std::int64_t b) const { return {data + b * stride, leading, n}; }
};
ComplexMatrices batch_of(const DenseBatch<T>& batch) {
  return {batch.data(), batch.leading(), batch.stride(), batch.columns(), static_cast<int>(batch.rows())};
}

__global__ void __launch_bounds__(block_threads)
    factor_matrices(ComplexMatrices A, std::int64_t count, bool is_lu, double tolerance, std::int32_t* pivots,
                    BatchOutcome* outcomes) {
  for (std::int64_t b = blockIdx.x; b < count; b += gridDim.x) {
    const ComplexMatrix matrix = A.matrix(b);
    const BatchOutcome outcome =
        is_lu ? factor_lu(matrix, pivots + b * A.n, tolerance) : factor_cholesky(matrix, tolerance);
    if (threadIdx.x == 0) outcomes[b] = outcome;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(block_threads)
    substitute_matrices(ComplexMatrices A, ComplexMatrices B, std::int64_t count, bool is_lu,
                        const std::int32_t* pivots, const BatchOutcome* outcomes) {
  for (std::int64_t b = blockIdx.x; b < count; b += gridDim.x) {
    const ComplexMatrix X = B.matrix(b);
    if (outcomes[b].status != Status::direct) {
      fill(X, B.columns, not_a_number());
    } else if (is_lu) {
      solve_lu(A.matrix(b), pivots + b * A.n, X, B.columns);
    } else {
      solve_cholesky(A.matrix(b), X, B.columns);
    }
  }
}

/// Solves with a copy of A that becomes factors, and refines with A: X = B at first, and R is for residuals.
__global__ void __launch_bounds__(block_threads)
    solve_matrices(ComplexMatrices A, ComplexMatrices factors, ComplexMatrices B, ComplexMatrices R,
                   std::int64_t count, double tolerance, std::int64_t refine, std::int32_t* pivots,
                   BatchOutcome* outcomes) {
  for (std::int64_t b = blockIdx.x; b < count; b += gridDim.x) {
    const ComplexMatrix given = A.matrix(b);
    const ComplexMatrix lu = factors.matrix(b);
    const ComplexMatrix X = B.matrix(b);
    const ComplexMatrix r = R.matrix(b);
    std::int32_t* const rows = pivots + b * A.n;
    const auto for_each_element = [&](std::int64_t columns, const auto& f) {
      ComplexMatrix::for_each(0, columns * A.n, [&](std::int64_t e) { f(e % A.n, e / A.n); });
    };
    for_each_element(A.n, [&](std::int64_t i, std::int64_t j) { lu(i, j) = given(i, j); });
    for_each_element(B.columns, [&](std::int64_t i, std::int64_t c) { r(i, c) = X(i, c); });
    BatchOutcome outcome = factor_lu(lu, rows, tolerance);
    if (outcome.status == Status::direct) {
      // r keeps B; the candidate X is corrected by solutions with the residual.
      solve_lu(lu, rows, X, B.columns);
      for (std::int64_t step = 0; step < refine; ++step) {
        const ComplexMatrix correction = R.matrix(count + b);
        for_each_element(B.columns, [&](std::int64_t i, std::int64_t c) {
          T sum = r(i, c);
          for (int j = 0; j < A.n; ++j) sum = sum - given(i, j) * X(j, c);
          correction(i, c) = sum;
        });
        solve_lu(lu, rows, correction, B.columns);
        for_each_element(B.columns,
                         [&](std::int64_t i, std::int64_t c) { X(i, c) = X(i, c) + correction(i, c); });
      }
      if (!is_finite(X, B.columns)) outcome = {Status::not_a_number, -1};
    }
    if (outcome.status != Status::direct) fill(X, B.columns, not_a_number());
    if (threadIdx.x == 0) outcomes[b] = outcome;
    __syncthreads();
  }
}

/// Replaces matrices by their inverses, by factors of copies.
__global__ void __launch_bounds__(block_threads)
    invert_matrices(ComplexMatrices A, ComplexMatrices factors, std::int64_t count, double tolerance,
                    std::int32_t* pivots, BatchOutcome* outcomes) {
  for (std::int64_t b = blockIdx.x; b < count; b += gridDim.x) {
    const ComplexMatrix X = A.matrix(b);
    const ComplexMatrix lu = factors.matrix(b);
    std::int32_t* const rows = pivots + b * A.n;
    ComplexMatrix::for_each(0, std::int64_t{A.n} * A.n, [&](std::int64_t e) {
      const std::int64_t i = e % A.n;
      const std::int64_t j = e / A.n;
      lu(i, j) = X(i, j);
      X(i, j) = T{i == j ? 1.0 : 0.0, 0};
    });
    BatchOutcome outcome = factor_lu(lu, rows, tolerance);
    if (outcome.status == Status::direct) {
      solve_lu(lu, rows, X, A.n);
      if (!is_finite(X, A.n)) outcome = {Status::not_a_number, -1};
    }
    if (outcome.status != Status::direct) fill(X, A.n, not_a_number());
    if (threadIdx.x == 0) outcomes[b] = outcome;
    __syncthreads();
  }
}

unsigned blocks_of_batch(std::int64_t count) {
  constexpr std::int64_t most_blocks = 1 << 16;
  return static_cast<unsigned>(std::min(count, most_blocks));
}

/// Contiguous n by `columns` matrices in new memory.
struct BatchScratch {
  BatchScratch(const Device& device, std::int64_t n, std::int64_t columns, std::int64_t count)
      : elements(device, n * columns * count),
        batch{elements.data(), n, n * columns, columns, static_cast<int>(n)} {}
  Array<T> elements;
  ComplexMatrices batch;
};

}  // namespace complex_batches

template <>
void factor_batch_on<CudaTarget>(batch_detail::Factors<std::complex<double>>& factors, double tolerance) {
  using namespace complex_batches;
  const Device& device = factors.A.device();
  const std::int64_t n = factors.A.rows();
  const std::int64_t count = factors.A.count();
  if (n == 0) Cuda(device).fill(count, BatchOutcome{}, factors.outcomes.data());
  if (n == 0 || count == 0) return;
  const CurrentDevice current(device.id());
  const bool is_lu = factors.kind == BatchFactorization::lu;
  if (is_lu) factors.pivots = Array<std::int32_t>(device, n * count);
  factor_matrices<<<blocks_of_batch(count), block_threads, 0, stream()>>>(
      batch_of(factors.A), count, is_lu, tolerance, factors.pivots.data(), factors.outcomes.data());
  check(cudaGetLastError());
}

template <>
void substitute_batch_on<CudaTarget>(const batch_detail::Factors<std::complex<double>>& factors,
                                     const DenseBatch<std::complex<double>>& B) {
  using namespace complex_batches;
  if (B.rows() == 0 || B.columns() == 0 || B.count() == 0) return;
  const CurrentDevice current(B.device().id());
  substitute_matrices<<<blocks_of_batch(B.count()), block_threads, 0, stream()>>>(
      batch_of(factors.A), batch_of(B), B.count(), factors.kind == BatchFactorization::lu,
      factors.pivots.data(), factors.outcomes.data());
  check(cudaGetLastError());
}

template <>
void invert_batch_on<CudaTarget>(const DenseBatch<std::complex<double>>& A, double tolerance,
                                 BatchOutcome* outcomes) {
  using namespace complex_batches;
  const std::int64_t n = A.rows();
  if (A.count() == 0 || n == 0) return Cuda(A.device()).fill(A.count(), BatchOutcome{}, outcomes);
  const CurrentDevice current(A.device().id());
  Array<std::int32_t> pivots(A.device(), n * A.count());
  const BatchScratch factors(A.device(), n, n, A.count());
  invert_matrices<<<blocks_of_batch(A.count()), block_threads, 0, stream()>>>(
      batch_of(A), factors.batch, A.count(), tolerance, pivots.data(), outcomes);
  check(cudaGetLastError());
}

template <>
void solve_batch_on<CudaTarget>(const DenseBatch<const std::complex<double>>& A,
                                const DenseBatch<std::complex<double>>& B, double tolerance,
                                std::int64_t refine, BatchOutcome* outcomes) {
  using namespace complex_batches;
  const std::int64_t n = A.rows();
  const std::int64_t count = A.count();
  if (count == 0 || n == 0) return Cuda(A.device()).fill(count, BatchOutcome{}, outcomes);
  const CurrentDevice current(A.device().id());
  Array<std::int32_t> pivots(A.device(), n * count);
  const BatchScratch factors(A.device(), n, n, count);
  const BatchScratch residuals(A.device(), n, B.columns(), 2 * count);  // right-hand sides, and corrections
  const ComplexMatrices given{const_cast<T*>(A.data()), A.leading(), A.stride(), n, static_cast<int>(n)};
  solve_matrices<<<blocks_of_batch(count), block_threads, 0, stream()>>>(
      given, factors.batch, batch_of(B), residuals.batch, count, tolerance, refine, pivots.data(), outcomes);
  check(cudaGetLastError());
}

}  // namespace echelon
