// SPDX-License-Identifier: BSD-3-Clause
/// Check of a dense matrix on a GPU for symmetry.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "solver/factor_status.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace echelon::dense_symmetric {

inline constexpr int square = 32;  ///< side of the squares that are compared with their mirror images
inline constexpr int square_rows_at_once = cuda_kernels::block_size / square;

/// Order in which the host compares the places below the diagonal: square by square.
struct PlaceOrder {
  std::int64_t squares;  ///< in a row
  [[nodiscard]] ECHELON_ANYWHERE unsigned long long operator()(std::int64_t i, std::int64_t j) const {
    return static_cast<unsigned long long>(
        ((j / square * squares + i / square) * square + j % square) * square + i % square);
  }
  [[nodiscard]] std::int64_t row(unsigned long long place) const {
    return static_cast<std::int64_t>(place) / (square * square) % squares * square +
           static_cast<std::int64_t>(place) % square;
  }
  [[nodiscard]] std::int64_t column(unsigned long long place) const {
    return static_cast<std::int64_t>(place) / (square * square) / squares * square +
           static_cast<std::int64_t>(place) / square % square;
  }
};

/// Finds the first place at which a_ij and a_ji differ by more than rounding; one block for each square.
template <class T>
__global__ void __launch_bounds__(cuda_kernels::block_size)
    find_asymmetry(DenseView<const T> A, PlaceOrder order, unsigned long long* first) {
  if (blockIdx.x < blockIdx.y) return;
  __shared__ T mirrored[square][square + 1];
  const int lane = static_cast<int>(threadIdx.x) % square;
  const int start = static_cast<int>(threadIdx.x) / square;
  const std::int64_t top = std::int64_t{blockIdx.x} * square;
  const std::int64_t left = std::int64_t{blockIdx.y} * square;
  for (int k = start; k < square; k += square_rows_at_once) {
    const bool exists = left + lane < A.rows() && top + k < A.rows();
    mirrored[k][lane] = exists ? A.data()[left + lane + (top + k) * A.leading()] : T{0};
  }
  __syncthreads();
  for (int k = start; k < square; k += square_rows_at_once) {
    const std::int64_t i = top + lane;
    const std::int64_t j = left + k;
    if (i >= A.rows() || j >= i) continue;
    const auto below = static_cast<double>(A.data()[i + j * A.leading()]);
    const auto above = static_cast<double>(mirrored[lane][k]);
    const double allowed = symmetry_tolerance<T> * fmax(fabs(below), fabs(above));
    if (fabs(below - above) > allowed) atomicMin(first, order(i, j));
  }
}

/// Row and column of the first asymmetric place, the same as the host's find_asymmetry returns. Waits.
template <class T>
std::optional<std::pair<std::int64_t, std::int64_t>> first_asymmetry(Cuda& backend, DenseView<const T> A) {
  constexpr unsigned long long none = ~0ULL;
  Array<unsigned long long> first(backend.device(), 1);
  backend.fill(1, none, first.data());
  const PlaceOrder order{(A.rows() + square - 1) / square};
  const auto squares = static_cast<unsigned>(order.squares);
  const CurrentDevice current(backend.device().id());
  find_asymmetry<T>
      <<<dim3(squares, squares), cuda_kernels::block_size, 0, stream()>>>(A, order, first.data());
  check(cudaGetLastError());
  const unsigned long long place = backend.read(first.data());
  if (place == none) return std::nullopt;
  return std::pair(order.row(place), order.column(place));
}

}  // namespace echelon::dense_symmetric
