// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/problems/constrained_least_squares.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// s relative to the largest element of A, as in the method `augmented`.
constexpr double relative_scale = 1e-3;

template <class T>
Csr<T> sparse_on_host(const MatrixRef<T>& A) {
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
template <class T>
struct WeightedProblem {
  Csr<T> A, C;
  std::vector<T> b;
  std::span<const T> d;
  std::int64_t m, n, p;

  explicit WeightedProblem(const ConstrainedProblemOf<T>& problem)
      : A(sparse_on_host(problem.A)), d(problem.d) {
    m = A.rows();
    n = A.columns();
    C = problem.d.empty() && problem.C.rows() == 0 ? Csr<T>::from_triplets(0, n, {})
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
      const auto root = static_cast<Real<T>>(roots[static_cast<std::size_t>(i)]);
      b[static_cast<std::size_t>(i)] *= root;
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) A.values()[k] *= root;
    }
  }
};

/// use(i, j, a_ij) for the elements of A.
template <class T, class Use>
void for_elements(const Csr<T>& A, const Use& use) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      use(i, std::int64_t{A.column_indices()[k]}, A.values()[k]);
  }
}

template <class T>
double scale_of(const Csr<T>& A) {
  double largest = 0;
  for_elements(A,
               [&](std::int64_t, std::int64_t, T value) { largest = std::max(largest, magnitude(value)); });
  return largest > 0 && std::isfinite(largest) ? relative_scale * largest : 1;
}

/// The matrix of the optimality conditions.
template <class T>
Csr<T> optimality_matrix(const WeightedProblem<T>& problem, double s) {
  std::vector<Triplet<T>> elements;
  const auto add = [&](std::int64_t i, std::int64_t j, T value) {
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
  };
  for (std::int64_t i = 0; i < problem.m; ++i) add(i, i, T{static_cast<Real<T>>(s)});
  const auto add_block = [&](std::int64_t first_row) {
    return [&, first_row](std::int64_t i, std::int64_t j, T value) {
      add(first_row + i, problem.m + j, value);
      add(problem.m + j, first_row + i, conj(value));
    };
  };
  for_elements(problem.A, add_block(0));
  for_elements(problem.C, add_block(problem.m + problem.n));
  const std::int64_t order = problem.m + problem.n + problem.p;
  return Csr<T>::from_triplets(order, order, elements);
}

template <class T>
using Extended = std::conditional_t<is_complex<T>, std::complex<long double>, long double>;
template <class T>
Extended<T> extended(T value) {
  return Extended<T>(value);
}

/// b - A x in extended precision.
template <class T>
std::vector<Extended<T>> residual(const Csr<T>& A, std::span<const T> b, std::span<const T> x) {
  std::vector<Extended<T>> r(b.begin(), b.end());
  for_elements(A, [&](std::int64_t i, std::int64_t j, T value) {
    r[static_cast<std::size_t>(i)] -= extended(value) * extended(x[static_cast<std::size_t>(j)]);
  });
  return r;
}

/// Largest |y_i| relative to the largest of `sizes`.
template <class W>
double relative_size(const std::vector<W>& y, const std::vector<long double>& sizes) {
  long double largest = 0;
  for (const W element : y) largest = std::max(largest, std::abs(element));
  const long double size = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  return size > 0 ? static_cast<double>(largest / size) : 0;
}

/// Measures how well x and the multipliers satisfy the conditions.
template <class T>
void measure(const WeightedProblem<T>& problem, ConstrainedSolutionOf<T>& solution) {
  const std::vector<Extended<T>> r = residual<T>(problem.A, problem.b, solution.x);
  long double squares = 0;
  for (const Extended<T> element : r) squares += std::norm(element);
  solution.residual_norm = static_cast<double>(std::sqrt(squares));

  std::vector<long double> terms;
  for (const T element : problem.d) terms.push_back(std::abs(extended(element)));
  for_elements(problem.C, [&](std::int64_t i, std::int64_t j, T value) {
    terms[static_cast<std::size_t>(i)] +=
        std::abs(extended(value) * extended(solution.x[static_cast<std::size_t>(j)]));
  });
  solution.constraint_error = relative_size(residual<T>(problem.C, problem.d, solution.x), terms);

  std::vector<Extended<T>> gradient(static_cast<std::size_t>(problem.n), 0);
  std::vector<long double> sizes(gradient.size(), 0);
  const auto add = [&](std::int64_t j, Extended<T> term) {
    gradient[static_cast<std::size_t>(j)] += term;
    sizes[static_cast<std::size_t>(j)] += std::abs(term);
  };
  for_elements(problem.A, [&](std::int64_t i, std::int64_t j, T value) {
    add(j, extended(conj(value)) * r[static_cast<std::size_t>(i)]);
  });
  for_elements(problem.C, [&](std::int64_t i, std::int64_t j, T value) {
    add(j, -extended(conj(value)) * extended(solution.multipliers[static_cast<std::size_t>(i)]));
  });
  solution.gradient_error = relative_size(gradient, sizes);
}

}  // namespace

template <class T>
ConstrainedSolutionOf<T> constrained_least_squares(const ConstrainedProblemOf<T>& problem,
                                                   const Device& device) {
  return at_api_boundary([&] {
    const WeightedProblem<T> weighted(problem);
    const double s = scale_of(weighted.A);
    const Csr<T> K = optimality_matrix(weighted, s);
    std::vector<T> rhs = weighted.b;
    rhs.resize(rhs.size() + static_cast<std::size_t>(weighted.n), T{0});
    rhs.insert(rhs.end(), weighted.d.begin(), weighted.d.end());
    SolveOptions options;
    options.method = "sparse-ldlt";
    options.device = device;
    auto [z, report] = solve<T>(MatrixRef<T>(K), rhs, options);
    ConstrainedSolutionOf<T> solution;
    solution.report = std::move(report);
    const T* const x = z.data() + weighted.m;
    solution.x.assign(x, x + weighted.n);
    for (std::int64_t i = 0; i < weighted.p; ++i)
      solution.multipliers.push_back(static_cast<Real<T>>(-s) * x[weighted.n + i]);
    measure(weighted, solution);
    return solution;
  });
}

#define ECHELON_INSTANTIATE(T) \
  template ConstrainedSolutionOf<T> constrained_least_squares(const ConstrainedProblemOf<T>&, const Device&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
