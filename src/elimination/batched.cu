// SPDX-License-Identifier: BSD-3-Clause
// Batches on a GPU: up to 128 rows, each matrix in the registers of a thread block; above, one after the
// other.
#include "elimination/batch_one_by_one.hpp"
#include "elimination/batched.hpp"
#include "elimination/leaf.cuh"

#include <algorithm>
#include <cmath>

namespace echelon {

namespace {

using leaf_kernels::warp_size;

template <class T>
struct BatchJob {
  T* a;  ///< read only, where there are right-hand sides
  std::int64_t leading, stride;
  int n;
  double tolerance;
  T* b;  ///< the right-hand sides, then the solutions; null: the inverse is asked for
  std::int64_t b_leading, b_stride, b_columns;
  std::int64_t refine;
  BatchOutcome* outcomes;
};

template <class T, int lanes, int down, int threads>
class InBlock {
  using Leaf = leaf_kernels::Leaf<T, lanes, down, threads, 1>;

 public:
  static constexpr int rows_of_warp = Leaf::rows_of_warp;

  struct Shared {
    typename Leaf::Shared leaf;
    int origins[Leaf::columns];
    T v[Leaf::columns];
    T x[Leaf::columns];
    T correction[Leaf::columns];
  };

  static __device__ void run(const BatchJob<T>& job, Shared& shared) {
    const std::int64_t matrix = blockIdx.x;
    const LeafJob<T> of_leaf{job.a + matrix * job.stride, job.leading, job.n, job.n, 0, 0, nullptr,
                             {nullptr, nullptr, nullptr}, nullptr};
    Leaf leaf(of_leaf, shared.leaf);
    leaf.load();
    const double tolerance = job.tolerance * leaf.norm_inf();
    const int rotations = leaf.eliminate_all({}, static_cast<double>(static_cast<T>(tolerance)));
    leaf.tell_origins(shared.origins);
    int not_finite = 0;
    leaf.visit(rotations, [&](int, int, T element) { not_finite |= element - element == 0 ? 0 : 1; });
    const bool finite = __syncthreads_or(not_finite) == 0;
    const BatchOutcome outcome = batch_outcome(shared.leaf.state, job.n, leaf.column_without_pivot(), finite);
    if (threadIdx.x == 0) job.outcomes[matrix] = outcome;
    const bool good = outcome.status == Status::direct;
    if (job.b == nullptr) {
      leaf.visit(rotations, [&](int row, int column, T element) {
        of_leaf.a[shared.origins[column] * job.leading + row] = good ? element : static_cast<T>(NAN);
      });
    } else {
      for (std::int64_t k = 0; k < job.b_columns; ++k) {
        solve(job, leaf, shared, rotations, job.b + matrix * job.b_stride + k * job.b_leading, good);
      }
    }
  }

 private:
  /// The inverse's columns are those of the rows where they were pivot rows: v is put in that order.
  static __device__ void solve(const BatchJob<T>& job, const Leaf& leaf, Shared& shared, int rotations, T* b,
                               bool good) {
    const int t = static_cast<int>(threadIdx.x);
    const int step = static_cast<int>(blockDim.x);
    for (int i = t; i < job.n && good; i += step) shared.v[i] = b[shared.origins[i]];
    __syncthreads();
    leaf.multiply(rotations, shared.v, shared.x);
    __syncthreads();
    for (std::int64_t refinement = 0; refinement < job.refine && good; ++refinement) {
      leaf.residual(b, shared.x, shared.correction);
      __syncthreads();
      for (int i = t; i < job.n; i += step) shared.v[i] = shared.correction[shared.origins[i]];
      __syncthreads();
      leaf.multiply(rotations, shared.v, shared.correction);
      __syncthreads();
      for (int i = t; i < job.n; i += step) shared.x[i] += shared.correction[i];
      __syncthreads();
    }
    for (int i = t; i < job.n; i += step) b[i] = good ? shared.x[i] : static_cast<T>(NAN);
    __syncthreads();
  }
};

template <class T, int lanes, int down, int threads>
__global__ void __launch_bounds__(threads) treat_batch(const BatchJob<T> job) {
  extern __shared__ double2 batch_shared[];
  using Block = InBlock<T, lanes, down, threads>;
  Block::run(job, *reinterpret_cast<typename Block::Shared*>(batch_shared));
}

template <class T, int lanes, int down, int threads>
void launch(const BatchJob<T>& job, std::int64_t count) {
  using Block = InBlock<T, lanes, down, threads>;
  constexpr std::size_t bytes = sizeof(typename Block::Shared);
  const int warps = std::max(1, (job.n + Block::rows_of_warp - 1) / Block::rows_of_warp);
  const auto* kernel = reinterpret_cast<const void*>(treat_batch<T, lanes, down, threads>);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  treat_batch<T, lanes, down, threads>
      <<<static_cast<unsigned>(count), static_cast<unsigned>(warps * warp_size), bytes, stream()>>>(job);
  check(cudaGetLastError());
}

constexpr std::int64_t most_in_block = 128;

template <class T>
void treat(const BatchJob<T>& job, std::int64_t count) {
  if (job.n <= 16) {
    launch<T, 1, 1, warp_size>(job, count);
  } else if (job.n <= 32) {
    launch<T, 2, 2, warp_size>(job, count);
  } else if (job.n <= 64) {
    launch<T, 4, 4, 2 * warp_size>(job, count);
  } else {
    launch<T, 8, 4, 8 * warp_size>(job, count);
  }
}

}  // namespace

template <class Side, class T>
void invert_batch_on(const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes) {
  if (A.count == 0 || A.rows == 0) {
    Cuda(A.device).fill(A.count, BatchOutcome{}, outcomes);
  } else if (A.rows <= most_in_block) {
    const CurrentDevice current(A.device.id());
    treat<T>(
        {A.data, A.leading, A.stride, static_cast<int>(A.rows), tolerance, nullptr, 0, 0, 0, 0, outcomes},
        A.count);
  } else {
    OneByOne<Cuda, T> one(A.device, A.rows);
    for (std::int64_t b = 0; b < A.count; ++b) {
      one.backend().write(one.invert(matrix_of(A, b, A.device), tolerance), outcomes + b);
    }
  }
}

template <class Side, class T>
void solve_batch_on(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                    std::int64_t refine, BatchOutcome* outcomes) {
  if (A.count == 0 || A.rows == 0) {
    Cuda(A.device).fill(A.count, BatchOutcome{}, outcomes);
  } else if (A.rows <= most_in_block) {
    const CurrentDevice current(A.device.id());
    treat<T>({const_cast<T*>(A.data), A.leading, A.stride, static_cast<int>(A.rows), tolerance, B.data,
              B.leading, B.stride, B.columns, refine, outcomes},
             A.count);
  } else {
    OneByOne<Cuda, T> one(A.device, A.rows, B.columns);
    for (std::int64_t b = 0; b < A.count; ++b) {
      one.backend().write(one.solve(matrix_of(A, b, A.device), matrix_of(B, b, A.device), tolerance, refine),
                          outcomes + b);
    }
  }
}

template void invert_batch_on<CudaSide>(const DenseBatch<float>&, double, BatchOutcome*);
template void invert_batch_on<CudaSide>(const DenseBatch<double>&, double, BatchOutcome*);
template void solve_batch_on<CudaSide>(const DenseBatch<const float>&, const DenseBatch<float>&, double,
                                       std::int64_t, BatchOutcome*);
template void solve_batch_on<CudaSide>(const DenseBatch<const double>&, const DenseBatch<double>&, double,
                                       std::int64_t, BatchOutcome*);

}  // namespace echelon
