// SPDX-License-Identifier: BSD-3-Clause
/// Loop bodies and a dot product of the BDDC preconditioner on a GPU.
#pragma once

#include "backend/cuda/warp.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace echelon::bddc {

inline constexpr int product_threads = 256;

/// Dot product of `count` elements of a column and of x, by a warp; x is taken at `places` unless these are
/// null. All lanes return it.
__device__ inline double warp_dot(const double* column, const double* x, const std::int32_t* places,
                                  std::int64_t count) {
  constexpr int together = 4;
  double sums[together] = {};
  std::int64_t i = lane_id();
  for (; i + (together - 1) * warp_size < count; i += together * warp_size) {
#pragma unroll
    for (int k = 0; k < together; ++k) {
      const std::int64_t at = i + k * warp_size;
      sums[k] += column[at] * x[places == nullptr ? at : places[at]];
    }
  }
  for (; i < count; i += warp_size) sums[0] += column[i] * x[places == nullptr ? i : places[i]];
  return LogicalWarp<>::all_reduce((sums[0] + sums[1]) + (sums[2] + sums[3]), Plus());
}

/// Dense matrices of all subdomains, column by column: columns of subdomain s have the length of its
/// boundary, and x is a vector along the interface.
struct BoundaryProduct {
  std::int64_t columns;              ///< of all matrices
  const std::int32_t* subdomain;     ///< of each column
  const std::int64_t* first_column;  ///< of each subdomain
  const std::int64_t* begin;         ///< of each subdomain in `matrices`
  const double* matrices;
  const std::int64_t* boundary_begin;  ///< of each subdomain in `places`
  const std::int32_t* places;          ///< in the interface
};

/// target[t] = the sum of source over the places of t.
struct SumPlaces {
  const std::int64_t* begin;
  const std::int64_t* places;
  const double* source;
  double* target;
  __device__ void operator()(std::int64_t t) const {
    double sum = 0;
    for (std::int64_t k = begin[t]; k < begin[t + 1]; ++k) sum += source[places[k]];
    target[t] = sum;
  }
};

/// Sums as SumPlaces does a source to which the product of each subdomain's basis with the coarse solution u
/// is added.
struct SumWithCoarse {
  SumPlaces sum;
  const std::int32_t* subdomain;       ///< of each place
  const std::int64_t* boundary_begin;  ///< of each subdomain
  const std::int64_t* coarse_begin;    ///< of each subdomain in `numbers`
  const std::int32_t* numbers;
  const std::int64_t* basis_begin;
  const double* basis;
  const double* u;
  __device__ void operator()(std::int64_t t) const {
    double total = 0;
    for (std::int64_t k = sum.begin[t]; k < sum.begin[t + 1]; ++k) {
      const std::int64_t place = sum.places[k];
      const std::int32_t s = subdomain[place];
      const std::int64_t size = boundary_begin[s + 1] - boundary_begin[s];
      const double* row = basis + basis_begin[s] + (place - boundary_begin[s]);
      double value = sum.source[place];
      for (std::int64_t c = coarse_begin[s]; c < coarse_begin[s + 1]; ++c, row += size)
        value += *row * u[numbers[c]];
      total += value;
    }
    sum.target[t] = total;
  }
};

/// target[to[i]] = source[from[i]]; a null list stands for all indices.
struct CopyIndexed {
  const std::int32_t* from;
  const double* source;
  const std::int32_t* to;
  double* target;
  __device__ void operator()(std::int64_t i) const {
    target[to == nullptr ? i : to[i]] = source[from == nullptr ? i : from[i]];
  }
};

/// target[to[i]] += source[from[i]]; a null list stands for all indices.
struct AddElements {
  const std::int32_t* from;
  const double* source;
  const std::int32_t* to;
  double* target;
  __device__ void operator()(std::int64_t i) const {
    target[to == nullptr ? i : to[i]] += source[from == nullptr ? i : from[i]];
  }
};

/// Sets A to zeros, or to the identity.
struct SetDiagonal {
  std::int64_t rows;
  double value;
  double* A;
  __device__ void operator()(std::int64_t e) const { A[e] = e % rows == e / rows ? value : 0; }
};

/// N(places[i], places[j]) += P(i, j).
struct AddAtPlaces {
  std::int64_t size;
  const std::int32_t* places;
  const double* P;
  std::int64_t rows;
  double* N;
  __device__ void operator()(std::int64_t e) const {
    N[places[e % size] + std::int64_t{places[e / size]} * rows] += P[e];
  }
};

/// D(places[i], places[j]) = B(i, j).
struct PutAtPlaces {
  std::int64_t size;
  const std::int32_t* places;
  const double* B;
  std::int64_t rows;
  double* D;
  __device__ void operator()(std::int64_t e) const {
    D[places[e % size] + std::int64_t{places[e / size]} * rows] = B[e];
  }
};

/// Puts a diagonal into D.
struct PutDiagonal {
  std::int64_t rows;
  const double* diagonal;
  double* D;
  __device__ void operator()(std::int64_t i) const { D[i * (rows + 1)] = diagonal[i]; }
};

/// N(i, j) = d_i d_j (N(i, j) + N(j, i)) / 2; without d, it is 1.
struct ScaleSymmetric {
  std::int64_t rows;
  const double* d;
  double* N;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t i = e % rows;
    const std::int64_t j = e / rows;
    if (i > j) return;
    const double value = 0.5 * (N[i + j * rows] + N[j + i * rows]) * (d == nullptr ? 1 : d[i] * d[j]);
    N[i + j * rows] = value;
    N[j + i * rows] = value;
  }
};

}  // namespace echelon::bddc
