// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"

#include <echelon/error.hpp>
#include <echelon/problems/constrained_least_squares.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace echelon {

namespace {

/// s relative to the largest element of A, as in the method `augmented`.
constexpr double relative_scale = 1e-3;

Csr<double> sparse_on_host(const MatrixRef<double>& A) {
  return (A.is_sparse() ? *A.csr() : to_csr(A)).to(Device());
}

void check_size(std::size_t size, std::int64_t expected, const char* what, const char* where) {
  if (static_cast<std::int64_t>(size) != expected)
    throw DimensionMismatch(fmt::format("{} has {} elements, and {} {} rows", what, size, where, expected));
}

/// Square roots of the weights.
std::vector<double> roots_of(std::span<const double> weights, std::int64_t rows) {
  std::vector<double> roots(static_cast<std::size_t>(rows), 1);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i]))
      throw Error(fmt::format("weight {} (from 0) is {}: weights are at least zero", i, weights[i]));
    roots[i] = std::sqrt(weights[i]);
  }
  return roots;
}

/// A problem in sparse matrices on the host, with weighted rows.
struct WeightedProblem {
  Csr<double> A, C;
  std::vector<double> b;
  std::span<const double> d;
  std::int64_t m, n, p;

  explicit WeightedProblem(const ConstrainedProblem& problem) : A(sparse_on_host(problem.A)), d(problem.d) {
    m = A.rows();
    n = A.columns();
    C = problem.d.empty() && problem.C.rows() == 0 ? Csr<double>::from_triplets(0, n, {})
                                                   : sparse_on_host(problem.C);
    p = C.rows();
    if (C.columns() != n)
      throw DimensionMismatch(fmt::format("A has {} columns, and C has {}", n, C.columns()));
    check_size(problem.b.size(), m, "b", "A has");
    check_size(d.size(), p, "d", "C has");
    if (!problem.weights.empty()) check_size(problem.weights.size(), m, "the list of weights", "A has");
    const std::vector<double> roots = roots_of(problem.weights, m);
    b.assign(problem.b.begin(), problem.b.end());
    for (std::int64_t i = 0; i < m; ++i) {
      const double root = roots[static_cast<std::size_t>(i)];
      b[static_cast<std::size_t>(i)] *= root;
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) A.values()[k] *= root;
    }
  }
};

/// use(i, j, a_ij) for the elements of A.
template <class Use>
void for_elements(const Csr<double>& A, const Use& use) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      use(i, std::int64_t{A.column_indices()[k]}, A.values()[k]);
  }
}

double scale_of(const Csr<double>& A) {
  double largest = 0;
  for_elements(
      A, [&](std::int64_t, std::int64_t, double value) { largest = std::max(largest, std::fabs(value)); });
  return largest > 0 && std::isfinite(largest) ? relative_scale * largest : 1;
}

/// The matrix of the optimality conditions.
Csr<double> optimality_matrix(const WeightedProblem& problem, double s) {
  std::vector<Triplet<double>> elements;
  const auto add = [&](std::int64_t i, std::int64_t j, double value) {
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
  };
  for (std::int64_t i = 0; i < problem.m; ++i) add(i, i, s);
  const auto add_block = [&](std::int64_t first_row) {
    return [&, first_row](std::int64_t i, std::int64_t j, double value) {
      add(first_row + i, problem.m + j, value);
      add(problem.m + j, first_row + i, value);
    };
  };
  for_elements(problem.A, add_block(0));
  for_elements(problem.C, add_block(problem.m + problem.n));
  const std::int64_t order = problem.m + problem.n + problem.p;
  return Csr<double>::from_triplets(order, order, elements);
}

/// b - A x in extended precision.
std::vector<long double> residual(const Csr<double>& A, std::span<const double> b,
                                  std::span<const double> x) {
  std::vector<long double> r(b.begin(), b.end());
  for_elements(A, [&](std::int64_t i, std::int64_t j, double value) {
    r[static_cast<std::size_t>(i)] -= static_cast<long double>(value) * x[static_cast<std::size_t>(j)];
  });
  return r;
}

/// Measures how well x and the multipliers satisfy the conditions.
void measure(const WeightedProblem& problem, ConstrainedSolution& solution) {
  const std::vector<long double> r = residual(problem.A, problem.b, solution.x);
  long double squares = 0;
  for (const long double element : r) squares += element * element;
  solution.residual_norm = static_cast<double>(std::sqrt(squares));

  std::vector<long double> terms(static_cast<std::size_t>(problem.p), 0);
  for_elements(problem.C, [&](std::int64_t i, std::int64_t j, double value) {
    terms[static_cast<std::size_t>(i)] += std::fabs(value * solution.x[static_cast<std::size_t>(j)]);
  });
  const std::vector<long double> of_constraints = residual(problem.C, problem.d, solution.x);
  long double error = 0;
  long double size = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    error = std::max(error, std::fabs(of_constraints[i]));
    size = std::max(size, terms[i] + std::fabs(problem.d[i]));
  }
  solution.constraint_error = size > 0 ? static_cast<double>(error / size) : 0;

  std::vector<long double> gradient(static_cast<std::size_t>(problem.n), 0);
  std::vector<long double> sizes(gradient.size(), 0);
  const auto add = [&](std::int64_t j, long double term) {
    gradient[static_cast<std::size_t>(j)] += term;
    sizes[static_cast<std::size_t>(j)] += std::fabs(term);
  };
  for_elements(problem.A, [&](std::int64_t i, std::int64_t j, double value) {
    add(j, value * r[static_cast<std::size_t>(i)]);
  });
  for_elements(problem.C, [&](std::int64_t i, std::int64_t j, double value) {
    add(j, -static_cast<long double>(value) * solution.multipliers[static_cast<std::size_t>(i)]);
  });
  error = size = 0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    error = std::max(error, std::fabs(gradient[j]));
    size = std::max(size, sizes[j]);
  }
  solution.gradient_error = size > 0 ? static_cast<double>(error / size) : 0;
}

}  // namespace

ConstrainedSolution constrained_least_squares(const ConstrainedProblem& problem, const Device& device) {
  return at_api_boundary([&] {
    const WeightedProblem weighted(problem);
    const double s = scale_of(weighted.A);
    const Csr<double> K = optimality_matrix(weighted, s);
    std::vector<double> rhs = weighted.b;
    rhs.resize(rhs.size() + static_cast<std::size_t>(weighted.n), 0);
    rhs.insert(rhs.end(), weighted.d.begin(), weighted.d.end());
    SolveOptions options;
    options.method = "sparse-ldlt";
    options.device = device;
    auto [z, report] = solve<double>(MatrixRef<double>(K), rhs, options);
    ConstrainedSolution solution;
    solution.report = std::move(report);
    const double* const x = z.data() + weighted.m;
    solution.x.assign(x, x + weighted.n);
    for (std::int64_t i = 0; i < weighted.p; ++i) solution.multipliers.push_back(-s * x[weighted.n + i]);
    measure(weighted, solution);
    return solution;
  });
}

}  // namespace echelon
