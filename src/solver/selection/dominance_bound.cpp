// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/dominance_bound.hpp"

#include "backend/host/host.hpp"
#include "matrix/rows.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/scalar.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon {

namespace {

/// Upper bound of |r_i| over a lower bound of the excess of row i; infinite if there is none.
template <class T>
double row_bound(const SparseRows<T>& A, std::int64_t i, const T* b, const T* x) {
  using Limits = std::numeric_limits<double>;
  Dot<T> residual = static_cast<Dot<T>>(b[i]);
  double terms = magnitude(b[i]);
  double diagonal = 0;
  double others = 0;
  for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
    const std::int64_t j = A.column(k);
    const Dot<T> product = static_cast<Dot<T>>(A.values[k]) * static_cast<Dot<T>>(x[j]);
    residual -= product;
    terms += magnitude(product);
    (j == i ? diagonal : others) += magnitude(A.values[k]);
  }
  const auto operations = static_cast<double>(A.end(i) - A.begin(i) + 4);
  const double rounding = 4 * operations * Limits::epsilon();  // also of complex products
  const double excess = diagonal - others - rounding * (diagonal + others);
  if (!(excess > Limits::min())) return Limits::infinity();
  const double largest = magnitude(residual) + rounding * terms + operations * Limits::denorm_min();
  return largest < Limits::max() ? largest / excess : Limits::infinity();
}

}  // namespace

template <class T>
std::optional<double> dominance_error_bound(const Csr<T>& A, const T* b, const T* x) {
  constexpr std::int64_t elements_for_threads = 10'000;
  const SparseRows<T> rows(A);
  const std::int64_t n = A.rows();
  Host backend(A.device());
  struct Part {
    double error = 0;
    double size = 0;
  };
  std::vector<Part> parts(static_cast<std::size_t>(backend.threads()));
  std::atomic<bool> has_bound = true;
  backend.parallel(A.nonzeros() > elements_for_threads, [&](int part, int count) {
    Part own;
    for (std::int64_t i = n * part / count; i < n * (part + 1) / count; ++i) {
      if (!has_bound.load(std::memory_order_relaxed)) return;
      const double error = row_bound(rows, i, b, x);
      if (!std::isfinite(error)) has_bound = false;
      own.error = std::max(own.error, error);
      own.size = std::max(own.size, magnitude(x[i]));
    }
    parts[static_cast<std::size_t>(part)] = own;
  });
  if (!has_bound) return std::nullopt;
  Part all;
  for (const Part& own : parts) all = {std::max(all.error, own.error), std::max(all.size, own.size)};
  if (all.error == 0) return 0.0;
  const double relative = all.error / all.size;
  return std::isfinite(relative) ? std::optional(relative) : std::nullopt;
}

#define ECHELON_INSTANTIATE(T) \
  template std::optional<double> dominance_error_bound(const Csr<T>&, const T*, const T*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
