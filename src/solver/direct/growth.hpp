// SPDX-License-Identifier: BSD-3-Clause
/// Growth of elements in an elimination, and the test of the factors that it may have spoilt.
#pragma once

#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/factorization.hpp"
#include "support/hash.hpp"
#include "support/machine_epsilon.hpp"
#include "support/text.hpp"

#include <echelon/array.hpp>

#include <cmath>
#include <cstdint>
#include <string>

namespace echelon::direct {

/// Growth max |u_ij| / max |a_ij| below which refinement is known to suffice: 100 times that of random
/// matrices.
inline double harmless_growth(std::int64_t n) {
  return 100 * std::cbrt(static_cast<double>(n) * static_cast<double>(n));
}

namespace growth_detail {

template <class T>
struct RandomVector {
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
    v[i] = static_cast<T>(symmetric_number(bits));
  }
};

}  // namespace growth_detail

/// Solves for b = A v with random v and for random b, refined like any other right-hand side: errors that
/// grow with the solution show with either. Returns a description of the larger error, or an empty string if
/// both answers are accurate. Waits.
template <class B, class T>
std::string inaccuracy(const FactorContext<B, T>& context) {
  B& backend = context.backend;
  const std::int64_t n = context.A.rows();
  Array<T> b(backend.device(), n);
  Array<T> x(backend.device(), n);
  double error = 0;
  for (const bool random_solution : {true, false}) {
    T* const random = random_solution ? x.data() : b.data();
    backend.for_each(n, growth_detail::RandomVector<T>{random});
    if (random_solution) multiply(backend, T{1}, context.A, x.data(), T{0}, b.data());
    context.solve(b.data(), x.data());
    error = combine(Largest{error}, Largest{context.backward_error(b.data(), x.data())}).value;
  }
  const double acceptable = 10 * std::sqrt(static_cast<double>(n)) * machine_epsilon<T>;
  if (error <= acceptable) return {};
  return "refinement left a backward error of " + short_number(error);
}

}  // namespace echelon::direct
