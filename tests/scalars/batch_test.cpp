// SPDX-License-Identifier: BSD-3-Clause
/// Batches of complex matrices.
#include "scalars/complex_batches.hpp"

namespace echelon::test {
namespace {

TYPED_TEST_SUITE(ComplexBatches, ComplexTypes);

TYPED_TEST(ComplexBatches, SolveBatch_EachMatrixHasItsOutcome) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 17, 40}) {
    for (const Device& device : this->devices) {
      auto systems = this->make_systems(n, false);
      const DenseBatch<const T> A(systems.A.data(), n, n, this->count, device);
      const DenseBatch<T> B = this->batch(systems.B, n, this->columns, device);
      this->expect_outcomes(solve_batch<T>(A, B));
      this->expect_solutions(systems, systems.B, n);
    }
  }
}

TYPED_TEST(ComplexBatches, Factors_SolveAnyNumberOfTimes) {
  using T = TypeParam;
  for (const bool definite : {false, true}) {
    for (const std::int64_t n : {1, 2, 17, 40}) {
      for (const Device& device : this->devices) {
        auto systems = this->make_systems(n, definite);
        const BatchFactors<T> factors(this->batch(systems.A, n, n, device),
                                      definite ? BatchFactorization::cholesky : BatchFactorization::lu);
        this->expect_outcomes(factors.outcomes());
        for (int repetition = 0; repetition < 2; ++repetition) {
          std::vector<T> X = systems.B;
          factors.solve(this->batch(X, n, this->columns, device));
          this->expect_solutions(systems, X, n);
        }
      }
    }
  }
}

TYPED_TEST(ComplexBatches, InvertBatch_EachMatrixHasItsOutcome) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 17, 40}) {
    for (const Device& device : this->devices) {
      auto systems = this->make_systems(n, false);
      this->expect_outcomes(invert_batch<T>(this->batch(systems.A, n, n, device)));
      for (std::int64_t k = 0; k < this->count; ++k) {
        const T* const X = systems.A.data() + k * n * n;
        if (k == 2 || k == 5) {
          EXPECT_NE(X[0], X[0]);
          continue;
        }
        Vector unit(static_cast<std::size_t>(n));
        unit.back() = 1;
        const Vector exact = solution(systems.entries[static_cast<std::size_t>(k)], unit);
        EXPECT_LT(relative_error(X + (n - 1) * n, exact), this->largest_error);
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
