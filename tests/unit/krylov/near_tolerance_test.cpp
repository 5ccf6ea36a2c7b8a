// SPDX-License-Identifier: BSD-3-Clause
/// Tolerances near the rounding errors of a residual: the residual that the report has decides.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// ||b - A x|| in long double.
template <class T>
double residual_norm(const Csr<T>& A, const std::vector<T>& b, const T* x) {
  long double squares = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    auto r = static_cast<long double>(b[static_cast<std::size_t>(i)]);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      r -= static_cast<long double>(A.values()[k]) * static_cast<long double>(x[A.column_indices()[k]]);
    squares += r * r;
  }
  return static_cast<double>(std::sqrt(squares));
}

/// Solves with many right-hand sides, of which some end a little above the tolerance by the recurrence.
template <class T>
void expect_tolerance_is_met(const Csr<T>& A, const std::string& method, double rtol) {
  SCOPED_TRACE(method + ", rtol " + std::to_string(rtol));
  Solver<T> solver = make_solver<T>(method, Device());
  ASSERT_TRUE(solver.setup(A).ready());
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1, 1);
    std::vector<T> b(static_cast<std::size_t>(A.rows()));
    double squares = 0;
    for (T& element : b) {
      element = value(random);
      squares += static_cast<double>(element) * static_cast<double>(element);
    }
    std::vector<T> x(b.size(), T{0});
    const Report report = solver.solve(b, x, {.rtol = rtol});
    ASSERT_EQ(report.status, Status::converged) << "seed " << seed << ": " << report;
    EXPECT_LE(residual_norm(A, b, x.data()), rtol * std::sqrt(squares));
  }
}

TEST(NearTolerance, RecurrencesEndSlightlyAbove_IterationGoesOn) {
  const Csr<float> A = generate::poisson_2d<float>(9, 9);
  for (const char* method : {"gmres", "bicgstab", "cg", "minres", "cr"}) {
    expect_tolerance_is_met(A, method, 1e-6);
    expect_tolerance_is_met(A, method, 5e-7);
  }
}

/// A tolerance that no x meets ends the iteration, with the x before the cycle that did not help.
TEST(NearTolerance, BelowTheRoundingErrors_IterationEnds) {
  const Csr<float> A = generate::poisson_2d<float>(30, 30);
  std::vector<float> b(900, 1);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] += static_cast<float>(i % 7);
  for (const char* method : {"gmres", "bicgstab", "cg", "minres", "cr"}) {
    Solver<float> solver = make_solver<float>(method, Device(), {{"max_iterations", 5000}});
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<float> x(900, 0);
    const Report report = solver.solve(b, x, {.rtol = 3e-8});
    EXPECT_LT(report.iterations, 2000) << method;
    EXPECT_LT(report.backward_error, 1e-6) << method << ": " << report;
  }
}

}  // namespace
}  // namespace echelon::test
