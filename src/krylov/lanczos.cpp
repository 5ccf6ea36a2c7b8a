// SPDX-License-Identifier: BSD-3-Clause
#include "krylov/lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace echelon {

namespace {

/// Symmetric positive definite tridiagonal matrix; `squares` holds the squares of the off-diagonal elements.
struct Tridiagonal {
  std::vector<double> diagonal;
  std::vector<double> squares;
};

Tridiagonal lanczos_matrix(const std::vector<double>& alpha, const std::vector<double>& beta) {
  Tridiagonal t;
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    t.diagonal.push_back(1 / alpha[j] + (j > 0 ? beta[j - 1] / alpha[j - 1] : 0));
    if (j + 1 < alpha.size()) t.squares.push_back(beta[j] / (alpha[j] * alpha[j]));
  }
  return t;
}

/// Number of eigenvalues below `shift`: by Sylvester's law of inertia, the number of negative pivots of T -
/// shift I = L D L^T.
std::size_t eigenvalues_below(const Tridiagonal& t, double shift) {
  std::size_t count = 0;
  double pivot = 1;
  for (std::size_t j = 0; j < t.diagonal.size(); ++j) {
    pivot = t.diagonal[j] - shift - (j > 0 ? t.squares[j - 1] / pivot : 0);
    if (pivot == 0) pivot = -1e-300 * (shift + t.diagonal[j]);
    if (pivot < 0) ++count;
  }
  return count;
}

/// The count-th smallest eigenvalue, which lies in [low, high], to a relative 1e-3 from above.
double bisect(const Tridiagonal& t, double low, double high, std::size_t count) {
  constexpr int most_steps = 100;
  for (int step = 0; step < most_steps && high > low * 1.001; ++step) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (eigenvalues_below(t, middle) >= count ? high : low) = middle;
  }
  return high;
}

}  // namespace

RitzRange ritz_range(const std::vector<double>& alpha, const std::vector<double>& beta) {
  if (alpha.empty()) return {};
  const Tridiagonal t = lanczos_matrix(alpha, beta);
  double bound = 0;  // Gershgorin's
  for (std::size_t j = 0; j < t.diagonal.size(); ++j) {
    const double left = j > 0 ? std::sqrt(t.squares[j - 1]) : 0;
    const double right = j < t.squares.size() ? std::sqrt(t.squares[j]) : 0;
    bound = std::max(bound, t.diagonal[j] + left + right);
  }
  if (!(bound > 0) || !std::isfinite(bound)) return {};
  const double floor = 1e-32 * bound;
  const double smallest = bisect(t, floor, bound, 1);
  return {smallest, bisect(t, smallest, bound, t.diagonal.size())};
}

}  // namespace echelon
