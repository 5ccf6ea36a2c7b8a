// SPDX-License-Identifier: BSD-3-Clause
// Batches of complex matrices on a GPU.
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_batches.hpp"

namespace echelon::test {
namespace {

using T = std::complex<double>;
using Batches = ComplexBatches<T>;

class GpuComplexBatches : public GpuTest {
 protected:
  /// A copy of the elements on the GPU.
  Array<T> there(const std::vector<T>& elements) const { return {gpu, std::span<const T>(elements)}; }
  DenseBatch<T> batch(Array<T>& elements, std::int64_t rows, std::int64_t columns) const {
    return {elements.data(), rows, columns, Batches::count, gpu};
  }
  static constexpr std::int64_t sizes[] = {1, 2, 17, 40, 130};
};

TEST_F(GpuComplexBatches, SolveBatch_EachMatrixHasItsOutcome) {
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const auto systems = Batches::make_systems(n, false);
    Array<T> A = there(systems.A);
    Array<T> B = there(systems.B);
    const DenseBatch<const T> matrices(A.data(), n, n, Batches::count, gpu);
    Batches::expect_outcomes(solve_batch<T>(matrices, batch(B, n, Batches::columns)));
    Batches::expect_solutions(systems, B.to_vector(), n);
    const std::vector<T> kept = A.to_vector();
    EXPECT_EQ(kept.front(), systems.A.front());  // A is read only
  }
}

TEST_F(GpuComplexBatches, Factors_SolveAnyNumberOfTimes) {
  for (const bool definite : {false, true}) {
    for (const std::int64_t n : sizes) {
      SCOPED_TRACE(std::to_string(n) + (definite ? ", definite" : ""));
      const auto systems = Batches::make_systems(n, definite);
      Array<T> A = there(systems.A);
      const BatchFactors<T> factors(batch(A, n, n),
                                    definite ? BatchFactorization::cholesky : BatchFactorization::lu);
      Batches::expect_outcomes(factors.outcomes());
      for (int repetition = 0; repetition < 2; ++repetition) {
        Array<T> X = there(systems.B);
        factors.solve(batch(X, n, Batches::columns));
        Batches::expect_solutions(systems, X.to_vector(), n);
      }
    }
  }
}

TEST_F(GpuComplexBatches, InvertBatch_EachMatrixHasItsOutcome) {
  for (const std::int64_t n : sizes) {
    SCOPED_TRACE(n);
    const auto systems = Batches::make_systems(n, false);
    Array<T> A = there(systems.A);
    Batches::expect_outcomes(invert_batch<T>(batch(A, n, n)));
    const std::vector<T> inverses = A.to_vector();
    for (std::int64_t k = 0; k < Batches::count; ++k) {
      const T* const X = inverses.data() + k * n * n;
      if (k == 2 || k == 5) {
        EXPECT_NE(X[0], X[0]);
        continue;
      }
      Vector unit(static_cast<std::size_t>(n));
      unit.back() = 1;
      EXPECT_LT(relative_error(X + (n - 1) * n, solution(systems.entries[static_cast<std::size_t>(k)], unit)),
                1e-11);
    }
  }
}

}  // namespace
}  // namespace echelon::test
