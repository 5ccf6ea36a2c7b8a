// SPDX-License-Identifier: BSD-3-Clause
/// One pass over a matrix that is to be inverted, or has been: what it is like, and two products with it.
///
/// With v a vector of +1 and -1 in an order that no structure is likely to have, A^-1 (A v) should be v, and
/// v^T again (v^T A) A^-1.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"
#include "support/hash.hpp"

#include <cmath>
#include <cstdint>

namespace echelon {

/// The i-th element of v.
template <class T>
ECHELON_ANYWHERE T sign_at(std::int64_t i) {
  const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
  return (bits >> 63U) == 0 ? T{1} : T{-1};
}

/// How far a vector is from v.
struct Distance {
  double squares = 0;
  Largest largest = {};
  friend ECHELON_ANYWHERE Distance combine(Distance a, Distance b) {
    return {a.squares + b.squares, combine(a.largest, b.largest)};
  }
};
ECHELON_ANYWHERE inline Distance distance_from_sign(double x, std::int64_t i) {
  const double off = x - sign_at<double>(i);
  return {off * off, {std::fabs(off)}};
}
struct Distances {
  Distance from_right, from_left;
  friend ECHELON_ANYWHERE Distances combine(Distances a, Distances b) {
    return {combine(a.from_right, b.from_right), combine(a.from_left, b.from_left)};
  }
};

struct MatrixLook {
  MatrixScan scan;
  Distances distances;  ///< of the products
};

/// What is multiplied, and where the products go: n elements each, in the backend's memory.
template <class T>
struct LookVectors {
  const T* right = nullptr;    ///< x of A x; null: v
  const T* left = nullptr;     ///< y of y^T A; null: v
  T* right_product = nullptr;  ///< null: not wanted
  T* left_product = nullptr;
};

/// Looks at a square A. The backend's work writes `result`, and copies the state of an elimination to `note`
/// if there is one; does not wait. Reads A once on a GPU. `row_sums`: as for `scan`.
template <class T>
void look(Serial& backend, DenseView<const T> A, const LookVectors<T>& vectors, double* row_sums,
          MatrixLook* result, const EliminationState* state = nullptr, EliminationState* note = nullptr);
template <class T>
void look(OpenMp& backend, DenseView<const T> A, const LookVectors<T>& vectors, double* row_sums,
          MatrixLook* result, const EliminationState* state = nullptr, EliminationState* note = nullptr);
template <class T>
void look(Cuda& backend, DenseView<const T> A, const LookVectors<T>& vectors, double* row_sums,
          MatrixLook* result, const EliminationState* state = nullptr, EliminationState* note = nullptr);

}  // namespace echelon
