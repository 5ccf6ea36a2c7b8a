// SPDX-License-Identifier: BSD-3-Clause
/// Contraction test: whether an approximate inverse C of A reduces errors when it is used for refinement.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "support/hash.hpp"
#include "support/scalar.hpp"

#include <cstdint>
#include <optional>

namespace echelon {

/// Sets v to numbers in [-1, 1) from a hash of the index, times the column scales, which undoes their
/// scaling.
template <class S, class T>
struct HashedVector {
  const S* scale;  // null: 1
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
    const double number = symmetric_number(bits);
    v[i] = T{static_cast<Real<T>>(scale == nullptr ? number : number * real(scale[i]))};
  }
};

namespace contraction_detail {

/// Magnitude of the i-th scaled unknown.
template <class S, class T>
struct ScaledUnknownMagnitude {
  const S* scale;  // null: 1
  const T* v;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    const double size = magnitude(v[i]);
    return {scale == nullptr ? size : size / real(scale[i])};
  }
};

}  // namespace contraction_detail

/// How the errors of solutions shrink under refinement.
struct Contraction {
  /// ||e|| after the first step as a fraction of that before: about the machine epsilon times the condition
  /// number, where C is accurate.
  double first = 0;
  /// Factor of the first step that does not halve e; empty if every step does.
  std::optional<double> failed = {};
};

/// Applies I - C A, by which each step of refinement multiplies the error e, to a vector until a millionth of
/// it is left. ||I - C A|| < 1 proves that A is regular: a vector of A's null space, or one that rounding
/// errors of C hide, would not shrink at all.
///
/// `v` and `product` hold n elements; `largest` is one element; all in the backend's memory. `scale`: what
/// A's columns were multiplied by before C was computed, or null; the norm is that of the scaled unknowns.
/// `multiply(v, product)` queues product = A v, and `subtract(product, v)` v = v - C product. Both are called
/// for each step, 3 to 8 times as a rule; waits for each.
template <class B, class T, class S, class Multiply, class Subtract>
Contraction measure_contraction(B& backend, std::int64_t n, const S* scale, T* v, T* product,
                                Largest* largest, const Multiply& multiply, const Subtract& subtract) {
  using namespace contraction_detail;
  constexpr double small = 1e-6;
  Contraction found;
  if (n == 0) return found;
  backend.for_each(n, HashedVector<S, T>{scale, v});
  double before = 1;
  for (bool first = true; before > small; first = false) {
    multiply(v, product);
    subtract(product, v);
    backend.reduce(n, ScaledUnknownMagnitude<S, T>{scale, v}, Store<Largest>{largest});
    const double after = backend.read(largest).value;
    if (first) found.first = after;
    if (!(after <= before / 2)) {
      found.failed = after / before;
      return found;
    }
    before = after;
  }
  return found;
}

}  // namespace echelon
