// SPDX-License-Identifier: BSD-3-Clause
#include "dense/lu/cuda/substitution.cuh"
#include "studies/crout/cuda/blocked.cuh"

namespace echelon::crout {

namespace {

/// Scales l_ij = l_ij d_j, u_ij = u_ij / d_i for the diagonal d of A. Each thread has one row.
template <class T>
__global__ void __launch_bounds__(cuda_kernels::block_size) move_diagonal(DenseView<T> A) {
  const std::int64_t i = std::int64_t{blockIdx.x} * cuda_kernels::block_size + threadIdx.x;
  if (i >= A.rows()) return;
  const std::int64_t step = A.leading() + 1;
  const T own = A.data()[i * step];
  for (std::int64_t j = blockIdx.y; j < A.columns(); j += gridDim.y) {
    T& element = A.data()[i + j * A.leading()];
    if (i > j) element *= A.data()[j * step];
    if (i < j) element /= own;
  }
}

/// Rescales the inverses of the diagonal blocks, first those of L, then those of U, to the factors with the
/// diagonal moved: (L D)^-1 = D^-1 L^-1 and (D^-1 U)^-1 = U^-1 D.
template <class T>
__global__ void __launch_bounds__(lu::diagonal_block)
    move_diagonal_of_inverses(DenseView<const T> A, T* inverses) {
  constexpr int block = lu::diagonal_block;
  const auto blocks = static_cast<int>(gridDim.x) / 2;
  const bool upper = static_cast<int>(blockIdx.x) >= blocks;
  const std::int64_t first = std::int64_t{static_cast<int>(blockIdx.x) % blocks} * block;
  const int there = static_cast<int>(min(std::int64_t{block}, A.rows() - first));
  const int i = static_cast<int>(threadIdx.x);
  if (i >= there) return;
  const T* const diagonal = A.data() + first * (A.leading() + 1);
  T* const inverse = inverses + std::int64_t{blockIdx.x} * block * block + i;
  const T own = diagonal[i * (A.leading() + 1)];
  for (int j = static_cast<int>(blockIdx.y); j < there; j += static_cast<int>(gridDim.y)) {
    if (upper && i <= j) inverse[j * block] *= diagonal[j * (A.leading() + 1)];
    if (!upper && i >= j) inverse[j * block] /= own;
  }
}

template <class T>
void give_upper_a_unit_diagonal(DenseView<T> A, T* inverses) {
  constexpr unsigned columns_at_once = 1024;
  constexpr unsigned columns_of_block = 16;
  const auto n = static_cast<unsigned>(A.rows());
  move_diagonal_of_inverses<T>
      <<<dim3(2 * ((n + lu::diagonal_block - 1) / lu::diagonal_block), columns_of_block), lu::diagonal_block,
         0, stream()>>>(A, inverses);
  check(cudaGetLastError());
  const dim3 grid((n + cuda_kernels::block_size - 1) / cuda_kernels::block_size,
                  n < columns_at_once ? n : columns_at_once);
  move_diagonal<T><<<grid, cuda_kernels::block_size, 0, stream()>>>(A);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
lu::LuResult factor_blocked(Cuda& backend, DenseView<T> A, const BlockedSettings& settings,
                            std::int64_t* pivots, BlockedWorkspace<T>& workspace,
                            const CancellationToken& cancel) {
  if (A.rows() == 0) return {};
  if (cancel.stop_requested()) return {.cancelled = true};
  const CurrentDevice current(backend.device().id());
  const SectionIteration<T> iteration{settings.tolerance, workspace.square.data(), workspace.votes.data(),
                                      workspace.counts.data()};
  if (settings.iterated) backend.write(SectionCounts{}, workspace.counts.data());
  lu::queue_factorization<T>(backend, workspace.lu, A, pivots, settings.iterated ? &iteration : nullptr);
  const lu::LuResult result = lu::wait_for_factors(workspace.lu);
  if (result.zero_pivot < 0) give_upper_a_unit_diagonal<T>(A, workspace.lu.inverses.data());
  return result;
}

template lu::LuResult factor_blocked(Cuda&, DenseView<float>, const BlockedSettings&, std::int64_t*,
                                     BlockedWorkspace<float>&, const CancellationToken&);
template lu::LuResult factor_blocked(Cuda&, DenseView<double>, const BlockedSettings&, std::int64_t*,
                                     BlockedWorkspace<double>&, const CancellationToken&);

}  // namespace echelon::crout
