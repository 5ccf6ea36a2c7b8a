// SPDX-License-Identifier: BSD-3-Clause
/// Cases of Gauss-Jordan elimination for every device; operands and results are on the host.
#pragma once

#include "solver/implementation.hpp"
#include "support/dense/gauss_jordan.hpp"
#include "support/dense/shape.hpp"
#include "support/problems.hpp"

#include <echelon/rref.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {

constexpr double passing = 30;  // LAPACK's threshold

inline std::string words(const Shape& s) {
  return std::to_string(s.m) + " by " + std::to_string(s.n) + ", rank " + std::to_string(s.rank);
}

template <class T>
Dense<T> of_rank(const Shape& s) {
  return product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
}

/// A matrix of the rank of a shape, and products with it, whose elements are small integers: no rounding
/// errors raise the rank.
template <class T>
Dense<T> integers(std::int64_t rows, std::int64_t columns, unsigned seed) {
  Dense<T> result = random_dense<T>(rows, columns, seed);
  for (std::int64_t k = 0; k < rows * columns; ++k) result[k] = std::round(9 * result[k]);
  return result;
}
template <class T>
Dense<T> integers_of_rank(const Shape& s) {
  return product(integers<T>(s.m, s.rank, 1), integers<T>(s.rank, s.n, 2));
}

template <class T>
EchelonForm<T> reduce_on(const Device& device, const Dense<T>& a, const GaussJordanOptions& options = {}) {
  EchelonForm<T> form = RowReduction<T>(device, options).reduce(a.to(device));
  if (form.R.rows() == a.rows()) form.R = form.R.to(Device());
  return form;
}

template <class T>
GeneralSolution<T> solve_on(const Device& device, const Dense<T>& a, const Dense<T>& b,
                            const GaussJordanOptions& options = {}) {
  const Dense<T> a_there = a.to(device);
  const Dense<T> b_there = b.to(device);
  GeneralSolution<T> solution = RowReduction<T>(device, options).solve(a_there, b_there);
  solution.X = solution.X.to(Device());
  solution.null_space = solution.null_space.to(Device());
  return solution;
}

/// Replaces a by its inverse.
template <class T>
Report invert_on(const Device& device, Dense<T>& a, const GaussJordanOptions& options = {}) {
  Dense<T> there = a.to(device);
  const Report report = RowReduction<T>(device, options).invert(there);
  a = there.to(Device());
  return report;
}

// --- The reduced row echelon form -------------------------------------------------------------------------

template <class T>
void check_rank_of_products(const Device& device, const std::vector<Shape>& shapes,
                            const std::vector<std::int64_t>& blocks) {
  for (const Shape& s : shapes) {
    SCOPED_TRACE(words(s) + " on " + device.name());
    const Dense<T> a = of_rank<T>(s);
    for (const std::int64_t block : blocks) {
      if (block == 1 && s.m > 300) continue;  // a panel for every column takes long
      const EchelonForm<T> form = reduce_on(device, a, {.block = block});
      ASSERT_EQ(form.report.status, Status::direct) << form.report.message;
      ASSERT_EQ(form.facts.rank, s.rank);
      expect_reduced(a, form, 1000);
      if constexpr (std::is_same_v<T, double>) {  // float has too few digits for some
        for (std::int64_t k = 0; k < s.rank; ++k) {
          EXPECT_EQ(form.pivot_columns[static_cast<std::size_t>(k)], k);
        }
        EXPECT_FALSE(form.facts.doubtful);
        EXPECT_GT(form.facts.gap(), 1e3);
      }
    }
  }
}

/// Expects A N = 0, where the k-th vector of N is 1 in the k-th column without a pivot, and 0 in the others.
template <class T>
void expect_null_space(const Dense<T>& a, const std::vector<std::int64_t>& pivots, const Dense<T>& basis) {
  ASSERT_EQ(basis.columns(), a.columns() - static_cast<std::int64_t>(pivots.size()));
  EXPECT_LT(largest_magnitude(product(a, basis)), 1e3 * unit<T> * largest_magnitude(a) *
                                                      static_cast<double>(a.columns()) *
                                                      std::max(1.0, largest_magnitude(basis)));
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < a.columns(); ++i) {
    if (std::binary_search(pivots.begin(), pivots.end(), i)) continue;
    for (std::int64_t c = 0; c < basis.columns(); ++c) EXPECT_EQ(basis(i, c), c == k ? T{1} : T{0});
    ++k;
  }
}

/// Reduces A = C R for a random reduced form R, which is the result.
template <class T>
void check_scattered_pivots(const Device& device, const std::vector<Shape>& shapes) {
  std::mt19937 random(3);
  for (const Shape& s : shapes) {
    SCOPED_TRACE(words(s));
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(s.n));
    std::iota(pivots.begin(), pivots.end(), 0);
    std::shuffle(pivots.begin(), pivots.end(), random);
    pivots.resize(static_cast<std::size_t>(s.rank));
    std::sort(pivots.begin(), pivots.end());
    Dense<T> R = random_dense<T>(s.rank, s.n, 4);
    for (std::int64_t k = 0; k < s.rank; ++k) {
      const std::int64_t pivot = pivots[static_cast<std::size_t>(k)];
      for (std::int64_t j = 0; j < pivot; ++j) R(k, j) = 0;
      for (std::int64_t i = 0; i < s.rank; ++i) R(i, pivot) = i == k ? T{1} : T{0};
    }
    const Dense<T> a = product(random_dense<T>(s.m, s.rank, 6), R);
    EchelonForm<T> form = RowReduction<T>(device).reduce(a.to(device));
    ASSERT_EQ(form.pivot_columns, pivots);
    expect_null_space(a, pivots, null_space(form).to(Device()));
    form.R = form.R.to(Device());
    expect_reduced(a, form, 1000);
    double difference = 0;
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t i = 0; i < s.rank; ++i) {
        difference = std::max(difference, std::abs(static_cast<double>(form.R(i, j) - R(i, j))));
      }
    }
    EXPECT_LT(difference, 1e4 * unit<T>);
  }
}

template <class T>
void check_empty_forms(const Device& device) {
  for (const Shape& s : {Shape{0, 0, 0}, {0, 5, 0}, {5, 0, 0}}) {
    const EchelonForm<T> form = RowReduction<T>(device).reduce(Dense<T>(device, s.m, s.n));
    EXPECT_EQ(form.report.status, Status::direct);
    EXPECT_EQ(form.facts.rank, 0);
    EXPECT_FALSE(form.facts.doubtful);
    EXPECT_FALSE(form.facts.smallest_accepted_pivot);
    EXPECT_EQ(null_space(form).columns(), s.n);
    if (s.m == s.n) {
      EXPECT_EQ(form.determinant->value(), 1);
    }
  }
}

template <class T>
void check_zero_lines(const Device& device) {
  Dense<T> a = random_dense<T>(60, 90, 8);
  for (const std::int64_t j : {0, 1, 31, 32, 50, 89}) std::fill_n(a.data() + j * 60, 60, T{0});
  for (std::int64_t j = 0; j < 90; ++j) a(0, j) = a(17, j) = a(59, j) = 0;
  for (const std::int64_t block : {0, 16}) {
    const EchelonForm<T> form = reduce_on(device, a, {.block = block});
    EXPECT_EQ(form.facts.rank, 57);
    EXPECT_EQ(form.facts.largest_rejected_pivot, 0);
    expect_reduced(a, form, 1000);
    for (const std::int64_t j : {0, 1, 31, 32, 50}) {
      EXPECT_FALSE(std::binary_search(form.pivot_columns.begin(), form.pivot_columns.end(), j));
    }
  }
}

template <class T>
void check_not_a_number(const Device& device) {
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
    Dense<T> a = random_dense<T>(1025, 33, 8);
    a(1024, 3) = bad;
    a(700, 20) = bad;
    const Report report = reduce_on(device, a).report;
    EXPECT_EQ(report.status, Status::not_a_number);
    EXPECT_EQ(report.row, 700);
    EXPECT_EQ(report.column, 20);
    EXPECT_NE(report.message.find("row 700, column 20"), std::string::npos) << report.message;
  }
}

// --- Systems ----------------------------------------------------------------------------------------------

template <class T>
double residual_ratio(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
  const double n = static_cast<double>(std::max<std::int64_t>({a.rows(), a.columns(), 1}));
  const double size = largest_magnitude(a) * n * largest_magnitude(x) + largest_magnitude(b);
  return size > 0 ? largest_difference(product(a, x), b) / (size * n * unit<T>) : 0;
}

/// Systems b = A x for a random x, which are consistent for every shape.
template <class T>
void check_consistent_systems(const Device& device, const std::vector<Shape>& shapes) {
  for (const Shape& s : shapes) {
    const Dense<T> a = of_rank<T>(s);
    for (const std::int64_t k : {1, 2, 15, 70}) {
      SCOPED_TRACE(words(s) + ", k = " + std::to_string(k) + " on " + device.name());
      const Dense<T> b = product(a, random_dense<T>(s.n, k, 3));
      const GeneralSolution<T> solution = solve_on(device, a, b);
      ASSERT_EQ(solution.facts.rank, s.rank);
      // In float a large x can leave a residual that is not small.
      if (solution.report.relative_residual <= satisfying_residual<T>) {
        EXPECT_EQ(solution.report.status, s.rank == s.n ? Status::direct : Status::underdetermined)
            << solution.report.message;
      } else {
        EXPECT_TRUE((std::is_same_v<T, float>)) << solution.report;
        EXPECT_FALSE(solution.report.solved());
      }
      EXPECT_LT(residual_ratio(a, solution.X, b), passing);
      ASSERT_EQ(solution.report.columns.size(), static_cast<std::size_t>(k));
      ASSERT_EQ(solution.null_space.columns(), s.n - s.rank);
      EXPECT_LT(largest_magnitude(product(a, solution.null_space)),
                passing * unit<T> * largest_magnitude(a) * static_cast<double>(s.n) *
                    (1 + largest_magnitude(solution.null_space)));
      for (std::int64_t i = 0; i < s.n; ++i) {
        const auto& pivots = solution.pivot_columns;
        if (std::binary_search(pivots.begin(), pivots.end(), i)) continue;
        for (std::int64_t j = 0; j < k; ++j) ASSERT_EQ(solution.X(i, j), T{0});
      }
    }
  }
}

/// Two rows of A are equal and b differs there: one of the two is reported.
template <class T>
void check_contradictions(const Device& device) {
  for (const Shape& s :
       {Shape{2, 1, 1}, {3, 3, 2}, {5, 9, 4}, {9, 5, 5}, {40, 40, 30}, {200, 64, 64}, {64, 200, 60}}) {
    SCOPED_TRACE(words(s));
    const std::int64_t first = s.m / 3;
    const std::int64_t second = s.m - 1;
    Dense<T> a = integers_of_rank<T>(s);
    for (std::int64_t j = 0; j < s.n; ++j) a(second, j) = a(first, j);
    Dense<T> b = product(a, integers<T>(s.n, 3, 3));
    b(second, 1) += T{5000};
    const GeneralSolution<T> solution = solve_on(device, a, b);
    EXPECT_EQ(solution.report.status, Status::inconsistent);
    ASSERT_TRUE(solution.report.row);
    EXPECT_TRUE(solution.report.row == first || solution.report.row == second) << *solution.report.row;
    ASSERT_EQ(solution.report.columns.size(), 3U);
    const Status others = solution.facts.rank == s.n ? Status::direct : Status::underdetermined;
    EXPECT_EQ(solution.report.columns[0].status, others);
    EXPECT_EQ(solution.report.columns[1].status, Status::inconsistent);
    EXPECT_EQ(solution.report.columns[2].status, others);
    EXPECT_NE(solution.report.message.find("contradicts"), std::string::npos);
  }
}

template <class T>
void check_empty_systems(const Device& device) {
  for (const Shape& s : {Shape{0, 0, 0}, {0, 4, 0}, {4, 0, 0}}) {
    const GeneralSolution<T> solution = solve_on(device, zeros<T>(s.m, s.n), zeros<T>(s.m, 2));
    EXPECT_EQ(solution.report.status, s.n == 0 ? Status::direct : Status::underdetermined);
    EXPECT_EQ(solution.X.rows(), s.n);
    EXPECT_EQ(solution.null_space.columns(), s.n);
  }
  EXPECT_EQ(solve_on(device, zeros<T>(4, 0), random_dense<T>(4, 1, 1)).report.status, Status::inconsistent);
  EXPECT_EQ(solve_on(device, random_dense<T>(4, 4, 1), zeros<T>(4, 0)).report.status, Status::direct);
}

/// The Solver and the general solution have the same statuses. With `contradicts`, the second of three
/// right-hand sides is not in the range of A.
template <class T>
void check_solver(const Device& device, const Shape& s, bool contradicts) {
  SCOPED_TRACE(words(s) + " on " + device.name());
  const Dense<T> a = integers_of_rank<T>(s);
  Dense<T> b = product(a, integers<T>(s.n, 3, 3));
  if (contradicts) std::copy_n(random_dense<T>(s.m, 1, 4).data(), s.m, b.data() + s.m);
  const Report expected = solve_on(device, a, b).report;
  const auto [x, report] = solve(a, b, {.method = "gauss-jordan", .device = device});
  EXPECT_EQ(report.status, expected.status) << report.message;
  EXPECT_EQ(report.status == Status::inconsistent, contradicts);
  EXPECT_EQ(report.row, expected.row);
  EXPECT_EQ(report.rank, s.rank);
  if (!contradicts) {
    EXPECT_LT(residual_ratio(a, x, b), passing);
  }
  ASSERT_EQ(report.columns.size(), 3U);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(report.columns[j].status, expected.columns[j].status);
  const bool tells_dimension =
      report.message.find("dimension " + std::to_string(s.n - s.rank)) != std::string::npos;
  EXPECT_TRUE(tells_dimension || report.status != Status::underdetermined) << report;
}

template <class T>
void check_solver(const Device& device, const std::vector<Shape>& shapes) {
  for (const Shape& s : shapes) {
    check_solver<T>(device, s, false);
    if (s.rank < s.m) check_solver<T>(device, s, true);
  }
}

/// Refinement recovers the digits lost by element growth of up to 2^n.
template <class T>
void check_growing_systems(const Device& device) {
  for (const Dense<T>& a : growth_matrices<T>()) {
    const Dense<T> exact = random_dense<T>(a.rows(), 2, 4);
    const Dense<T> b = product(a, exact);
    const GeneralSolution<T> solution = solve_on(device, a, b, {.tolerance = 0, .refine = 5});
    EXPECT_LT(scaled_residual<T>(a, solution.X, b), passing) << "n = " << a.rows();
    EXPECT_LT(largest_difference(solution.X, exact) * *solution.report.reciprocal_condition,
              1e3 * unit<T> * largest_magnitude(exact))
        << "n = " << a.rows();
  }
}

/// Expects that well-conditioned matrices whose elements grow by up to 2^(n - 1) are solved and inverted, or
/// that the growth is reported, and never a lower rank.
template <class T>
void check_large_growth(const Device& device) {
  constexpr bool wide = std::is_same_v<T, double>;
  int grown = 0;
  int inverses_grown = 0;
  const auto expect_growth = [](const Report& report, int& count) {
    if (report.status == Status::direct) return;
    if (report.status == Status::not_a_number) {
      EXPECT_NE(report.message.find("overflowed"), std::string::npos) << report.message;
      return;
    }
    EXPECT_EQ(report.status, Status::breakdown) << report.message;
    const bool names_lu = report.message.find("try") != std::string::npos &&
                          report.message.find("lu, which") != std::string::npos;
    if (report.message.find("elements grew") != std::string::npos && names_lu) ++count;
  };
  for (const char* generator : {"gepp-growth", "gfpp", "foster", "wright"}) {
    for (const std::int64_t n : {wide ? 300 : 60, wide ? 600 : 110, wide ? 1100 : 250}) {
      SCOPED_TRACE(generator + (" " + std::to_string(n)));
      const auto a = std::get<Dense<T>>(make_matrix<T>(generator, {{"n", n}}));
      const Report solved = solve_on(device, a, product(a, random_dense<T>(n, 1, 4))).report;
      EXPECT_EQ(solved.status, Status::direct) << solved.message;
      if (!solved.warnings.empty() && solved.warnings[0].find("by lu instead") != std::string::npos) ++grown;
      Dense<T> x = a;
      expect_growth(invert_on(device, x), inverses_grown);
      const EchelonForm<T> form = reduce_on(device, a);
      if (form.report.status != Status::direct || form.facts.rank == n) continue;
      EXPECT_TRUE(form.facts.doubtful);
      ASSERT_FALSE(form.report.warnings.empty());
      EXPECT_NE(form.report.warnings[0].find("elements grew"), std::string::npos);
    }
  }
  EXPECT_GE(grown, 3);  // rounding decides which eliminations overflow or succeed
  EXPECT_GE(inverses_grown, 3);
}

/// Matrices between the tolerance of the rank and the unit roundoff: rejected pivots do not make them
/// singular.
template <class T>
void check_conditions_near_tolerance(const Device& device) {
  const std::int64_t n = 200;
  int retried = 0;
  for (const double inverse_condition : {100.0, 60.0, 40.0, 25.0, 15.0, 10.0, 6.0}) {
    SCOPED_TRACE(inverse_condition);
    const Dense<T> a = with_condition<T>(n, 1 / (inverse_condition * unit<T>), 4);
    const Dense<T> exact = random_dense<T>(n, 2, 5);
    const Dense<T> b = product(a, exact);
    const GeneralSolution<T> solution = solve_on(device, a, b);
    ASSERT_EQ(solution.report.status, Status::direct) << solution.report.message;
    EXPECT_EQ(solution.facts.rank, n);
    EXPECT_LT(scaled_residual<T>(a, solution.X, b), passing);
    EXPECT_LT(largest_difference(solution.X, exact) * *solution.report.reciprocal_condition,
              passing * unit<T> * largest_magnitude(exact));
    const bool rejected = *solution.facts.smallest_accepted_pivot <= solution.facts.tolerance;
    if (!rejected) continue;
    ++retried;
    EXPECT_TRUE(solution.facts.doubtful);
    ASSERT_EQ(solution.report.warnings.size(), 1U);
    EXPECT_NE(solution.report.warnings[0].find("doubtful: smallest pivot"), std::string::npos);
    const auto [x, report] = solve(a, b, {.method = "gauss-jordan", .device = device});
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_EQ(report.rank, n);
    EXPECT_EQ(report.warnings, solution.report.warnings);
  }
  EXPECT_GT(retried, 0);
}

// --- The inverse ------------------------------------------------------------------------------------------

template <class T>
void check_inverses_of_types(const Device& device, std::int64_t n, const std::vector<int>& types) {
  for (const int type : types) {
    SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n) + " on " + device.name());
    const Dense<T> a = lapack_type<T>(type, n, 3);
    Dense<T> x = a;
    const Report report = invert_on(device, x, {.tolerance = 0});
    ASSERT_TRUE(report.solved() || (type == 9 && !report.column)) << report.message;
    EXPECT_LT(inverse_ratio(x, a), passing);
    // The other side can be worse by the condition number.
    const double right = inverse_ratio(a, x);
    if (type < 8 || type > 9) {
      EXPECT_LT(right, passing);
    }
    if (report.solved() && n > 0) {
      const double explained = unit<T> * static_cast<double>(n) / *report.reciprocal_condition;
      EXPECT_LT(right * unit<T>, 10 * std::max(std::is_same_v<T, double> ? 1e-10 : 1e-4, explained));
      EXPECT_LT(report.backward_error, passing * unit<T> * static_cast<double>(n));
    }
    if (n > 0 && type < 10) {
      EXPECT_NEAR(*report.reciprocal_condition * norm_inf<T>(a.view()) * norm_inf<T>(x.view()), 1, 1e-3);
    }
  }
}

/// A X and X A applied to some vectors, in extended precision.
template <class T>
void check_large_inverse(const Device& device, std::int64_t n, std::int64_t block) {
  const Dense<T> a = random_dense<T>(n, n, 3);
  Dense<T> x = a;
  const Report report = invert_on(device, x, {.block = block});
  ASSERT_EQ(report.status, Status::direct);
  EXPECT_LT(report.backward_error, 1000 * unit<T>);
  const Dense<T> v = random_dense<T>(n, 2, 4);
  const double bound = passing * unit<T> / *report.reciprocal_condition;
  EXPECT_LT(largest_difference(product(x, product(a, v)), v), bound);
  EXPECT_LT(largest_difference(product(a, product(x, v)), v), bound);
}

template <class T>
void check_inverses_that_are_hard(const Device& device) {
  for (const Dense<T>& a :
       {hilbert<T>(6), lotkin<T>(6), frank<T>(8), vandermonde<T>(7), kahan<T>(40, 1.2), growing<T>(12)}) {
    Dense<T> x = a;
    ASSERT_NE(invert_on(device, x, {.tolerance = 0}).status, Status::breakdown);
    EXPECT_LT(inverse_ratio(a, x), passing);
    EXPECT_LT(inverse_ratio(x, a), passing);
  }
}

template <class T>
void check_inverse_in_a_window(const Device& device) {
  const std::int64_t n = 37;
  const std::int64_t leading = 50;
  const Dense<T> a = random_dense<T>(n, n, 3);
  for (const Layout layout : {Layout::column_major, Layout::row_major}) {
    const bool by_column = layout == Layout::column_major;
    Dense<T> storage(Device(), leading, n);
    std::fill_n(storage.data(), leading * n, T{-77});
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) storage(i, j) = by_column ? a(i, j) : a(j, i);
    }
    Dense<T> there = storage.to(device);
    const DenseView<T> window(there.data(), n, n, leading, device, layout);
    EXPECT_EQ(RowReduction<T>(device).invert(window).status, Status::direct);
    const Dense<T> back = there.to(Device());
    Dense<T> x(Device(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) x(i, j) = by_column ? back(i, j) : back(j, i);
      for (std::int64_t i = n; i < leading; ++i) EXPECT_EQ(back(i, j), T{-77});
    }
    EXPECT_LT(inverse_ratio(x, a), passing);
    EXPECT_LT(inverse_ratio(a, x), passing);
  }
}

template <class T>
void check_dependent_columns(const Device& device, const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t n : sizes) {
    for (const std::int64_t column : {std::int64_t{0}, n / 2, n - 1}) {
      Dense<T> a = random_dense<T>(n, n, 3);
      for (std::int64_t i = 0; i < n; ++i) a(i, column) = column > 0 ? 2 * a(i, column - 1) : T{0};
      const Report report = invert_on(device, a);
      EXPECT_EQ(report.status, Status::singular);
      EXPECT_EQ(report.column, column);
    }
  }
}

template <class T>
void check_inverse_that_overflows(const Device& device) {
  Dense<T> tiny = scaled(identity<T>(3), std::numeric_limits<T>::denorm_min());
  EXPECT_EQ(invert_on(device, tiny).status, Status::not_a_number);
}

}  // namespace echelon::test
