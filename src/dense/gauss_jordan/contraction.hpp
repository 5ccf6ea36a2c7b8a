// SPDX-License-Identifier: BSD-3-Clause
/// Contraction test: whether an approximate inverse C of A reduces errors when it is used for refinement.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/spmv/multiply.hpp"
#include "support/hash.hpp"

#include <echelon/matrix/matrix.hpp>

#include <cmath>
#include <cstdint>
#include <optional>

namespace echelon {

namespace contraction_detail {

/// Sets v to numbers in [-1, 1) from a hash of the index, times the column scales, which undoes their
/// scaling.
template <class S, class T>
struct HashedVector {
  const S* scale;  // null: 1
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
    const double number = symmetric_number(bits);
    v[i] = static_cast<T>(scale == nullptr ? number : number * static_cast<double>(scale[i]));
  }
};

/// Magnitude of the i-th scaled unknown.
template <class S, class T>
struct ScaledMagnitude {
  const S* scale;  // null: 1
  const T* v;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    const double magnitude = std::fabs(static_cast<double>(v[i]));
    return {scale == nullptr ? magnitude : magnitude / static_cast<double>(scale[i])};
  }
};

}  // namespace contraction_detail

/// Applies I - C A, by which each step of refinement multiplies the error, to a vector until a millionth of
/// it is left. Returns the factor of the first step that does not halve it, or nothing if every step does.
///
/// ||I - C A|| < 1 proves that A is regular: a vector of A's null space would not shrink at all.
///
/// `v` and `product` hold n elements; `largest` is one element; all in the backend's memory. `scale`: what
/// A's columns were multiplied by before C was computed, or null. `subtract(product, v)` queues
/// v = v - C product. 2 n^2 flops and a multiplication with C for each step, 3 to 8 as a rule; waits for
/// each.
template <class B, class T, class S, class Subtract>
std::optional<double> find_no_contraction(B& backend, const MatrixRef<T>& A, const S* scale, T* v, T* product,
                                          Largest* largest, const Subtract& subtract) {
  using namespace contraction_detail;
  constexpr double small = 1e-6;
  const std::int64_t n = A.rows();
  if (n == 0) return std::nullopt;
  backend.for_each(n, HashedVector<S, T>{scale, v});
  double before = 1;
  while (before > small) {
    multiply<T>(backend, T{1}, A, v, T{0}, product);
    subtract(product, v);
    backend.reduce(n, ScaledMagnitude<S, T>{scale, v}, Store<Largest>{largest});
    const double after = backend.read(largest).value;
    if (!(after <= before / 2)) return after / before;
    before = after;
  }
  return std::nullopt;
}

}  // namespace echelon
