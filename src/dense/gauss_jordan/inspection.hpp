// SPDX-License-Identifier: BSD-3-Clause
/// Inspection of a matrix before and after its inversion, in one pass: a scan, and two products with vectors.
///
/// For a vector v from a hash of the index, which no structure of A is likely to share, A^-1 (A v) should be
/// v, and (v^T A) A^-1 should be v^T.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"
#include "support/hash.hpp"
#include "support/scalar.hpp"

#include <cmath>
#include <cstdint>

namespace echelon {

/// Element i of v: a sign times a number from 0.74 to 1.24, of 20 random bits and with a mean square of 1.
/// Magnitudes differ, so that equal residuals in a few rows do not cancel. Exact in float.
template <class T>
ECHELON_ANYWHERE T test_vector_at(std::int64_t i) {
  const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
  const auto fraction = static_cast<double>((bits >> 43U) & 0xfffffU) * 0x1p-21;
  const double magnitude = 0x1.7aap-1 + fraction;
  return static_cast<Real<T>>((bits >> 63U) == 0 ? magnitude : -magnitude);
}

/// Sets v to the test vector.
template <class T>
struct SetTestVector {
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { v[i] = test_vector_at<T>(i); }
};

/// Distance of a vector from v.
struct Distance {
  double squares = 0;
  Largest largest = {};
  friend ECHELON_ANYWHERE Distance combine(Distance a, Distance b) {
    return {a.squares + b.squares, combine(a.largest, b.largest)};
  }
};
template <class T>
ECHELON_ANYWHERE Distance distance_from_test_vector(T x, std::int64_t i) {
  const Dot<T> off = static_cast<Dot<T>>(x) - Dot<T>{test_vector_at<double>(i)};
  return {squared_magnitude(off), {magnitude(off)}};
}
struct Distances {
  Distance from_right, from_left;
  friend ECHELON_ANYWHERE Distances combine(Distances a, Distances b) {
    return {combine(a.from_right, b.from_right), combine(a.from_left, b.from_left)};
  }
};

/// Distances of element i of A v and of v^T A from v, for a reduction over i.
template <class T>
struct DistancesAt {
  const T* right;
  const T* left;
  ECHELON_ANYWHERE Distances operator()(std::int64_t i) const {
    return {distance_from_test_vector(right[i], i), distance_from_test_vector(left[i], i)};
  }
};

struct MatrixInspection {
  MatrixScan scan;
  Distances distances;  ///< of the products
};

/// Vectors to be multiplied and their products: n elements each, in the backend's memory.
template <class T>
struct InspectionVectors {
  const T* right = nullptr;    ///< x of A x; null: v
  const T* left = nullptr;     ///< y of y^T A; null: v
  T* right_product = nullptr;  ///< null: not stored
  T* left_product = nullptr;
};

/// Inspects a square A, and copies `state` to `state_copy` unless it is null. Queued: the backend's work
/// writes `result`. Reads A once on a GPU. `row_sums`: as for `scan`.
template <class T>
void inspect(Host& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state = nullptr,
             EliminationState* state_copy = nullptr);
template <class T>
void inspect(Cuda& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state = nullptr,
             EliminationState* state_copy = nullptr);
template <class T>
void inspect(OpenCl& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state = nullptr,
             EliminationState* state_copy = nullptr);

}  // namespace echelon
