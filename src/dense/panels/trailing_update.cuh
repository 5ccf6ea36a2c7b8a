// SPDX-License-Identifier: BSD-3-Clause
/// Update of the other columns of a leaf with an eliminated inner block: members of ClusterPanel.
#pragma once

#include "backend/cuda/mma.cuh"
#include "dense/panels/cluster_panel.cuh"

namespace echelon::panel_kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Products of fragments of 8 by 8 on the tensor cores, whose row-major results are the transposes of the
// column-major tiles.
template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::update_tile(int row, int column) requires(
    sizeof(T) == 8) {
  double2 x[2][4];
  double* X = panel_ + (column + lane_ / 4) * leading_ + row + lane_ % 4 * 2;
#pragma unroll
  for (int c = 0; c < 2; ++c) {
#pragma unroll
    for (int r = 0; r < 4; ++r) x[c][r] = *reinterpret_cast<double2*>(X + c * 8 * leading_ + r * 8);
  }
  const double* G = panel_ + (pending_inner_block_ + lane_ % 4) * leading_ + row + lane_ / 4;
  const double* W = W_ + (column + lane_ / 4) * padded_inner_block + lane_ % 4;
#pragma unroll
  for (int k = 0; k < inner_block; k += 4) {
    double g[4];
    double w[2];
#pragma unroll
    for (int r = 0; r < 4; ++r) g[r] = G[k * leading_ + r * 8];
#pragma unroll
    for (int c = 0; c < 2; ++c) w[c] = W[c * 8 * padded_inner_block + k];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int r = 0; r < 4; ++r) mma::multiply_add_8x8x4(x[c][r], w[c], g[r]);
    }
  }
#pragma unroll
  for (int c = 0; c < 2; ++c) {
#pragma unroll
    for (int r = 0; r < 4; ++r) *reinterpret_cast<double2*>(X + c * 8 * leading_ + r * 8) = x[c][r];
  }
}

// Four columns and two pairs of rows for each lane.
template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::update_tile(
    int first_row, int first_column) requires(sizeof(T) == 4) {
  const float* G = panel_ + pending_inner_block_ * leading_;
  const int row = first_row + lane_ % 8 * 2;
  const int column = first_column + lane_ / 8 * 4;
  T* X = panel_ + column * leading_ + row;
  float2 x[4][2];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int r = 0; r < 2; ++r) x[c][r] = *reinterpret_cast<float2*>(X + c * leading_ + r * 16);
  }
#pragma unroll 4
  for (int k = 0; k < inner_block; k += 2) {
    float2 g[2][2];
    float2 w[4];
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        g[kk][r] = *reinterpret_cast<const float2*>(G + (k + kk) * leading_ + row + r * 16);
      }
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      w[c] = *reinterpret_cast<const float2*>(W_ + (column + c) * padded_inner_block + k);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        x[c][r].x += g[0][r].x * w[c].x;
        x[c][r].y += g[0][r].y * w[c].x;
        x[c][r].x += g[1][r].x * w[c].y;
        x[c][r].y += g[1][r].y * w[c].y;
      }
    }
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
#pragma unroll
    for (int r = 0; r < 2; ++r) *reinterpret_cast<float2*>(X + c * leading_ + r * 16) = x[c][r];
  }
}

#endif

}  // namespace echelon::panel_kernels
