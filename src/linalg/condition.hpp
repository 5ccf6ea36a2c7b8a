// SPDX-License-Identifier: BSD-3-Clause
/// Estimate of ||A^-1||_1 from a few solves with A and with its transpose.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>

#include <cmath>
#include <cstdint>

namespace echelon {

namespace condition_detail {

/// The sign of v, and v / |v| if it is complex: 1 for zero.
template <class T>
ECHELON_ANYWHERE T sign_of(T v) {
  if constexpr (is_complex<T>) {
    const double size = magnitude(v);
    if (!(size > 0)) return T{1};
    return static_cast<T>(static_cast<Dot<T>>(v) / size);
  } else {
    return v < 0 ? T{-1} : T{1};
  }
}

/// Replaces v by its signs, conjugated: A^-H s = conj(A^-T conj(s)) has the magnitudes of A^-T conj(s). Sums
/// the magnitudes of v, and counts the signs that differ from the previous ones.
template <class T>
struct ReplaceBySigns {
  T* v;
  T* signs;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const T sign = sign_of(v[i]);
    const TwoSums result{magnitude(v[i]), sign == signs[i] ? 0.0 : 1.0};
    signs[i] = sign;
    v[i] = conj(sign);
    return result;
  }
};

/// The largest magnitude and its first index.
struct Peak {
  double value = -1;
  FirstIndex at = {};
  friend ECHELON_ANYWHERE Peak combine(Peak a, Peak b) {
    return a.value > b.value || (a.value == b.value && a.at.value < b.at.value) ? a : b;
  }
};

template <class T>
struct FindPeak {
  const T* v;
  ECHELON_ANYWHERE Peak operator()(std::int64_t i) const { return {magnitude(v[i]), {i}}; }
};

/// Alternating signs with growing magnitudes: Higham's second start, for matrices on which the iteration
/// fails.
template <class T>
struct Alternate {
  std::int64_t n;
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const double magnitude = 1 + static_cast<double>(i) / static_cast<double>(n > 1 ? n - 1 : 1);
    v[i] = static_cast<T>(static_cast<Real<T>>(i % 2 == 0 ? magnitude : -magnitude));
  }
};

/// Vectors and steps of the estimator.
template <class B, class T, class Solve>
class InverseNorm {
 public:
  InverseNorm(B& backend, std::int64_t n, const Solve& solve)
      : backend_(backend),
        n_(n),
        solve_(solve),
        v_(backend.device(), n),
        signs_(backend.device(), n),
        sums_(backend.device(), 1),
        peak_(backend.device(), 1) {}

  /// Maximises the convex function v -> ||A^-1 v||_1 over the vertices of the unit ball ||v||_1 <= 1: with
  /// s the signs of A^-1 v the gradient is A^-T s, and its largest element gives the next vertex.
  double estimate() {
    backend_.fill(n_, T{0}, signs_.data());
    backend_.fill(n_, static_cast<T>(Real<T>(1.0 / static_cast<double>(n_))), v_.data());
    TwoSums result = solve_and_replace_by_signs();
    double best = result.first;
    std::int64_t vertex = -1;
    constexpr int most_vertices = 5;
    for (int step = 0; step < most_vertices && std::isfinite(best); ++step) {
      solve_(true, v_.data());
      const std::int64_t next = peak();
      if (next == FirstIndex::none || next == vertex) break;
      vertex = next;
      backend_.fill(n_, T{0}, v_.data());
      backend_.write(T{1}, v_.data() + vertex);
      result = solve_and_replace_by_signs();
      const bool increased = !(result.first <= best);
      const bool same_signs = result.second == 0;
      if (increased) best = result.first;
      if (!increased || same_signs) break;
    }
    if (!std::isfinite(best)) return best;
    const double other = alternative();
    return best > other ? best : other;  // a NaN in `best` is kept: it must not look like a small norm
  }

 private:
  TwoSums solve_and_replace_by_signs() {
    solve_(false, v_.data());
    backend_.reduce(n_, ReplaceBySigns<T>{v_.data(), signs_.data()}, Store<TwoSums>{sums_.data()});
    return backend_.read(sums_.data());
  }

  std::int64_t peak() {
    backend_.reduce(n_, FindPeak<T>{v_.data()}, Store<Peak>{peak_.data()});
    return backend_.read(peak_.data()).at.value;
  }

  double alternative() {
    backend_.for_each(n_, Alternate<T>{n_, v_.data()});
    return 2 * solve_and_replace_by_signs().first / (3 * static_cast<double>(n_));
  }

  B& backend_;
  std::int64_t n_;
  const Solve& solve_;
  Array<T> v_, signs_;
  Array<TwoSums> sums_;
  Array<Peak> peak_;
};

}  // namespace condition_detail

/// Lower bound of ||A^-1||_1, seldom less than a third of it; infinite or NaN if a solve was.
/// `solve(transposed, v)` replaces the n elements v by A^-1 v, or A^-T v, queued on the backend.
/// At most 7 solves with A and 5 with its transpose, and two n-vectors; waits for each.
/// Hager, SIAM J. Sci. Stat. Comput. 5 (1984); Higham, ACM TOMS 14 (1988), algorithm 674.
template <class T, class B, class Solve>
[[nodiscard]] double estimate_inverse_norm_one(B& backend, std::int64_t n, const Solve& solve) {
  if (n == 0) return 0;
  return condition_detail::InverseNorm<B, T, Solve>(backend, n, solve).estimate();
}

/// 1 / (||A||_1 ||A^-1||_1) for a given ||A||_1: at least the true value, and 0 when A^-1 overflows.
template <class T, class B, class Solve>
[[nodiscard]] double estimate_reciprocal_condition(B& backend, std::int64_t n, double norm_one,
                                                   const Solve& solve) {
  if (n == 0) return 1;
  const double inverse = estimate_inverse_norm_one<T>(backend, n, solve);
  if (!std::isfinite(inverse) || norm_one == 0 || inverse == 0) return 0;
  return 1 / norm_one / inverse;
}

}  // namespace echelon
