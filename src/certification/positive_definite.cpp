// SPDX-License-Identifier: BSD-3-Clause
#include "certification/positive_definite.hpp"

#include "certification/rounding.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/solver.hpp>
#include <echelon/sparse_direct.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

namespace echelon::certification {

namespace {

template <class F>
void for_each_element(Csr<double>& A, const F& f) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      f(i, std::int64_t{A.column_indices()[k]}, A.values()[k]);
    }
  }
}

/// Powers of two near 1 / sqrt(a_ii).
std::vector<double> scale_of_diagonal(Csr<double>& A) {
  std::vector<double> scale(static_cast<std::size_t>(A.rows()), 1);
  for_each_element(A, [&](std::int64_t i, std::int64_t j, const double& value) {
    if (i == j) scale[static_cast<std::size_t>(i)] = std::ldexp(1.0, -std::ilogb(value) / 2);
  });
  return scale;
}

/// Scales A = D A D; false if an element leaves the range of normal numbers, where the product would be
/// rounded.
bool scale_exactly(Csr<double>& A, const std::vector<double>& scale) {
  bool exact = true;
  for_each_element(A, [&](std::int64_t i, std::int64_t j, double& value) {
    if (value == 0) return;
    value *= scale[static_cast<std::size_t>(i)] * scale[static_cast<std::size_t>(j)];
    if (!std::isnormal(value)) exact = false;
  });
  return exact;
}

/// Upper bound of ||E||_2 for matrices of the pattern of A, which is in the order of elimination, with
/// diagonal elements of at most `largest_diagonal`.
double factorization_error_bound(const Csr<double>& A, double largest_diagonal) {
  const FactorPattern pattern = factor_pattern(A, Ordering::natural);
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<std::int64_t> in_row(n);     // elements of the rows of L
  std::vector<std::int64_t> in_column(n);  // elements of its columns
  for (std::size_t s = 0; s + 1 < pattern.supernode_begin.size(); ++s) {
    const std::int32_t begin = pattern.supernode_begin[s];
    const std::int32_t end = pattern.supernode_begin[s + 1];
    const std::int64_t below = pattern.row_begin[s + 1] - pattern.row_begin[s];
    for (std::int32_t j = begin; j < end; ++j) {
      in_column[static_cast<std::size_t>(j)] = end - j + below;
      in_row[static_cast<std::size_t>(j)] += j - begin + 1;
    }
    for (std::int64_t k = pattern.row_begin[s]; k < pattern.row_begin[s + 1]; ++k) {
      in_row[static_cast<std::size_t>(pattern.rows[static_cast<std::size_t>(k)])] += end - begin;
    }
  }
  std::int64_t longest_row = 0;
  std::int64_t most_in_row_of_error = 0;
  for (std::size_t i = 0; i < n; ++i) {
    longest_row = std::max(longest_row, in_row[i]);
    most_in_row_of_error = std::max(most_in_row_of_error, in_row[i] + in_column[i] - 1);
  }
  // An element is the sum of a row's products and a_ij, multiplied by a rounded reciprocal.
  const double gamma = gamma_up(static_cast<double>(longest_row + 4));
  const double of_element = multiply_up(divide_up(gamma, subtract_down(1, gamma)), largest_diagonal);
  const double underflow = multiply_up(16 * static_cast<double>(n), std::numeric_limits<double>::min());
  return add_up(multiply_up(of_element, static_cast<double>(most_in_row_of_error)), underflow);
}

/// The Rayleigh quotient of a vector after a few steps of inverse iteration: at least the smallest
/// eigenvalue, and usually close to it.
double estimate_smallest_eigenvalue(const Solver<double>& solver, std::int64_t n) {
  constexpr int steps = 12;
  const Dense<double> start = generate::random_dense<double>(n, 1);
  std::vector<double> v(start.data(), start.data() + n);
  std::vector<double> w(v.size());
  double quotient = 0;
  for (int step = 0; step < steps; ++step) {
    const double norm = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    for (double& element : v) element /= norm;
    if (!solver.solve(v, w).solved()) return 0;
    quotient = 1 / std::inner_product(v.begin(), v.end(), w.begin(), 0.0);
    v = w;
  }
  return quotient;
}

double largest_diagonal_element(Csr<double>& A) {
  double largest = 0;
  for_each_element(A, [&](std::int64_t i, std::int64_t j, const double& value) {
    if (i == j) largest = std::max(largest, value);
  });
  return largest;
}

/// S - alpha I with the diagonal rounded down, so that it is at most that in the order of symmetric matrices.
Csr<double> shifted(Csr<double> S, double alpha) {
  for_each_element(S, [alpha](std::int64_t i, std::int64_t j, double& value) {
    if (i == j) value = subtract_down(value, alpha);
  });
  return S;
}

/// Lower bound on the smallest eigenvalue of S, which is scaled and in the order of elimination.
void bound_scaled(Csr<double>& S, const Device& device, const CancellationToken& cancel,
                  EigenvalueBound& result) {
  Solver<double> solver = make_solver<double>("sparse-cholesky", device,
                                              {{"ordering", "natural"}, {"refine", 0}, {"condition", false}});
  Control control;
  control.cancel = cancel;
  if (const Report report = solver.setup(S, control); report.status != Status::ready) {
    result.reason = report.message;
    return;
  }
  const double estimate = estimate_smallest_eigenvalue(solver, S.rows());
  const double error = factorization_error_bound(S, largest_diagonal_element(S));
  constexpr double shares_of_estimate[] = {0.9, 0.5, 0.1};
  for (const double share : shares_of_estimate) {
    const double alpha = share * estimate;
    const double bound = subtract_down(alpha, error);
    if (!(bound > 0)) break;
    const Csr<double> lowered = shifted(S, alpha);
    const Report report = solver.update_values(lowered, control);
    if (report.status == Status::ready) {
      result.scaled_bound = bound;
      return;
    }
    if (report.status != Status::not_spd) {
      result.reason = report.message;
      return;
    }
  }
  result.reason = fmt::format(
      "the smallest eigenvalue of A, scaled to a diagonal near 1, is about {:.1e}, too small compared with "
      "the bound {:.1e} on the rounding errors of a factorisation",
      estimate, error);
}

}  // namespace

double EigenvalueBound::bound() const {
  // A = D^-1 (D A D) D^-1, and D consists of powers of two.
  const double largest = *std::max_element(scale.begin(), scale.end());
  return std::max(0.0, next_down(scaled_bound.value_or(0) / largest / largest));
}

std::vector<double> EigenvalueBound::bound_inverse_times(const std::vector<double>& residual) const {
  // A^-1 r = D (D A D)^-1 D r.
  double square = 0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const double scaled = multiply_up(scale[i], residual[i]);
    square = add_up(square, multiply_up(scaled, scaled));
  }
  const double norm = divide_up(next_up(std::sqrt(square)), scaled_bound.value_or(0));
  std::vector<double> bounds;
  for (const double factor : scale) bounds.push_back(multiply_up(factor, norm));
  return bounds;
}

EigenvalueBound bound_smallest_eigenvalue(const Csr<double>& A, const Device& device,
                                          const CancellationToken& cancel) {
  EigenvalueBound result;
  Csr<double> S = A;
  result.scale = scale_of_diagonal(S);
  if (!scale_exactly(S, result.scale)) {
    result.reason = "elements of A scaled to a diagonal near 1 leave the range of double precision";
    return result;
  }
  S = permute_symmetric(S, fill_reducing_ordering(S));
  bound_scaled(S, device, cancel, result);
  return result;
}

}  // namespace echelon::certification
