// SPDX-License-Identifier: BSD-3-Clause
// Sparse sums on the GPU against plain loops on the host: bit for bit.
#include "gpu/gpu_fixture.hpp"
#include "support/sparse_algebra.hpp"

#include <echelon/linalg/sparse_sum.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace echelon::test {
namespace {

class GpuSparseSum : public GpuTest {
 protected:
  template <class T>
  void check_sum(T alpha, const Csr<T>& A, T beta, const Csr<T>& B) {
    const Csr<T> expected = plain_sum(alpha, A, beta, B);
    const Csr<T> a = A.to(gpu);
    const Csr<T> b = B.to(gpu);
    expect_identical(add(alpha, a, beta, b), expected);
    const SparseSum<T> sum(a, b);
    Csr<T> C = sum.compute(alpha, a, beta, b);
    EXPECT_EQ(C.device(), gpu);
    expect_identical(C, expected);
    const Csr<T> B2 = with_new_values(B, 79);
    sum.update(beta, a, alpha, B2.to(gpu), C);
    expect_identical(C, plain_sum(beta, A, alpha, B2));
  }
};

TEST_F(GpuSparseSum, AgreesWithPlainLoops) {
  for (const auto& [name, A, B] : summand_pairs<double>()) {
    SCOPED_TRACE(name);
    check_sum(2.0, A, -0.3, B);
    check_sum(0.0, A, 1.0, B);
  }
  for (const auto& [name, A, B] : summand_pairs<float>()) {
    SCOPED_TRACE(name);
    check_sum(2.0F, A, -0.3F, B);
  }
}

TEST_F(GpuSparseSum, OtherPattern_GivesNaN) {
  const Csr<double> A(2, 3, {0, 1, 2}, {0, 1}, {1, 2});
  const Csr<double> B(2, 3, {0, 1, 2}, {0, 2}, {1, 2});
  const SparseSum<double> sum(A.to(gpu), B.to(gpu));
  Csr<double> C = sum.compute(1, A.to(gpu), 1, B.to(gpu));
  const Csr<double> shorter(2, 3, {0, 1, 2}, {0, 1}, {1, 2});
  sum.update(1, A.to(gpu), 1, shorter.to(gpu), C);
  EXPECT_TRUE(std::isnan(C.values().to_vector()[2]));
  const Csr<double> elsewhere(2, 3, {0, 1, 2}, {0, 0}, {1, 2});
  sum.update(1, A.to(gpu), 1, elsewhere.to(gpu), C);
  EXPECT_TRUE(std::isnan(C.values().to_vector()[1]));
}

}  // namespace
}  // namespace echelon::test
