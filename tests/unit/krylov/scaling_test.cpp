// SPDX-License-Identifier: BSD-3-Clause
/// Krylov methods on systems whose squares of norms leave the range of the arithmetic.
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace echelon::test {
namespace {

template <class T>
class KrylovScaling : public testing::Test {
 protected:
  /// About 1e160 in double and 1e18 in float; powers of two, so that nothing is rounded.
  static constexpr int exponent = std::is_same_v<T, double> ? 532 : 60;

  static Csr<T> scaled(const Csr<T>& A, int power) {
    Csr<T> result = A;
    for (T& value : result.values().span()) value = std::ldexp(value, power);
    return result;
  }
  static Dense<T> scaled(const Dense<T>& b, int power) {
    Dense<T> result = b;
    for (std::int64_t i = 0; i < b.rows(); ++i) result[i] = std::ldexp(b[i], power);
    return result;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(KrylovScaling, Reals);

TYPED_TEST(KrylovScaling, ScaledSystems_ConvergeToTheScaledSolution) {
  using T = TypeParam;
  const Csr<T> A = convection_diffusion(12, 0).csr<T>();
  const Dense<T> b = random_dense<T>(144, 1, 2);
  for (const char* method : {"cg", "gmres", "bicgstab", "minres"}) {
    for (const char* preconditioner : {"none", "jacobi", "ilu0", "ic0"}) {
      Solver<T> solver = make_solver<T>(method, Device::serial(), {{"preconditioner", preconditioner}});
      solver.setup(A);
      Dense<T> expected(Device(), 144, 1);
      const Report plain = solver.solve(b, expected);
      ASSERT_TRUE(plain.solved());
      // x = 2^(rhs - matrix) expected stays in range.
      const int p = this->exponent;
      for (const auto& [matrix, rhs] : {std::pair{p, p}, {-p, -p}, {p, 0}, {-p, 0}, {0, p}, {0, -p}}) {
        SCOPED_TRACE(std::string(method) + " with " + preconditioner + ", A by 2^" + std::to_string(matrix) +
                     ", b by 2^" + std::to_string(rhs));
        const Csr<T> large = this->scaled(A, matrix);
        solver.setup(large);
        Dense<T> x(Device(), 144, 1);
        const Report report = solver.solve(this->scaled(b, rhs), x);
        ASSERT_TRUE(report.solved()) << to_string(report.status) << ": " << report.message;
        EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(plain.iterations), 2);
        EXPECT_NEAR(report.history.front(), 1, 1e-12);
        const double tolerance = std::is_same_v<T, double> ? 1e-6 : 1e-3;
        for (std::int64_t i = 0; i < 144; ++i) {
          ASSERT_NEAR(std::ldexp(x[i], matrix - rhs), expected[i], tolerance);
        }
        if (report.reciprocal_condition) {
          EXPECT_NEAR(*report.reciprocal_condition / *plain.reciprocal_condition, 1, 0.1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
