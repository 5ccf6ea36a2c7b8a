// SPDX-License-Identifier: BSD-3-Clause
// Inverses of diagonal blocks, and triangular solves with them.
#include "backend/cuda/flags.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/lu/cuda/substitution.cuh"
#include "dense/lu/workspace.cuh"
#include "linalg/spmv/multiply.hpp"

#include <echelon/linalg.hpp>

#include <algorithm>
#include <cmath>

namespace echelon::lu {

namespace {

constexpr int block = diagonal_block;
constexpr int threads = 256;
constexpr int leading = block + 1;  // in shared memory
constexpr int small = 32;           // rows of a block that a warp inverts

/// Computes x = T^-1 e_j for the lower triangle T of `small` rows, by lane j.
template <class T>
__device__ void invert_small(const T* triangle, int lane, bool unit, T (&x)[small]) {
#pragma unroll
  for (int i = 0; i < small; ++i) x[i] = i == lane ? T{1} : T{0};
  const T reciprocal = unit ? T{1} : T{1} / triangle[lane * leading + lane];
#pragma unroll
  for (int k = 0; k < small; ++k) {
    if (!unit) x[k] *= __shfl_sync(0xffffffffU, reciprocal, k);
#pragma unroll
    for (int i = k + 1; i < small; ++i) x[i] -= triangle[k * leading + i] * x[k];
  }
}

/// Computes C = alpha A B for blocks of `size` rows and columns in shared memory: 4 by 4 elements by each of
/// the first size^2 / 16 threads from `first` on.
template <int size, class T>
__device__ void multiply_blocks(int first, T alpha, const T* A, const T* B, T* C) {
  constexpr int across = size / 4;
  const int e = static_cast<int>(threadIdx.x) - first;
  if (e < 0 || e >= across * across) return;
  const int i = e % across;
  const int j = e / across;
  T sum[4][4] = {};
#pragma unroll 4
  for (int k = 0; k < size; ++k) {
    T a[4];
    T b[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      a[r] = A[k * leading + i + r * across];
      b[r] = B[(j + r * across) * leading + k];
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int r = 0; r < 4; ++r) sum[c][r] += a[r] * b[c];
    }
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int r = 0; r < 4; ++r) C[(j + c * across) * leading + i + r * across] = alpha * sum[c][r];
  }
}

/// Step of invert_lower from triangles of `half` rows to triangles of twice as many, all at the same time.
template <int half, class T>
__device__ void join_halves(T* triangle, T* product) {
  constexpr int pairs = block / (2 * half);
#pragma unroll
  for (int pair = 0; pair < pairs; ++pair) {
    T* const upper = triangle + pair * 2 * half * (leading + 1);
    multiply_blocks<half>(pair * half * half / 16, T{1}, upper + half, upper,
                          product + pair * half * leading);
  }
  __syncthreads();
#pragma unroll
  for (int pair = 0; pair < pairs; ++pair) {
    T* const upper = triangle + pair * 2 * half * (leading + 1);
    T* const lower = upper + half * (leading + 1);
    multiply_blocks<half>(pair * half * half / 16, T{-1}, lower, product + pair * half * leading,
                          upper + half);
  }
  __syncthreads();
}

/// Inverts a lower triangle in place by halves: [A 0; C B]^-1 = [A^-1 0; -B^-1 C A^-1 B^-1]. The columns of
/// the right half receive products above the diagonal blocks.
template <class T>
__device__ void invert_lower(T* triangle, bool unit) {
  T* const product = triangle + block / 2 * leading;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (warp < block / small) {
    T* const own = triangle + warp * small * (leading + 1);
    T x[small];
    invert_small(own, lane, unit, x);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < small; ++i) own[lane * leading + i] = x[i];
  }
  __syncthreads();
  join_halves<small>(triangle, product);
  join_halves<2 * small>(triangle, product);
}

template <class T>
constexpr std::size_t inversion_bytes = sizeof(T) * leading* block;

/// Inverts triangles, one by each block: first those of L, then, in additional blocks, those of U, which are
/// transposed to lower triangles.
template <class T>
__global__ void __launch_bounds__(threads) invert_blocks(DenseView<const T> factors, T* inverses) {
  extern __shared__ double2 inversion_shared[];
  T* const triangle = reinterpret_cast<T*>(inversion_shared);
  const int blocks = static_cast<int>((factors.rows() + block - 1) / block);
  const bool upper = static_cast<int>(blockIdx.x) >= blocks;
  const std::int64_t first = std::int64_t{static_cast<int>(blockIdx.x) % blocks} * block;
  const int there = static_cast<int>(min(std::int64_t{block}, factors.rows() - first));
  const T* const from = factors.data() + first * (factors.leading() + 1);
  const int i = static_cast<int>(threadIdx.x) % block;
#pragma unroll 16
  for (int j = static_cast<int>(threadIdx.x) / block; j < block; j += threads / block) {
    const bool wanted = i < there && j < there && (upper ? i <= j : i > j);
    T value = i == j ? T{1} : T{0};
    if (wanted) value = from[j * factors.leading() + i];
    triangle[upper ? i * leading + j : j * leading + i] = value;
  }
  __syncthreads();
  invert_lower(triangle, !upper);
  T* const to = inverses + std::int64_t{blockIdx.x} * block * block;
#pragma unroll 8
  for (int j = static_cast<int>(threadIdx.x) / block; j < block; j += threads / block) {
    const bool stored = upper ? i <= j : i >= j;
    to[j * block + i] = stored ? triangle[upper ? i * leading + j : j * leading + i] : T{0};
  }
}

/// Waits until `count` steps are complete; `seen` steps are already known to be complete.
__device__ inline void wait_for(const unsigned* progress, unsigned count, unsigned& seen) {
  Watchdog watchdog;
  while (seen < count) {
    seen = load_acquire(progress);
    watchdog.poll();
  }
}
__device__ inline void store_release(unsigned* p, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

constexpr int warps = threads / 32;
constexpr int halves = threads / block;
constexpr int elements = block * block / threads;  // of a block of the matrix that a thread holds

/// A block of the matrix, or its transpose, in registers. Not transposed: a thread has half of a row.
/// Transposed: a warp has every 8th column of the block, whose rows its lanes share.
template <class T, bool transposed>
struct MatrixBlock {
  T at[elements];

  /// Loads the block. Elements outside of `rows` and `columns` count as zero.
  __device__ void load(const T* __restrict__ from, std::int64_t leading_from, int rows, int columns) {
    const int t = static_cast<int>(threadIdx.x);
    if constexpr (!transposed) {
      const int i = t % block;
      const int first = t / block * (block / halves);
#pragma unroll
      for (int k = 0; k < elements; ++k) {
        at[k] = i < rows && first + k < columns ? __ldg(from + (first + k) * leading_from + i) : T{0};
      }
    } else {
      const int lane = t % 32;
      const int warp = t / 32;
#pragma unroll
      for (int k = 0; k < elements; ++k) {
        const int i = lane + k % 4 * 32;
        const int j = warp + k / 4 * warps;
        at[k] = i < rows && j < columns ? __ldg(from + j * leading_from + i) : T{0};
      }
    }
  }
  static constexpr int sums = transposed ? elements / 4 : 1;

  /// Computes sum += this x, where x is in shared memory.
  __device__ void multiply_add(const T* x, T (&sum)[sums]) const {
    const int t = static_cast<int>(threadIdx.x);
    if constexpr (!transposed) {
      const int first = t / block * (block / halves);
      T part[4] = {};
#pragma unroll
      for (int k = 0; k < elements; ++k) part[k % 4] += at[k] * x[first + k];
      sum[0] += (part[0] + part[1]) + (part[2] + part[3]);
    } else {
      const int lane = t % 32;
#pragma unroll
      for (int k = 0; k < elements; ++k) sum[k / 4] += at[k] * x[lane + k % 4 * 32];
    }
  }
  /// Computes result[i] = sums over threads; result is in shared memory. Barriers before and after.
  __device__ static void combine(const T (&sum)[sums], T* result, T* scratch) {
    const int t = static_cast<int>(threadIdx.x);
    if constexpr (!transposed) {
      if (t >= block) scratch[t - block] = sum[0];
      __syncthreads();
      if (t < block) result[t] = sum[0] + scratch[t];
    } else {
      const int lane = t % 32;
      const int warp = t / 32;
#pragma unroll
      for (int k = 0; k < sums; ++k) {
        T value = sum[k];
#pragma unroll
        for (int delta = 16; delta > 0; delta /= 2) value += __shfl_xor_sync(0xffffffffU, value, delta);
        if (lane == 0) result[warp + k * warps] = value;
      }
    }
    __syncthreads();
  }
};

/// Arguments of a solve with one vector.
template <class T>
struct VectorSolve {
  LuSubstitution<T> factors;
  const T* b;
  T* x;
  T* y;  ///< result of the first triangle
  unsigned* progress;
};

/// Solves with one triangle, block row after block row; block row q belongs to step q or, backwards, to step
/// blocks - 1 - q. Each thread block has every gridDim.x-th step and waits for the preceding steps.
template <class T, bool transposed, bool lower, class Read, class Write>
__device__ void solve_triangle(const VectorSolve<T>& job, unsigned done_before, const Read& read,
                               const Write& write) {
  constexpr bool forward = lower != transposed;
  using Block = MatrixBlock<T, transposed>;
  __shared__ T x[block];
  __shared__ T scratch[block];
  __shared__ T right[block];
  const DenseView<const T>& A = job.factors.factors;
  const int n = static_cast<int>(A.rows());
  const int blocks = (n + block - 1) / block;
  const int t = static_cast<int>(threadIdx.x);
  const T* const inverses = job.factors.inverses + (lower ? 0 : std::int64_t{blocks} * block * block);
  unsigned seen = 0;
  for (int step = static_cast<int>(blockIdx.x); step < blocks; step += static_cast<int>(gridDim.x)) {
    const int own = forward ? step : blocks - 1 - step;
    const int own_rows = min(block, n - own * block);
    T sum[Block::sums] = {};
    for (int before = 0; before < step; ++before) {
      const int other = forward ? before : blocks - 1 - before;
      const int other_rows = min(block, n - other * block);
      Block a;
      const std::int64_t row = std::int64_t{transposed ? other : own} * block;
      const std::int64_t column = std::int64_t{transposed ? own : other} * block;
      a.load(A.data() + column * A.leading() + row, A.leading(), transposed ? other_rows : own_rows,
             transposed ? own_rows : other_rows);
      if (t == 0) wait_for(job.progress, done_before + static_cast<unsigned>(before) + 1, seen);
      __syncthreads();
      if (t < block) x[t] = t < other_rows ? write.result(other * block + t) : T{0};
      __syncthreads();
      a.multiply_add(x, sum);
    }
    Block inverse;
    inverse.load(inverses + std::int64_t{own} * block * block, block, block, block);
    if (t == 0) wait_for(job.progress, done_before + static_cast<unsigned>(step), seen);
    __syncthreads();
    Block::combine(sum, right, scratch);
    if (t < block) x[t] = t < own_rows ? read(own * block + t) - right[t] : T{0};
    __syncthreads();
    T solved[Block::sums] = {};
    inverse.multiply_add(x, solved);
    Block::combine(solved, right, scratch);
    if (t < own_rows) write(own * block + t, right[t]);
    __threadfence();
    __syncthreads();
    if (t == 0) store_release(job.progress, done_before + static_cast<unsigned>(step) + 1);
  }
}

/// Element i of a vector in natural or permuted order.
template <class T>
struct ReadVector {
  const T* vector;
  const int* order;   // null: natural
  bool written_here;  // by other blocks of the same kernel
  __device__ T operator()(int i) const {
    const T* at = vector + (order == nullptr ? i : order[i]);
    return written_here ? __ldcg(at) : *at;
  }
};
/// Stores the result of a triangle, and its elements also in another order.
template <class T>
struct WriteVector {
  T* vector;
  T* permuted;  // null: only in natural order
  const int* order;
  __device__ void operator()(int i, T value) const {
    __stcg(vector + i, value);
    if (permuted != nullptr) permuted[order[i]] = value;
  }
  __device__ T result(int i) const { return __ldcg(vector + i); }
};

template <class T, bool transposed>
__global__ void __launch_bounds__(threads, 1) solve_vector(const VectorSolve<T> job) {
  const auto blocks = static_cast<unsigned>((job.factors.factors.rows() + block - 1) / block);
  const int* const order = job.factors.permutation;
  if constexpr (!transposed) {
    solve_triangle<T, false, true>(job, 0, ReadVector<T>{job.b, order, false},
                                   WriteVector<T>{job.y, nullptr, nullptr});
    solve_triangle<T, false, false>(job, blocks, ReadVector<T>{job.y, nullptr, true},
                                    WriteVector<T>{job.x, nullptr, nullptr});
  } else {
    solve_triangle<T, true, false>(job, 0, ReadVector<T>{job.b, nullptr, false},
                                   WriteVector<T>{job.y, nullptr, nullptr});
    solve_triangle<T, true, true>(job, blocks, ReadVector<T>{job.y, nullptr, true},
                                  WriteVector<T>{job.y + job.factors.factors.rows(), job.x, order});
  }
  // The block of the last step resets the counter, since no block waits for it afterwards.
  if ((blocks - 1) % gridDim.x == blockIdx.x && threadIdx.x == 0) store_release(job.progress, 0);
}

/// Permutes Y(i, j) = X(order[i], j) for element i + j n, or X(order[i], j) = Y(i, j).
template <class T>
struct PermuteRows {
  const int* order;
  bool gathers;
  DenseView<T> X, Y;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / X.rows();
    const std::int64_t i = e - j * X.rows();
    T& natural = X.data()[order[i] + j * X.leading()];
    T& permuted = Y.data()[i + j * Y.leading()];
    (gathers ? permuted : natural) = gathers ? natural : permuted;
  }
};

/// Triangular solves with many right-hand sides, by products of matrices.
template <class T>
class BlockedSolve {
 public:
  BlockedSolve(Cuda& backend, bool transposed, const LuSubstitution<T>& factors)
      : backend_(backend), transposed_(transposed), factors_(factors) {}

  /// Computes X = T^-1 Y for the lower triangle or the upper one, or its transpose; destroys Y.
  void solve(bool lower, DenseView<T> Y, DenseView<T> X) const {
    solve_rows(lower, 0, (X.rows() + block - 1) / block, Y, X);
  }

 private:
  /// Block rows [first, last), to which the others have been applied, by halves.
  void solve_rows(bool lower, std::int64_t first, std::int64_t last, DenseView<T> Y, DenseView<T> X) const {
    if (last - first == 1) {
      const std::int64_t n = X.rows();
      const std::int64_t rows = std::min<std::int64_t>(block, n - first * block);
      const std::int64_t blocks = (n + block - 1) / block;
      const T* const inverse = factors_.inverses + (first + (lower ? 0 : blocks)) * block * block;
      const DenseView<const T> diagonal(inverse, rows, rows, block, X.device());
      gemm<T>(backend_, T{1}, transposed_ ? echelon::transposed(diagonal) : diagonal, rows_of(Y, first, last),
              T{0}, rows_of(X, first, last));
      return;
    }
    const std::int64_t middle = first + (last - first + 1) / 2;
    const bool forward = lower != transposed_;
    if (forward) {
      solve_rows(lower, first, middle, Y, X);
      subtract(first, middle, middle, last, Y, X);
      solve_rows(lower, middle, last, Y, X);
    } else {
      solve_rows(lower, middle, last, Y, X);
      subtract(middle, last, first, middle, Y, X);
      solve_rows(lower, first, middle, Y, X);
    }
  }

  /// Y in block rows [to_first, to_last) -= T X in block rows [first, last).
  void subtract(std::int64_t first, std::int64_t last, std::int64_t to_first, std::int64_t to_last,
                DenseView<T> Y, DenseView<T> X) const {
    const DenseView<T> solved = rows_of(X, first, last);
    const DenseView<T> target = rows_of(Y, to_first, to_last);
    const std::int64_t row = (transposed_ ? first : to_first) * block;
    const std::int64_t column = (transposed_ ? to_first : first) * block;
    const DenseView<const T>& A = factors_.factors;
    const DenseView<const T> part(A.data() + row + column * A.leading(),
                                  transposed_ ? solved.rows() : target.rows(),
                                  transposed_ ? target.rows() : solved.rows(), A.leading(), A.device());
    gemm<T>(backend_, T{-1}, transposed_ ? echelon::transposed(part) : part, solved, T{1}, target);
  }

  static DenseView<T> rows_of(DenseView<T> X, std::int64_t first, std::int64_t last) {
    const std::int64_t row = first * block;
    return {X.data() + row, std::min(last * block, X.rows()) - row, X.columns(), X.leading(), X.device()};
  }

  Cuda& backend_;
  bool transposed_;
  LuSubstitution<T> factors_;
};

/// Computes X = A^-1 X, or A^-T X; Y is a workspace of the same shape.
template <class T>
void substitute_matrix(Cuda& backend, bool transposed, const LuSubstitution<T>& factors, DenseView<T> X,
                       DenseView<T> Y) {
  const BlockedSolve<T> solve(backend, transposed, factors);
  const std::int64_t count = X.rows() * X.columns();
  if (!transposed) {
    backend.for_each(count, PermuteRows<T>{factors.permutation, true, X, Y});
    solve.solve(true, Y, X);
    solve.solve(false, X, Y);
    check(cudaMemcpy2DAsync(
        X.data(), static_cast<std::size_t>(X.leading()) * sizeof(T), Y.data(),
        static_cast<std::size_t>(Y.leading()) * sizeof(T), static_cast<std::size_t>(X.rows()) * sizeof(T),
        static_cast<std::size_t>(X.columns()), cudaMemcpyDeviceToDevice, ::echelon::stream()));
  } else {
    check(cudaMemcpy2DAsync(
        Y.data(), static_cast<std::size_t>(Y.leading()) * sizeof(T), X.data(),
        static_cast<std::size_t>(X.leading()) * sizeof(T), static_cast<std::size_t>(X.rows()) * sizeof(T),
        static_cast<std::size_t>(X.columns()), cudaMemcpyDeviceToDevice, ::echelon::stream()));
    solve.solve(false, Y, X);
    solve.solve(true, X, Y);
    backend.for_each(count, PermuteRows<T>{factors.permutation, false, X, Y});
  }
}

}  // namespace

template <class T>
void invert_diagonal_blocks(const StreamContext& context, DenseView<const T> factors, bool only_lower,
                            T* inverses) {
  if (factors.rows() == 0) return;
  const CurrentDevice current(context.backend.device().id());
  const auto blocks = static_cast<unsigned>((factors.rows() + block - 1) / block);
  allow_shared_memory(invert_blocks<T>);
  invert_blocks<T>
      <<<(only_lower ? 1 : 2) * blocks, threads, inversion_bytes<T>, context.stream>>>(factors, inverses);
  check(cudaGetLastError());
}

template <class T>
void solve_unit_lower(Cuda& backend, DenseView<const T> L, const T* inverses, DenseView<T> Y,
                      DenseView<T> X) {
  BlockedSolve<T>(backend, false, {L, inverses, nullptr}).solve(true, Y, X);
}

template <class T>
void substitute_vectors(Cuda& backend, bool transposed, const LuSubstitution<T>& factors,
                        DenseView<const T> B, DenseView<T> X, T* Y, unsigned* progress) {
  const std::int64_t n = factors.factors.rows();
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t max_blocks = 128;  // resident at the same time on a large GPU
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((n + block - 1) / block, max_blocks));
  for (std::int64_t j = 0; j < B.columns(); ++j) {
    const VectorSolve<T> job{factors, B.column(j), X.column(j), Y, progress};
    const auto kernel = transposed ? solve_vector<T, true> : solve_vector<T, false>;
    kernel<<<blocks, threads, 0, ::echelon::stream()>>>(job);
    check(cudaGetLastError());
  }
}

template <class T>
void substitute(Cuda& backend, const FactorWorkspace<Cuda, T>& workspace, bool transposed,
                DenseView<const T> factors, const std::int64_t* /*pivots*/, DenseView<T> X) {
  constexpr std::int64_t max_vectors = 4;  // more right-hand sides are solved together, by products
  const std::int64_t n = factors.rows();
  if (n == 0 || X.columns() == 0) return;
  const CurrentDevice current(backend.device().id());
  const LuSubstitution<T> substitution{factors, workspace.inverses.data(), workspace.permutation.data()};
  const std::int64_t columns = std::max<std::int64_t>(X.columns(), 2);
  T* const Y = static_cast<T*>(backend.scratch(static_cast<std::size_t>(n * columns) * sizeof(T)));
  if (X.columns() <= max_vectors) {
    substitute_vectors<T>(backend, transposed, substitution, X, X, Y, backend.counters(1));
  } else {
    substitute_matrix<T>(backend, transposed, substitution, X, {Y, n, X.columns(), n, X.device()});
  }
}

template void substitute(Cuda&, const FactorWorkspace<Cuda, float>&, bool, DenseView<const float>,
                         const std::int64_t*, DenseView<float>);
template void substitute(Cuda&, const FactorWorkspace<Cuda, double>&, bool, DenseView<const double>,
                         const std::int64_t*, DenseView<double>);
template void invert_diagonal_blocks(const StreamContext&, DenseView<const float>, bool, float*);
template void invert_diagonal_blocks(const StreamContext&, DenseView<const double>, bool, double*);
template void solve_unit_lower(Cuda&, DenseView<const float>, const float*, DenseView<float>,
                               DenseView<float>);
template void solve_unit_lower(Cuda&, DenseView<const double>, const double*, DenseView<double>,
                               DenseView<double>);
template void substitute_vectors(Cuda&, bool, const LuSubstitution<float>&, DenseView<const float>,
                                 DenseView<float>, float*, unsigned*);
template void substitute_vectors(Cuda&, bool, const LuSubstitution<double>&, DenseView<const double>,
                                 DenseView<double>, double*, unsigned*);

}  // namespace echelon::lu
