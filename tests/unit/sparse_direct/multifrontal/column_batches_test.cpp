// SPDX-License-Identifier: BSD-3-Clause
// Numbers of right-hand sides around those that a sparse factorisation solves together.
#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echelon {
namespace {

/// A batch of one column takes the substitution for a vector, which needs scratch memory of its own.
TEST(ColumnBatches, OneColumnLeft_Solves) {
  const auto A = generate::poisson_2d<double>(60, 60);
  const std::int64_t n = A.rows();
  for (const char* method : {"sparse-cholesky", "sparse-ldlt", "sparse-lu"}) {
    for (const int threads : {1, 2, 4}) {
      auto solver = make_solver<double>(method, Device::openmp(threads), {});
      ASSERT_TRUE(solver.setup(A).ready());
      for (const std::int64_t columns : {2, 5, 9, 17, 33}) {
        Dense<double> X(Device(), n, columns);
        Dense<double> B(Device(), n, columns);
        Dense<double> Y(Device(), n, columns);
        for (std::int64_t k = 0; k < n * columns; ++k) X[k] = static_cast<double>(k * 37 % 11) - 5;
        multiply<double>(1, MatrixRef<double>(A), X.view(), 0, B.view());
        EXPECT_TRUE(solver.solve(B.view(), Y.view()).solved());
        double error = 0;
        for (std::int64_t k = 0; k < n * columns; ++k) error = std::max(error, std::abs(X[k] - Y[k]));
        EXPECT_LT(error, 1e-9) << method << ", " << columns << " columns";
      }
    }
  }
}

}  // namespace
}  // namespace echelon
